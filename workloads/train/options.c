#include <errno.h>
#include <stdio.h>

#include "backends/queue/queue.h"
#include "core/units.h"
#include "workloads/train/loader/loader.h"
#include "workloads/train/train.h"

enum { BATCH_DEPTH = 64, STREAM_WINDOW = 1024 };

static const char *const loader_kinds[] = {"pytorch", "sample", "batch", "stream", NULL};
static const char *const shuffle_orders[] = {"none", "each_epoch", "once", NULL};
static const char *const sync_names[] = {"step", "epoch", "none", NULL};
static const char *const decode_names[] = {"none", "checksum", NULL};
static const char *const verify_names[] = {"none", "sampled", "full", NULL};
static const char *const on_error_names[] = {"stop", "count", NULL};

static const struct option stream_options[] = {
	OPT_U64("interleave", struct train_stream, interleave, .def = 4, .min = 1, .max = 1 << 16,
		.help = "files of a rank read side by side, a record of each in turn; each belongs to one worker"),
	OPT_BYTES("transfer", struct train_stream, transfer, .def = 256 << 10, .min = 512,
		  .max = 1ull << 40, .help = "bytes asked for at a time, of each file"),
	OPT_END};

static const struct option loader_options[] = {
	OPT_CHOICE(
		"kind", struct train_loader, kind, .def = LOADER_PYTORCH, .choices = loader_kinds,
		.help = "pytorch: a worker builds a whole batch, sample by sample; sample: workers take samples, results are put in order; batch: a worker asks for all samples of a batch at once; stream: files are read from one end to the other, several side by side"),
	OPT_TABLE("stream", struct train_loader, stream, .table = stream_options, .of = "kind",
		  .help = "how files are read as streams"),
	OPT_U64("workers", struct train_loader, workers, .def = 4, .max = 1024,
		.help = "reader threads of a rank; 0: the main thread reads"),
	OPT_U64("prefetch", struct train_loader, prefetch, .def = 2, .min = 1, .max = 4096,
		.help = "batches that each worker builds ahead; sample, stream: all workers together"),
	OPT_U64("depth", struct train_loader, depth, .def = 0, .max = QUEUE_DEPTH_MAX,
		.help = "requests in flight for each worker, of one sample or (batch) of several; 0: one, or (batch) one a sample, at most 64 and what the store takes"),
	OPT_U64("keep", struct train_loader, keep, .def = 4, .max = READER_CACHE_GROUPS_MAX,
		.help = "row groups of Parquet (pages of a mapped index) that a reader keeps of the file it has open"),
	OPT_BOOL(
		"pin_memory", struct train_loader, pin_memory, .def = 0,
		.help = "one more thread copies each batch, as into memory that the accelerator reads"),
	OPT_RATE(
		"h2d", struct train_loader, h2d, .def = 0,
		.help = "a step waits for its batch to be copied to the accelerator at this rate; 0: it does not"),
	OPT_END};

static const struct option shuffle_options[] = {
	OPT_CHOICE("order", struct train_shuffle, order, .def = SHUFFLE_EACH_EPOCH,
		   .choices = shuffle_orders,
		   .help = "a new order each epoch, one for all, or as the files lie"),
	OPT_BOOL("files", struct train_shuffle, files, .def = 1, .help = "files are shuffled"),
	OPT_BOOL("samples", struct train_shuffle, samples, .def = 1,
		 .help = "samples are shuffled; with files: all samples as one"),
	OPT_BOOL(
		"whole_files", struct train_shuffle, whole_files, .def = 0,
		.help = "with both: files are shuffled, and samples inside each, but a file's samples stay together"),
	OPT_U64("window", struct train_shuffle, window, .def = 0, .max = 1 << 24,
		.help = "samples are read as their files hold them, and drawn from a window of so many; 0: none, or (stream) 1024"),
	OPT_END};

