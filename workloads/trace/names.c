/* SPDX-License-Identifier: Apache-2.0 */
/* Names: see trace.h. */
#include "workloads/trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/fnv.h"
#include "core/content/random.h"
#include "core/grow.h"

enum { NAMES_FIRST = 1024, BLOCKS_FIRST = 16 };

/* Where the text is in the table, or where it would be put. */
static uint32_t *names_place(const struct trace_names *n, uint32_t *places, uint32_t room,
			     const char *text, size_t length)
{
	uint64_t at = mix64(fnv_add(FNV_START, text, length));

	for (;; at++) {
		uint32_t *place = &places[at & (2ull * room - 1)];

		if (*place == UINT32_MAX ||
		    (strncmp(n->texts[*place], text, length) == 0 && !n->texts[*place][length]))
			return place;
	}
}

static int names_grow(struct trace_names *n)
{
	uint32_t room = n->room ? 2 * n->room : NAMES_FIRST;
	char **texts = realloc(n->texts, room * sizeof(*texts));
	uint32_t *places = malloc(2ull * room * sizeof(*places));

	if (texts)
		n->texts = texts;
	if (!texts || !places) {
		free(places);
		return -ENOMEM;
	}
	memset(places, 0xff, 2ull * room * sizeof(*places));
	for (uint32_t i = 0; i < n->count; i++)
		*names_place(n, places, room, texts[i], strlen(texts[i])) = i;
	free(n->places);
	n->places = places;
	n->room = room;
	return 0;
}

static char *names_store(struct trace_names *n, const char *text, size_t length)
{
	char *at;

	if (!n->block_count || n->used + length + 1 > TRACE_NAMES_BLOCK) {
		if (!grow(&n->blocks, n->block_count, &n->block_room, BLOCKS_FIRST,
			  sizeof(*n->blocks)))
			return NULL;
		at = malloc(TRACE_NAMES_BLOCK);
		if (!at)
			return NULL;
		n->blocks[n->block_count++] = at;
		n->used = 0;
	}
	at = n->blocks[n->block_count - 1] + n->used;
	memcpy(at, text, length);
	at[length] = '\0';
	n->used += length + 1;
	return at;
}

int trace_names_add(struct trace_names *n, const char *text, size_t length, uint32_t *number)
{
	uint32_t *place;

	if (n->count == n->room && (n->room > UINT32_MAX / 4 || names_grow(n) < 0))
		return -ENOMEM;
	place = names_place(n, n->places, n->room, text, length);
	if (*place == UINT32_MAX) {
		char *stored = names_store(n, text, length);

		if (!stored)
			return -ENOMEM;
		n->texts[n->count] = stored;
		*place = n->count++;
	}
	*number = *place;
	return 0;
}

void trace_names_free(struct trace_names *n)
{
	for (uint32_t i = 0; i < n->block_count; i++)
		free(n->blocks[i]);
	free(n->blocks);
	free(n->texts);
	free(n->places);
	*n = (struct trace_names){0};
}
