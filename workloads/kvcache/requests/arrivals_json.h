/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded arrivals as lines of JSON, a request in each:
 *
 *	{"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, 2]}                      Mooncake: ms
 *	{"chat_id": 1, "parent_chat_id": -1, "timestamp": 61.1, "input_length": 7, "output_length": 5, …}        Qwen: seconds
 *
 * hash_ids name the blocks of the context, each together with all before it. They have up to 64 bits, more than a double
 * keeps, so they are read from the text. One thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_ARRIVALS_JSON_H
#define HAUL_WORKLOADS_KVCACHE_ARRIVALS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

/* How many blocks the lines name, and how many different ones. A zeroed struct has none. */
struct arrivals_blocks {
	uint64_t references, distinct;
	uint64_t *places; /* hash table, at most half full; 0: empty */
	uint64_t room;
	bool zero; /* the block 0, which no place can hold */
};
void arrivals_blocks_free(struct arrivals_blocks *b);

/* What a line says. blocks NULL: they are checked and not counted. -EINVAL with a sentence. */
int arrivals_json_parse(const char *line, size_t length, uint64_t *ns, uint64_t *context,
			uint64_t *generate, struct arrivals_blocks *blocks, struct err *err);

/* What is wrong with a first line that is an object; 0: it is a request. *turns: it is a
 * conversation. */
int arrivals_json_look(const char *line, size_t length, bool *turns, struct err *err);

#endif