static const struct option evaluation_options[] = {
	OPT_U64("every", struct train_evaluation, every, .def = 0, .max = 100000,
		.help = "epochs from one evaluation to the next; 0: none"),
	OPT_TEXT("dataset", struct train_evaluation, dataset, .def_text = "",
		 .help = "data set that an evaluation reads once"),
	OPT_U64("batch", struct train_evaluation, batch, .def = 1, .min = 1, .max = 1 << 20,
		.help = "samples a rank takes each step of it"),
	OPT_DRAW("compute", struct train_evaluation, compute, .def_real = 0,
		 .help = "emulated accelerator time of a step of it"),
	OPT_END};

const struct option train_options[] = {
	OPT_TEXT("dataset", struct train_options, dataset, .def_text = "",
		 .help = "data set to train on; \"\": the job's only one"),
	OPT_U64("epochs", struct train_options, epochs, .def = 1, .min = 1, .max = 100000,
		.help = "times that all samples are read"),
	OPT_U64("steps", struct train_options, steps, .def = 0,
		.help = "training steps in all, at most; 0: all of each epoch"),
	OPT_TIME("seconds", struct train_options, seconds_ns, .def = 0,
		 .help = "the phase ends after this time; 0: no limit"),
	OPT_U64("batch", struct train_options, batch, .def = 1, .min = 1, .max = 1 << 20,
		.help = "samples a rank takes each step"),
	OPT_DRAW("compute", struct train_options, compute, .def_real = 0,
		 .help = "emulated accelerator time of a step"),
	OPT_DRAW("preprocess", struct train_options, preprocess, .def_real = 0,
		 .help = "emulated time that a worker spends on a sample"),
	OPT_TABLE("loader", struct train_options, loader, .table = loader_options,
		  .help = "who reads, and how far ahead"),
	OPT_TABLE("shuffle", struct train_options, shuffle, .table = shuffle_options,
		  .help = "order of samples"),
	OPT_CHOICE("sync", struct train_options, sync, .def = SYNC_STEP, .choices = sync_names,
		   .help = "where ranks wait for each other"),
	OPT_U64("warmup_steps", struct train_options, warmup_steps, .def = 1, .max = 1 << 20,
		.help = "steps at the start of each epoch that AU leaves out"),
	OPT_CHOICE("decode", struct train_options, decode, .def = 0, .choices = decode_names,
		   .help = "checksum: structure and checksums of what is read are walked through"),
	OPT_CHOICE("verify", struct train_options, verify, .def = VERIFY_SAMPLED,
		   .choices = verify_names,
		   .help = "bytes compared with what was written: 4 KiB of each request, or all"),
	OPT_CHOICE(
		"on_error", struct train_options, on_error, .def = ON_ERROR_STOP,
		.choices = on_error_names,
		.help = "a sample that cannot be read, or is wrong, stops all ranks or is counted"),
	OPT_BYTES(
		"buffers", struct train_options, buffers, .def = 64 << 20, .min = 64 << 10,
		.max = 1ull << 40,
		.help = "windows of a rank's workers together; a request that is not streamed is cut to its share, at least 64 KiB"),
	OPT_TABLE("evaluation", struct train_options, evaluation, .table = evaluation_options,
		  .help = "reading another data set every few epochs"),
	OPT_TABLE(
		"cold", struct train_options, cold, .table = cold_options,
		.help = "reads that come from the storage: caches dropped, memory taken, evidence"),
	OPT_U64("null_steps", struct train_options, null_steps, .def = 20, .max = 10000,
		.help = "steps on null:// before, to know haul's own cost; 0: none"),
	OPT_END};

int train_dataset(const struct job *job, const struct job_phase *phase, const char *name,
		  struct dataset *d, const struct job_store **store, struct err *err)
{
	const struct job_dataset *described;
	char path[JOB_NAME_BYTES + 16];
	int rc;

	rc = workload_dataset(job, phase, name, &described, store, err);
	if (rc < 0)
		return rc;
	snprintf(path, sizeof(path), described->name[0] ? "/datasets/%s" : "/dataset%s",
		 described->name);
	return dataset_init(d, described->options, job->seed, path, err);
}

