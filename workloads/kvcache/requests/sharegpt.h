/* SPDX-License-Identifier: Apache-2.0 */
/* Conversations in ShareGPT's form: a JSON list of objects, each with a list of what people and the model said in turn.
 *
 *	[{"id": "…", "conversations": [{"from": "human", "value": "…"}, {"from": "gpt", "value": "…"}, …]}, …]
 *
 * What a person says and the model answers at once is a turn. Texts become tokens by their number of characters. Other speakers,
 * objects without conversations and other keys are left out. One object is in memory at a time, so memory does not grow with
 * the text. One thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_SHAREGPT_H
#define HAUL_WORKLOADS_KVCACHE_SHAREGPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

/* Recorded arrivals as lines of JSON, a request in each:
 *
 *	{"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, 2]}                      Mooncake: ms
 *	{"timestamp": 1756700000.25, "chunk_size": 256, "seq_len": 700, "chunk_hashes": ["0x1a", "0x2b"], …}     LMCache's lookups: seconds
 *	{"chat_id": 1, "parent_chat_id": -1, "timestamp": 61.1, "input_length": 7, "output_length": 5, …}        Qwen: seconds
 *
 * hash_ids name the blocks of the context, each together with all before it. They have up to 64 bits, more than a double
 * keeps, so they are read from the text. One thread. */

/* How many blocks the lines name, and how many different ones. A zeroed struct has none. */
struct arrivals_blocks {
	uint64_t references, distinct;
	uint64_t *places; /* hash table, at most half full; 0: empty */
	uint64_t room;
	bool zero; /* the block 0, which no place can hold */
};
void arrivals_blocks_free(struct arrivals_blocks *b);
/* Counts one. Returns 0 or -ENOMEM with a sentence. */
int arrivals_blocks_add(struct arrivals_blocks *b, uint64_t id, struct err *err);

/* The blocks that a line names, in their order. A zeroed struct has none; its memory is free'd by
 * whoever owns it. */
struct arrivals_ids {
	uint64_t *id;
	uint32_t count, room;
};

/* Room for so many, of which there are none yet. Returns 0 or -ENOMEM with a sentence. */
int arrivals_ids_room(struct arrivals_ids *ids, uint32_t count, struct err *err);

/* What a line says. */
struct arrivals_line {
	uint64_t ns, context, generate;
	bool blocks;           /* it names its blocks */
	uint64_t block_tokens; /* of each of them, as the line says; 0: it does not */
	uint64_t session;      /* a hash of its name; 0: it has none */
};
/* -EINVAL with a sentence. */
int arrivals_json_parse(const char *line, size_t length, struct arrivals_line *out,
			struct arrivals_ids *ids, struct err *err);

/* What is wrong with a first line that is an object; 0: it is a request. *turns: it is a
 * conversation. */
int arrivals_json_look(const char *line, size_t length, bool *turns, struct err *err);

enum { SHAREGPT_OBJECT_BYTES = 64 << 20 };

struct line_reader;

struct sharegpt_turn {
	uint64_t conversation;      /* the number of its object in the list, from 0 on */
	uint32_t turn;              /* from 1 on */
	uint64_t context, generate; /* tokens, at least one of each */
};

struct sharegpt {
	struct line_reader *text;
	uint64_t characters; /* per token */
	const char *piece;   /* of the text that has not been looked at yet */
	size_t left;
	bool begun, ended, lines; /* lines: objects without a list around them */
	char *object;             /* the text of one object */
	size_t bytes, room;
	uint64_t objects;            /* read so far */
	struct sharegpt_turn *turns; /* of the last one */
	uint32_t turn_count, taken;
};

/* The first character of a text whose beginning this is, which is no space; 0: there is none. A
 * list begins with "[", and objects one after the other, as lines of JSON are, with "{". */
char sharegpt_begins(const char *text, size_t bytes);

/* The text must not have been read yet, and stays the caller's. characters: per token, at least
 * 1. */
void sharegpt_open(struct sharegpt *s, struct line_reader *text, uint64_t characters);
void sharegpt_close(struct sharegpt *s);

/* The next turn. Returns 1, or 0 at the end of the list, or a negative errno with a sentence:
 * -EINVAL (it is not such a list), -EMSGSIZE (an object is too large), -ENOMEM, or an error of the
 * reader. The next call goes on behind an object that is wrong, and is at the end where nobody knows
 * how the list goes on. */
int sharegpt_next(struct sharegpt *s, struct sharegpt_turn *out, struct err *err);

#endif
