/* SPDX-License-Identifier: Apache-2.0 */
/* The main thread of a rank in virtual time: that of workloads/train/step.c and workloads/train/epoch.c, of which only the times and the counts are left. */
#include <string.h>

#include "simulate/train.h"

static void step_compute(struct model_rank *r);

static bool step_evaluation(const struct model_rank *r)
{
	return r->source == SOURCE_EVALUATION;
}

static uint64_t *step_rank_row(const struct model_rank *r)
{
	return simulated_row(r->m->out, r->rank);
}

/* ---- replicas ---- */

static struct model_rank *step_reader_of(const struct model_rank *r)
{
	const struct replicas *of = &r->m->replicas;

	return &r->m->rank[replicas_number(of, r->rank) * of->ranks];
}

/* The reader of a replica has a batch: the ranks that wait for it get it. */
static void step_hand_over(struct model_rank *r, const struct model_part *part)
{
	const struct replicas *of = &r->m->replicas;

	r->handed = r->k + 1;
	r->handed_part = *part;
	for (uint32_t i = 1; i < of->ranks && of->handed_over; i++)
		if (r[i].awaited && r[i].awaited <= r->handed)
			model_step_batch(&r[i]);
}

/* ---- a step ---- */

static void step_count_batch(struct model_rank *r, const struct model_part *part)
{
	uint64_t *row = step_rank_row(r);

	row[TRAIN_SAMPLES] += part->samples;
	row[TRAIN_SAMPLES_FAILED] += part->failed;
	row[TRAIN_LOGICAL_BYTES] += part->bytes;
	r->epoch_row[EPOCH_SAMPLES] += part->samples;
	r->epoch_row[EPOCH_SAMPLES_FAILED] += part->failed;
}

/* A wait for the batch that a reader of another rank has read is its reader's, as far as it knows. */
static void step_blame(struct model_rank *r, struct model_part *part)
{
	uint64_t wait = r->batch_ns - r->start_ns, left = wait;

	if (r->role == REPLICA_RECEIVES) {
		for (int s = 0; s < ACCOUNTS; s++)
			if (s != ACCOUNT_HAUL)
				left -= part->blamed[s] < left ? part->blamed[s] : left;
		part->blamed[ACCOUNT_RANKS] += left;
	}
	account_blame(&r->accounts, wait, part->blamed);
}

void model_step_batch(struct model_rank *r)
{
	struct model_rank *from = r->role == REPLICA_RECEIVES ? step_reader_of(r) : r;
	uint64_t now = r->m->engine.now_ns;
	struct model_part part = {0};

	if (r->role == REPLICA_RECEIVES)
		part = from->handed_part;
	else if (!model_loader_take(r, r->k, &part))
		return;
	r->awaited = 0;
	r->batch_ns = now;
	account_switch(&r->accounts, ACCOUNT_HAUL, now);
	step_blame(r, &part);
	timeline_add_span(r->m->out->tally.timeline, r->start_ns, now, SECOND_STALLED_NS);
	if (r->role == REPLICA_READS) {
		model_loader_give(r, r->k);
		step_count_batch(r, &part);
		step_hand_over(r, &part);
	} else {
		step_rank_row(r)[TRAIN_RECEIVED_SAMPLES] += part.samples;
		step_rank_row(r)[TRAIN_RECEIVED_BYTES] += part.bytes;
	}
	r->handed_part.bytes = part.bytes;
	step_compute(r);
}

static void step_compute(struct model_rank *r)
{
	uint64_t rate = r->m->o->loader.h2d, copy = 0;

	if (rate && r->role != REPLICA_HAS_NONE)
		copy = (uint64_t)((unsigned __int128)r->handed_part.bytes * 1000000000u / rate);
	if (copy)
		account_switch(&r->accounts, ACCOUNT_COPY, r->batch_ns);
	account_switch(&r->accounts, ACCOUNT_COMPUTE, r->batch_ns + copy);
	r->computed_ns = r->batch_ns + copy + r->asked_ns;
	account_switch(&r->accounts, ACCOUNT_HAUL, r->computed_ns);
	engine_at(&r->m->engine, r->computed_ns, &r->actor);
}

void model_step_begin(struct model_rank *r)
{
	const struct train_options *o = r->m->o;

	r->start_ns = r->batch_ns = r->m->engine.now_ns;
	r->asked_ns =
		draw_next(step_evaluation(r) ? &o->evaluation.compute : &o->compute, &r->random);
	if (r->role == REPLICA_HAS_NONE) {
		step_compute(r);
		return;
	}
	r->awaited = r->k + 1;
	if (r->role == REPLICA_READS || step_reader_of(r)->handed > r->k)
		model_step_batch(r);
}

