/* Members of a record: a table of the texts and numbers of a C struct and of their names in
 * results.h5, where each is a column of a compound type or an attribute. Does not need HDF5. */
#ifndef HAUL_RESULTS_SCHEMA_MEMBER_H
#define HAUL_RESULTS_SCHEMA_MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum member_kind { MEMBER_TEXT, MEMBER_U64, MEMBER_I64, MEMBER_U32, MEMBER_I32, MEMBER_REAL };

struct member {
	const char *name;
	size_t offset;
	enum member_kind kind;
	size_t bytes; /* size of a text */
	/* For attributes of 64 bits: files of version 1 may not have it. It then has this value. */
	bool may_lack;
	uint64_t absent;
	bool only_other; /* written only where it differs from absent */
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

#endif
