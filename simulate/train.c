/* SPDX-License-Identifier: Apache-2.0 */
/* The phase "train" in virtual time: see train.h. Here is what all ranks do together: epochs, barriers,
 * checkpoints, the limit of time. */
#include "simulate/train.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/dataset/dataset.h"

static void train_step_ended(struct model_rank *r);
static void train_all_begin_step(struct train_model *m);

/* ---- rows: epochs and evaluations ---- */

static uint64_t train_row_steps(const struct train_model *m, uint32_t source)
{
	const struct rank_sequence *s = &m->inputs[source].sequence;

	return s->samples / s->batch;
}

/* epoch_at: what row i of the rank stands for. False: there is none. */
static bool train_row_at(struct model_rank *r, uint32_t i)
{
	const struct train_model *m = r->m;
	uint64_t every = m->o->evaluation.every, left;

	if (i >= m->out->tally.tables[TRAIN_TABLE_EPOCHS].capacity || m->stopped)
		return false;
	if (i && r->source == SOURCE_TRAIN && r->steps < train_row_steps(m, SOURCE_TRAIN))
		return false; /* the job's number of steps has cut it short */
	r->row_index = i;
	r->source = every && i % (every + 1) == every ? SOURCE_EVALUATION : SOURCE_TRAIN;
	r->epoch = !every                           ? i + 1
		   : r->source == SOURCE_EVALUATION ? i / (every + 1) * every + every
						    : i / (every + 1) * every + i % (every + 1) + 1;
	r->steps = train_row_steps(m, r->source);
	if (r->source == SOURCE_TRAIN && m->o->steps) {
		left = m->o->steps - r->steps_done;
		r->steps = left < r->steps ? left : r->steps;
	}
	return r->steps > 0;
}

/* The row of this rank goes into that of all. */
static void train_merge_row(struct model_rank *r)
{
	struct tally *t = &r->m->out->tally;
	struct table *epochs = &t->tables[TRAIN_TABLE_EPOCHS];
	bool first = epochs->rows <= r->row_index;
	uint64_t *into = train_epoch_begin(t, r->row_index);

	if (first)
		memcpy(into, r->epoch_row, sizeof(r->epoch_row));
	else
		columns_merge(&epochs->kind->columns, into, r->epoch_row);
}

static bool train_meets(const struct model_rank *r)
{
	return r->m->o->sync == SYNC_STEP && r->source == SOURCE_TRAIN;
}

/* The next row, for a rank that waits for no other; false: there is none. */
static bool train_next_row(struct model_rank *r, uint32_t i)
{
	if (!train_row_at(r, i)) {
		r->ended = true;
		return false;
	}
	model_row_begin(r, r->m->engine.now_ns);
	return true;
}

/* All ranks have come to the end of their rows. */
static void train_rows_over(struct train_model *m)
{
	bool more = true;

	m->arrived = 0;
	for (uint32_t i = 0; i < m->ranks; i++) {
		struct model_rank *r = &m->rank[i];

		model_row_end(r, r->computed_ns > r->began_ns ? r->computed_ns : r->began_ns);
		train_merge_row(r);
		more = train_next_row(r, r->row_index + 1) && more;
	}
	if (more)
		train_all_begin_step(m);
}

void model_row_over(struct model_rank *r)
{
	struct train_model *m = r->m;

	if (m->o->sync == SYNC_NONE) {
		model_row_end(r, m->engine.now_ns);
		train_merge_row(r);
		if (train_next_row(r, r->row_index + 1))
			model_step_begin(r);
		return;
	}
	if (++m->arrived == m->ranks)
		train_rows_over(m);
}

/* ---- barriers ---- */

/* Who arrives at a server first is no rank's privilege: with each step another rank begins. */
static void train_all_begin_step(struct train_model *m)
{
	uint64_t step = m->rank[0].steps_done + m->rank[0].k;
	uint32_t first = (uint32_t)(random_at(m->s->seed, step, m->rank[0].row_index) % m->ranks);

	for (uint32_t i = 0; i < m->ranks; i++)
		model_step_begin(&m->rank[(first + i) % m->ranks]);
}

static bool train_over_limit(const struct train_model *m)
{
	return m->limit_ns && m->engine.now_ns >= m->limit_ns;
}

/* A rank whose step began before the limit of time and ended after it does not count the step. */
static void train_go_on(struct train_model *m)
{
	if (!m->stopped && m->rank[0].k < m->rank[0].steps) {
		train_all_begin_step(m);
		return;
	}
	m->arrived = m->ranks;
	train_rows_over(m);
}

