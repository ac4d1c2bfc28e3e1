/* SPDX-License-Identifier: Apache-2.0 */
/* A trace through tiers: see replay.h. */
#include "workloads/replay/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/grow.h"
#include "core/numbers.h"
#include "workloads/kvcache/trace/virtual_run.h"
#include "workloads/trace/fields.h"
#include "workloads/trace/trace.h"

enum { THROUGH_TIERS = 3 };

/* What the events of the tiers come to. */
struct through_sink {
	replay_take take;
	void *argument;
	struct err *err;
	int rc; /* the first error of take */
};

static void through_row(void *argument, const struct trace_row *row)
{
	struct through_sink *sink = argument;

	if (sink->rc == 0)
		sink->rc = sink->take(sink->argument, row, sink->err);
}

static int through_tiers(const struct replay_through *t, struct trace_reader *from,
			 struct through_sink *sink, uint64_t *misses, struct err *err)
{
	const struct kv_tier_rules rules[THROUGH_TIERS] = {
		kv_tier_mlperf(t->gpu, false), kv_tier_mlperf(t->cpu, false),
		kv_tier_mlperf(t->storage ? t->storage : KV_UNLIMITED, true)};
	const struct kv_policy policy = kv_policy_mlperf();
	struct trace_names names = {0};
	struct trace_events events = {.row = through_row,
				      .argument = sink,
				      .names = &names,
				      .deletes = t->deletes,
				      .promotes_whole = true,
				      .origin = {.request = TRACE_NOBODY, .user = TRACE_NOBODY}};
	struct kv_tiers tiers;
	struct through through = {
		.from = from, .tiers = &tiers, .names = &names, .events = &events};
	int rc = kv_tiers_init(&tiers, &policy, rules, THROUGH_TIERS);

	if (rc < 0)
		err_set(err, rc, "no memory for the tiers");
	tiers.event = trace_event;
	tiers.argument = &events;
	while (rc == 0 && (rc = through_next(&through, err)) > 0)
		rc = sink->rc;
	*misses = tiers.misses;
	kv_tiers_free(&tiers);
	trace_names_free(&names);
	return rc;
}

enum { LOG_ROWS_FIRST = 1024, LOG_MERGED = TRACE_OPERATION_COUNT };
#define LOG_NO_WRITE UINT64_MAX

/* Rows of an operation log. A log has its rows in the order in which operations ended, and a row for each
 * request. So rows are sorted, and the requests that write parts of an object become one write of it.
 *
 *	PUT a 0 + 4 MiB    PUT a 4 MiB + 4 MiB    PUT a 8 MiB + 1 MiB   ──►   Write a 9 MiB
 *
 * Parts without offsets (warp's PUTPART) follow each other. Of an iolog only writes that continue the last one become a write,
 * since objects are not written in the middle; others are counted. A write also is as large as what is read of the object later: logs need not have the sizes of all writes. */
struct log_row {
	uint64_t ns, bytes, offset, line;
	uint32_t key;
	uint8_t operation, phase, tier; /* LOG_MERGED: a part of an earlier write, or left out */
	bool part; /* of a write without offsets, which goes on until the object is read */
};

struct log_rows {
	struct log_row *rows;
	uint64_t count, room;
	struct trace_names names;
	uint64_t bytes; /* read and written, as the log has them */
	uint64_t *
		writes; /* [names.count]: the row that has written the object last, or LOG_NO_WRITE */
};

static uint64_t log_moved(unsigned operation, uint64_t bytes)
{
	return operation == TRACE_READ || operation == TRACE_WRITE ? bytes : 0;
}

static int log_append(struct log_rows *l, const struct trace_row *row)
{
	uint32_t key;

	if (!grow(&l->rows, l->count, &l->room, LOG_ROWS_FIRST, sizeof(*l->rows)) ||
	    trace_names_add(&l->names, row->key, row->key_length, &key) < 0)
		return -ENOMEM;
	l->bytes += log_moved(row->operation, row->bytes);
	l->rows[l->count++] = (struct log_row){.ns = row->ns,
					       .bytes = row->bytes,
					       .offset = row->offset,
					       .line = row->line,
					       .key = key,
					       .operation = (uint8_t)row->operation,
					       .phase = (uint8_t)row->phase,
					       .tier = (uint8_t)row->tier,
					       .part = row->part};
	return 0;
}

static int log_compare(const void *a, const void *b)
{
	const struct log_row *one = a, *other = b;

	if (one->ns != other->ns)
		return one->ns < other->ns ? -1 : 1;
	return one->line < other->line ? -1 : one->line > other->line;
}

