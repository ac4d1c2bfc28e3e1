/* SPDX-License-Identifier: Apache-2.0 */
/* Share of a core for waiting: see wait_share.h. */
#include "ranks/mpi/wait_share.h"

void wait_share_init(struct wait_share *w, uint32_t ranks, bool crowded, uint64_t now_ns)
{
	*w = (struct wait_share){
		.ranks = ranks, .crowded = crowded, .last_ns = now_ns, .look_ns = WAIT_LOOK_NS};
}

/* The balance, with the share of the time that has passed. */
static int64_t share_balance(const struct wait_share *w, uint64_t now_ns)
{
	uint64_t past_ns = now_ns > w->last_ns ? now_ns - w->last_ns : 0;
	int64_t most_ns = w->crowded ? 0 : WAIT_SAVED_MAX_NS;
	int64_t balance_ns = w->balance_ns + (int64_t)(past_ns * w->ranks / WAIT_SHARE);

	/* What one wait has overdrawn is not paid back for ever. */
	if (balance_ns < -WAIT_SAVED_MAX_NS)
		return -WAIT_SAVED_MAX_NS;
	return balance_ns < most_ns ? balance_ns : most_ns;
}

void wait_share_begin(struct wait_share *w, uint64_t now_ns)
{
	w->balance_ns = share_balance(w, now_ns);
	w->last_ns = w->begun_ns = now_ns;
	w->deaf = true;
}

uint64_t wait_share_looks(const struct wait_share *w, uint64_t now_ns)
{
	struct wait_share then = *w;
	uint64_t looks_ns;

	wait_share_begin(&then, now_ns);
	then.deaf = false;
	looks_ns = then.balance_ns > 0 ? (uint64_t)then.balance_ns : 0;
	return wait_share_nap(&then, now_ns + looks_ns).listens ? looks_ns : WAIT_NEVER_LISTENS;
}

struct wait_nap wait_share_nap(const struct wait_share *w, uint64_t now_ns)
{
	uint64_t period_ns = w->look_ns * WAIT_SHARE / w->ranks;
	uint64_t nap_ns = period_ns > w->look_ns ? period_ns - w->look_ns : 0;

	if ((int64_t)(now_ns - w->begun_ns) < w->balance_ns)
		return (struct wait_nap){.ns = 0};
	if (w->balance_ns < 0)
		nap_ns *= 2;
	if (nap_ns < WAIT_NAP_MIN_NS)
		nap_ns = WAIT_NAP_MIN_NS;
	if (nap_ns > WAIT_NAP_MAX_NS)
		nap_ns = WAIT_NAP_MAX_NS;
	if (nap_ns <= WAIT_DEAF_NS || w->deaf)
		return (struct wait_nap){.ns = nap_ns < WAIT_DEAF_NS ? nap_ns : WAIT_DEAF_NS};
	return (struct wait_nap){.ns = nap_ns, .listens = true};
}

void wait_share_napped(struct wait_share *w, bool rung)
{
	w->deaf = rung;
}

void wait_share_learn(struct wait_share *w, uint64_t naps, uint64_t processor_ns)
{
	uint64_t look_ns = naps ? processor_ns / naps : w->look_ns;

	look_ns = (3 * w->look_ns + look_ns) / 4;
	if (look_ns < WAIT_LOOK_NS)
		look_ns = WAIT_LOOK_NS;
	w->look_ns = look_ns < WAIT_LOOK_MAX_NS ? look_ns : WAIT_LOOK_MAX_NS;
}

void wait_share_end(struct wait_share *w, uint64_t now_ns, uint64_t processor_ns)
{
	int64_t looked_ns = now_ns > w->begun_ns ? (int64_t)(now_ns - w->begun_ns) : 0;
	int64_t spent_ns = (int64_t)processor_ns;

	if (looked_ns > w->balance_ns)
		looked_ns = w->balance_ns;
	w->balance_ns -= spent_ns > looked_ns ? spent_ns : looked_ns;
}
