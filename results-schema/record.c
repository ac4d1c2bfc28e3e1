/* SPDX-License-Identifier: Apache-2.0 */
/* Record of a phase: see record.h. */
#include "results-schema/record.h"

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

#define OWN_TIME_KIND(number, n, t, w, h) [number] = {.name = n, .words = w, .help = h, .when = t},
const struct own_time_kind own_time_kinds[OWN_TIMES] = {OWN_TIME_LIST(OWN_TIME_KIND)};

#define OWN_TIME_MEMBER(number, n, ...) \
	[number] = MEMBER_OF(struct own_times, "own_" n, seconds[number], MEMBER_REAL),
const struct member own_time_members[OWN_TIMES] = {OWN_TIME_LIST(OWN_TIME_MEMBER)};

void own_times_init(struct own_times *t)
{
	for (int i = 0; i < OWN_TIMES; i++)
		t->seconds[i] = (double)NAN;
}

bool own_times_known(const struct own_times *t)
{
	bool finite = true;

	for (int i = 0; i < OWN_TIMES; i++)
		finite = finite && isfinite(t->seconds[i]) && t->seconds[i] >= 0;
	return finite;
}
