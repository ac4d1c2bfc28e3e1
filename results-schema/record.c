/* SPDX-License-Identifier: Apache-2.0 */
/* Record of a phase: see record.h. */
#include "results-schema/record.h"

#include <math.h>
#include <string.h>

const struct member phase_record_members[] = {
/* clang-format off */
#define RECORD_TEXT(m, attribute, size, ...) \
	{.name = (attribute), .offset = offsetof(struct phase_record, m), .kind = MEMBER_TEXT, \
	 .bytes = (size), __VA_ARGS__},
#define RECORD_NUMBER(m, attribute, ...) \
	{.name = (attribute), .offset = offsetof(struct phase_record, m), .kind = MEMBER_U64, \
	 __VA_ARGS__},
#define RECORD_REAL(m, attribute, ...) \
	{.name = (attribute), .offset = offsetof(struct phase_record, m), .kind = MEMBER_REAL, \
	 __VA_ARGS__},
	/* clang-format on */
	PHASE_RECORD_LIST(RECORD_TEXT, RECORD_NUMBER, RECORD_REAL)};
const size_t phase_record_member_count =
	sizeof(phase_record_members) / sizeof(*phase_record_members);

void phase_record_init(struct phase_record *r)
{
	memset(r, 0, sizeof(*r));
	for (size_t i = 0; i < phase_record_member_count; i++) {
		const struct member *m = &phase_record_members[i];
		void *at = (char *)r + m->offset;

		if (m->kind == MEMBER_REAL)
			*(double *)at = NAN;
		else if (m->kind == MEMBER_U64)
			*(uint64_t *)at = m->absent;
	}
}
