/* SPDX-License-Identifier: Apache-2.0 */
/* The options of training, and what is refused. */
#include <errno.h>

#include "core/units.h"
#include "workloads/dataset/dataset.h"
#include "workloads/train/loader/loader.h"
#include "workloads/train/train.h"

static const char *const loader_kinds[] = {"pytorch", "sample", "batch", "stream", NULL};
static const char *const shuffle_orders[] = {"none", "each_epoch", "once", NULL};
static const char *const readers_names[] = {"all", "replica", "tensor", NULL};
static const char *const sync_names[] = {"step", "epoch", "none", NULL};
static const char *const decode_names[] = {"none", "checksum", NULL};

static const struct option stream_options[] = {
	OPT_U64("interleave", struct train_stream, interleave, .def = 4, .min = 1, .max = 1 << 16,
		.help = "files that a rank reads side by side, one record of each in turn; each file belongs to one worker"),
	OPT_BYTES("transfer", struct train_stream, transfer, .def = 256 << 10, .min = 512,
		  .max = 1ull << 40, .help = "bytes asked for at a time, from each file"),
	OPT_END};

static const struct option loader_options[] = {
	OPT_CHOICE(
		"kind", struct train_loader, kind, .def = LOADER_PYTORCH, .choices = loader_kinds,
		.help = "pytorch: a worker builds a whole batch, sample by sample; sample: any free worker takes the next sample, and samples are put in order again; batch: a worker asks for all samples of a batch at once; stream: files are read from one end to the other, several side by side"),
	OPT_TABLE("stream", struct train_loader, stream, .table = stream_options, .of = "kind",
		  .help = "how files are read as streams"),
	OPT_U64("workers", struct train_loader, workers, .def = 4, .max = 1024,
		.help = "reader threads per rank; 0: the main thread reads"),
	OPT_U64("prefetch", struct train_loader, prefetch, .def = 2, .min = 1, .max = 4096,
		.help = "batches that each worker builds ahead; with sample and stream: that all workers together build ahead"),
	OPT_U64("depth", struct train_loader, depth, .def = 0, .max = QUEUE_DEPTH_MAX,
		.help = "requests that each worker has in flight, for one sample or (batch) for several; 0: one, or (batch) one per sample, at most 64 and at most what the store takes"),
	OPT_U64("keep", struct train_loader, keep, .def = 4, .max = READER_CACHE_GROUPS_MAX,
		.help = "row groups of Parquet, or pages of a mapped index, that a reader keeps of the file that it has open"),
	OPT_BOOL(
		"pin_memory", struct train_loader, pin_memory, .def = 0,
		.help = "one more thread copies each batch, as into memory that the accelerator can read"),
	OPT_RATE(
		"h2d", struct train_loader, h2d, .def = 0,
		.help = "a step waits until its batch has been copied to the accelerator at this rate; 0: it does not wait"),
	OPT_END};

static const struct option shuffle_options[] = {
	OPT_CHOICE(
		"order", struct train_shuffle, order, .def = SHUFFLE_EACH_EPOCH,
		.choices = shuffle_orders,
		.help = "each_epoch: a new order in each epoch; once: the same order in all epochs; none: the order of the files"),
	OPT_BOOL("files", struct train_shuffle, files, .def = 1, .help = "files are shuffled"),
	OPT_BOOL("samples", struct train_shuffle, samples, .def = 1,
		 .help = "samples are shuffled; with files: all samples of all files together"),
	OPT_BOOL(
		"whole_files", struct train_shuffle, whole_files, .def = 0,
		.help = "with files and samples: files are shuffled, and samples within each file, but a file's samples stay together"),
	OPT_U64("window", struct train_shuffle, window, .def = 0, .max = 1 << 24,
		.help = "samples are read in the order of their files and drawn from a shuffle buffer of this many samples; 0: no buffer, or (stream) 1024"),
	OPT_END};

static const struct option async_options[] = {
	OPT_CHOICE(
		"snapshot", struct train_async, snapshot, .choices = checkpoint_snapshot_names,
		.help = "copy: the training waits only until the bytes of a checkpoint are copied, and goes on while "
			"they are written; nothing of the copy is kept; hold: the copy is in memory until it is written"),
	OPT_RATE(
		"d2h", struct train_async, d2h, .def = 0,
		.help = "bytes per second of the copy, from the accelerator to the host; 0: as memory allows"),
	OPT_END,
};

