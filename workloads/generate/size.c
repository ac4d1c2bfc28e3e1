/* SPDX-License-Identifier: Apache-2.0 */
/* Size of making a data set: buffers, memory, space, and where requests are counted. See size.c. */
#include <errno.h>
#include <stdio.h>

#include "backends/endpoint.h"
#include "core/numbers.h"
#include "workloads/common/crew.h"
#include "workloads/common/writer.h"
#include "workloads/dataset/dataset.h"
#include "workloads/dataset/manifest.h"
#include "workloads/generate/generate.h"

/* A write that its buffer does not hold whole is made as it goes. */
enum {
	GENERATE_BUFFER_MAX = 16 << 20,
	GENERATE_BUFFER_MANY = 1 << 20, /* of each of several writes in flight */
	GENERATE_PIECE_WHOLE = 1 << 20,
	GENERATE_FILES_LOOKED = 10000,
	GENERATE_AHEAD =
		1 /* buffers that fillers make bytes in, beside those of writes in flight */
};

static const struct meter_map generate_maps[] = {
	{REQ_WRITE, METER_NONE, GENERATE_HIST_WRITE, METER_NONE, GENERATE_HIST_WRITE_FIRST_ATTEMPT},
	{REQ_COMMIT, METER_NONE, GENERATE_HIST_COMMIT, METER_NONE, METER_NONE},
	{REQ_BEGIN, METER_NONE, GENERATE_HIST_BEGIN, METER_NONE, METER_NONE},
	{REQ_STAT, METER_NONE, GENERATE_HIST_STAT, METER_NONE, METER_NONE},
};

const struct meter_layout generate_meter = {
	METER_MAPS(generate_schema, generate_maps),
	.sync = GENERATE_HIST_SYNC,
	.publish = GENERATE_HIST_PUBLISH,
	.live_op = REQ_WRITE,
};

int generate_dataset(const struct job *job, const struct job_phase *phase,
		     const struct job_store **store, struct dataset *d, struct err *err)
{
	const struct generate_options *o = phase->options;
	char path[DATASET_PATH_BYTES];
	int rc = dataset_find_init(job, phase, o->dataset, d, store, path, err);

	if (rc == 0 && d->existing)
		rc = err_set(
			err, -EINVAL,
			"%s/%s: these files exist already and haul makes none under such names; "
			"leave the phase out (--skip generate)",
			path, d->naming == NAMING_LIST ? "list" : "names");
	return rc;
}

/* The largest file; of many files, the first ones stand for all. */
static uint64_t generate_largest(const struct dataset *d)
{
	uint64_t files = min_u64(d->options.files, GENERATE_FILES_LOOKED), largest;
	struct layout l;

	dataset_mean_layout(d, &l);
	largest = l.size;
	for (uint64_t i = 0; i < files; i++) {
		dataset_layout(d, i, &l);
		largest = max_u64(largest, l.size);
	}
	return largest;
}

/* An object has no more parts than its store takes, and none is too small. */
static int generate_check_parts(const struct job_store *store, uint64_t largest, struct err *err)
{
	const struct backend_ops *ops = store->section->owner;
	uint64_t part = backend_part(store, largest);
	char path[sizeof(store->name) + 24];

	if (!ops->part || ops->capabilities & BACKEND_UPDATE || !part)
		return 0;
	snprintf(path, sizeof(path), "/stores/%s/part", store->name);
	return backend_check_parts(store, largest, part, path, err);
}

/* What is to be made. */
struct generate_told {
	uint64_t files, samples, mean, largest, objects, folders;
	double bytes, space;
	char begun[OBJECT_KEY_BYTES];
};

static int generate_tell_model(const struct job *job, const struct job_phase *phase,
			       const struct job_store **store, struct generate_told *out,
			       struct err *err)
{
	const struct generate_options *o = phase->options;
	struct generate_model x;
	uint64_t size;
	int rc = phase_store_find(job, phase, store, err);

	if (rc == 0)
		rc = generate_model_check(o, *store, phase->path, err);
	if (rc < 0)
		return rc;
	rc = generate_model_open(&x, o, job->seed, err);
	*out = (struct generate_told){.files = x.files.files, .objects = x.files.files + 1};
	for (uint64_t i = 0; rc == 0 && i < x.files.files; i++) {
		generate_model_file(&x, i, out->begun, &size);
		out->largest = max_u64(out->largest, size);
		out->bytes += (double)size;
	}
	out->mean = out->largest;
	out->space = o->fill == GENERATE_SPARSE ? 0 : out->bytes;
	generate_model_close(&x);
	return rc;
}

