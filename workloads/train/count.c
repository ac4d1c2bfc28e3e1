/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers have counted: see count.h. */
#include "workloads/train/count.h"

#include "core/proc.h"

static const struct meter_map count_maps[] = {
	{REQ_READ, METER_NONE, TRAIN_HIST_READ, TRAIN_HIST_READ_RESPONSE,
	 TRAIN_HIST_READ_FIRST_ATTEMPT},
	{REQ_OPEN, METER_NONE, TRAIN_HIST_OPEN, TRAIN_HIST_OPEN_RESPONSE, METER_NONE},
};
static const int count_own[] = {TRAIN_HIST_SAMPLE};

const struct meter_layout train_meter = {
	METER_MAPS(train_schema, count_maps),
	.late = TRAIN_LATE,
	.short_transfers = TRAIN_SHORT_TRANSFERS,
	.own = count_own,
	.own_count = sizeof(count_own) / sizeof(count_own[0]),
	.live_op = REQ_READ,
};

void pass_count_reader(void *reader, struct tally *t)
{
	const struct reader *w = reader;

	meter_merge(&w->meter, t);
	t->rank_row[TRAIN_PAYLOAD_ERRORS] += w->payload_errors;
	t->rank_row[TRAIN_SHORT_OBJECTS] += w->short_objects;
	t->rank_row[TRAIN_RESIDENT_SAMPLED_BYTES] += w->residency.sampled_bytes;
	t->rank_row[TRAIN_RESIDENT_BYTES] += w->residency.resident_bytes;
}

struct residency pass_residency(const struct pass *p)
{
	struct residency sum = {0};

	for (uint32_t i = 0; i < loader_reader_count(&p->loader); i++) {
		const struct residency *r =
			&loader_reader((struct loader *)&p->loader, i)->residency;

		sum.sampled_bytes += r->sampled_bytes;
		sum.resident_bytes += r->resident_bytes;
	}
	return sum;
}

void pass_count_own(const struct pass *p, struct tally *t)
{
	uint64_t *rank = t->rank_row;
	uint64_t run_ns, runnable_ns;

	sched_times(&run_ns, &runnable_ns);
	rank[TRAIN_RUNNABLE_NS] = runnable_ns > p->runnable_ns ? runnable_ns - p->runnable_ns : 0;
	for (int s = 0; s < ACCOUNTS; s++)
		rank[TRAIN_ACCOUNTS + s] = p->accounts.ns[s];
	rank[TALLY_WALL_NS] = account_wall(&p->accounts);
	rank[TRAIN_WALL_SUM_NS] = rank[TALLY_WALL_NS];
	rank[TRAIN_STALL_MEDIAN_NS] = hist_quantile_ns(&t->hists[TRAIN_HIST_STEP_STALL], 0.5);
}

void pass_count(struct pass *p)
{
	snapshot_count(p->snapshot);
	for (uint32_t i = 0; i < loader_reader_count(&p->loader); i++)
		pass_count_reader(loader_reader(&p->loader, i), p->tally);
	pass_count_own(p, p->tally);
}
