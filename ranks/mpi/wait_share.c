/* Share of a core for waiting: see wait_share.h. */
#include "ranks/mpi/wait_share.h"

void wait_share_init(struct wait_share *w, uint32_t ranks, bool crowded, uint64_t now_ns)
{
	*w = (struct wait_share){
		.ranks = ranks, .crowded = crowded, .last_ns = now_ns, .look_ns = WAIT_LOOK_NS};
}

void wait_share_begin(struct wait_share *w, uint64_t now_ns)
{
	uint64_t past_ns = now_ns > w->last_ns ? now_ns - w->last_ns : 0;

	w->begun_ns = now_ns;
	w->saved_ns += past_ns * w->ranks / WAIT_SHARE;
	if (w->saved_ns > WAIT_SAVED_MAX_NS)
		w->saved_ns = WAIT_SAVED_MAX_NS;
	if (w->crowded)
		w->saved_ns = 0;
}

uint64_t wait_share_nap(const struct wait_share *w, uint64_t now_ns)
{
	uint64_t period_ns = w->look_ns * WAIT_SHARE / w->ranks;
	uint64_t nap_ns = period_ns > w->look_ns ? period_ns - w->look_ns : 0;

	if (now_ns - w->begun_ns < w->saved_ns)
		return 0;
	if (nap_ns < WAIT_NAP_MIN_NS)
		return WAIT_NAP_MIN_NS;
	return nap_ns < WAIT_NAP_MAX_NS ? nap_ns : WAIT_NAP_MAX_NS;
}

void wait_share_learn(struct wait_share *w, uint64_t naps, uint64_t processor_ns)
{
	uint64_t look_ns = naps ? processor_ns / naps : w->look_ns;

	look_ns = (3 * w->look_ns + look_ns) / 4;
	if (look_ns < WAIT_LOOK_NS)
		look_ns = WAIT_LOOK_NS;
	w->look_ns = look_ns < WAIT_LOOK_MAX_NS ? look_ns : WAIT_LOOK_MAX_NS;
}

void wait_share_end(struct wait_share *w, uint64_t now_ns)
{
	uint64_t waited_ns = now_ns > w->begun_ns ? now_ns - w->begun_ns : 0;

	w->saved_ns = waited_ns < w->saved_ns ? w->saved_ns - waited_ns : 0;
	w->last_ns = now_ns;
}
