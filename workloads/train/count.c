/* From the workers' counts to the tally, once, when all rest. */
#include "workloads/train/pass.h"

#include "core/sched.h"

static void count_queue(struct tally *t, const struct queue_stats *q)
{
	uint64_t *rank = t->rank_row;
	int op;

	for (op = 0; op < REQ_OPS; op++) {
		rank[TALLY_OPERATIONS] += q->op[op].operations;
		rank[TALLY_ERRORS] += q->op[op].errors;
		rank[TRAIN_LATE] += q->op[op].late;
		rank[TRAIN_SHORT_TRANSFERS] += q->op[op].short_transfers;
	}
	rank[TALLY_BYTES_READ] += q->op[REQ_READ].bytes;
	if (q->op[REQ_READ].operations) {
		hist_merge(&t->hists[TRAIN_HIST_READ], &q->service[REQ_READ]);
		hist_merge(&t->hists[TRAIN_HIST_READ_RESPONSE], &q->response[REQ_READ]);
	}
	if (q->op[REQ_OPEN].operations) {
		hist_merge(&t->hists[TRAIN_HIST_OPEN], &q->service[REQ_OPEN]);
		hist_merge(&t->hists[TRAIN_HIST_OPEN_RESPONSE], &q->response[REQ_OPEN]);
	}
}

static void count_reader(struct tally *t, const struct reader *w)
{
	uint64_t *rank = t->rank_row;
	uint32_t i, kept;
	unsigned s;

	for (s = 0; s < w->options->source_count; s++) {
		count_queue(t, w->queues[s].stats);
		queue_count_endpoints(&w->queues[s], t);
		queue_add_first_attempts(&w->queues[s], REQ_READ,
					 &t->hists[TRAIN_HIST_READ_FIRST_ATTEMPT]);
	}
	rank[TALLY_RETRIES] += w->retries;
	/* Wrong bytes came by a request that succeeded. */
	rank[TALLY_ERRORS] += w->payload_errors;
	rank[TRAIN_PAYLOAD_ERRORS] += w->payload_errors;
	rank[TRAIN_SHORT_OBJECTS] += w->short_objects;
	hist_merge(&t->hists[TRAIN_HIST_SAMPLE], &w->sample_hist);
	timeline_merge(t->timeline, &w->timeline);
	kept = w->failure_count < TALLY_FAILURES ? w->failure_count : TALLY_FAILURES;
	for (i = 0; i < kept; i++)
		tally_fail(t, &w->failures[i]);
	t->failure_count += w->failure_count - kept;
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

void pass_count(struct pass *p)
{
	struct tally *t = p->tally;
	uint64_t *rank = t->rank_row;
	uint64_t run_ns, runnable_ns;
	struct residency seen;
	uint32_t i;
	int s;

	sched_times(&run_ns, &runnable_ns);
	rank[TRAIN_RUNNABLE_NS] = runnable_ns > p->runnable_ns ? runnable_ns - p->runnable_ns : 0;
	for (i = 0; i < loader_reader_count(&p->loader); i++)
		count_reader(t, loader_reader(&p->loader, i));
	for (s = 0; s < ACCOUNTS; s++)
		rank[TRAIN_ACCOUNTS + s] = p->accounts.ns[s];
	seen = pass_residency(p);
	rank[TRAIN_RESIDENT_SAMPLED_BYTES] = seen.sampled_bytes;
	rank[TRAIN_RESIDENT_BYTES] = seen.resident_bytes;
	rank[TALLY_WALL_NS] = account_wall(&p->accounts);
	rank[TRAIN_WALL_SUM_NS] = rank[TALLY_WALL_NS];
	rank[TRAIN_STALL_MEDIAN_NS] = hist_quantile_ns(&t->hists[TRAIN_HIST_STEP_STALL], 0.5);
}
