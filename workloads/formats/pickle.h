/* SPDX-License-Identifier: Apache-2.0 */
/* Pickles, byte by byte as Python's pickler writes them: at protocol 2, as torch.save does, or 4, as Python itself.
 *
 * A pickler keeps whatever it wrote under a number, and refers to it when the same object comes again. Objects that come
 * again here (classes, functions, constants) are in a table of the caller. At protocol 4 there are no frames, which
 * readers do not need.
 *
 * Plain data; any thread. Source: Python's pickletools. */
#ifndef HAUL_WORKLOADS_FORMATS_PICKLE_H
#define HAUL_WORKLOADS_FORMATS_PICKLE_H

#include <stdbool.h>
#include <stdint.h>

/* Opcodes whose arguments are none. */
enum pickle_op {
	PICKLE_MARK = '(',
	PICKLE_STOP = '.',
	PICKLE_BINPERSID = 'Q',
	PICKLE_NONE = 'N',
	PICKLE_REDUCE = 'R',
	PICKLE_EMPTY_LIST = ']',
	PICKLE_EMPTY_DICT = '}',
	PICKLE_EMPTY_TUPLE = ')',
	PICKLE_APPENDS = 'e',
	PICKLE_BUILD = 'b',
	PICKLE_SETITEM = 's',
	PICKLE_TUPLE = 't',
	PICKLE_SETITEMS = 'u',
	PICKLE_NEWOBJ = 0x81,
	PICKLE_TUPLE1 = 0x85,
	PICKLE_TUPLE2 = 0x86,
	PICKLE_TRUE = 0x88,
	PICKLE_FALSE = 0x89
};
enum { PICKLE_OBJECTS_MAX = 56 };

struct pickle {
	uint8_t *out; /* NULL: only counts */
	/* Globals as "module\nname\n", constants as themselves. */
	const char *const *texts;
	unsigned protocol; /* 2 or 4 */
	uint64_t bytes;
	uint32_t kept;                        /* objects under a number */
	uint32_t numbers[PICKLE_OBJECTS_MAX]; /* theirs, plus 1; 0: not yet */
};

void pickle_begin(struct pickle *p);
void pickle_op(struct pickle *p, uint8_t op);
/* Keeps what was written last under the next number. */
void pickle_keep(struct pickle *p);
/* The same for an opcode whose object is kept. */
void pickle_kept(struct pickle *p, uint8_t op);
void pickle_text(struct pickle *p, const char *text);
/* What was kept under that number. */
void pickle_get(struct pickle *p, uint32_t number);
/* Object `object` of texts. */
void pickle_object(struct pickle *p, unsigned object);
/* The same for an object that is made by several opcodes: writes what refers to it, or returns false. After those opcodes,
 * keeps it. */
bool pickle_again(struct pickle *p, unsigned object);
void pickle_keep_as(struct pickle *p, unsigned object);
/* A whole number in as few bytes as its sign leaves; and a tuple of up to two of them. */
void pickle_whole(struct pickle *p, uint64_t value);
void pickle_wholes(struct pickle *p, const uint64_t *values, uint32_t count);

#endif
