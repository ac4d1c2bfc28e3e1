/* SPDX-License-Identifier: Apache-2.0 */
/* A row of the tally's epochs: see state.h. */
#include "workloads/train/state.h"

#include "core/measure/quantile.h"
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

/* What the readers, at rest, have seen of the page cache so far. */
static struct residency pass_residency(const struct pass *p)
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

static void pass_count_own(const struct pass *p, struct tally *t)
{
	uint64_t *rank = t->rank_row;
	uint64_t run_ns, runnable_ns;

	sched_times(&run_ns, &runnable_ns);
	rank[TRAIN_RUNNABLE_NS] = runnable_ns > p->runnable_ns ? runnable_ns - p->runnable_ns : 0;
	for (int s = 0; s < ACCOUNTS; s++)
		rank[TRAIN_ACCOUNTS + s] = p->accounts.ns[s];
	rank[TALLY_WALL_NS] = account_wall(&p->accounts);
	rank[TRAIN_WALL_SUM_NS] = rank[TALLY_WALL_NS];
	rank[TRAIN_STALL_MEDIAN_NS] = quantile_ns(&t->hists[TRAIN_HIST_STEP_STALL], QUANTILE_P50);
}

void pass_count(struct pass *p)
{
	snapshot_count(p->snapshot);
	for (uint32_t i = 0; i < loader_reader_count(&p->loader); i++)
		pass_count_reader(loader_reader(&p->loader, i), p->tally);
	pass_count_own(p, p->tally);
}

uint64_t epoch_steps(const struct pass *p, enum pass_source source)
{
	return p->sequences[source].samples / p->sequences[source].batch;
}

struct epoch_row epoch_at(const struct pass *p, uint64_t i)
{
	uint64_t every = p->options->evaluation.every, left;
	struct epoch_row s = {.source = PASS_TRAIN, .epoch = i + 1};

	if (every && i % (every + 1) == every) {
		s.source = PASS_EVALUATION;
		s.epoch = i / (every + 1) * every + every;
	} else if (every) {
		s.epoch = i / (every + 1) * every + i % (every + 1) + 1;
	}
	s.steps = epoch_steps(p, s.source);
	if (s.source == PASS_TRAIN && p->options->steps) {
		left = p->options->steps - p->steps_done;
		s.steps = left < s.steps ? left : s.steps;
	}
	return s;
}

/* Drops only the files that this rank will read, because no other file's pages can answer it. Where
 * these are more than the rank's part of all files, since a file has many samples, the ranks of the
 * node together drop all files. */
static int epoch_drop_own(struct pass *p, struct err *err)
{
	const struct train_input *in = p->inputs[p->row.of.source];
	struct rank_sequence *sequence = &p->sequences[p->row.of.source];
	const struct cold_objects files = train_input_objects(in);
	uint64_t file, last = UINT64_MAX, samples, from;
	int rc = 0;

	sequence_arrivals(sequence, p->row.of.steps - 1, &from, &samples);
	if (samples > in->dataset.options.files / p->ctx->place->local_ranks)
		return cold_drop_all(p->cold, &files, err);
	order_epoch(&sequence->order, p->row.of.epoch);
	if (!pass_reads(p))
		samples = 0;
	for (uint64_t k = 0; k < samples && rc == 0 && !cold_ends(p->cold); k++) {
		file = sequence_at(sequence, k) / in->dataset.options.samples_per_file;
		if (file != last)
			rc = cold_drop_one(p->cold, &files, file, err);
		last = file;
	}
	return group_agree(p->ctx->group, rc, err);
}

int epoch_cold(struct pass *p, struct err *err)
{
	const struct cold_options *o = &p->options->cold;
	struct clock *clock = p->ctx->clock;
	uint64_t began_ns, took_ns;
	int rc;

	if (o->drop == DROP_NONE || o->when != COLD_EPOCHS)
		return 0;
	began_ns = clock_now(clock);
	account_switch(&p->accounts, ACCOUNT_HAUL, began_ns);
	if (o->drop == DROP_CACHES)
		rc = cold_drop_caches(p->cold, err);
	else
		rc = epoch_drop_own(p, err);
	took_ns = clock_now(clock) - began_ns;
	account_skip(&p->accounts, began_ns + took_ns);
	p->tally->rank_row[TRAIN_DROP_NS] += took_ns;
	p->tally->rank_row[TRAIN_STAYED_BYTES] = p->cold->stayed_bytes;
	if (p->limit_ns)
		p->limit_ns += took_ns;
	return rc;
}

/* What the reads of this epoch would have found in the page cache. */
static void epoch_evidence(struct pass *p)
{
	const struct residency *before = &p->row.open_residency, seen = pass_residency(p);

	p->row.words[EPOCH_RESIDENT_SAMPLED_BYTES] = seen.sampled_bytes - before->sampled_bytes;
	p->row.words[EPOCH_RESIDENT_BYTES] = seen.resident_bytes - before->resident_bytes;
}

/* Blames a wait that was given up on what the reader, which rests now, was waiting for. */
static void epoch_blame(struct pass *p)
{
	uint64_t blamed[ACCOUNTS];

	if (!p->row.waited_ns)
		return;
	loader_blamed(&p->loader, p->row.waited_for, blamed);
	account_blame(&p->accounts, p->row.waited_ns, blamed);
	p->row.waited_ns = 0;
}

