/* SPDX-License-Identifier: Apache-2.0 */
/* The answer that a phase has found in its own rounds (autoscaling: qos), as --find would give it: how
 * much load keeps the limits. Of several limits the one that is missed at the least load answers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/measure/hist.h"
#include "core/numbers.h"
#include "core/utf8.h"
#include "ranks/run/driver.h"
#include "ranks/run/phase_run.h"

/* What the rounds have over all ranks: their loads, added, and the most that a rank has found against
 * each limit, since each rank keeps the limits for itself. */
struct rounds {
	uint64_t count, most; /* the greatest load that there could be */
	uint64_t *loads;      /* [count], and behind them found */
	uint64_t *found;      /* [count][ROUNDS_LIMITS] */
};

static bool rounds_of(const struct job_phase *phase, struct phase_rounds *out)
{
	const struct workload *w = phase->section->owner;

	return w->rounds && !phase->together && w->rounds(phase, out);
}

bool run_has_rounds(const struct run *run)
{
	struct phase_rounds of;
	bool any = false;

	for (uint32_t i = 0; i < run->job.phase_count; i++)
		any |= rounds_of(&run->job.phases[i], &of);
	return any && !run->driver->answer && series_runs(&run->series) == 1;
}

/* How many rounds all ranks have done that do any; a rank without rows makes none. Collective. */
static int rounds_count(const struct table *t, struct group *g, uint64_t *count)
{
	uint64_t fewest = t->rows ? UINT32_MAX - t->rows : 0;
	int rc = group_allreduce(g, MERGE_MAX, &fewest, 1);

	*count = fewest ? UINT32_MAX - fewest : 0;
	return rc;
}

/* Collective. */
static int rounds_merge(const struct phase_rounds *of, const struct table *t, struct group *g,
			struct rounds *r)
{
	int rc;

	r->most = t->rows ? of->most : 0;
	for (uint64_t i = 0; i < r->count && t->rows; i++) {
		r->loads[i] = i ? table_row(t, (uint32_t)i - 1)[of->next] : of->first;
		for (uint32_t k = 0; k < of->limit_count; k++)
			r->found[i * ROUNDS_LIMITS + k] =
				table_row(t, (uint32_t)i)[of->limits[k].column];
	}
	rc = group_allreduce(g, MERGE_SUM, &r->most, 1);
	if (rc == 0)
		rc = group_allreduce(g, MERGE_SUM, r->loads, r->count);
	return rc < 0 ? rc : group_allreduce(g, MERGE_MAX, r->found, r->count * ROUNDS_LIMITS);
}

/* The search that a caller would have made who asks for this limit alone. A round without a request
 * has no percentile. */
static void rounds_judge(struct bisect *s, const struct phase_rounds *of, uint32_t limit,
			 const struct rounds *r)
{
	bool percentile = *of->limits[limit].unit;
	struct bisect_ask ask = {.low = r->most,
				 .high = r->most,
				 .asked = of->limits[limit].asked,
				 .most = true,
				 .repeats = BISECT_REPEATS_MAX,
				 .blur = percentile ? HIST_BLUR : 0};

	for (uint64_t i = 0; i < r->count; i++)
		ask.low = min_u64(ask.low, r->loads[i]);
	bisect_init(s, &ask);
	for (uint64_t i = 0; i < r->count; i++) {
		uint64_t found = r->found[i * ROUNDS_LIMITS + limit];

		if (found || !percentile)
			bisect_see(s, r->loads[i], (double)found);
	}
	bisect_close(s);
}

/* Whether a's limit is reached before b's; of two that are not, whether only a is known. */
static bool rounds_before(const struct bisect *a, const struct bisect *b)
{
	struct find_head x, y;

	bisect_answer(a, &x, NULL);
	bisect_answer(b, &y, NULL);
	if (x.misses == y.misses && x.misses == ANSWER_UNKNOWN)
		return a->count && !b->count;
	return x.misses < y.misses;
}

static int rounds_record(const struct phase_run *p, const struct phase_rounds *of,
			 const struct bisect *searches)
{
	const char *phase = p->ctx.phase->name;
	char asked[TARGET_TEXT_BYTES];
	struct find_head *head;
	struct answered answer;
	uint32_t best = 0;

	for (uint32_t k = 1; k < of->limit_count; k++)
		if (rounds_before(&searches[k], &searches[best]))
			best = k;
	if (answer_make(&answer, ANSWER_FIND, searches[best].count) < 0)
		return -ENOMEM;
	head = answer.head;
	utf8_copy(head->phase, sizeof(head->phase), phase);
	snprintf(head->path, sizeof(head->path), "%.120s.%.100s", phase, of->load);
	snprintf(head->until, sizeof(head->until), "%.120s.%s <= %s", phase, of->limits[best].path,
		 target_value(asked, of->limits[best].unit, of->limits[best].asked, 6));
	utf8_copy(head->target, sizeof(head->target), of->limits[best].path);
	utf8_copy(head->label, sizeof(head->label), of->limits[best].label);
	utf8_copy(head->unit, sizeof(head->unit), of->limits[best].unit);
	bisect_answer(&searches[best], head, answer.rows);
	results_set_answer(p->run->results, &answer, 1);
	return 0;
}

int run_rounds(struct phase_run *p, struct err *err)
{
	struct group *g = p->ctx.group;
	struct phase_rounds of = {0};
	struct rounds r = {0};
	struct bisect *searches;
	const struct table *t;

	if (p->rc < 0 || !run_has_rounds(p->run) || !rounds_of(p->ctx.phase, &of))
		return p->rc;
	t = &p->tally.tables[of.table];
	p->rc = rounds_count(t, g, &r.count);
	r.loads = calloc(r.count + 1, (1 + ROUNDS_LIMITS) * sizeof(*r.loads));
	searches = calloc(ROUNDS_LIMITS, sizeof(*searches));
	if (p->rc == 0 && (!r.loads || !searches))
		p->rc = err_set(err, -ENOMEM, "no memory for the rounds of a phase");
	p->rc = group_agree(g, p->rc, err);
	if (p->rc == 0 && r.loads && r.count) {
		r.found = r.loads + r.count;
		p->rc = rounds_merge(&of, t, g, &r);
	}
	if (p->rc == 0 && r.found && searches && p->run->results && g->rank == 0) {
		for (uint32_t k = 0; k < of.limit_count; k++)
			rounds_judge(&searches[k], &of, k, &r);
		if (rounds_record(p, &of, searches) < 0)
			p->rc = err_set(err, -ENOMEM, "no memory for the answer of a phase");
	}
	p->rc = group_agree(g, p->rc, err);
	free(r.loads);
	free(searches);
	return p->rc;
}
