/* SPDX-License-Identifier: Apache-2.0 */
/* Members of a record: a table that says which text or number of a C struct stands under which name
 * in results.h5, as a column of a compound type or as an attribute. Needs no HDF5. */
#ifndef HAUL_CORE_MEMBER_H
#define HAUL_CORE_MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum member_kind { MEMBER_TEXT, MEMBER_U64, MEMBER_I64, MEMBER_U32, MEMBER_I32, MEMBER_REAL };

struct member {
	const char *name;
	size_t offset;
	size_t bytes;    /* of text */
	uint64_t absent; /* what an attribute of 64 bits is where the file lacks it */
	enum member_kind kind;
	bool only_other; /* an attribute that is written only where it is not absent */
};

#define MEMBER_OF(record, n, m, k) \
	{ \
		.name = (n), .offset = offsetof(record, m), .kind = (k) \
	}
#define MEMBER_OF_TEXT(record, n, m) \
	{ \
		.name = (n), .offset = offsetof(record, m), .kind = MEMBER_TEXT, \
		.bytes = sizeof(((record *)0)->m) \
	}

/* Fixed records, as they are in memory. In the file they have no holes. */
struct record_shape {
	size_t size;
	const struct member *members;
	size_t count;
};

#define RECORD_SHAPE(record, list) \
	{ \
		sizeof(record), (list), sizeof(list) / sizeof(*(list)) \
	}

#endif