#define CHECKPOINT_FIELD(member) options.member
static const struct option train_checkpoint_options[] = {
	OPT_U64("every_steps", struct train_checkpoint, every_steps, .def = 0, .max = 1ull << 40,
		.help = "training steps from one checkpoint to the next; 0: not by steps"),
	OPT_U64("every_epochs", struct train_checkpoint, every_epochs, .def = 0, .max = 100000000,
		.help = "epochs from one checkpoint to the next; 0: not by epochs"),
	OPT_U64("first_epoch", struct train_checkpoint, first_epoch, .def = 0, .max = 100000000,
		.help = "the first epoch that ends with a checkpoint, where they are counted by epochs; 0: the same as every_epochs"),
	OPT_TEXT("store", struct train_checkpoint, store, .def_text = "",
		 .help = "where they are written; may be left out where there is only one store"),
	OPT_TABLE("async", struct train_checkpoint, async, .table = async_options,
		  .help = "whether the training goes on while a checkpoint is written"),
	CHECKPOINT_WRITE_OPTIONS(struct train_checkpoint, CHECKPOINT_FIELD),
	OPT_END,
};

static const struct option evaluation_options[] = {
	OPT_U64("every", struct train_evaluation, every, .def = 0, .max = 100000000,
		.help = "epochs from one evaluation to the next; 0: no evaluations"),
	OPT_TEXT("dataset", struct train_evaluation, dataset, .def_text = "",
		 .help = "data set that an evaluation reads once"),
	OPT_U64("batch", struct train_evaluation, batch, .def = 1, .min = 1, .max = 1 << 20,
		.help = "samples that a rank (or a replica, see readers) takes in each step of an evaluation"),
	OPT_DRAW("compute", struct train_evaluation, compute, .def_real = 0, .usual = 60000000000,
		 .help = "emulated accelerator time of a step of an evaluation"),
	OPT_END};

const struct option train_options[] = {
	OPT_TEXT("dataset", struct train_options, dataset, .def_text = "",
		 .help = "data set to train on; \"\": the only data set of the job"),
	OPT_U64("epochs", struct train_options, epochs, .def = 1, .min = 1, .max = 100000000,
		.help = "how often all samples are read"),
	OPT_U64("steps", struct train_options, steps, .def = 0,
		.help = "the greatest number of training steps in all; 0: all steps of each epoch"),
	OPTION_SECONDS(struct train_options, seconds_ns),
	OPT_U64("batch", struct train_options, batch, .def = 1, .min = 1, .max = 1 << 20,
		.help = "samples that a rank (or a replica, see readers) takes in each step"),
	OPT_DRAW("compute", struct train_options, compute, .def_real = 0, .usual = 60000000000,
		 .help = "emulated accelerator time of a step"),
	OPT_DRAW("preprocess", struct train_options, preprocess, .def_real = 0,
		 .usual = 60000000000, .help = "emulated time that a worker spends on each sample"),
	OPT_TABLE("loader", struct train_options, loader, .table = loader_options,
		  .help = "who reads, and how far ahead"),
	OPT_TABLE("shuffle", struct train_options, shuffle, .table = shuffle_options,
		  .help = "order of samples"),
	OPT_CHOICE(
		"readers", struct train_options, readers, .def = READERS_ALL,
		.choices = readers_names,
		.help = "all: each rank reads batches of its own; replica: one rank of each data-parallel replica (cluster.tensor x cluster.pipeline ranks) reads the batch, and the others get it from that rank; tensor: the ranks of the first pipeline stage each read the whole batch, and those of later stages read nothing"),
	OPT_CHOICE(
		"sync", struct train_options, sync, .def = SYNC_STEP, .choices = sync_names,
		.help = "where ranks wait for each other: after each step, after each epoch, or only at the end"),
	OPT_U64("warmup_steps", struct train_options, warmup_steps, .def = 1, .max = 1 << 20,
		.help = "steps at the start of each epoch that do not count for AU"),
	OPT_CHOICE("decode", struct train_options, decode, .def = 0, .choices = decode_names,
		   .help = "checksum: the structure and the checksums of what is read are checked"),
	OPTION_VERIFY(struct train_options, verify),
	OPTION_ON_ERROR(struct train_options, on_error),
	OPT_BYTES(
		"buffers", struct train_options, buffers, .def = 64 << 20, .min = 64 << 10,
		.max = 1ull << 40,
		.help = "memory for the requests of all workers of a rank; a request that is not streamed is cut to its part of it, but not below 64 KiB"),
	OPT_TABLE("evaluation", struct train_options, evaluation, .table = evaluation_options,
		  .help = "reading another data set every few epochs"),
	OPT_TABLE("checkpoint", struct train_options, checkpoint, .table = train_checkpoint_options,
		  .help = "checkpoints that the training writes, and waits for"),
	OPTION_COLD(struct train_options, cold),
	OPT_U64("null_steps", struct train_options, null_steps, .def = 20, .max = 10000,
		.help = "steps on null:// before the phase, to measure what haul itself costs; 0: none"),
	OPT_TIME(
		"count", struct train_options, count_ns, .def = 30000000000,
		.help = "how long, before the phase, all ranks count the samples that files hold which haul did not make, by their headers and indexes; each rank looks into one at least"),
	OPT_END};