/* Counts a step that was completed: step_record. */
static void step_record(struct model_rank *r, uint64_t met_ns)
{
	struct tally *t = &r->m->out->tally;
	uint64_t *row = step_rank_row(r), *epoch = r->epoch_row;
	uint64_t wall = met_ns - r->start_ns, ranks = met_ns - r->computed_ns;

	if (!step_evaluation(r)) {
		steps_add(t->steps, r->steps_done,
			  (uint64_t[STEP_PARTS]){[STEP_LOAD] = r->batch_ns - r->start_ns,
						 [STEP_COMPUTE] = r->computed_ns - r->batch_ns,
						 [STEP_RANKS] = ranks});
		r->steps_done++;
		row[TRAIN_STEPS]++;
		row[TRAIN_LAST_STEP] = r->k + 1;
		if (r->role != REPLICA_HAS_NONE)
			hist_record(&t->hists[TRAIN_HIST_BATCH_WAIT], r->batch_ns - r->start_ns);
	}
	epoch[EPOCH_STEPS]++;
	if (r->k == 0)
		r->first_ns = r->computed_ns - r->start_ns;
	else
		epoch[EPOCH_MLPERF_COMPUTE_NS] += r->asked_ns;
	if (r->k < r->m->o->warmup_steps)
		return;
	epoch[EPOCH_AU_COMPUTE_NS] += r->asked_ns;
	epoch[EPOCH_AU_WALL_NS] += wall;
	epoch[EPOCH_AU_RANKS_NS] += ranks;
	if (step_evaluation(r))
		return;
	row[TRAIN_AU_STEPS]++;
	row[TRAIN_AU_COMPUTE_NS] += r->asked_ns;
	row[TRAIN_AU_WALL_NS] += wall;
	row[TRAIN_AU_RANKS_NS] += ranks;
	hist_record(&t->hists[TRAIN_HIST_STEP], wall);
	hist_record(&t->hists[TRAIN_HIST_STEP_STALL], wall > r->asked_ns ? wall - r->asked_ns : 0);
}

void model_step_met(struct model_rank *r, uint64_t met_ns)
{
	account_switch(&r->accounts, ACCOUNT_RANKS, r->computed_ns);
	account_switch(&r->accounts, ACCOUNT_HAUL, met_ns);
	step_record(r, met_ns);
	r->k++;
}

/* ---- a row: an epoch, or an evaluation ---- */

void model_row_begin(struct model_rank *r, uint64_t now_ns)
{
	struct train_model *m = r->m;
	const struct model_input *in = model_input(r);

	memset(r->epoch_row, 0, sizeof(r->epoch_row));
	r->epoch_row[EPOCH_NUMBER] = r->epoch;
	r->epoch_row[EPOCH_EVALUATION] = step_evaluation(r);
	account_switch(&r->accounts, ACCOUNT_HAUL, now_ns);
	r->before = r->accounts;
	r->began_ns = now_ns;
	r->blocked_ns = r->first_ns = r->k = r->handed = 0;
	r->sequence = in->sequence;
	r->sequence.rank = replicas_number(&m->replicas, r->rank);
	order_epoch(&r->sequence.order, r->epoch);
	if (r->role == REPLICA_READS)
		model_loader_begin(r);
}

/* epoch_close: ended_ns is when this rank's last step ended; the others came until now. */
void model_row_end(struct model_rank *r, uint64_t ended_ns)
{
	uint64_t now = r->m->engine.now_ns, extra = now - ended_ns, wall = now - r->began_ns;
	uint64_t *epoch = r->epoch_row, *row = step_rank_row(r);
	bool counts = epoch[EPOCH_STEPS] > r->m->o->warmup_steps;

	account_switch(&r->accounts, ACCOUNT_RANKS, ended_ns);
	account_switch(&r->accounts, ACCOUNT_HAUL, now);
	epoch[EPOCH_WALL_NS] = wall;
	epoch[EPOCH_AU_WALL_NS] += counts ? extra : 0;
	epoch[EPOCH_AU_RANKS_NS] += counts ? extra : 0;
	for (int s = 0; s < ACCOUNTS; s++)
		epoch[EPOCH_ACCOUNTS + s] = r->accounts.ns[s] - r->before.ns[s];
	r->first_number += r->steps;
	if (epoch[EPOCH_STEPS] < 2) {
		epoch[EPOCH_MLPERF_COMPUTE_NS] = 0;
		return;
	}
	epoch[EPOCH_MLPERF_WALL_NS] = wall - r->first_ns - r->blocked_ns;
	if (step_evaluation(r))
		return;
	row[TRAIN_AU_WALL_NS] += counts ? extra : 0;
	row[TRAIN_AU_RANKS_NS] += counts ? extra : 0;
	row[TRAIN_MLPERF_SUM_PPB] += (uint64_t)((double)epoch[EPOCH_MLPERF_COMPUTE_NS] * 1e9 /
						(double)epoch[EPOCH_MLPERF_WALL_NS]);
	row[TRAIN_MLPERF_EPOCHS]++;
}

void model_rank_count(struct model_rank *r)
{
	uint64_t *row = step_rank_row(r);

	for (int s = 0; s < ACCOUNTS; s++)
		row[TRAIN_ACCOUNTS + s] = r->accounts.ns[s];
	row[TALLY_WALL_NS] = row[TRAIN_WALL_SUM_NS] = account_wall(&r->accounts);
}
