/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/wire/stall.h"

#include "core/time_ns.h"

#define STALL_AWAY_NS NS_PER_S

static void stall_window(struct stall *p, uint64_t now_ns)
{
	p->window_ns = now_ns;
	p->window_bytes = 0;
}

/* Bytes that the window has to have moved. By parts, so that nothing overflows. */
static uint64_t stall_least(const struct stall_limits *limits)
{
	return limits->stall_ns / NS_PER_S * limits->least_rate +
	       limits->stall_ns % NS_PER_S * limits->least_rate / NS_PER_S;
}

enum stall_verdict stall_check(struct stall *p, const struct stall_limits *limits, bool waits,
			       bool trickles, uint64_t now_ns)
{
	bool away = now_ns > p->checked_ns + STALL_AWAY_NS;

	p->checked_ns = now_ns;
	if (now_ns > p->moved_ns &&
	    now_ns - p->moved_ns >= (waits ? limits->first_byte_ns : limits->stall_ns))
		return waits ? STALL_NO_ANSWER : STALL_SILENT;
	if (trickles && limits->stall_ns &&
	    now_ns - p->begun_ns >= STALL_TRICKLE_TIMES * limits->stall_ns)
		return STALL_SLOW;
	if (away || waits || trickles) {
		stall_window(p, now_ns);
		return STALL_GOOD;
	}
	if (now_ns < p->window_ns + limits->stall_ns)
		return STALL_GOOD;
	if (p->window_bytes < stall_least(limits))
		return STALL_SLOW;
	stall_window(p, now_ns);
	return STALL_GOOD;
}
