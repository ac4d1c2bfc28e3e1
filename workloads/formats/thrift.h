/* SPDX-License-Identifier: Apache-2.0 */
/* Thrift's compact protocol, read as its bytes come: a struct, and the numbers of its fields as
 * they end. Believes no byte. Refuses maps, which Parquet does not have, and lists of 2^32
 * elements. Source: Thrift's compact protocol specification.
 *
 * Begins zeroed; belongs to one thread. */
#ifndef HAUL_WORKLOADS_FORMATS_THRIFT_H
#define HAUL_WORKLOADS_FORMATS_THRIFT_H

#include <stdbool.h>
#include <stdint.h>

enum { THRIFT_DEPTH = 12 };
enum thrift_type {
	THRIFT_TYPE_TRUE = 1,
	THRIFT_TYPE_FALSE = 2,
	THRIFT_TYPE_BYTE = 3,
	THRIFT_TYPE_I16 = 4,
	THRIFT_TYPE_I32 = 5,
	THRIFT_TYPE_I64 = 6,
	THRIFT_TYPE_DOUBLE = 7,
	THRIFT_TYPE_BINARY = 8,
	THRIFT_TYPE_LIST = 9,
	THRIFT_TYPE_SET = 10,
	THRIFT_TYPE_STRUCT = 12
};

struct thrift {
	/* Of each level: the fields that lead here, four bits each, the innermost last; lists have
	 * no number of their own, and numbers above 14 become 15. */
	uint64_t path[THRIFT_DEPTH];
	uint32_t left[THRIFT_DEPTH]; /* elements of a list */
	uint16_t field[THRIFT_DEPTH];
	uint8_t element[THRIFT_DEPTH]; /* a list's type; 0: a struct */
	uint64_t value, pass;
	uint8_t depth, state, shift;
	uint8_t type; /* of a field whose number comes, or of a list's elements */
	bool number;  /* the last event was a number, which has not ended yet */
};

enum thrift_event {
	THRIFT_MORE,   /* the bytes ended before the struct */
	THRIFT_NUMBER, /* an integer: thrift_path, and t->value, as it was written */
	THRIFT_OVER,   /* the struct has ended */
	THRIFT_WRONG
};

enum thrift_event thrift_next(struct thrift *t, const uint8_t **at, const uint8_t *end);
/* Of the number that has just come. */
uint64_t thrift_path(const struct thrift *t);

#endif
