/* SPDX-License-Identifier: Apache-2.0 */
/* Names: texts that get numbers, such as the keys of a trace, and are found again by them. A text
 * has the same number each time. Memory is given back only by trace_names_free. One thread. */
#ifndef HAUL_WORKLOADS_TRACE_NAMES_H
#define HAUL_WORKLOADS_TRACE_NAMES_H

#include <stddef.h>
#include <stdint.h>

enum { TRACE_NAMES_BLOCK = 1 << 20 };

struct trace_names {
	char **texts;     /* [count], each with a zero byte behind it */
	uint32_t *places; /* hash table of numbers, at most half full; UINT32_MAX: empty */
	uint32_t count, room;
	char **blocks; /* where the texts are */
	uint64_t block_count, block_room;
	size_t used; /* of the last block */
};

/* A zeroed struct has no names. Returns 0 or -ENOMEM. text: less than TRACE_NAMES_BLOCK bytes. */
int trace_names_add(struct trace_names *n, const char *text, size_t length, uint32_t *number);
void trace_names_free(struct trace_names *n);

static inline const char *trace_names_text(const struct trace_names *n, uint64_t number)
{
	return n->texts[number];
}

#endif