static bool train_checkpoint_due(const struct train_model *m)
{
	const struct train_checkpoint *c = &m->o->checkpoint;
	const struct model_rank *r = &m->rank[0];

	if (!m->checkpoint)
		return false;
	if (c->every_steps && r->steps_done % c->every_steps == 0)
		return true;
	return r->k == r->steps && train_checkpoint_epoch(c, r->epoch);
}

/* All ranks go on after a checkpoint that has held them up since checkpoint_began_ns. */
static void train_resume(struct train_model *m)
{
	uint64_t now = m->engine.now_ns, blocked = now - m->checkpoint_began_ns;

	checkpoint_model_blocked(m->checkpoint, blocked);
	for (uint32_t i = 0; i < m->ranks; i++) {
		struct model_rank *r = &m->rank[i];
		uint64_t *row = simulated_row(m->out, i);

		account_switch(&r->accounts, ACCOUNT_CHECKPOINT, m->checkpoint_began_ns);
		account_switch(&r->accounts, ACCOUNT_HAUL, now);
		r->computed_ns = now;
		r->blocked_ns += blocked;
		if (r->k > m->o->warmup_steps)
			row[TRAIN_AU_CHECKPOINT_NS] += blocked;
		row[TRAIN_CHECKPOINTS]++;
	}
	train_go_on(m);
}

static bool train_snapshot(const struct train_model *m)
{
	return m->o->checkpoint.async.snapshot != CHECKPOINT_SNAPSHOT_NONE;
}

/* The copy is made: the ranks go on, and the writers begin. */
static void train_copied(struct engine *e, struct actor *a)
{
	struct train_model *m =
		(struct train_model *)((char *)a - offsetof(struct train_model, copied));

	(void)e;
	checkpoint_model_begin(m->checkpoint, false, &m->checkpoint_done);
	train_resume(m);
}

/* A checkpoint is whole. With a snapshot, nobody waits for that, unless the next one is due. */
static void train_checkpoint_whole(struct engine *e, struct actor *a)
{
	struct train_model *m =
		(struct train_model *)((char *)a - offsetof(struct train_model, checkpoint_done));

	if (m->waits_for_whole)
		engine_at(e, e->now_ns + checkpoint_model_copy_ns(m->checkpoint), &m->copied);
	else if (!train_snapshot(m))
		train_resume(m);
	m->waits_for_whole = false;
}

static void train_checkpoint(struct train_model *m)
{
	struct engine *e = &m->engine;

	m->checkpoint_began_ns = e->now_ns;
	if (!train_snapshot(m))
		checkpoint_model_begin(m->checkpoint, false, &m->checkpoint_done);
	else if (checkpoint_model_flies(m->checkpoint))
		m->waits_for_whole = true;
	else
		engine_at(e, e->now_ns + checkpoint_model_copy_ns(m->checkpoint), &m->copied);
}

/* All ranks have come to the barrier of their steps. */
static void train_all_met(struct train_model *m)
{
	m->arrived = 0;
	m->stopped = train_over_limit(m);
	for (uint32_t i = 0; i < m->ranks; i++) {
		if (!m->stopped || m->engine.now_ns == m->limit_ns)
			model_step_met(&m->rank[i], m->engine.now_ns);
		m->rank[i].computed_ns = m->engine.now_ns;
	}
	if (!m->stopped && train_checkpoint_due(m))
		train_checkpoint(m);
	else
		train_go_on(m);
}

void model_arrive(struct model_rank *r)
{
	if (++r->m->arrived == r->m->ranks)
		train_all_met(r->m);
}

/* The rank has computed. Where it meets no other, its step is over. */
static void train_computed(struct engine *e, struct actor *a)
{
	struct model_rank *r = (struct model_rank *)a;
	struct train_model *m = r->m;

	if (train_meets(r)) {
		model_arrive(r);
		return;
	}
	if (!train_over_limit(m))
		model_step_met(r, e->now_ns);
	m->stopped = m->stopped || train_over_limit(m);
	train_step_ended(r);
}

static void train_step_ended(struct model_rank *r)
{
	if (r->k < r->steps && !r->m->stopped)
		model_step_begin(r);
	else
		model_row_over(r);
}

/* ---- open, run, close ---- */

static int train_input_open(struct train_model *m, uint32_t source, const char *name,
			    struct err *err)
{
	struct model_input *in = &m->inputs[source];
	const struct train_options *o = m->o;
	const struct backend_ops *ops;
	struct train_sizes sizes;
	uint64_t range;
	int rc = train_dataset(m->s->job, m->phase, name, &in->dataset, &in->described, err);

