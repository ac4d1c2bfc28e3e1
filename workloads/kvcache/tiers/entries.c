/* SPDX-License-Identifier: Apache-2.0 */
/* Entry table: see entries.h. Source: W. Litwin, "Linear hashing", VLDB 1980. */
#include "workloads/kvcache/tiers/entries.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/random.h"
#include "core/decimal.h"
#include "core/grow.h"

enum { POINTERS_FIRST = 64 };

uint64_t kv_id_hash(struct kv_id id)
{
	return mix64(id.low ^ mix64(id.high + 1));
}

static int segment_add(struct kv_entries *e)
{
	uint32_t *segment;

	if (!grow(&e->segments, e->segment_count, &e->segment_room, POINTERS_FIRST,
		  sizeof(*e->segments)))
		return -ENOMEM;
	segment = malloc(KV_SEGMENT_BUCKETS * sizeof(*segment));
	if (!segment)
		return -ENOMEM;
	memset(segment, 0xff, KV_SEGMENT_BUCKETS * sizeof(*segment)); /* KV_NONE */
	e->segments[e->segment_count++] = segment;
	return 0;
}

int kv_entries_init(struct kv_entries *e, size_t bytes)
{
	*e = (struct kv_entries){.free = KV_NONE, .buckets = 1, .level = 1};
	e->stride = (bytes + 7) / 8 * 8;
	if (segment_add(e) < 0) {
		kv_entries_free(e);
		return -ENOMEM;
	}
	return 0;
}

void kv_entries_free(struct kv_entries *e)
{
	for (uint32_t i = 0; i < e->block_count; i++)
		free(e->blocks[i]);
	for (uint32_t i = 0; i < e->segment_count; i++)
		free(e->segments[i]);
	free(e->blocks);
	free(e->segments);
	*e = (struct kv_entries){.free = KV_NONE};
}

static uint32_t *bucket_at(const struct kv_entries *e, uint32_t bucket)
{
	uint32_t *segment = e->segments[bucket / KV_SEGMENT_BUCKETS];

	return &segment[bucket % KV_SEGMENT_BUCKETS];
}

/* Buckets below the split have twice as many places as the others. */
static uint32_t bucket_of(const struct kv_entries *e, uint64_t hash)
{
	uint32_t bucket = (uint32_t)hash & (2 * e->level - 1);

	return bucket < e->buckets ? bucket : bucket - e->level;
}

static struct kv_item *item_at(const struct kv_entries *e, uint32_t number)
{
	return kv_entries_at(e, number);
}

uint32_t kv_entries_find(const struct kv_entries *e, struct kv_id id)
{
	uint32_t number = *bucket_at(e, bucket_of(e, kv_id_hash(id)));

	while (number != KV_NONE && !kv_id_same(item_at(e, number)->id, id))
		number = item_at(e, number)->next;
	return number;
}

/* Adds a bucket, and moves to it what belongs there of the bucket that is split. */
static int bucket_split(struct kv_entries *e)
{
	uint32_t from = e->buckets - e->level, to = e->buckets, number;
	uint32_t *at;

	if (to / KV_SEGMENT_BUCKETS >= e->segment_count && segment_add(e) < 0)
		return -ENOMEM;
	at = bucket_at(e, from);
	e->buckets++;
	while ((number = *at) != KV_NONE) {
		struct kv_item *item = item_at(e, number);

		if (bucket_of(e, kv_id_hash(item->id)) == to) {
			*at = item->next;
			item->next = *bucket_at(e, to);
			*bucket_at(e, to) = number;
		} else {
			at = &item->next;
		}
	}
	if (e->buckets == 2 * e->level)
		e->level *= 2;
	return 0;
}

static int block_add(struct kv_entries *e)
{
	void *block;

	if (!grow(&e->blocks, e->block_count, &e->block_room, POINTERS_FIRST, sizeof(*e->blocks)))
		return -ENOMEM;
	block = malloc(KV_BLOCK_ENTRIES * e->stride);
	if (!block)
		return -ENOMEM;
	e->blocks[e->block_count++] = block;
	return 0;
}

uint32_t kv_entries_add(struct kv_entries *e, struct kv_id id)
{
	uint32_t number = e->free, *head;
	struct kv_item *item;

	if (number == KV_NONE && e->made == KV_NONE)
		return KV_NONE;
	if (number == KV_NONE && e->made / KV_BLOCK_ENTRIES >= e->block_count && block_add(e) < 0)
		return KV_NONE;
	if (e->live >= e->buckets && e->buckets < 1u << 31 && bucket_split(e) < 0)
		return KV_NONE;
	if (number == KV_NONE)
		number = e->made++;
	else
		e->free = item_at(e, number)->next;
	item = item_at(e, number);
	memset(item, 0, e->stride);
	item->id = id;
	head = bucket_at(e, bucket_of(e, kv_id_hash(id)));
	item->next = *head;
	*head = number;
	e->live++;
	return number;
}

void kv_entries_remove(struct kv_entries *e, uint32_t number)
{
	struct kv_item *item = item_at(e, number);
	uint32_t *at = bucket_at(e, bucket_of(e, kv_id_hash(item->id)));

	while (*at != number)
		at = &item_at(e, *at)->next;
	*at = item->next;
	item->next = e->free;
	e->free = number;
	e->live--;
}

uint64_t kv_entries_memory(const struct kv_entries *e)
{
	return (uint64_t)e->block_count * KV_BLOCK_ENTRIES * e->stride +
	       (uint64_t)e->segment_count * KV_SEGMENT_BUCKETS * sizeof(uint32_t) +
	       (e->block_room + e->segment_room) * sizeof(void *);
}

/* The words of a key, and how many digits its numbers have at least. A word of NULL ends the
 * key. */
static const struct key_form {
	const char *word[3];
	char part[3]; /* 'f' first, 's' second, 'n' number: what follows the word */
	uint8_t digits[3];
} key_forms[KV_KEY_KINDS] = {
	[KV_KEY_TURN] = {{"conv_user_", "_", "_turn_"}, {'f', 'n', 's'}, {4, 1, 1}},
	[KV_KEY_REQUEST] = {{"user_", "_req_"}, {'f', 'n'}, {4, 6}},
	[KV_KEY_PROMPT] = {{"kv_system_"}, {'n'}, {1}},
	[KV_KEY_CHUNK] = {{"rag_doc_", "_chunk_"}, {'f', 's'}, {4, 1}},
	[KV_KEY_DOCUMENT] = {{"rag_doc_"}, {'f'}, {4}},
	[KV_KEY_FILL] = {{"precond_"}, {'n'}, {1}},
	[KV_KEY_STORED] = {{"prepop_"}, {'n'}, {1}},
	[KV_KEY_NAMED] = {{"name_"}, {'n'}, {1}},
	[KV_KEY_BLOCK] = {{"block_"}, {'n'}, {1}},
};

size_t kv_key_text(char out[KV_KEY_BYTES], struct kv_id id)
{
	const struct key_form *f = &key_forms[kv_id_kind(id)];
	uint64_t first = id.high >> 24 & UINT32_MAX, second = id.high & KV_KEY_SECOND_MAX;
	char *at = out;

	for (int i = 0; i < 3 && f->word[i]; i++) {
		at = stpcpy(at, f->word[i]);
		at = decimal_put(at,
				 f->part[i] == 'f'   ? first
				 : f->part[i] == 's' ? second
						     : id.low,
				 f->digits[i]);
	}
	*at = 0;
	return (size_t)(at - out);
}
