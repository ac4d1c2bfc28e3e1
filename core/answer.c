/* SPDX-License-Identifier: Apache-2.0 */
/* Answers: see answer.h. */
#include "core/answer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* clang-format off */
#define KIND_TEXT    MEMBER_TEXT
#define KIND_SETS    MEMBER_TEXT
#define KIND_SETTING MEMBER_TEXT
#define KIND_COUNT   MEMBER_U64
#define KIND_KNOWN   MEMBER_U64, .absent = ANSWER_UNKNOWN
#define KIND_YES     MEMBER_U64
#define KIND_REAL    MEMBER_REAL
#define KIND_CEILING MEMBER_REAL
#define NOTHING(...)
#define HELP(kind_, member, bytes_, heading, format, help) help,

/* The members of a struct, and their meanings. */
#define MEMBERS(of, LIST) \
	static const struct member of##_members[] = {LIST(of##_MEMBER, NOTHING)}; \
	static const char *const of##_help[] = {LIST(HELP, NOTHING)};
#define MEMBER_IN(of, kind_, m) \
	{.name = #m, .offset = offsetof(struct of, m), .bytes = sizeof(((struct of *)0)->m), .kind = KIND_##kind_},
#define find_head_MEMBER(kind, m, ...)   MEMBER_IN(find_head, kind, m)
#define find_row_MEMBER(kind, m, ...)    MEMBER_IN(find_row, kind, m)
#define tune_head_MEMBER(kind, m, ...)   MEMBER_IN(tune_head, kind, m)
#define tune_row_MEMBER(kind, m, ...)    MEMBER_IN(tune_row, kind, m)
#define assess_head_MEMBER(kind, m, ...) MEMBER_IN(assess_head, kind, m)
#define assess_row_MEMBER(kind, m, ...)  MEMBER_IN(assess_row, kind, m)

MEMBERS(find_head, FIND_HEAD_LIST)
MEMBERS(find_row, FIND_ROW_LIST)
MEMBERS(tune_head, TUNE_HEAD_LIST)
MEMBERS(tune_row, TUNE_ROW_LIST)
MEMBERS(assess_head, ASSESS_HEAD_LIST)
MEMBERS(assess_row, ASSESS_ROW_LIST)

#define ANSWER(name_, rows_, most, help_) \
	{.name = #name_, .rows_name = (rows_), .rows_max = (most), .help = (help_), \
	 .head = RECORD_SHAPE(struct name_##_head, name_##_head_members), \
	 .rows = RECORD_SHAPE(struct name_##_row, name_##_row_members), \
	 .head_help = name_##_head_help, .rows_help = name_##_row_help}
/* clang-format on */

const struct answer_kind answer_kinds[ANSWERS] = {
	[ANSWER_FIND] =
		ANSWER(find, "steps", 1024,
		       "of --find: the greatest value that meets a target; a row per value"),
	[ANSWER_TUNE] = ANSWER(tune, "settings", 1024,
			       "of --tune: the best of several settings; a row per combination, "
			       "the best first"),
	[ANSWER_ASSESS] = ANSWER(assess, "workloads", 64,
				 "of haul assess: the ceilings of a storage; a row per workload"),
};

static void answer_clear(const struct record_shape *shape, void *record)
{
	for (size_t i = 0; i < shape->count; i++) {
		void *at = (char *)record + shape->members[i].offset;

		if (shape->members[i].kind == MEMBER_REAL)
			*(double *)at = NAN;
		else if (shape->members[i].kind == MEMBER_U64)
			*(uint64_t *)at = shape->members[i].absent;
	}
}

void answer_join(struct answered *a)
{
	for (uint64_t i = 0; a->head && i < a->count; i++)
		*(const void **)answer_row(a, i) = a->head;
}

int answer_make(struct answered *a, enum answer_type type, uint64_t count)
{
	const struct answer_kind *kind = &answer_kinds[type];

	*a = (struct answered){.type = type,
			       .head = calloc(1, kind->head.size),
			       .rows = calloc(count + 1, kind->rows.size),
			       .count = count};
	if (!a->head || !a->rows) {
		answer_free(a);
		return -ENOMEM;
	}
	answer_clear(&kind->head, a->head);
	for (uint64_t i = 0; i < count; i++)
		answer_clear(&kind->rows, answer_row(a, i));
	answer_join(a);
	return 0;
}

void answer_free(struct answered *a)
{
	free(a->head);
	free(a->rows);
	*a = (struct answered){.type = ANSWER_NONE};
}
