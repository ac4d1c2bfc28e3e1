/* SPDX-License-Identifier: Apache-2.0 */
/* What a phase asks of the machine, and each of its ranks. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/units.h"
#include "workloads/dataset/dataset.h"
#include "workloads/train/handover.h"
#include "workloads/train/loader/loader.h"
#include "workloads/train/train.h"

/* A data set that the phase reads, and in which batches. */
struct size_source {
	const struct train_options *options;
	struct replicas replicas;
	struct dataset dataset;
	const struct job_store *store;
	uint64_t batch;
	struct train_length length;
	struct train_reads reads;
};

static int size_source(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		       bool evaluation, struct size_source *out, struct err *err)
{
	const struct train_options *o = phase->options;
	struct order order;
	int rc;

	*out = (struct size_source){.options = o,
				    .batch = evaluation ? o->evaluation.batch : o->batch};
	replicas_init(&out->replicas, o->readers, &job->cluster, ranks);
	rc = train_dataset(job, phase, evaluation ? o->evaluation.dataset : o->dataset,
			   &out->dataset, &out->store, err);
	if (rc < 0)
		return rc;
	train_order(o, &out->dataset, job->seed, &order);
	train_reads(o, out->store, &out->dataset, evaluation ? ORDER_AS_IS : order.kind, out->batch,
		    out->replicas.count, &out->reads);
	train_length(o, train_steps(o, &out->dataset, out->batch, out->replicas.count),
		     &out->length);
	return 0;
}

/* Samples that all replicas together take in a step, and how many are read from the store for
 * that. */
static uint64_t size_taken(const struct size_source *s)
{
	return s->batch * s->replicas.count;
}

static uint64_t size_read(const struct size_source *s)
{
	return size_taken(s) * s->replicas.readers;
}

/* How long steps take if storage keeps up. */
static double size_seconds(const struct size_source *s, uint64_t steps)
{
	return (double)steps * draw_mean(&s->options->compute) * 1e-9;
}

/* Evaluations of the whole phase; an epoch that is cut short has none. */
static uint64_t size_evaluations(const struct size_source *s)
{
	uint64_t every = s->options->evaluation.every;

	return every && s->length.epoch ? s->length.done / s->length.epoch / every : 0;
}

/* What is asked for at once, and the buffer for it, which is 0 where the store gives no bytes. */
static void size_requests(const struct size_source *s, struct train_sizes *out)
{
	const struct train_options *o = s->options;
	const struct backend_ops *ops = s->store->section->owner;
	uint32_t depth = train_depth(o, s->store, &s->dataset);

	train_sizes(o, &s->dataset, ops->capabilities,
		    backend_range(s->store, train_longest(o, &s->dataset), depth),
		    train_buffer_bytes(o, depth), out);
}

static uint64_t size_buffer(const struct size_source *s)
{
	struct train_sizes sizes;

	size_requests(s, &sizes);
	return sizes.buffer;
}

/* Samples that the shuffle buffer, and what waits for it, have room for. */
static uint64_t size_shuffle_places(const struct train_options *o)
{
	bool together = o->loader.kind == LOADER_SAMPLE || train_interleave(o);
	uint64_t work_queues = together || !o->loader.workers ? 1 : o->loader.workers;

	return train_shuffle_samples(o) + work_queues * o->loader.prefetch * o->batch;
}

/* The loader's: buffers of all reader threads, the shuffle buffer, the copy into pinned memory. */
static uint64_t size_loader_bytes(const struct size_source *s)
{
	const struct train_options *o = s->options;
	uint64_t workers = o->loader.workers ? o->loader.workers : 1;
	uint32_t depth = train_depth(o, s->store, &s->dataset);
	uint64_t bytes = workers * train_buffer_count(o, depth) * size_buffer(s);

	if (train_shuffle_samples(o))
		bytes += size_shuffle_places(o) * sizeof(struct brought_sample);
	if (o->loader.pin_memory)
		bytes += PIN_COPY_BUFFERS * PIN_COPY_BUFFER_BYTES;
	return bytes;
}

static uint64_t size_piece(const struct size_source *s)
{
	uint64_t buffer = size_buffer(s);

	return buffer < HANDOVER_PIECE_MAX ? buffer : HANDOVER_PIECE_MAX;
}

/* The first rank of a replica on a node keeps the ring. */
static uint64_t size_memory(const struct size_source *s, bool reads, bool first)
{
	uint64_t bytes = reads ? size_loader_bytes(s) : 0;

	if (s->replicas.handed_over && s->replicas.ranks > 1)
		bytes += handover_bytes(size_piece(s), first);
	return bytes;
}

