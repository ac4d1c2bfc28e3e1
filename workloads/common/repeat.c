#include "workloads/common/repeat.h"

#include <errno.h>

#include "workloads/common/start_line.h"

static const uint64_t pause_nap_ns = 10000000;

static int repeat_pause_thread(struct crew_thread *w, uint64_t thread)
{
	const uint64_t *pause_ns = w->crew->argument;
	struct clock *clock = w->crew->store->clock;
	uint64_t now_ns = clock_now(clock), until_ns = now_ns + *pause_ns;

	while (thread == 0 && now_ns < until_ns) {
		if (atomic_load(&w->crew->halt) || (w->crew->stop && stop_asked(w->crew->stop)))
			return -ECANCELED;
		now_ns = now_ns + pause_nap_ns < until_ns ? now_ns + pause_nap_ns : until_ns;
		clock_sleep_until(clock, now_ns);
	}
	return 0;
}

int repeat_pause(struct repeat *p, uint64_t pause_ns, enum stop_reason *stopped, struct err *err)
{
	struct clock *clock = p->crew->store->clock;
	void *argument = p->crew->argument;
	int rc;

	if (!pause_ns)
		return 0;
	if (p->begun)
		account_switch(&p->accounts, ACCOUNT_HAUL, clock_now(clock));
	p->crew->argument = &pause_ns;
	rc = crew_run(p->crew, repeat_pause_thread, stopped, err);
	p->crew->argument = argument;
	if (p->begun)
		account_skip(&p->accounts, clock_now(clock));
	return rc;
}

int repeat_begin(struct repeat *p)
{
	int rc;

	if (p->at_once) {
		rc = group_barrier(p->ctx->group);
		p->start_ns = clock_now(p->crew->store->clock);
	} else {
		rc = start_line(p->ctx, !p->begun, &p->start_ns);
	}
	if (rc < 0)
		return rc;
	if (!p->begun) {
		crew_start(p->crew, p->start_ns);
		timeline_init(p->ctx->tally->timeline, p->start_ns);
		account_start(&p->accounts, ACCOUNT_HAUL, p->start_ns);
		p->origin_ns = p->start_ns;
	}
	p->begun = true;
	account_switch(&p->accounts, ACCOUNT_HAUL, p->start_ns);
	crew_clear_counts(p->crew);
	for (uint32_t i = 0; i < p->crew->threads; i++)
		p->crew->members[i].end_ns = 0;
	return 0;
}

static const struct crew_thread *repeat_last(const struct repeat *p)
{
	const struct crew_thread *last = &p->crew->members[0];

	for (uint32_t i = 1; i < p->crew->threads; i++)
		if (p->crew->members[i].end_ns > last->end_ns)
			last = &p->crew->members[i];
	return last;
}

int repeat_took(struct repeat *p, uint64_t least_end_ns, struct repeat_took *took)
{
	uint64_t end_ns;

	took->last = repeat_last(p);
	end_ns = took->last->end_ns > least_end_ns ? took->last->end_ns : least_end_ns;
	took->end_ns = end_ns > p->start_ns ? end_ns : p->start_ns;
	took->own_ns = took->slowest_ns = took->end_ns - p->start_ns;
	return group_allreduce(p->ctx->group, MERGE_MAX, &took->slowest_ns, 1);
}

int repeat_run(struct repeat *p, int (*body)(struct crew_thread *w, uint64_t thread),
	       struct repeat_took *took, enum stop_reason *stopped, struct err *err)
{
	int rc = crew_run(p->crew, body, stopped, err), took_rc = repeat_took(p, 0, took);

	return rc < 0 ? rc : took_rc;
}

void repeat_account(struct repeat *p, const uint64_t blamed[ACCOUNTS], uint64_t end_ns)
{
	account_switch(&p->accounts, ACCOUNT_RANKS, end_ns);
	account_blame(&p->accounts, end_ns - p->start_ns, blamed);
	account_switch(&p->accounts, ACCOUNT_HAUL, clock_now(p->crew->store->clock));
}