/* A row that writes an object, or a part of one; last: the write of it before. Returns whether it
 * begins a new write. */
static bool log_merge_write(struct log_row *row, struct log_row *last, struct trace_reader *from)
{
	uint64_t end = row->offset + row->bytes;
	bool inside = from->form == TRACE_FORM_FIO && row->offset &&
		      (!last || last->bytes != row->offset);
	bool part = row->part;

	if (inside)
		trace_pass(from, "writes inside ", "files");
	else if (last && part && last->part)
		last->bytes += row->bytes;
	else if (last && row->offset)
		last->bytes = max_u64(last->bytes, end);
	if (inside || (last && ((part && last->part) || row->offset))) {
		row->operation = LOG_MERGED;
		return false;
	}
	*row = (struct log_row){.ns = row->ns,
				.bytes = end,
				.line = row->line,
				.key = row->key,
				.operation = TRACE_WRITE,
				.phase = row->phase,
				.tier = row->tier,
				.part = part};
	return true;
}

/* Makes whole writes of parts, which are in the order of their beginnings. */
static void log_merge(struct log_rows *l, struct trace_reader *from)
{
	for (uint32_t i = 0; i < l->names.count; i++)
		l->writes[i] = LOG_NO_WRITE;
	for (uint64_t i = 0; i < l->count; i++) {
		struct log_row *row = &l->rows[i], *last = NULL;
		uint64_t *write = &l->writes[row->key];

		if (*write != LOG_NO_WRITE)
			last = &l->rows[*write];
		if (row->operation == TRACE_DELETE) {
			*write = LOG_NO_WRITE;
		} else if (row->operation == TRACE_WRITE) {
			if (log_merge_write(row, last, from))
				*write = i;
		} else if (last) {
			last->bytes = max_u64(last->bytes, row->offset + row->bytes);
			last->part = false;
		}
	}
}

static int log_take(const struct log_rows *l, replay_take take, void *argument, struct err *err)
{
	int rc = 0;

	for (uint64_t i = 0; rc == 0 && i < l->count; i++) {
		const struct log_row *from = &l->rows[i];
		const char *key = trace_names_text(&l->names, from->key);
		const struct trace_row row = {
			.ns = from->ns,
			.bytes = from->bytes,
			.offset = from->offset,
			.line = from->line,
			.operation = from->operation,
			.tier = from->tier,
			.phase = from->phase,
			.key = key,
			.key_length = strlen(key),
			.origin = {.request = TRACE_NOBODY, .user = TRACE_NOBODY}};

		if (from->operation != LOG_MERGED)
			rc = take(argument, &row, err);
	}
	return rc;
}

static int log_rows(struct trace_reader *from, replay_take take, void *argument, struct err *err)
{
	struct log_rows l = {.count = 0};
	struct trace_row row;
	int rc = 0;

	while (rc == 0 && (rc = trace_next(from, &row, err)) > 0) {
		rc = log_append(&l, &row);
		if (rc < 0)
			err_set(err, rc, "no memory for the rows of the log");
	}
	if (rc == 0 && l.count) {
		qsort(l.rows, l.count, sizeof(*l.rows), log_compare);
		l.writes = malloc(l.names.count * sizeof(*l.writes));
		if (l.writes) {
			log_merge(&l, from);
			from->log_bytes = l.bytes;
			from->row_bytes = 0;
			for (uint64_t i = 0; i < l.count; i++)
				from->row_bytes += log_moved(l.rows[i].operation, l.rows[i].bytes);
			rc = log_take(&l, take, argument, err);
		} else {
			rc = err_set(err, -ENOMEM, "no memory for the rows of the log");
		}
	}
	free(l.rows);
	free(l.writes);
	trace_names_free(&l.names);
	return rc;
}

int replay_through_all(const struct replay_through *t, struct trace_reader *from, replay_take take,
		       void *argument, uint64_t *misses, struct err *err)
{
	struct through_sink sink = {.take = take, .argument = argument, .err = err};
	struct trace_row row;
	int rc = 0;

	*misses = 0;
	if (t->kind == REPLAY_THROUGH_MLPERF && from->log)
		return err_set(err, -EINVAL,
			       "is an operation log, which has no phases to go through tiers");
	if (from->log)
		return log_rows(from, take, argument, err);
	if (t->kind == REPLAY_THROUGH_MLPERF)
		return through_tiers(t, from, &sink, misses, err);
	while (rc == 0 && (rc = trace_next(from, &row, err)) > 0)
		rc = take(argument, &row, err);
	return rc;
}