static void size_notes_steps(const struct size_source *s, struct demand *out)
{
	const struct train_options *o = s->options;
	char text[UNITS_COUNTED_BYTES];

	if (!s->length.epoch)
		demand_note(out, "%s cannot fill one step of %llu: this will be refused",
			    units_counted(text, out->samples, "sample"),
			    (unsigned long long)size_taken(s));
	if (s->length.epoch && s->length.epoch <= o->warmup_steps)
		demand_note(out, "an epoch has %s, all of them warm-up: there will be no AU",
			    units_counted(text, s->length.epoch, "step"));
	if (o->sync == SYNC_STEP && o->seconds_ns && draw_mean(&o->compute) > (double)o->seconds_ns)
		demand_note(out, "one step takes longer than the limit of seconds");
}

static void size_notes_loader(const struct size_source *s, struct demand *out)
{
	const struct train_options *o = s->options;
	char text[UNITS_COUNTED_BYTES];

	if (o->loader.workers > s->length.epoch && s->length.epoch)
		demand_note(out, "%llu workers for %s per epoch: some never read",
			    (unsigned long long)o->loader.workers,
			    units_counted(text, s->length.epoch, "step"));
	if (o->loader.workers > train_interleave(o) && train_interleave(o))
		demand_note(out, "%llu workers for %s at a time: some never read",
			    (unsigned long long)o->loader.workers,
			    units_counted(text, train_interleave(o), "file"));
}

/* A buffer that was cut by the memory for it makes requests shorter. */
static void size_note_cut(const struct size_source *s, struct demand *out)
{
	char text[2][UNITS_TEXT_BYTES];
	struct train_sizes sizes;

	size_requests(s, &sizes);
	if (sizes.request < sizes.wanted && sizes.request < train_extent(s->options, &s->dataset))
		demand_note(out, "buffers of %s cut requests to %s",
			    units_bytes_binary(text[0], (double)s->options->buffers),
			    units_bytes_binary(text[1], (double)sizes.request));
}

/* From here on, what is read beside a sample, and again, is worth a sentence before the run. */
static const double size_amplified = 2;

static void size_note_amplified(const struct size_source *s, struct demand *out)
{
	char text[2][UNITS_TEXT_BYTES];
	struct layout l;

	bool streams = train_interleave(s->options), few;
	const char *why = "headers, groups and files are read again";

	few = s->dataset.options.files < s->replicas.count;
	if (streams)
		why = few ? "there are fewer files than ranks, and each reads whole files"
			  : "files hold more than their samples";
	dataset_mean_layout(&s->dataset, &l);
	if (s->reads.bytes >= size_amplified * (double)l.logical_bytes)
		demand_note(out, "a sample of %s moves %s on average: %s",
			    units_bytes_decimal(text[0], (double)l.logical_bytes),
			    units_bytes_decimal(text[1], s->reads.bytes), why);
}

/* Of samples in columns, what is read and what is not is told: a rate that is published for the
 * whole of a sample is not that of the store. */
static void size_note_columns(const struct size_source *s, struct demand *out)
{
	char text[3][UNITS_TEXT_BYTES];
	struct layout l;

	dataset_mean_layout(&s->dataset, &l);
	if (l.logical_bytes >= s->dataset.options.sample_bytes)
		return;
	demand_note(
		out,
		"of %s of a sample, %s are in the columns that are read: it moves %s on average",
		units_bytes_decimal(text[0], (double)s->dataset.options.sample_bytes),
		units_bytes_decimal(text[1], (double)l.logical_bytes),
		units_bytes_decimal(text[2], s->reads.bytes));
}

/* Which ranks read, where not all do or several read the same. */
static void size_note_readers(const struct size_source *s, uint32_t ranks, struct demand *out)
{
	const struct replicas *r = &s->replicas;
	char all[UNITS_COUNTED_BYTES], others[UNITS_COUNTED_BYTES];
	uint32_t readers = r->count * r->readers;

	if (r->ranks == 1)
		return;
	if (r->handed_over)
		demand_note(out, "%u of %s read, and each hands its batches to %s", readers,
			    units_counted(all, ranks, "rank"),
			    units_counted(others, r->ranks - 1, "other"));
	else if (readers < ranks)
		demand_note(out,
			    "%u of %u ranks read, %u of them the same batch; the others read none",
			    readers, ranks, r->readers);
	else
		demand_note(out, "%u ranks each read the same batch", r->readers);
}