void train_order(const struct train_options *o, const struct dataset *d, uint64_t seed,
		 struct order *order)
{
	enum order_kind kind = ORDER_AS_IS;

	bool samples = o->shuffle.samples && !train_shuffle_samples(o);

	if (o->shuffle.order == SHUFFLE_NONE)
		kind = ORDER_AS_IS;
	else if (o->shuffle.files && samples)
		kind = o->shuffle.whole_files ? ORDER_BOTH : ORDER_ALL;
	else if (o->shuffle.files)
		kind = ORDER_FILES;
	else if (samples)
		kind = ORDER_SAMPLES;
	order_init(order, kind, o->shuffle.order == SHUFFLE_EACH_EPOCH, seed, d->options.files,
		   d->options.samples_per_file);
}

uint64_t train_shuffle_samples(const struct train_options *o)
{
	if (o->shuffle.order == SHUFFLE_NONE || !o->shuffle.samples)
		return 0;
	return o->shuffle.window || !train_interleave(o) ? o->shuffle.window : STREAM_WINDOW;
}

uint32_t train_interleave(const struct train_options *o)
{
	return o->loader.kind == LOADER_STREAM ? (uint32_t)o->loader.stream.interleave : 0;
}

uint64_t train_steps(const struct train_options *o, const struct dataset *d, uint64_t batch,
		     uint32_t ranks)
{
	struct order order;

	order_init(&order, ORDER_AS_IS, false, 0, d->options.files, d->options.samples_per_file);
	return sequence_batches(&order, train_interleave(o), batch, ranks);
}

/* As many pieces of a sample as the store wants at once and the buffers hold, none of them cut for it. */
static uint32_t piece_depth(const struct train_options *o, const struct job_store *store,
			    uint64_t largest)
{
	uint32_t depth = backend_in_flight(store);

	while (depth > 1) {
		uint64_t range = backend_range(store, largest, depth);

		if (range <= train_buffer_bytes(o, depth) && range < largest &&
		    (largest - 1) / range >= depth - 1)
			break;
		depth--;
	}
	return depth;
}

uint32_t train_depth(const struct train_options *o, const struct job_store *store,
		     const struct dataset *d)
{
	uint64_t depth = o->batch < BATCH_DEPTH ? o->batch : BATCH_DEPTH;
	uint32_t most = backend_depth(store);

	if (o->loader.depth)
		return (uint32_t)o->loader.depth;
	if (o->loader.kind == LOADER_STREAM)
		depth = train_buffer_count(o, 1);
	else if (o->loader.kind != LOADER_BATCH)
		return piece_depth(o, store, train_longest(o, d));
	return depth < most ? (uint32_t)depth : most;
}

uint32_t train_buffer_count(const struct train_options *o, uint32_t depth)
{
	struct loader_options l = {
		.kind = (enum loader_kind)o->loader.kind,
		.workers = (uint32_t)o->loader.workers,
		.interleave = train_interleave(o),
	};
	uint32_t read_slots = loader_read_slots(&l, depth);

	return read_slots > depth ? read_slots : depth;
}

uint64_t train_buffer_bytes(const struct train_options *o, uint32_t depth)
{
	return o->buffers / (o->loader.workers ? o->loader.workers : 1) /
	       train_buffer_count(o, depth);
}

uint64_t train_longest(const struct train_options *o, const struct dataset *d)
{
	return train_interleave(o) ? UINT64_MAX : dataset_extent_bytes_max(d);
}

uint64_t train_extent(const struct train_options *o, const struct dataset *d)
{
	uint64_t longest = train_longest(o, d);

	return longest < UINT64_MAX ? longest + READER_PIECE_BYTES : longest;
}

