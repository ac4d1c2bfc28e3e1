#include "backends/http/wire/pace.h"

#define PACE_SECOND_NS UINT64_C(1000000000)
#define PACE_AWAY_NS   PACE_SECOND_NS

static void pace_window(struct pace *p, uint64_t now_ns)
{
	p->window_ns = now_ns;
	p->window_bytes = 0;
}

/* Bytes that the window has to have moved. By parts, so that nothing overflows. */
static uint64_t pace_least(const struct pace_limits *limits)
{
	return limits->stall_ns / PACE_SECOND_NS * limits->least_rate +
	       limits->stall_ns % PACE_SECOND_NS * limits->least_rate / PACE_SECOND_NS;
}

enum pace_verdict pace_check(struct pace *p, const struct pace_limits *limits, bool waits,
			     bool trickles, uint64_t now_ns)
{
	bool away = now_ns > p->checked_ns + PACE_AWAY_NS;

	p->checked_ns = now_ns;
	if (now_ns > p->moved_ns &&
	    now_ns - p->moved_ns >= (waits ? limits->first_byte_ns : limits->stall_ns))
		return waits ? PACE_NO_ANSWER : PACE_SILENT;
	if (away || waits || trickles) {
		pace_window(p, now_ns);
		return PACE_GOOD;
	}
	if (now_ns < p->window_ns + limits->stall_ns)
		return PACE_GOOD;
	if (p->window_bytes < pace_least(limits))
		return PACE_SLOW;
	pace_window(p, now_ns);
	return PACE_GOOD;
}
