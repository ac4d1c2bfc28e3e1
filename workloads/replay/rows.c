/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a trace that a rank replays: see rows.h. */
#include "workloads/replay/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/random.h"
#include "core/grow.h"
#include "core/json.h"
#include "workloads/replay/objects.h"

enum { ROWS_FIRST = 1024, MADE_FIRST = 256 };
static const uint64_t rows_due_max = UINT64_C(1) << 62;
static const uint64_t rank_stream = 0x72616e6b; /* "rank" */

/* What the rows so far have done to an object. */
struct rows_object {
	uint64_t bytes; /* where it is written: of the last version */
	uint32_t made;  /* 1 + its number among those that are made first; 0: it is not */
	bool written;   /* or deleted */
	bool gone;      /* deleted since */
};

/* While a trace is read. */
struct rows_loading {
	struct replay_rows *to;
	struct trace_reader *from;
	const struct replay_part *part;
	struct rows_object *objects; /* [key_room][TRACE_TIERS] */
	uint64_t first_ns;
	bool begun;
};

/* Room for one more key, in both arrays. */
static int rows_reserve_keys(struct rows_loading *l)
{
	struct replay_rows *r = l->to;
	uint32_t room = r->key_room ? 2 * r->key_room : ROWS_FIRST;
	struct replay_key *keys;
	struct rows_object *objects;

	if (r->names.count < r->key_room)
		return 0;
	if (room < r->key_room)
		return -ENOMEM;
	keys = realloc(r->keys, room * sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	r->keys = keys;
	objects = realloc(l->objects, (uint64_t)room * TRACE_TIERS * sizeof(*objects));
	if (!objects)
		return -ENOMEM;
	memset(objects + (uint64_t)r->key_room * TRACE_TIERS, 0,
	       (uint64_t)(room - r->key_room) * TRACE_TIERS * sizeof(*objects));
	l->objects = objects;
	r->key_room = room;
	return 0;
}

/* The number of a key of this rank. */
static int rows_key(struct rows_loading *l, const struct trace_row *row, uint64_t hash,
		    uint32_t *number)
{
	struct replay_rows *r = l->to;
	uint32_t before = r->names.count;
	int rc = rows_reserve_keys(l);

	if (rc == 0)
		rc = trace_names_add(&r->names, row->key, row->key_length, number);
	if (rc == 0 && *number == before)
		r->keys[before] = (struct replay_key){.hash = hash};
	return rc;
}

static int rows_make_first(struct replay_rows *r, struct rows_object *object, uint32_t key,
			   uint32_t tier, uint64_t bytes)
{
	struct replay_made *made;

	if (object->made) {
		made = &r->made[object->made - 1];
		made->bytes = bytes > made->bytes ? bytes : made->bytes;
		return 0;
	}
	/* A number of an object is 32 bits. */
	if (r->made_count >= UINT32_MAX - 1 ||
	    !grow(&r->made, r->made_count, &r->made_room, MADE_FIRST, sizeof(*made)))
		return -ENOMEM;
	r->made[r->made_count++] = (struct replay_made){.bytes = bytes, .key = key, .tier = tier};
	object->made = (uint32_t)r->made_count;
	return 0;
}

/* When a row is due. A row that is earlier than the first one of the trace is due at once. */
static uint64_t rows_due(const struct rows_loading *l, uint64_t ns)
{
	double due_ns;

	if (l->part->speed <= 0 || ns <= l->first_ns)
		return 0;
	due_ns = (double)(ns - l->first_ns) / l->part->speed;
	return due_ns < (double)rows_due_max ? (uint64_t)due_ns : rows_due_max;
}

/* A read of more than the trace has written cannot be done. Returns 1: the row is left out. */
static int rows_refuse_beyond(struct rows_loading *l, const struct trace_row *row,
			      const struct rows_object *object, struct err *err)
{
	char quoted[JSON_QUOTE_BYTES];

	if (l->part->lenient) {
		l->to->beyond++;
		return 1;
	}
	return err_set(err, -EINVAL,
		       "line %" PRIu64 ": reads more bytes of %s in Tier-%" PRIu32
		       " than were written there, which are %" PRIu64 " after size_scale",
		       row->line, json_quote(quoted, row->key), row->tier, object->bytes);
}

/* A row of a key of this rank. */
static int rows_add(struct rows_loading *l, const struct trace_row *row, uint64_t hash,
		    struct err *err)
{
	struct replay_rows *r = l->to;
	struct replay_row to = {.due_ns = rows_due(l, row->ns),
				.offset = (uint64_t)((double)row->offset * l->part->size_scale),
				.bytes = (uint64_t)((double)row->bytes * l->part->size_scale),
				.operation = (uint8_t)row->operation,
				.tier = (uint8_t)row->tier};
	struct rows_object *object;
	struct replay_list *list;
	uint64_t end = to.offset + to.bytes;
	int rc = rows_key(l, row, hash, &to.key);

	if (rc < 0)
		return err_set(err, rc, "no memory for the keys of the trace");
	object = &l->objects[(uint64_t)to.key * TRACE_TIERS + row->tier];
	if (row->operation == TRACE_READ && object->written &&
	    (object->gone || end > object->bytes)) {
		rc = rows_refuse_beyond(l, row, object, err);
		return rc < 0 ? rc : 0;
	}
	if (row->operation != TRACE_WRITE && !object->written)
		rc = rows_make_first(r, object, to.key, row->tier, end);
	if (row->operation != TRACE_READ) {
		object->written = true;
		object->gone = row->operation == TRACE_DELETE;
		object->bytes = object->gone ? 0 : end;
	}
	list = &r->lists[mix64(hash ^ REPLAY_THREAD_STREAM) % r->threads];
	if (rc < 0 || !grow(&list->rows, list->count, &list->room, ROWS_FIRST, sizeof(to)))
		return err_set(err, -ENOMEM, "no memory for the rows of the trace");
	list->rows[list->count++] = to;
	r->keys[to.key].tiers |= (uint8_t)(1u << row->tier);
	r->rows++;
	r->bytes_most = end > r->bytes_most ? end : r->bytes_most;
	return 0;
}

/* For replay_through_all. */
static int rows_take(void *loading, const struct trace_row *row, struct err *err)
{
	struct rows_loading *l = loading;
	const struct replay_part *part = l->part;
	uint64_t hash;

	if (!l->begun)
		l->first_ns = row->ns;
	l->begun = true;
	if (!(part->tiers >> row->tier & 1)) {
		l->to->other_tiers++;
		return 0;
	}
	hash = replay_key_hash(row->key, row->key_length);
	if (mix64(hash ^ rank_stream) % part->ranks != part->rank)
		return 0;
	return rows_add(l, row, hash, err);
}

int replay_rows_load(struct replay_rows *r, struct trace_reader *from,
		     const struct replay_part *part, struct err *err)
{
	struct rows_loading l = {.to = r, .from = from, .part = part};
	int rc;

	*r = (struct replay_rows){.threads = part->threads};
	r->lists = calloc(part->threads, sizeof(*r->lists));
	if (!r->lists)
		return err_set(err, -ENOMEM, "no memory for the rows of the trace");
	rc = replay_through_all(&part->through, from, rows_take, &l, &r->misses, err);
	free(l.objects);
	if (rc < 0)
		return rc;
	r->passed = from->passed;
	for (int i = 0; i < TRACE_FAULT_COUNT; i++)
		r->wrong += from->skipped[i];
	trace_skipped_text(from, r->skipped, sizeof(r->skipped));
	trace_passed_text(from, r->passed_text, sizeof(r->passed_text));
	r->bytes_differ = trace_bytes_differ(from);
	return 0;
}

void replay_rows_free(struct replay_rows *r)
{
	for (uint32_t i = 0; r->lists && i < r->threads; i++)
		free(r->lists[i].rows);
	free(r->lists);
	free(r->keys);
	free(r->made);
	trace_names_free(&r->names);
	*r = (struct replay_rows){0};
}
