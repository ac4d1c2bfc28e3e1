/* Operations under way: see operations.h. */
#include "workloads/kvcache/tiers/operations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { OPERATIONS_LEAST = 16 };

static uint32_t *line_bucket(const struct kv_operations *o, struct kv_id id)
{
	return &o->buckets[kv_id_hash(id) & (o->bucket_count - 1)];
}

/* Makes operations and lines from the old room on free. */
static void operations_add_room(struct kv_operations *o, uint32_t room)
{
	for (uint32_t i = room; i-- > o->room;) {
		o->operations[i].next = o->free_operation;
		o->free_operation = i;
		o->lines[i].next = o->free_line;
		o->free_line = i;
	}
	o->room = room;
}

/* There are twice as many buckets as lines. */
static void operations_hash(struct kv_operations *o, uint32_t *buckets, uint32_t count)
{
	uint32_t *old = o->buckets, old_count = o->bucket_count;

	memset(buckets, 0xff, count * sizeof(*buckets)); /* KV_NONE */
	o->buckets = buckets;
	o->bucket_count = count;
	for (uint32_t i = 0; i < old_count; i++)
		while (old[i] != KV_NONE) {
			struct kv_line *line = &o->lines[old[i]];
			uint32_t *bucket = line_bucket(o, line->id), number = old[i];

			old[i] = line->next;
			line->next = *bucket;
			*bucket = number;
		}
	free(old);
}

static int operations_grow(struct kv_operations *o, uint32_t room)
{
	struct kv_operation *operations = realloc(o->operations, room * sizeof(*operations));
	struct kv_line *lines;
	uint32_t *buckets;

	if (!operations)
		return -ENOMEM;
	o->operations = operations;
	lines = realloc(o->lines, room * sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	o->lines = lines;
	buckets = malloc(2ull * room * sizeof(*buckets));
	if (!buckets)
		return -ENOMEM;
	operations_hash(o, buckets, 2 * room);
	operations_add_room(o, room);
	return 0;
}

int kv_operations_init(struct kv_operations *o, uint32_t room)
{
	uint32_t first = OPERATIONS_LEAST;
	int rc;

	*o = (struct kv_operations){.free_operation = KV_NONE, .free_line = KV_NONE};
	for (int i = 0; i < KV_PRIORITIES; i++)
		o->ready[i] = (struct kv_fifo){KV_NONE, KV_NONE};
	while (first < room && first < 1u << 30)
		first *= 2;
	rc = operations_grow(o, first);
	if (rc < 0)
		kv_operations_free(o);
	return rc;
}

void kv_operations_free(struct kv_operations *o)
{
	free(o->operations);
	free(o->lines);
	free(o->buckets);
	*o = (struct kv_operations){.free_operation = KV_NONE, .free_line = KV_NONE};
}

static uint32_t line_find(const struct kv_operations *o, struct kv_id id)
{
	uint32_t number = *line_bucket(o, id);

	while (number != KV_NONE && !kv_id_same(o->lines[number].id, id))
		number = o->lines[number].next;
	return number;
}

static uint32_t line_make(struct kv_operations *o, struct kv_id id)
{
	uint32_t number = o->free_line, *bucket = line_bucket(o, id);
	struct kv_line *line = &o->lines[number];

	o->free_line = line->next;
	*line = (struct kv_line){id, KV_NONE, KV_NONE, KV_NONE, *bucket};
	*bucket = number;
	return number;
}

static void line_remove(struct kv_operations *o, uint32_t number)
{
	struct kv_line *line = &o->lines[number];
	uint32_t *at = line_bucket(o, line->id);

	while (*at != number)
		at = &o->lines[*at].next;
	*at = line->next;
	line->next = o->free_line;
	o->free_line = number;
}

/* It may begin. */
static void operation_ready(struct kv_operations *o, uint32_t number)
{
	struct kv_operation *op = kv_operation_at(o, number);
	struct kv_fifo *ready = &o->ready[op->priority];

	if (op->waits || op->held)
		return;
	op->next = KV_NONE;
	if (ready->last == KV_NONE)
		ready->first = number;
	else
		kv_operation_at(o, ready->last)->next = number;
	ready->last = number;
}

/* Lets those of an entry go that nothing before them keeps: reads behind reads, and what changes the entry when it is the
 * first. */
static void line_let_go(struct kv_operations *o, struct kv_line *line)
{
	while (line->held != KV_NONE) {
		uint32_t number = line->held;
		struct kv_operation *op = kv_operation_at(o, number);
		bool first = number == line->first;

		if (!first && (op->kind != KV_OPERATION_READ ||
			       kv_operation_at(o, line->first)->kind != KV_OPERATION_READ))
			return;
		line->held = op->after;
		op->held = false;
		operation_ready(o, number);
	}
}

uint32_t kv_operations_add(struct kv_operations *o, const struct kv_operation *what, uint32_t after)
{
	struct kv_operation *op;
	struct kv_line *line;
	uint32_t number, at;

	if (o->free_operation == KV_NONE &&
	    (o->room >= 1u << 30 || operations_grow(o, 2 * o->room) < 0))
		return KV_NONE;
	number = o->free_operation;
	op = kv_operation_at(o, number);
	o->free_operation = op->next;
	*op = *what;
	op->waits = (after != KV_NONE) + op->asks;
	op->held = true;
	op->chain = KV_NONE;
	if (after != KV_NONE)
		kv_operation_at(o, after)->chain = number;
	at = line_find(o, op->id);
	line = &o->lines[at == KV_NONE ? line_make(o, op->id) : at];
	op->before = line->last;
	op->after = KV_NONE;
	if (line->last == KV_NONE)
		line->first = number;
	else
		kv_operation_at(o, line->last)->after = number;
	line->last = number;
	if (line->held == KV_NONE)
		line->held = number;
	o->under_way++;
	line_let_go(o, line);
	return number;
}

void kv_operations_admit(struct kv_operations *o, uint32_t number)
{
	kv_operation_at(o, number)->waits--;
	operation_ready(o, number);
}

uint32_t kv_operations_take(struct kv_operations *o, uint32_t priorities)
{
	for (uint32_t i = 0; i < priorities; i++) {
		struct kv_fifo *ready = &o->ready[i];
		uint32_t number = ready->first;

		if (number == KV_NONE)
			continue;
		ready->first = kv_operation_at(o, number)->next;
		if (ready->first == KV_NONE)
			ready->last = KV_NONE;
		return number;
	}
	return KV_NONE;
}

static void line_take(struct kv_operations *o, const struct kv_operation *op)
{
	uint32_t at = line_find(o, op->id);
	struct kv_line *line = &o->lines[at];

	if (op->before == KV_NONE)
		line->first = op->after;
	else
		kv_operation_at(o, op->before)->after = op->after;
	if (op->after == KV_NONE)
		line->last = op->before;
	else
		kv_operation_at(o, op->after)->before = op->before;
	if (line->first == KV_NONE)
		line_remove(o, at);
	else
		line_let_go(o, line);
}

void kv_operations_end(struct kv_operations *o, uint32_t number)
{
	struct kv_operation *op = kv_operation_at(o, number);

	line_take(o, op);
	if (op->chain != KV_NONE) {
		kv_operation_at(o, op->chain)->waits--;
		operation_ready(o, op->chain);
	}
	op->next = o->free_operation;
	o->free_operation = number;
	o->under_way--;
}
