/* Thrift's compact protocol, as its bytes come: a struct, its fields' numbers as they end. Believes no byte. Source:
 * Thrift's compact protocol specification; maps, which Parquet has none of, are refused.
 *
 * Begins zeroed; one thread. */
#ifndef HAUL_WORKLOADS_FORMATS_THRIFT_H
#define HAUL_WORKLOADS_FORMATS_THRIFT_H

#include <stdbool.h>
#include <stdint.h>

enum { THRIFT_DEPTH = 12 };

struct thrift {
	struct {
		/* The fields that lead here, four bits each, the innermost last; lists have no number of
		 * their own. Numbers above 14 are 15. */
		uint64_t path, left; /* left: elements of a list */
		uint32_t field;
		uint8_t element; /* a list's; 0: a struct */
	} levels[THRIFT_DEPTH];
	uint32_t depth, state, shift;
	uint8_t type; /* of a field whose number comes, or of a list's elements */
	bool number;  /* one was told, and has not ended */
	uint64_t value, pass;
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