/* Nodes are filled one after the other, as the plan assumes. A run looks at the real ones. */
static int size_check_tensor(const struct job *job, const struct job_phase *phase,
			     const struct size_source *s, uint32_t ranks, uint32_t ranks_per_node,
			     struct err *err)
{
	uint64_t tensor = job->cluster.tensor;

	if (s->replicas.ranks == 1 || ranks <= ranks_per_node || ranks_per_node % tensor == 0)
		return 0;
	return err_set(
		err, -EINVAL,
		"%s/readers: tensor groups of %llu ranks do not fill nodes of %u ranks, so that "
		"some would straddle two nodes; start a multiple of %llu ranks on each node",
		phase->path, (unsigned long long)tensor, ranks_per_node,
		(unsigned long long)tensor);
}

/* What is read from the store in the whole phase. */
static int size_bytes(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		      const struct size_source *train, double *bytes, struct err *err)
{
	struct size_source evaluation;
	int rc;

	*bytes = (double)(train->length.done * size_read(train)) * train->reads.bytes;
	if (!train->options->evaluation.every)
		return 0;
	rc = size_source(job, phase, ranks, true, &evaluation, err);
	if (rc == 0)
		*bytes += (double)(size_evaluations(train) * evaluation.length.epoch *
				   size_read(&evaluation)) *
			  evaluation.reads.bytes;
	return rc;
}

/* Epochs that are begun. */
static uint64_t size_epochs(const struct size_source *s)
{
	uint64_t steps = s->length.done;

	if (!s->length.epoch || steps == s->length.epoch * s->options->epochs)
		return s->options->epochs;
	return (steps + s->length.epoch - 1) / s->length.epoch;
}

/* How long a worker waits for the requests of one sample, beside their bytes. NAN: it is not known,
 * because what is asked for depends on what was read before, or because samples share the requests
 * in flight. */
static double size_sample_waits(const struct size_source *s, const struct backend_model *m)
{
	const struct train_options *o = s->options;
	struct extent e[FORMAT_EXTENTS_MAX];
	struct train_sizes sizes;
	uint64_t requests = 0;
	struct layout l;
	uint32_t n, depth = train_depth(o, s->store, &s->dataset);

	if (m->request_s <= 0 && m->open_s <= 0)
		return 0;
	if (train_interleave(o) || o->loader.kind == LOADER_BATCH ||
	    (s->dataset.stays_open && s->dataset.options.samples_per_file > 1))
		return NAN;
	size_requests(s, &sizes);
	dataset_mean_layout(&s->dataset, &l);
	n = l.format->extents(&l, 0, e);
	for (uint32_t i = 0; i < n; i++)
		requests += e[i].length ? (e[i].length - 1) / sizes.request + 1 : 0;
	return s->reads.opens * m->open_s + ceil((double)requests / depth) * m->request_s;
}

/* How long a rank's workers take for a batch, beside the store's limits: several have samples on
 * their way at once. alone: bytes per second of one of them, were there no other; 0: no limit. */
static double size_batch_seconds(const struct size_source *s, const struct backend_model *m,
				 double alone)
{
	const struct train_options *o = s->options;
	double workers = o->loader.workers ? (double)o->loader.workers : 1;
	double sample = size_sample_waits(s, m) + draw_mean(&o->preprocess) * 1e-9;

	if (alone > 0)
		sample += s->reads.bytes / alone;
	if (o->loader.kind == LOADER_SAMPLE)
		workers = fmin(workers, (double)(o->loader.prefetch * o->batch));
	return (double)o->batch * sample / workers;
}

/* On a model of a store, the slowest of three is how long a step takes: the compute, the bytes at
 * the store's or a rank's limit, the waits of a rank's workers. */
static void size_expect(const struct size_source *s, uint32_t ranks, uint32_t ranks_per_node,
			struct demand *out)
{
	const struct backend_ops *ops = s->store->section->owner;
	const struct train_options *o = s->options;
	double compute = draw_mean(&o->compute) * 1e-9, load, step, alone;
	double bytes = (double)size_read(s) * s->reads.bytes;
	struct backend_model m;

	if (!ops->model || o->loader.h2d || o->sync == SYNC_NONE)
		return;
	ops->model(s->store->options, ranks, ranks_per_node, &m);
	alone = m.bandwidth > 0 ? m.bandwidth * fmin(ranks_per_node, ranks) / ranks : 0;
	if (m.rank_bandwidth > 0 && (alone <= 0 || m.rank_bandwidth < alone))
		alone = m.rank_bandwidth;
	load = size_batch_seconds(s, &m, alone);
	if (!isfinite(load))
		return;
	if (m.bandwidth > 0)
		load = fmax(load, bytes / m.bandwidth);
	if (m.rank_bandwidth > 0)
		load = fmax(load,
			    bytes / (s->replicas.count * s->replicas.readers) / m.rank_bandwidth);
	step = o->loader.workers ? fmax(compute, load) : compute + load;
	if (step <= 0)
		return;
	out->expected_seconds = step * (double)s->length.epoch;
	out->expected_au = compute / step;
}