void train_sizes(const struct train_options *o, const struct dataset *d, uint32_t capabilities,
		 uint64_t range, uint64_t budget, struct train_sizes *out)
{
	uint64_t piece = o->loader.stream.transfer;

	out->wanted = train_interleave(o) && piece < range ? piece : range;
	out->request = out->wanted;
	out->window = 0;
	if (!(capabilities & BACKEND_CONTENT))
		return;
	/* A stream looks back at what its window held: at a request whole. */
	if (capabilities & BACKEND_STREAMS && !train_interleave(o)) {
		out->window = reader_request_bytes(QUEUE_STREAM_BYTES, budget, train_extent(o, d));
		return;
	}
	out->request = reader_request_bytes(out->wanted, budget, train_extent(o, d));
	out->window = out->request;
}

const struct tally_schema *train_schema_for(const struct job_phase *phase, struct arena *arena)
{
	const struct train_options *o = phase->options;
	uint64_t evaluations = o->evaluation.every ? o->epochs / o->evaluation.every : 0;

	return train_schema_with((uint32_t)(o->epochs + evaluations), arena);
}

int train_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		 struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err)
{
	static const char *const roles[] = {"data", "evaluation"};
	const struct train_options *o = phase->options;
	const char *const names[] = {o->dataset, o->evaluation.dataset};
	unsigned sources = o->evaluation.every ? 2 : 1;

	(void)ranks;
	for (unsigned i = 0; i < sources; i++) {
		const struct job_dataset *described;
		const struct job_store *store;
		struct phase_store *s;
		int rc = workload_dataset(job, phase, names[i], &described, &store, err);

		if (rc < 0)
			return rc;
		s = phase_store_add(out, count, roles[i], store);
		s->needs = BACKEND_RANGES;
		s->depth = o->loader.depth;
		s->verifies = o->verify == VERIFY_FULL;
	}
	return 0;
}

/* What the loader asks of its options. */
static int check_loader(const struct train_options *o, const struct job_phase *phase,
			struct err *err)
{
	if (o->loader.depth && train_interleave(o))
		return err_set(
			err, -EINVAL,
			"%s/loader/depth: a stream has one request in flight; say \"interleave\" "
			"for more of them",
			phase->path);
	return 0;
}

/* Without synchronisation the ranks never meet, and one would drop what another reads. */
static int check_cold(const struct train_options *o, const struct job_phase *phase,
		      const struct job_store *store, struct err *err)
{
	if (o->cold.drop != DROP_NONE && o->cold.when == COLD_EPOCHS && o->sync == SYNC_NONE)
		return err_set(err, -EINVAL,
			       "%s/cold/when: ranks meet at no epoch with sync \"none\"; say "
			       "\"phase\"",
			       phase->path);
	return cold_check(&o->cold, store, phase->path, err);
}

static int check_known(const struct train_options *o, const struct job_phase *phase,
		       const struct dataset *d, struct err *err)
{
	const struct format_ops *format = format_table()[d->options.format];

	if (train_interleave(o) && !format->streams)
		return err_set(
			err, -EINVAL,
			"%s/loader/kind: %s is no format that is read as a stream; tfrecord and raw "
			"are",
			phase->path, format->name);
	if (o->verify == VERIFY_FULL && d->existing)
		return err_set(
			err, -EINVAL,
			"%s/verify: haul did not make these files and knows nothing of their "
			"bytes; say \"none\"",
			phase->path);
	return 0;
}

static int check_shuffle(const struct train_options *o, const struct job_phase *phase,
			 struct err *err)
{
	const struct train_shuffle *s = &o->shuffle;

	if (s->whole_files && train_interleave(o))
		return err_set(
			err, -EINVAL,
			"%s/shuffle/whole_files: a stream gives its file's samples in their order; "
			"\"window\" shuffles them",
			phase->path);
	if (!s->window || (s->order != SHUFFLE_NONE && s->samples && !s->whole_files))
		return 0;
	return err_set(err, -EINVAL, "%s/shuffle/window: shuffles samples, and %s", phase->path,
		       s->whole_files             ? "\"whole_files\" has them shuffled otherwise"
		       : s->order == SHUFFLE_NONE ? "\"order\" says that nothing is shuffled"
						  : "\"samples\" says that they are not");
}

