/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/wire/exchange.h"

#include <errno.h>

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

const char *http_method_name(enum http_method method)
{
	static const char *const names[] = {"GET", "HEAD", "PUT", "POST", "DELETE"};

	return names[method];
}

void exchange_begin(struct exchange *x)
{
	answer_clear(&x->answer);
	x->first_byte_ns = 0;
	x->received_bytes = 0;
	x->wire_bytes = 0;
	x->connections = 0;
	x->status = 0;
	x->fault = REQ_FAULT_NONE;
	x->why = NULL;
}

void exchange_fail(struct exchange *x, int status, enum request_fault fault, const char *why)
{
	x->status = status;
	x->fault = fault;
	x->why = why;
}

void exchange_give_up(struct exchange *x)
{
	exchange_fail(x, -ECANCELED, REQ_FAULT_OTHER,
		      "the run is to end, and no answer came before");
}

bool exchange_stalled(struct exchange *x, const struct stall_limits *limits, uint64_t sent_bytes,
		      uint64_t now_ns)
{
	bool waits = !x->first_byte_ns && sent_bytes == x->send_bytes;
	bool trickles = x->may_trickle && x->answer.status / 100 == 2;

	switch (stall_check(&x->stall, limits, waits, trickles, now_ns)) {
	case STALL_NO_ANSWER:
		exchange_fail(x, -ETIMEDOUT, REQ_FAULT_TIMEOUT, "no answer in time");
		return true;
	case STALL_SILENT:
		exchange_fail(x, -ETIMEDOUT, REQ_FAULT_STALL, "bytes stopped coming");
		return true;
	case STALL_SLOW:
		exchange_fail(x, -ETIMEDOUT, REQ_FAULT_STALL,
			      trickles ? "the server says for too long that it works on the request"
				       : "bytes moved more slowly than \"least_rate\" allows");
		return true;
	default:
		return false;
	}
}