/* The ring of the checkpoints, and what there is to read about them before a run. */
static int size_checkpoints(const struct job *job, const struct job_phase *phase, uint32_t ranks,
			    uint32_t ranks_per_node, struct demand *out, struct err *err)
{
	struct demand d;
	uint64_t count;
	int rc = train_checkpoint_size(job, phase, ranks, ranks_per_node, &count, &d, err);

	if (rc < 0 || !train_checkpoints(phase->options))
		return rc;
	out->memory_per_rank += d.memory_per_rank;
	out->memory_uneven += d.memory_uneven;
	out->space_bytes = d.space_bytes;
	out->inodes = d.inodes;
	for (uint32_t i = 0; i < d.note_count; i++)
		demand_note(out, "%s", d.notes[i]);
	if (!count && out->steps_per_epoch)
		demand_note(out, "the training ends before its first checkpoint is due");
	return 0;
}

uint64_t train_step_samples(const struct job *job, const struct job_phase *phase,
			    const struct job_dataset *dataset, uint32_t ranks)
{
	const struct train_options *o = phase->options;
	const struct job_dataset *found;
	const struct job_store *store;
	struct replicas replicas;
	struct err none = {0};

	if (dataset_find(job, phase, o->dataset, &found, &store, &none) < 0 || found != dataset)
		return 0;
	replicas_init(&replicas, o->readers, &job->cluster, ranks);
	return o->batch * replicas.count;
}

int train_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
	       uint32_t ranks_per_node, struct demand *out, struct err *err)
{
	const struct train_options *o = phase->options;
	double compute_s = draw_mean(&o->compute) * 1e-9;
	struct size_source s;
	double per_step;
	int rc;

	memset(out, 0, sizeof(*out));
	rc = size_source(job, phase, ranks, false, &s, err);
	if (rc == 0)
		rc = size_check_tensor(job, phase, &s, ranks, ranks_per_node, err);
	if (rc < 0)
		return rc;
	out->files = s.dataset.options.files;
	out->samples = s.dataset.samples;
	out->steps_per_epoch = s.length.epoch;
	out->samples_dropped = s.dataset.samples - s.length.epoch * size_taken(&s);
	out->epochs = size_epochs(&s);
	per_step = (double)size_read(&s);
	out->bytes_per_second = compute_s > 0 ? per_step * s.reads.bytes / compute_s : INFINITY;
	out->opens_per_second = compute_s > 0 ? per_step * s.reads.opens / compute_s : INFINITY;
	out->target = fmax(job_target(phase, "target_au"), 0);
	out->seconds = size_seconds(&s, s.length.epoch);
	out->seconds_limit = (double)o->seconds_ns * 1e-9;
	out->total_seconds = size_seconds(&s, s.length.phase) * s.length.part;
	out->memory_per_rank = size_memory(&s, true, true);
	size_expect(&s, ranks, ranks_per_node, out);
	if (s.dataset.existing)
		demand_note(out,
			    "haul did not make these files: samples are proven by the plan's ids, "
			    "bytes are not verified");
	size_notes_steps(&s, out);
	size_notes_loader(&s, out);
	size_note_readers(&s, ranks, out);
	size_note_amplified(&s, out);
	size_note_columns(&s, out);
	size_note_cut(&s, out);
	cold_size(&o->cold, ranks_per_node, out);
	rc = size_checkpoints(job, phase, ranks, ranks_per_node, out, err);
	if (rc == 0)
		rc = size_bytes(job, phase, ranks, &s, &out->bytes, err);
	out->bytes_per_rank = out->bytes / (s.replicas.count * s.replicas.readers);
	return rc;
}

/* Payload of the batches that one rank reads, or gets, of a data set. */
static double size_payload(const struct size_source *s, uint64_t steps)
{
	struct layout l;

	dataset_mean_layout(&s->dataset, &l);
	return (double)(steps * s->batch) * (double)l.logical_bytes;
}

