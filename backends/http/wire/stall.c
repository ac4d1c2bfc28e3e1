#include "backends/http/wire/stall.h"

#define STALL_SECOND_NS UINT64_C(1000000000)
#define STALL_AWAY_NS   STALL_SECOND_NS

static void stall_window(struct stall *p, uint64_t now_ns)
{
	p->window_ns = now_ns;
	p->window_bytes = 0;
}

/* Bytes that the window has to have moved. By parts, so that nothing overflows. */
static uint64_t stall_least(const struct stall_limits *limits)
{
	return limits->stall_ns / STALL_SECOND_NS * limits->least_rate +
	       limits->stall_ns % STALL_SECOND_NS * limits->least_rate / STALL_SECOND_NS;
}

enum stall_verdict stall_check(struct stall *p, const struct stall_limits *limits, bool waits,
			       bool trickles, uint64_t now_ns)
{
	bool away = now_ns > p->checked_ns + STALL_AWAY_NS;

	p->checked_ns = now_ns;
	if (now_ns > p->moved_ns &&
	    now_ns - p->moved_ns >= (waits ? limits->first_byte_ns : limits->stall_ns))
		return waits ? STALL_NO_ANSWER : STALL_SILENT;
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