void train_rows(const struct job_phase *phase, uint32_t rows_max[TALLY_TABLES_MAX])
{
	const struct train_options *o = phase->options;
	uint64_t evaluations = o->evaluation.every ? o->epochs / o->evaluation.every : 0;

	rows_max[TRAIN_TABLE_EPOCHS] = (uint32_t)(o->epochs + evaluations);
}

int train_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		 struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err)
{
	static const char *const roles[] = {"data", "evaluation"};
	const struct train_options *o = phase->options;
	const char *const names[] = {o->dataset, o->evaluation.dataset};
	unsigned sources = o->evaluation.every ? 2 : 1;

	for (unsigned i = 0; i < sources; i++) {
		const struct job_dataset *described;
		const struct job_store *store;
		struct phase_store *s;
		int rc = dataset_find(job, phase, names[i], &described, &store, err);

		if (rc < 0)
			return rc;
		s = phase_store_add(out, count, roles[i], store);
		s->needs = BACKEND_RANGES;
		s->depth = o->loader.depth;
		s->depth_option = "depth";
		s->verifies = o->verify == VERIFY_FULL;
	}
	return train_checkpoint_stores(job, phase, ranks, out, count, err);
}

/* Options of the loader that contradict each other. */
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

/* Without synchronisation the ranks never meet, and one would drop what another is reading. */
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

static bool format_streams(const struct format_ops *format)
{
	return format->streams;
}

