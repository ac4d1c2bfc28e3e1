/* SPDX-License-Identifier: Apache-2.0 */
/* Operations under way: see operations.h. */
#include "workloads/kvcache/tiers/operations.h"

/* The operations of an entry, in their order: first those that have been let go, then those that
 * are held. */
struct line {
	struct kv_item item;
	struct list operations;
	struct kv_operation *held; /* the first one; NULL */
};

int kv_operations_init(struct kv_operations *o)
{
	*o = (struct kv_operations){.under_way = 0};
	return kv_entries_init(&o->lines, sizeof(struct line));
}

void kv_operations_free(struct kv_operations *o)
{
	kv_entries_free(&o->lines);
	kv_pool_free(&o->pool);
}

static struct kv_operation *line_member(struct list_link *link)
{
	return link ? list_member(link, struct kv_operation, of_entry) : NULL;
}

/* It begins in its turn, unless it still waits for something. */
static void operation_ready(struct kv_operations *o, struct kv_operation *op)
{
	if (!op->waits && !op->held)
		list_append(&o->ready[op->priority], &op->link);
}

/* Lets those of an entry go that nothing before them keeps: reads behind reads, and what changes
 * the entry when it is the first. */
static void line_let_go(struct kv_operations *o, struct line *line)
{
	const struct kv_operation *first = line_member(line->operations.first);
	struct kv_operation *op;

	while ((op = line->held)) {
		if (op != first &&
		    (op->kind != KV_OPERATION_READ || first->kind != KV_OPERATION_READ))
			return;
		line->held = line_member(op->of_entry.after);
		op->held = false;
		operation_ready(o, op);
	}
}

struct kv_operation *kv_operations_add(struct kv_operations *o, const struct kv_operation *what,
				       struct kv_operation *after)
{
	struct kv_operation *op = kv_pool_take(&o->pool, sizeof(*op));
	uint32_t number = kv_entries_find(&o->lines, what->id);
	struct line *line;

	if (!op)
		return NULL;
	if (number == KV_NONE)
		number = kv_entries_add(&o->lines, what->id);
	if (number == KV_NONE) {
		kv_pool_give(&o->pool, op);
		return NULL;
	}
	*op = *what;
	op->line = number;
	op->waits = (after != NULL) + op->asks;
	op->held = true;
	op->then = NULL;
	if (after)
		after->then = op;
	line = kv_entries_at(&o->lines, number);
	list_append(&line->operations, &op->of_entry);
	if (!line->held)
		line->held = op;
	o->under_way++;
	line_let_go(o, line);
	return op;
}

void kv_operations_admit(struct kv_operations *o, struct kv_operation *op)
{
	op->waits--;
	operation_ready(o, op);
}

struct kv_operation *kv_operations_take(struct kv_operations *o, uint32_t priorities)
{
	struct list_link *link = NULL;

	for (uint32_t i = 0; !link && i < priorities; i++)
		link = list_take(&o->ready[i]);
	return link ? list_member(link, struct kv_operation, link) : NULL;
}

void kv_operations_end(struct kv_operations *o, struct kv_operation *op)
{
	struct line *line = kv_entries_at(&o->lines, op->line);

	list_remove(&line->operations, &op->of_entry);
	if (list_empty(&line->operations))
		kv_entries_remove(&o->lines, op->line);
	else
		line_let_go(o, line);
	if (op->then)
		kv_operations_admit(o, op->then);
	kv_pool_give(&o->pool, op);
	o->under_way--;
}
