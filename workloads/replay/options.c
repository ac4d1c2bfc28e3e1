/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the phase "replay", what is refused, and what it asks of the machine. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/file_read.h"
#include "core/json.h"
#include "core/key.h"
#include "core/utf8.h"
#include "workloads/replay/replay.h"
#include "workloads/replay/work.h"
#include "workloads/trace/trace.h"

static const char *const through_names[] = {
	[REPLAY_THROUGH_NONE] = "none", [REPLAY_THROUGH_MLPERF] = "mlperf-v3", NULL};

const struct option replay_options_table[] = {
	OPT_TEXT("trace", struct replay_options, trace, .required = true,
		 .help = "the file of the trace (.csv, .csv.zst), which every rank reads"),
	OPT_REAL("speed", struct replay_options, speed, .def_real = 1, .min_real = 0,
		 .max_real = 1e9,
		 .help = "1: at the recorded times; 2: twice as fast; 0: as fast as possible"),
	OPT_REAL("size_scale", struct replay_options, size_scale, .def_real = 1, .min_real = 0,
		 .max_real = 1000, .help = "factor by which the sizes of all objects change"),
	OPT_TEXT("tiers", struct replay_options, tiers, .def_text = "all",
		 .help = "tiers whose rows reach the store: all, or numbers as in \"1,2\""),
	OPT_BOOL("lenient", struct replay_options, lenient,
		 .help = "rows that are wrong are left out and counted, instead of ending the run"),
	OPT_CHOICE(
		"through", struct replay_options, through, .choices = through_names,
		.help = "none: the rows as they are; mlperf-v3: the rows of Prefill and Decode go "
			"through tiers, which decide what is moved"),
	OPT_BYTES("gpu", struct replay_options, gpu, .max = 1ull << 60,
		  .help = "with through: bytes that Tier-0 holds; 0: it is not there"),
	OPT_BYTES("cpu", struct replay_options, cpu, .max = 1ull << 60,
		  .help = "with through: bytes that Tier-1 holds; 0: it is not there"),
	OPT_BYTES("storage", struct replay_options, storage, .max = 1ull << 60,
		  .help = "capacity of Tier-2 when \"through\" is set; 0: unlimited"),
	OPT_TEXT("trace_out", struct replay_options, trace_out, .def_text = "",
		 .help = "a file (.csv, .csv.zst) to which rank 0 writes the rows instead of doing "
			 "them; then no store is opened"),
	OPT_CHOICE("trace_format", struct replay_options, trace_format,
		   .choices = trace_format_names,
		   .help = "of that file. csv: MLPerf's six columns; full: also deletes, requests, "
			   "users and ranks; fio: an iolog; warp: an operation log"),
	OPT_TEXT("folder", struct replay_options, folder, .def_text = "replay",
		 .help = "where the objects lie in the store; it must not hold anything else"),
	OPTION_THREADS(struct replay_options, threads, REPLAY_THREADS_MAX,
		       "threads of a rank, among which its keys are divided"),
	OPTION_DEPTH(struct replay_options, depth),
	OPT_BYTES(
		"chunk", struct replay_options, chunk, .def = 1 << 20, .min = 4096, .max = 1 << 30,
		.help = "bytes of the buffer of an operation; a larger object passes through it in "
			"pieces"),
	OPTION_SECONDS(struct replay_options, seconds_ns),
	OPTION_VERIFY(struct replay_options, verify),
	OPTION_ON_ERROR(struct replay_options, on_error),
	OPTION_CONTENT(struct replay_options, "of an object", 1 << 20),
	OPT_END};

uint32_t replay_tiers(const char *text)
{
	uint32_t tiers = 0;

	if (strcmp(text, "all") == 0)
		return (1u << TRACE_TIERS) - 1;
	for (;; text++) {
		if (*text < '0' || *text >= '0' + TRACE_TIERS)
			return 0;
		tiers |= 1u << (*text - '0');
		text++;
		if (!*text)
			return tiers;
		if (*text != ',')
			return 0;
	}
}

struct replay_through replay_through_of(const struct replay_options *o, bool deletes)
{
	return (struct replay_through){.kind = (enum replay_through_kind)o->through,
				       .gpu = o->gpu,
				       .cpu = o->cpu,
				       .storage = o->storage,
				       .deletes = deletes};
}