	if (rc == 0 && dataset_is_existing(&in->dataset.options))
		rc = dataset_open(&in->dataset, err);
	if (rc < 0)
		return rc;
	ops = in->described->section->owner;
	in->depth = train_depth(o, in->described, &in->dataset);
	range = backend_range(in->described, train_longest(o, &in->dataset), in->depth);
	train_sizes(o, &in->dataset, ops->capabilities, range, train_buffer_bytes(o, in->depth),
		    &sizes);
	in->request_bytes = sizes.request ? sizes.request : 1;
	in->store = simulated_store(m->s, m->out, in->described);
	return 0;
}

static void train_sequences(struct train_model *m)
{
	struct model_input *train = &m->inputs[SOURCE_TRAIN],
			   *evaluation = &m->inputs[SOURCE_EVALUATION];

	train_order(m->o, &train->dataset, m->s->seed, &train->sequence.order);
	train->sequence.batch = m->o->batch;
	train->sequence.shuffle_samples = train_shuffle_samples(m->o);
	if (m->o->evaluation.every)
		order_init(&evaluation->sequence.order, ORDER_AS_IS, false, m->s->seed,
			   evaluation->dataset.options.files,
			   evaluation->dataset.options.samples_per_file);
	evaluation->sequence.batch = m->o->evaluation.batch;
	for (uint32_t s = 0; s < SOURCES && m->inputs[s].store; s++) {
		m->inputs[s].sequence.interleave = train_interleave(m->o);
		m->inputs[s].sequence.ranks = m->replicas.count;
		sequence_init(&m->inputs[s].sequence);
	}
}

/* Of loader_open. */
static void train_loader_shape(struct train_model *m)
{
	const struct train_options *o = m->o;
	const struct loader_options l = {.kind = (enum loader_kind)o->loader.kind,
					 .workers = (uint32_t)o->loader.workers,
					 .interleave = train_interleave(o)};
	bool shares = l.kind == LOADER_SAMPLE && l.workers,
	     all = l.kind == LOADER_STREAM && l.workers;

	m->depth = UINT32_MAX;
	for (uint32_t s = 0; s < SOURCES && m->inputs[s].store; s++)
		m->depth = m->inputs[s].depth < m->depth ? m->inputs[s].depth : m->depth;
	m->readers = l.workers ? l.workers : 1;
	m->read_slots = loader_read_slots(&l, m->depth);
	m->queues = shares ? 1 : m->readers;
	m->parts = shares || all ? m->readers : 1;
	m->batches = (all ? 1 : m->queues) * (uint32_t)o->loader.prefetch;
	m->batches = m->batches ? m->batches : 1;
	m->queue_items = shares ? o->batch : 1;
	m->batch_items = all ? m->readers : m->queue_items;
}

/* Whether there are too many requests to reckon with each. */
static void train_count_requests(struct train_model *m)
{
	const struct model_input *in = &m->inputs[SOURCE_TRAIN];
	double pieces =
		ceil((double)dataset_sample_bytes_max(&in->dataset) / (double)in->request_bytes);
	double samples = (double)train_row_steps(m, SOURCE_TRAIN) * (double)m->o->epochs *
			 (double)m->o->batch * m->replicas.count;

	if (m->o->steps)
		samples = (double)m->o->steps * (double)m->o->batch * m->replicas.count;
	m->out->together = pieces > 1 && pieces * samples > SIMULATE_REQUESTS_MAX;
}

static int train_checkpoints_open(struct train_model *m, struct checkpoint_use *use,
				  char path[TRAIN_CHECKPOINT_PATH_BYTES], struct err *err)
{
	struct simulated *within;
	int rc;

	if (!train_checkpoints(m->o))
		return 0;
	rc = train_checkpoint_use(m->s->job, m->phase, path, use, err);
	if (rc == 0)
		rc = simulated_init(&m->out->within, &checkpoint_schema, NULL, m->ranks, err);
	within = m->out->within;
	if (rc == 0)
		rc = checkpoint_model_open(&m->checkpoint, m->s, &m->engine, use, m->ranks, m->out,
					   within, err);
	return rc;
}

static int train_ranks_open(struct train_model *m, struct err *err)
{
	static const uint64_t compute_stream = 0x636f6d70; /* "comp", as ranks have it */
	int rc = 0;

	m->rank = calloc(m->ranks, sizeof(*m->rank));
	if (!m->rank)
		return err_set(err, -ENOMEM, "no memory for %u ranks", m->ranks);
	for (uint32_t i = 0; i < m->ranks && rc == 0; i++) {
		struct model_rank *r = &m->rank[i];

		r->m = m;
		r->rank = i;
		r->actor.wake = train_computed;
		r->role = replicas_role(&m->replicas, i);
		r->random.key = random_at(m->s->seed ^ compute_stream, i, 0);
		account_start(&r->accounts, ACCOUNT_HAUL, 0);
		if (r->role == REPLICA_READS)
			rc = model_loader_open(r, err);
	}
	return rc;
}