int train_rank_bytes(const struct job *job, const struct job_phase *phase,
		     const struct rank_place *place, struct train_rank_bytes *out, struct err *err)
{
	struct size_source train = {0}, evaluation = {0};
	enum replica_role role;
	uint64_t evaluated = 0;
	double payload, bytes = 0;
	uint32_t member;
	int rc;

	*out = (struct train_rank_bytes){0};
	rc = size_source(job, phase, place->ranks, false, &train, err);
	if (rc == 0 && train.options->evaluation.every)
		rc = size_source(job, phase, place->ranks, true, &evaluation, err);
	if (rc == 0)
		rc = size_bytes(job, phase, place->ranks, &train, &bytes, err);
	if (rc < 0)
		return rc;
	role = replicas_role(&train.replicas, place->rank);
	member = replicas_member(&train.replicas, place->rank);
	payload = size_payload(&train, train.length.done);
	if (train.options->evaluation.every)
		evaluated = size_evaluations(&train) * evaluation.length.epoch;
	if (evaluated)
		payload += size_payload(&evaluation, evaluated);
	if (role == REPLICA_READS)
		out->read = bytes / (train.replicas.count * train.replicas.readers);
	else if (role == REPLICA_RECEIVES)
		out->received = payload;
	out->memory =
		size_memory(&train, role == REPLICA_READS, member == 0 || place->local_rank == 0);
	return 0;
}

/* Bytes of files, with their framing, that the ranks of the phase write. memory: of each rank, for
 * that. */
static int size_tell_checkpoints(const struct job *job, const struct job_phase *phase,
				 uint32_t ranks, struct plan_told *out, uint64_t *memory,
				 struct err *err)
{
	struct demand d;
	uint64_t count;
	int rc = train_checkpoint_size(job, phase, ranks, 1, &count, &d, err);

	*memory = d.memory_per_rank;
	if (rc < 0 || !train_checkpoints(phase->options))
		return rc;
	plan_total_add(out, "checkpoints", "", (double)count);
	if (!count)
		return 0;
	plan_total_add(out, "checkpoint_bytes", "bytes", d.bytes / (double)count);
	plan_total_add(out, "bytes_written", "bytes", d.bytes);
	return 0;
}

/* The memory that the loader has which is imitated, of which haul takes only its buffers; and the rate of one stream that keeps up. */
static int size_tell_loader(const struct job *job, const struct job_phase *phase,
			    const struct rank_place *places, uint32_t ranks, struct plan_told *out,
			    struct err *err)
{
	const struct train_options *o = phase->options;
	double compute = draw_mean(&o->compute) * 1e-9;
	struct size_source s;
	struct layout l;
	int rc = size_source(job, phase, ranks, false, &s, err);

	if (rc < 0)
		return rc;
	dataset_mean_layout(&s.dataset, &l);
	plan_total_add(out, "loader_bytes_per_node", "bytes",
		       (double)size_shuffle_places(o) * (double)l.logical_bytes *
			       places[0].local_ranks * s.replicas.readers / s.replicas.ranks);
	if (compute > 0)
		plan_total_add(out, "bytes_per_second_per_worker", "bytes/s",
			       (double)size_read(&s) * s.reads.bytes / compute /
				       (s.replicas.count * s.replicas.readers) /
				       fmax((double)o->loader.workers, 1));
	return 0;
}

int train_tell(const struct job *job, const struct job_phase *phase,
	       const struct rank_place *places, uint32_t ranks, struct arena *arena,
	       struct plan_told *out, struct err *err)
{
	static const struct plan_column columns[] = {
		{"reads", "bytes"}, {"receives", "bytes"}, {"buffers", "bytes"}};
	enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };
	const struct train_options *o = phase->options;
	struct train_rank_bytes bytes;
	struct replicas replicas;
	uint64_t *cells, memory;
	int rc;

	rc = size_tell_loader(job, phase, places, ranks, out, err);
	if (rc == 0)
		rc = size_tell_checkpoints(job, phase, ranks, out, &memory, err);
	if (rc < 0)
		return rc;
	replicas_init(&replicas, o->readers, &job->cluster, ranks);
	if (replicas.ranks == 1)
		return 0;
	cells = arena_alloc(arena, (size_t)ranks * COLUMNS * sizeof(*cells));
	if (!cells)
		return err_set(err, -ENOMEM, "no memory for the plan of %u ranks", ranks);
	for (uint32_t i = 0; rc == 0 && i < ranks; i++) {
		rc = train_rank_bytes(job, phase, &places[i], &bytes, err);
		cells[i * COLUMNS] = (uint64_t)bytes.read;
		cells[i * COLUMNS + 1] = (uint64_t)bytes.received;
		cells[i * COLUMNS + 2] = bytes.memory + memory;
	}
	out->table_count = 1;
	out->tables[0] = (struct plan_rows){"ranks", columns, COLUMNS, ranks, cells};
	return rc;
}