int replay_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		 struct err *err)
{
	const struct replay_options *o = phase->options;
	char quoted[JSON_QUOTE_BYTES];
	int rc;

	(void)job;
	(void)ranks;
	if (!o->trace[0])
		return err_set(err, -EINVAL, "%s/trace: must be the name of a file", phase->path);
	if (strcmp(o->trace, o->trace_out) == 0)
		return err_set(err, -EINVAL,
			       "%s/trace_out: is the trace that is read, and would be replaced",
			       phase->path);
	if (!replay_tiers(o->tiers))
		return err_set(err, -EINVAL,
			       "%s/tiers: must be \"all\", or numbers from 0 to %d with commas "
			       "between them, is %s",
			       phase->path, TRACE_TIERS - 1, json_quote(quoted, o->tiers));
	if (o->through == REPLAY_THROUGH_NONE && (o->gpu || o->cpu || o->storage))
		return err_set(err, -EINVAL,
			       "%s/%s: is the capacity of a tier, which only a trace with "
			       "\"through\": \"mlperf-v3\" has",
			       phase->path,
			       o->gpu   ? "gpu"
			       : o->cpu ? "cpu"
					: "storage");
	rc = file_refuse_pipe(o->trace, err);
	if (rc < 0)
		return err_wrap(err, rc, "%s/trace: %s", phase->path, o->trace);
	rc = key_check(o->folder, err);
	return rc < 0 ? err_wrap(err, rc, "%s/folder", phase->path) : 0;
}

int replay_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		uint32_t ranks_per_node, struct demand *out, struct err *err)
{
	const struct replay_options *o = phase->options;
	const struct backend_ops *ops;
	const struct job_store *store = NULL;
	int rc = replay_check(job, phase, ranks, err);

	(void)ranks_per_node;
	if (rc == 0)
		rc = phase_store_find(job, phase, &store, err);
	if (rc < 0 || !store)
		return rc;
	ops = store->section->owner;
	out->seconds_limit = (double)o->seconds_ns / 1e9;
	out->memory_per_rank =
		o->threads * replay_thread_bytes(o, ops->capabilities & BACKEND_CONTENT);
	demand_note(out, "the rows of a rank's keys are in its memory, with 32 bytes each");
	return 0;
}

struct told_rows {
	const struct replay_options *options;
	uint32_t tiers;
	uint64_t bytes, other; /* of its tiers, and of those that do not reach the store */
};

/* For replay_through_all. */
static int told_take(void *argument, const struct trace_row *row, struct err *err)
{
	struct told_rows *t = argument;

	(void)err;
	if (row->operation == TRACE_DELETE)
		return 0;
	*(t->tiers >> row->tier & 1 ? &t->bytes : &t->other) +=
		replay_bytes(t->options, row->bytes);
	return 0;
}

int replay_tell(const struct job *job, const struct job_phase *phase,
		const struct rank_place *places, uint32_t ranks, struct arena *arena,
		struct plan_told *out, struct err *err)
{
	const struct replay_options *o = phase->options;
	const struct replay_through through = replay_through_of(o, true);
	struct told_rows told = {.options = o, .tiers = replay_tiers(o->tiers)};
	struct trace_reader reader;
	struct err unread = {0};
	char passed[TRACE_SKIPPED_BYTES];
	uint64_t misses;
	int rc = trace_open(&reader, o->trace, o->lenient, &unread);

	(void)job, (void)places, (void)ranks, (void)arena, (void)err;
	if (rc == 0) {
		rc = replay_through_all(&through, &reader, told_take, &told, &misses, &unread);
		trace_passed_text(&reader, passed, sizeof(passed));
		trace_close(&reader);
	}
	/* A plan may be made where the trace is not. */
	if (rc < 0) {
		snprintf(out->note, sizeof(out->note),
			 "how many bytes are moved is known when the trace is read");
		return 0;
	}
	utf8_copy(out->note, sizeof(out->note), passed);
	plan_total_add(out, "trace_bytes", "bytes", (double)told.bytes);
	if (told.other)
		plan_total_add(out, "other_tiers_bytes", "bytes", (double)told.other);
	return 0;
}

int replay_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		  struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err)
{
	const struct replay_options *o = phase->options;
	const struct job_store *store = NULL;
	struct phase_store *s;
	int rc = replay_check(job, phase, ranks, err);

	if (rc == 0)
		rc = phase_store_find(job, phase, &store, err);
	if (rc < 0)
		return rc;
	s = phase_store_add(out, count, "data", store);
	s->needs = BACKEND_RANGES | BACKEND_WRITES;
	s->depth = o->depth;
	s->depth_option = "depth";
	s->verifies = o->verify == VERIFY_FULL;
	return 0;
}