static int check_known(const struct train_options *o, const struct job_phase *phase,
		       const struct dataset *d, struct err *err)
{
	char streamed[FORMAT_LIST_BYTES];

	if (train_interleave(o) && !format_streams(format_table()[d->options.format]))
		return err_set(
			err, -EINVAL,
			"%s/loader/kind: files of format %s cannot be read as streams; those "
			"of these formats can: %s",
			phase->path, format_names[d->options.format],
			format_list(streamed, format_streams));
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

static bool format_walks(const struct format_ops *format)
{
	return format->walk;
}

/* A walk begins at a file's first byte, or with what haul's own files are read by, and takes bytes
 * in their order. Returns why the data set cannot be walked through, or NULL. */
static const char *decode_obstacle(const struct train_options *o, const struct dataset *d,
				   uint32_t ranks)
{
	const struct format_ops *format = format_table()[d->options.format];
	bool streams = train_interleave(o), several = d->options.samples_per_file > 1;

	if (o->loader.depth > 1)
		return "a sample must not be read by several requests at once; set loader.depth to "
		       "1";
	if (o->loader.kind == LOADER_BATCH)
		return "the loader \"batch\" reads by several requests at once; choose another "
		       "loader.kind";
	if (d->existing && !format->streams && (several || !format->walk->whole_file))
		return "of files that haul did not make, only those can be decoded that hold one "
		       "sample and are read from their first byte on";
	if (d->existing && several && format->streams &&
	    (!streams || d->options.files < ranks || o->on_error == ON_ERROR_COUNT))
		return "of files that haul did not make, records are decoded only in whole "
		       "streams, with \"on_error\": \"stop\"";
	return NULL;
}

static int check_decode(const struct train_options *o, const struct job_phase *phase,
			const struct dataset *d, uint32_t ranks, struct err *err)
{
	const char *format = format_names[d->options.format], *obstacle;
	char walked[FORMAT_LIST_BYTES];

	if (!o->decode)
		return 0;
	if (!format_walks(format_table()[d->options.format]))
		return err_set(
			err, -EINVAL,
			"%s/decode: haul knows no checksum and no structure of format %s; it "
			"does of these formats: %s",
			phase->path, format, format_list(walked, format_walks));
	obstacle = decode_obstacle(o, d, ranks);
	return obstacle ? err_set(err, -EINVAL, "%s/decode: format %s cannot be decoded here: %s",
				  phase->path, format, obstacle)
			: 0;
}

/* -ERANGE: the samples do not fill one step. A plan may still show that. */
static int check_steps(const struct train_options *o, const struct dataset *d, uint64_t batch,
		       const struct replicas *r, const char *path, const char *what,
		       struct err *err)
{
	const char *who = r->ranks == 1 ? "rank" : "replica";
	char samples[UNITS_COUNTED_BYTES], global[UNITS_TEXT_BYTES], readers[UNITS_COUNTED_BYTES];

	if (train_steps(o, d, batch, r->count))
		return 0;
	if (train_interleave(o) && d->options.files >= r->count)
		return err_set(
			err, -ERANGE,
			"%s%s: the whole files of each %s have %s, which cannot fill a batch of %llu",
			path, what, who,
			units_counted(samples,
				      d->options.files / r->count * d->options.samples_per_file,
				      "sample"),
			(unsigned long long)batch);
	return err_set(err, -ERANGE, "%s%s: %s cannot fill one step of %s x batch %llu = %s", path,
		       what, units_counted(samples, d->samples, "sample"),
		       units_counted(readers, r->count, who), (unsigned long long)batch,
		       units_count(global, batch * r->count));
}

/* A data set that is read, by its name. */
static int check_source(const struct job *job, const struct job_phase *phase, const char *name,
			const struct replicas *r, struct dataset *d, const struct job_store **store,
			struct err *err)
{
	const struct train_options *o = phase->options;
	int rc = train_dataset(job, phase, name, d, store, err);

	if (rc == 0)
		rc = check_known(o, phase, d, err);
	if (rc == 0)
		rc = check_decode(o, phase, d, r->count, err);
	return rc;
}

/* Ranks that compute without a batch would run ahead of those that wait for theirs. */
static int check_readers(const struct train_options *o, const struct job_phase *phase,
			 const struct replicas *r, struct err *err)
{
	if (o->sync != SYNC_NONE || r->handed_over || r->readers == r->ranks)
		return 0;
	return err_set(err, -EINVAL,
		       "%s/readers: with \"tensor\", only the ranks of the first pipeline stage "
		       "read, and the others must meet them; set sync to \"step\" or \"epoch\"",
		       phase->path);
}

int train_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		struct err *err)
{
	const struct train_options *o = phase->options;
	const struct job_store *store;
	struct replicas replicas;
	struct dataset d;
	int rc;

	replicas_init(&replicas, o->readers, &job->cluster, ranks);
	rc = check_loader(o, phase, err);
	if (rc == 0)
		rc = check_readers(o, phase, &replicas, err);
	if (rc == 0)
		rc = check_source(job, phase, o->dataset, &replicas, &d, &store, err);
	if (rc == 0)
		rc = check_cold(o, phase, store, err);
	if (rc == 0)
		rc = check_shuffle(o, phase, err);
	if (rc == 0)
		rc = train_checkpoint_check(job, phase, ranks, err);
	if (rc == 0)
		rc = check_steps(o, &d, o->batch, &replicas, phase->path, "/batch", err);
	if (rc < 0 || !o->evaluation.every)
		return rc;
	rc = check_source(job, phase, o->evaluation.dataset, &replicas, &d, &store, err);
	if (rc == 0)
		rc = check_steps(o, &d, o->evaluation.batch, &replicas, phase->path,
				 "/evaluation/batch", err);
	return rc;
}
