/* SPDX-License-Identifier: Apache-2.0 */
/* Answers: see answer.h. */
#include "core/answer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void find_known(const struct answered *a, struct find_known *k)
{
	const struct find_row *rows = a->rows;

	*k = (struct find_known){.meets = NULL};
	for (uint64_t i = 0; i < a->count; i++) {
		k->measured += rows[i].repeats > 0;
		k->undecided += strcmp(rows[i].state, "unknown") == 0;
		if (strcmp(rows[i].state, "missed") == 0 &&
		    (!k->misses || rows[i].value < k->misses->value))
			k->misses = &rows[i];
	}
	/* Above one that misses it, noise may have met it. */
	for (uint64_t i = 0; i < a->count; i++)
		if (strcmp(rows[i].state, "met") == 0 &&
		    (!k->misses || rows[i].value < k->misses->value) &&
		    (!k->meets || rows[i].value > k->meets->value))
			k->meets = &rows[i];
}

void find_settle(struct answered *a)
{
	struct find_head *head = a->head;
	struct find_known k;

	find_known(a, &k);
	head->least = k.meets ? k.meets->value : ANSWER_UNKNOWN;
	if (k.misses && k.misses->value > head->low)
		head->greatest = k.misses->value - head->by;
	else if (strcmp(head->end, "all") != 0)
		head->greatest = ANSWER_UNKNOWN;
}

enum { EVIDENCE_DIGITS = 3 };

/* "io.threads=4: 40 ms in 2 runs, 99 % interval 39.5 ms to 40.4 ms". */
static void find_evidence(const struct find_head *head, const struct find_row *row,
			  char text[CLAIM_TEXT_BYTES])
{
	char mean[TARGET_TEXT_BYTES], low[TARGET_TEXT_BYTES], high[TARGET_TEXT_BYTES];
	int n = snprintf(text, CLAIM_TEXT_BYTES, "%.100s=%llu: %s in %llu run%s", head->path,
			 (unsigned long long)row->value,
			 target_value(mean, head->unit, row->mean, EVIDENCE_DIGITS),
			 (unsigned long long)row->repeats, row->repeats == 1 ? "" : "s");

	if (isfinite(row->low))
		snprintf(text + n, (size_t)(CLAIM_TEXT_BYTES - n), ", 99 %% interval %s to %s",
			 target_value(low, head->unit, row->low, EVIDENCE_DIGITS),
			 target_value(high, head->unit, row->high, EVIDENCE_DIGITS));
}

static void find_claim(const struct answered *a, struct claim *c)
{
	const struct find_head *head = a->head;
	char evidence[CLAIM_TEXT_BYTES];
	struct find_known k;

	find_known(a, &k);
	if (k.meets) {
		find_evidence(head, k.meets, evidence);
		claim_add(c, CLAIM_HELD, evidence, NULL);
	} else if (k.misses && k.misses->value == head->low) {
		find_evidence(head, k.misses, evidence);
		claim_add(c, CLAIM_MISSED, evidence, NULL);
	} else if (strcmp(head->end, "unknown") == 0) {
		claim_add(c, CLAIM_UNKNOWN, "the phase has no such figure",
			  "a longer phase, or another target");
	} else if (strcmp(head->end, "stopped") == 0) {
		claim_add(c, CLAIM_UNKNOWN,
			  k.undecided ? "the search was stopped, and no value is known to meet it"
				      : "the search was stopped before a value met it",
			  "the search to its end");
	} else {
		claim_add(c, CLAIM_UNKNOWN,
			  "no value is known to meet it: its interval has the target in it",
			  "more repeats of each value (--repeat), or longer runs");
	}
}

static void tune_claim(const struct answered *a, struct claim *c)
{
	const struct tune_head *head = a->head;
	const struct tune_row *rows = a->rows;
	char evidence[CLAIM_TEXT_BYTES];

	snprintf(evidence, sizeof(evidence),
		 "%.3f times as good as the job as it is (%.3f to %.3f)", head->times,
		 head->times_low, head->times_high);
	if (head->better)
		claim_add(c, CLAIM_HELD, evidence, NULL);
	else if (strcmp(head->end, "found") != 0)
		claim_add(c, CLAIM_UNKNOWN,
			  strcmp(head->end, "unknown") == 0
				  ? "no setting has a figure to judge it by"
				  : "the search was stopped",
			  strcmp(head->end, "unknown") == 0
				  ? "longer runs, or another figure (--tune-by)"
				  : "the search to its end");
	else if (a->count && rows[0].as_is)
		claim_add(c, CLAIM_MISSED, "the job as it is has the best mean of the final", NULL);
	else
		claim_add(c, CLAIM_UNKNOWN, evidence, "more repeats in the final (--repeat)");
}

static void assess_claim(const struct answered *a, struct claim *c)
{
	const struct assess_head *head = a->head;
	bool streams = !isnan(head->read) && !isnan(head->write);

	if (streams && strcmp(head->end, "found") == 0)
		claim_add(c, CLAIM_HELD, "its streams were read and written", NULL);
	else
		claim_add(c, CLAIM_UNKNOWN,
			  streams ? "the assessment was stopped" : "its streams were not measured",
			  "the assessment to its end, with a longer --budget");
}

void answer_claim(const struct answered *a, struct claim *c)
{
	claim_begin(c);
	if (a->type == ANSWER_FIND)
		find_claim(a, c);
	else if (a->type == ANSWER_TUNE)
		tune_claim(a, c);
	else if (a->type == ANSWER_ASSESS)
		assess_claim(a, c);
}