static int generate_tell(const struct job *job, const struct job_phase *phase,
			 const struct job_store **store, struct generate_told *out, struct err *err)
{
	struct dataset d;
	int rc;

	if (generate_makes_model(phase->options))
		return generate_tell_model(job, phase, store, out, err);
	rc = generate_dataset(job, phase, store, &d, err);
	if (rc < 0)
		return rc;
	*out = (struct generate_told){.files = d.options.files,
				      .samples = d.samples,
				      .mean = generate_mean(&d),
				      .largest = generate_largest(&d),
				      .objects = dataset_objects(&d),
				      .folders = d.options.subfolders,
				      .bytes = dataset_bytes_expected(&d),
				      .space = dataset_bytes_expected(&d)};
	manifest_key(d.options.folder, out->begun);
	return 0;
}

int generate_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		   struct err *err)
{
	const struct job_store *store;
	struct generate_told told;
	int rc = generate_tell(job, phase, &store, &told, err);

	(void)ranks;
	return rc < 0 ? rc : generate_check_parts(store, told.largest, err);
}

uint64_t generate_piece(const struct backend_ops *ops, uint64_t part)
{
	if (part == UINT64_MAX)
		return GENERATE_PIECE_WHOLE;
	/* Only where parts are the store's own measure may they be larger than the buffer. */
	return ops->part || part < GENERATE_BUFFER_MAX ? part : GENERATE_BUFFER_MAX;
}

uint64_t generate_mean(const struct dataset *d)
{
	struct layout l;

	dataset_mean_layout(d, &l);
	return l.size;
}

struct generate_buffers generate_buffers(const struct generate_options *o, uint64_t mean,
					 const struct backend_ops *ops, uint64_t part,
					 uint32_t depth)
{
	uint64_t most = depth > 1 ? GENERATE_BUFFER_MANY : GENERATE_BUFFER_MAX;
	uint64_t piece = generate_piece(ops, part);
	struct generate_buffers b = {.count = depth, .depth = depth};

	b.bytes = piece < most ? piece : most;
	b.filled = o->fillers && piece <= b.bytes && mean > b.bytes;
	if (b.filled && b.count + GENERATE_AHEAD <= WRITER_PIECES_MAX)
		b.count += GENERATE_AHEAD;
	return b;
}

int generate_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		  uint32_t ranks_per_node, struct demand *out, struct err *err)
{
	const struct generate_options *o = phase->options;
	const struct backend_ops *ops;
	const struct job_store *store;
	struct generate_buffers buffers;
	struct generate_told told;
	int rc = generate_tell(job, phase, &store, &told, err);

	(void)ranks_per_node;
	if (rc < 0)
		return rc;
	ops = store->section->owner;
	buffers = generate_buffers(o, told.mean, ops, backend_part(store, 0),
				   backend_in_flight(store));
	out->files = told.files;
	out->samples = told.samples;
	out->bytes = told.bytes;
	out->bytes_per_rank = out->bytes / ranks;
	if (ops->capabilities & BACKEND_CONTENT)
		out->memory_per_rank = o->threads * buffers.count * buffers.bytes;
	out->memory_per_rank += o->threads * crew_thread_bytes(&generate_meter);
	return 0;
}

int generate_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		    struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err)
{
	const struct backend_ops *ops;
	const struct job_store *store;
	struct phase_store *s;
	struct generate_told told;
	int rc = generate_tell(job, phase, &store, &told, err);

	(void)ranks;
	if (rc < 0)
		return rc;
	s = phase_store_add(out, count, "data", store);
	s->needs = BACKEND_WRITES;
	ops = store->section->owner;
	if (!(ops->capabilities & BACKEND_CONTENT))
		return 0;
	s->space_bytes = told.space;
	snprintf(s->begun, sizeof(s->begun), "%s", told.begun);
	/* The manifest, and folders where the store has such. */
	s->inodes = told.objects;
	if (ops->capabilities & BACKEND_PERSISTENT)
		s->inodes += 1 + told.folders;
	return 0;
}

static const struct measure measures[] = TALLY_ROWS(GENERATE_COLUMN_LIST(MEASURE_ROW));
static const struct hist_kind hists[] = {GENERATE_HISTOGRAM_LIST(HIST_ROW)};
static const struct table_kind *const tables[] = {&endpoint_table};

/* clang-format off */
static const struct figure figures[] = {
	FIGURE_PER("write_rate", "B/s", 1e9, OF(TALLY_BYTES_WRITTEN), OF(TALLY_WALL_NS),
		   "bytes written per second of the phase",
		   .role = ROLE_BYTE_RATE)
	FIGURE_PER("fill_rate", "B/s", 1e9, OF(TALLY_BYTES_WRITTEN), OF(GENERATE_FILL_NS),
		   "bytes made per second of a thread")
	TALLY_COMMON_FIGURES
};
/* clang-format on */

const struct tally_schema generate_schema = {
	TALLY_SCHEMA(measures, figures, hists, tables),
	.main_figures = {"write_rate"},
};