/* The figures of the row under way, as if it ended at end_ns. extra_ns: the wait for other ranks at
 * its end. t: the tally that has the row. */
static void epoch_close(const struct pass *p, struct tally *t, uint64_t end_ns, uint64_t extra_ns)
{
	uint64_t *row = train_epoch_row(t, p->row.index), *rank = t->rank_row;
	uint64_t wall = end_ns - p->row.began_ns;
	int s;

	row[EPOCH_WALL_NS] = wall;
	if (row[EPOCH_STEPS] > p->options->warmup_steps) {
		row[EPOCH_AU_WALL_NS] += extra_ns;
		row[EPOCH_AU_RANKS_NS] += extra_ns;
	}
	for (s = 0; s < ACCOUNTS; s++)
		row[EPOCH_ACCOUNTS + s] = p->accounts.ns[s] - p->row.before.ns[s];
	row[EPOCH_BYTES_READ] = loader_live_bytes(&p->loader) - p->row.open_bytes;
	if (row[EPOCH_STEPS] < 2) {
		row[EPOCH_MLPERF_COMPUTE_NS] = 0;
		return;
	}
	row[EPOCH_MLPERF_WALL_NS] = wall - p->row.first_ns - p->row.blocked_ns;
	if (p->row.of.source != PASS_TRAIN)
		return;
	if (row[EPOCH_STEPS] > p->options->warmup_steps) {
		rank[TRAIN_AU_WALL_NS] += extra_ns;
		rank[TRAIN_AU_RANKS_NS] += extra_ns;
	}
	rank[TRAIN_MLPERF_SUM_PPB] += (uint64_t)((double)row[EPOCH_MLPERF_COMPUTE_NS] * 1e9 /
						 (double)row[EPOCH_MLPERF_WALL_NS]);
	rank[TRAIN_MLPERF_EPOCHS]++;
}

void epoch_run(struct pass *p, uint32_t index)
{
	bool own = p->options->sync == SYNC_EPOCH ||
		   (p->options->sync == SYNC_STEP && p->row.of.source == PASS_EVALUATION);
	struct assignment a = {
		.source = p->row.of.source,
		.epoch = p->row.of.epoch,
		.batches = p->row.of.steps,
	};
	uint64_t ended_ns, k;

	p->row.index = index;
	p->row.words = train_epoch_begin(p->tally, index);
	p->row.words[EPOCH_NUMBER] = p->row.of.epoch;
	p->row.words[EPOCH_EVALUATION] = p->row.of.source == PASS_EVALUATION;
	p->row.open_bytes = loader_live_bytes(&p->loader);
	p->row.open_residency = pass_residency(p);
	order_epoch(&p->sequences[p->row.of.source].order, p->row.of.epoch);
	a.sequence = p->sequences[p->row.of.source];
	if (own)
		meeting_begin(p);
	p->row.began_ns = clock_now(p->ctx->clock);
	account_switch(&p->accounts, ACCOUNT_HAUL, p->row.began_ns);
	p->row.before = p->accounts;
	p->row.open = true;
	p->now_ns = p->row.began_ns;
	p->row.blocked_ns = 0;
	if (pass_reads(p))
		loader_begin(&p->loader, &a);
	for (k = 0; k < p->row.of.steps && pass_step(p, k) && pass_checkpoint(p, k); k++)
		;
	ended_ns = p->now_ns;
	if (own) {
		meeting_end(p);
		p->now_ns = p->accounts.since_ns;
	}
	if (p->options->sync != SYNC_NONE)
		handover_end(&p->parallel->handover);
	loader_end(&p->loader);
	epoch_blame(p);
	epoch_close(p, p->tally, p->now_ns, p->now_ns - ended_ns);
	epoch_evidence(p);
	p->row.open = false;
}

int epoch_prove(struct pass *p, uint32_t i, struct err *err)
{
	uint64_t *row = train_epoch_begin(p->tally, i);
	struct epoch_row s = epoch_at(p, i);
	const struct proof_ranks ranks = {
		.all = p->ctx->group,
		.once = p->parallel->once,
		.handed = p->parallel->role == REPLICA_RECEIVES ? &p->proof.handed[i] : NULL,
	};
	enum proof_verdict verdict;
	int rc;

	row[EPOCH_NUMBER] = s.epoch;
	row[EPOCH_EVALUATION] = s.source == PASS_EVALUATION;
	order_epoch(&p->sequences[s.source].order, s.epoch);
	account_switch(&p->accounts, ACCOUNT_RANKS, clock_now(p->ctx->clock));
	rc = proof_judge(&ranks, &p->sequences[s.source], p->proof.taken[i], !p->error,
			 &p->proof.parts[s.source], row, &verdict, err);
	account_switch(&p->accounts, ACCOUNT_HAUL, clock_now(p->ctx->clock));
	return rc;
}

void epoch_so_far(void *pass, struct tally *t)
{
	const struct pass *p = pass;

	pass_count_own(p, t);
	if (p->row.open)
		epoch_close(p, t, p->accounts.since_ns, 0);
}