static int train_open(struct train_model *m, struct checkpoint_use *use, char *path,
		      struct err *err)
{
	int rc = train_input_open(m, SOURCE_TRAIN, m->o->dataset, err);

	if (rc == 0 && m->o->evaluation.every)
		rc = train_input_open(m, SOURCE_EVALUATION, m->o->evaluation.dataset, err);
	if (rc < 0)
		return rc;
	replicas_init(&m->replicas, m->o->readers, &m->s->job->cluster, m->ranks);
	train_sequences(m);
	train_loader_shape(m);
	train_count_requests(m);
	m->limit_ns = m->o->seconds_ns;
	m->ended = model_loader_ended;
	m->filled = model_step_batch;
	m->checkpoint_done.wake = train_checkpoint_whole;
	m->copied.wake = train_copied;
	rc = train_checkpoints_open(m, use, path, err);
	return rc < 0 ? rc : train_ranks_open(m, err);
}

static void train_close(struct train_model *m)
{
	checkpoint_model_close(m->checkpoint);
	for (uint32_t i = 0; m->rank && i < m->ranks; i++)
		if (m->rank[i].m && m->rank[i].role == REPLICA_READS)
			model_loader_close(&m->rank[i]);
	free(m->rank);
	for (uint32_t s = 0; s < SOURCES; s++)
		if (m->inputs[s].described)
			dataset_close(&m->inputs[s].dataset);
	engine_free(&m->engine);
}

/* What is left of an asynchronous checkpoint when the last step is over is waited for. */
static void train_count_all(struct train_model *m, uint64_t trained_ns)
{
	for (uint32_t i = 0; i < m->ranks; i++) {
		struct model_rank *r = &m->rank[i];
		uint64_t *row = simulated_row(m->out, i);

		if (m->engine.now_ns > trained_ns && m->checkpoint) {
			account_switch(&r->accounts, ACCOUNT_CHECKPOINT, trained_ns);
			account_switch(&r->accounts, ACCOUNT_HAUL, m->engine.now_ns);
		}
		row[TRAIN_SAMPLES_DROPPED] =
			m->inputs[SOURCE_TRAIN].dataset.samples -
			train_row_steps(m, SOURCE_TRAIN) * m->o->batch * m->replicas.count;
		row[TRAIN_STALL_MEDIAN_NS] =
			hist_quantile_ns(&m->out->tally.hists[TRAIN_HIST_STEP_STALL], 0.5);
		model_rank_count(r);
	}
	m->out->seconds = (double)m->engine.now_ns / 1e9;
	m->out->events = m->engine.events;
	if (m->checkpoint)
		checkpoint_model_count(m->checkpoint);
}

static uint64_t trained_until(const struct train_model *m)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < m->ranks; i++)
		if (m->rank[i].accounts.since_ns > last)
			last = m->rank[i].accounts.since_ns;
	return last;
}

int simulate_train(const struct simulation *s, const struct job_phase *phase, struct simulated *out,
		   struct err *err)
{
	char path[TRAIN_CHECKPOINT_PATH_BYTES];
	struct checkpoint_use use;
	struct train_model *m = calloc(1, sizeof(*m));
	int rc;

	if (!m)
		return err_set(err, -ENOMEM, "no memory for a training");
	m->s = s;
	m->out = out;
	m->phase = phase;
	m->o = phase->options;
	m->ranks = s->ranks;
	rc = train_open(m, &use, path, err);
	timeline_init(out->tally.timeline, 0);
	for (uint32_t i = 0; rc == 0 && i < m->ranks; i++)
		if (train_row_at(&m->rank[i], 0))
			model_row_begin(&m->rank[i], 0);
	if (rc == 0 && m->rank[0].steps)
		train_all_begin_step(m);
	if (rc == 0)
		rc = engine_run(&m->engine, err);
	if (rc == 0 && out->errors && m->o->on_error == ON_ERROR_STOP)
		rc = err_set(
			err, -EIO,
			"%s: the model's failure_rate makes reads fail, and on_error is \"stop\"",
			phase->path);
	if (rc == 0)
		train_count_all(m, trained_until(m));
	train_close(m);
	free(m);
	return rc;
}