/* Walks begin at a file's first byte, or with what haul's own files are read by, and take bytes in their
 * order. */
static int check_decode(const struct train_options *o, const struct job_phase *phase,
			const struct dataset *d, uint32_t ranks, struct err *err)
{
	const struct format_ops *format = format_table()[d->options.format];
	bool streams = train_interleave(o), several = d->options.samples_per_file > 1;
	const char *why = NULL;

	if (!o->decode)
		return 0;
	if (!format->walk)
		why = "has neither checksums nor structure that haul knows";
	else if (o->loader.depth > 1)
		why = "samples in several requests at once (loader.depth) are not";
	else if (o->loader.kind == LOADER_BATCH)
		why = "batches in several requests at once (loader.kind) are not";
	else if (d->existing && !format->streams &&
		 (several || format_objects(format) > 1 || d->options.format == FORMAT_PARQUET))
		why = "of files that haul did not make those are that hold one sample, from their "
		      "first byte on";
	else if (d->existing && several && format->streams &&
		 (!streams || d->options.files < ranks || o->on_error == ON_ERROR_COUNT))
		why = "records of files that haul did not make are only from their first on: whole "
		      "streams, \"on_error\": \"stop\"";
	return why ? err_set(err, -EINVAL, "%s/decode: %s is not decoded so; %s", phase->path,
			     format->name, why)
		   : 0;
}

/* -ERANGE: no data set fills one step; a plan may still show it. */
static int check_steps(const struct train_options *o, const struct dataset *d, uint64_t batch,
		       uint32_t ranks, const char *path, const char *what, struct err *err)
{
	char samples[UNITS_TEXT_BYTES], global[UNITS_TEXT_BYTES];

	if (train_steps(o, d, batch, ranks))
		return 0;
	if (train_interleave(o) && d->options.files >= ranks)
		return err_set(
			err, -ERANGE,
			"%s%s: %llu samples of each rank's whole files do not fill a batch of "
			"%llu",
			path, what,
			(unsigned long long)(d->options.files / ranks *
					     d->options.samples_per_file),
			(unsigned long long)batch);
	return err_set(err, -ERANGE,
		       "%s%s: %s samples do not fill one step of %u ranks x batch %llu = %s", path,
		       what, units_count(samples, d->samples), ranks, (unsigned long long)batch,
		       units_count(global, batch * ranks));
}

/* One of the data sets that are read, by its name. */
static int check_source(const struct job *job, const struct job_phase *phase, const char *name,
			uint32_t ranks, struct dataset *d, const struct job_store **store,
			struct err *err)
{
	const struct train_options *o = phase->options;
	int rc = train_dataset(job, phase, name, d, store, err);

	if (rc == 0)
		rc = check_known(o, phase, d, err);
	if (rc == 0)
		rc = check_decode(o, phase, d, ranks, err);
	return rc;
}

int train_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		struct err *err)
{
	const struct train_options *o = phase->options;
	const struct job_store *store;
	struct dataset d;
	int rc;

	rc = check_loader(o, phase, err);
	if (rc == 0)
		rc = check_source(job, phase, o->dataset, ranks, &d, &store, err);
	if (rc == 0)
		rc = check_cold(o, phase, store, err);
	if (rc == 0)
		rc = check_shuffle(o, phase, err);
	if (rc == 0)
		rc = check_steps(o, &d, o->batch, ranks, phase->path, "/batch", err);
	if (rc < 0 || !o->evaluation.every)
		return rc;
	rc = check_source(job, phase, o->evaluation.dataset, ranks, &d, &store, err);
	if (rc == 0)
		rc = check_steps(o, &d, o->evaluation.batch, ranks, phase->path,
				 "/evaluation/batch", err);
	return rc;
}
