/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/wire/exchange.h"

#include <errno.h>

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
