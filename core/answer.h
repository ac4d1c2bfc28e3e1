/* SPDX-License-Identifier: Apache-2.0 */
/* Answers: what a run that was asked a question has found, in one shape from the search to the page: a
 * head, and a row for each thing that was tried. The lists below say all that any layer knows of a
 * member: its kind, its name in results.h5 and in JSON, what stands above it in a table, its format
 * there, and its meaning. They make the structs (here), the members that results.h5 has
 * (core/answer.c), the columns of text, JSON and page (report/find.c, report/tune.c, report/assess.c),
 * and the reference (haul schema --results), so that none of these can differ.
 *
 *	X(kind, member, bytes, heading, format, help)
 *
 * Kinds: TEXT; SETS (a text with a tab between several values); SETTING (a text of a ceiling); COUNT; KNOWN (a count that may be
 * ANSWER_UNKNOWN); YES (0 or 1); REAL; CEILING (a REAL that JSON has as a row of its own). bytes: of a
 * text. heading: NULL where text does not show the member. format: of facts/table.h.
 *
 *	V(how, key, heading, show)
 *
 * is a column that is computed from the others: how SHOWN: only in text; WORD: for programs, too. */
#ifndef HAUL_CORE_ANSWER_H
#define HAUL_CORE_ANSWER_H

#include "core/member.h"
#include "core/target.h"

/* Which question a run answers, and so which group results.h5 has for the answer. */
enum answer_type {
	ANSWER_NONE,   /* the run was not asked, or is a series */
	ANSWER_FIND,   /* /find: struct find_head, struct find_row */
	ANSWER_TUNE,   /* /tune */
	ANSWER_ASSESS, /* /assess */
	ANSWERS
};

#define ANSWER_UNKNOWN UINT64_MAX
enum {
	ANSWER_WORD_BYTES = 16,
	ANSWER_WORDS_BYTES = 24,
	ANSWER_NAME_BYTES = 64,
	ANSWER_TEXT_BYTES = 256,
	ANSWER_LONG_BYTES = 1024
};

/* clang-format off */
#define FIND_HEAD_LIST(X, V) \
	X(TEXT, path, ANSWER_TEXT_BYTES, NULL, FIGURE, "number of the job that was searched for") \
	X(TEXT, until, ANSWER_TEXT_BYTES, NULL, FIGURE, "target, as it was asked: train.au >= 0.9") \
	X(TEXT, phase, ANSWER_TEXT_BYTES, NULL, FIGURE, "name of the phase that was judged") \
	X(TEXT, target, TARGET_NAME_BYTES, NULL, FIGURE, "name of the target: target_au") \
	X(TEXT, label, TARGET_LABEL_BYTES, NULL, FIGURE, "the same in words: AU") \
	X(TEXT, unit, TARGET_UNIT_BYTES, NULL, FIGURE, "of the target, and of what was found") \
	X(TEXT, end, ANSWER_WORD_BYTES, NULL, FIGURE, \
	  "found; none: even low misses; all: all of the range meet it; unknown: the phase cannot tell; stopped") \
	X(COUNT, low, 0, NULL, COUNT, "the range: low, low + by, … high") \
	X(COUNT, high, 0, NULL, COUNT, "the greatest value of the range") \
	X(COUNT, by, 0, NULL, COUNT, "the step of the range") \
	X(YES, most, 0, NULL, COUNT, "1: asked is the most that may be found, 0: the least") \
	X(REAL, asked, 0, NULL, FIGURE, "value of the target") \
	X(COUNT, repeats, 0, NULL, COUNT, "of a value, at most") \
	X(COUNT, undecided, 0, NULL, COUNT, "values whose interval has the target in it") \
	X(KNOWN, carries, 0, NULL, COUNT, "the greatest value whose mean meets the target") \
	X(KNOWN, least, 0, NULL, COUNT, "the greatest value that surely meets it") \
	X(KNOWN, greatest, 0, NULL, COUNT, "the one before the least that surely misses it") \
	X(KNOWN, misses, 0, NULL, COUNT, "the least value whose mean misses the target") \
	X(REAL, missed_with, 0, NULL, FIGURE, "what was found at that value")

#define FIND_ROW_LIST(X, V) \
	X(COUNT, value, 0, "value", COUNT, "what the number was set to") \
	V(SHOWN, NULL, "mean", find_mean) \
	V(SHOWN, NULL, "99 % interval", find_interval) \
	X(TEXT, state, ANSWER_WORD_BYTES, "target", FIGURE, "met, missed, unknown, open") \
	X(COUNT, repeats, 0, "repeats", COUNT, "of the value, so far") \
	X(REAL, mean, 0, NULL, FIGURE, "of what the repeats have found") \
	X(REAL, low, 0, NULL, FIGURE, "of the 99 % interval of the mean, by which it is judged") \
	X(REAL, high, 0, NULL, FIGURE, "of the same")

#define TUNE_HEAD_LIST(X, V) \
	X(TEXT, phase, ANSWER_TEXT_BYTES, NULL, FIGURE, "name of the phase that was judged") \
	X(TEXT, figure, ANSWER_TEXT_BYTES, NULL, FIGURE, "by which of its figures or targets") \
	X(TEXT, label, TARGET_LABEL_BYTES, NULL, FIGURE, "the same in words: bandwidth") \
	X(TEXT, unit, TARGET_UNIT_BYTES, NULL, FIGURE, "of the figure") \
	X(TEXT, end, ANSWER_WORD_BYTES, NULL, FIGURE, "found; unknown: no setting has such a figure; stopped") \
	X(TEXT, job, 512, NULL, FIGURE, "file with the job as tuned; empty: none was written") \
	X(YES, less, 0, NULL, COUNT, "1: the smaller figure is the better one") \
	X(COUNT, combinations, 0, NULL, COUNT, "of the settings") \
	X(COUNT, left_out, 0, NULL, COUNT, "of them, which cannot run") \
	X(COUNT, rounds, 0, NULL, COUNT, "before the final") \
	X(COUNT, repeats, 0, NULL, COUNT, "of each setting in the final") \
	X(YES, better, 0, NULL, COUNT, "1: the best is shown to be better than the job as it is") \
	X(REAL, level, 0, NULL, FIGURE, \
	  "of the intervals, so that all verdicts together are wrong by chance in at most 5 of 100 searches") \
	X(REAL, times, 0, NULL, FIGURE, "how many times as good as the job as it is") \
	X(REAL, times_low, 0, NULL, FIGURE, "of its interval") \
	X(REAL, times_high, 0, NULL, FIGURE, "of the same")

#define TUNE_ROW_LIST(X, V) \
	V(SHOWN, NULL, "setting", tune_show_state) \
	X(SETS, sets, 512, "values", FIGURE, "PATH=VALUE, with a tab between several") \
	X(COUNT, combination, 0, NULL, COUNT, "its number, as phases have it") \
	X(TEXT, state, ANSWER_WORD_BYTES, NULL, FIGURE, \
	  "best; tied: not shown to differ from the best; worse; dropped: lost a round; open; left out") \
	V(SHOWN, NULL, "mean", tune_show_mean) \
	V(SHOWN, NULL, "the best: times as good", tune_show_times) \
	X(COUNT, rounds, 0, NULL, COUNT, "in which it was measured") \
	X(COUNT, repeats, 0, NULL, COUNT, "in the final") \
	X(REAL, mean, 0, NULL, FIGURE, "of the final, geometric, else what its last round has found") \
	X(REAL, times, 0, NULL, FIGURE, "how many times as good the best is") \
	X(REAL, times_low, 0, NULL, FIGURE, "of its interval") \
	X(REAL, times_high, 0, NULL, FIGURE, "of the same") \
	X(YES, as_is, 0, NULL, COUNT, "1: the job as it is")

/* A ceiling has a label and a unit for people, and the settings with which it was measured, a member;
 * its help is the label. */
#define ASSESS_HEAD_LIST(X, V) \
	X(TEXT, uri, ANSWER_LONG_BYTES, NULL, FIGURE, "of the storage") \
	X(TEXT, end, ANSWER_WORDS_BYTES, NULL, FIGURE, "found; stopped") \
	X(COUNT, nodes, 0, NULL, COUNT, "on which the figures hold") \
	X(COUNT, ranks, 0, NULL, COUNT, "the same") \
	X(REAL, budget, 0, NULL, FIGURE, "seconds") \
	X(REAL, space, 0, NULL, FIGURE, "bytes that it may write at a time") \
	X(SETTING, read_settings, ANSWER_NAME_BYTES, NULL, FIGURE, \
	  "with which streams were read: threads=16 depth=8 engine=uring") \
	X(SETTING, random_settings, ANSWER_NAME_BYTES, NULL, FIGURE, "of random reads") \
	X(CEILING, read, head->read_settings, "streams read", RATE, "bytes per second of streams; nan: not measured") \
	X(CEILING, write, "", "streams written, to stable storage", RATE, "bytes per second of streams") \
	X(CEILING, random, head->random_settings, "random reads of 4 KiB", OPERATIONS, "per second") \
	X(CEILING, get, "", "objects of 64 KiB read", OPERATIONS, "per second") \
	X(CEILING, put, "", "objects of 64 KiB written", OPERATIONS, "per second") \
	X(CEILING, create, "", "empty objects created", OPERATIONS, "per second") \
	X(CEILING, stat, "", "objects looked up", OPERATIONS, "per second") \
	X(CEILING, remove, "", "objects deleted", OPERATIONS, "per second") \
	X(CEILING, commit, "", "4 KiB written to stable storage", SECONDS, "seconds, on average")

#define ASSESS_ROW_LIST(X, V) \
	X(TEXT, name, ANSWER_NAME_BYTES, "workload", FIGURE, "of the ready job") \
	V(SHOWN, NULL, "carries", workload_carries) \
	V(WORD, "limit_words", "first limit", workload_limit) \
	X(TEXT, basis, ANSWER_WORDS_BYTES, "how known", FIGURE, "measured; follows: from the ceilings; unknown") \
	X(REAL, full_seconds, 0, "full run", TIME, "of the whole job, with its data made first") \
	X(TEXT, unit, ANSWER_WORDS_BYTES, NULL, FIGURE, "accelerators; checkpoints/h; users") \
	X(TEXT, limit, ANSWER_WORDS_BYTES, NULL, FIGURE, \
	  "the ceiling that is reached first: read, objects, write; loader: fewer were carried than follow; requests: so of users") \
	V(WORD, "raised_by", NULL, assess_remedy) \
	X(REAL, carries, 0, NULL, FIGURE, "how many of the unit; nan: not known") \
	X(REAL, follows, 0, NULL, FIGURE, \
	  "how many follow from the ceilings; of users whose number is unknown: at most so many") \
	X(REAL, target, 0, NULL, FIGURE, "AU that is to be reached; of users: seconds, for 95 of 100 requests") \
	X(REAL, measured, 0, NULL, FIGURE, "the most that reached the target when it ran; nan: it did not run") \
	X(REAL, step, 0, NULL, FIGURE, "so many more missed it when they ran; 0: they did not run") \
	X(REAL, found, 0, NULL, FIGURE, "their AU; of users: seconds") \
	X(REAL, bytes_per_second, 0, NULL, FIGURE, "that one of the unit reads at the target") \
	X(REAL, opens_per_second, 0, NULL, FIGURE, "that one of the unit opens at the target") \
	X(REAL, written_per_second, 0, NULL, FIGURE, "bytes that a user writes") \
	X(REAL, data_bytes, 0, NULL, FIGURE, "of its data set, or of a checkpoint")
/* clang-format on */

#define ANSWER_MEMBER_TEXT(member, bytes)       char member[bytes];
#define ANSWER_MEMBER_SETS(member, bytes)       char member[bytes];
#define ANSWER_MEMBER_SETTING(member, bytes)    char member[bytes];
#define ANSWER_MEMBER_COUNT(member, bytes)      uint64_t member;
#define ANSWER_MEMBER_KNOWN(member, bytes)      uint64_t member;
#define ANSWER_MEMBER_YES(member, bytes)        uint64_t member;
#define ANSWER_MEMBER_REAL(member, bytes)       double member;
#define ANSWER_MEMBER_CEILING(member, bytes)    double member;
#define ANSWER_MEMBER(kind, member, bytes, ...) ANSWER_MEMBER_##kind(member, bytes)
#define ANSWER_NO_MEMBER(...)

struct find_head {
	FIND_HEAD_LIST(ANSWER_MEMBER, ANSWER_NO_MEMBER)
};
struct tune_head {
	TUNE_HEAD_LIST(ANSWER_MEMBER, ANSWER_NO_MEMBER)
};
struct assess_head {
	ASSESS_HEAD_LIST(ANSWER_MEMBER, ANSWER_NO_MEMBER)
};

/* of: the head of the answer that the row belongs to, for who shows it; files do not have it. */
struct find_row {
	const struct find_head *of;
	FIND_ROW_LIST(ANSWER_MEMBER, ANSWER_NO_MEMBER)
};
struct tune_row {
	const struct tune_head *of;
	TUNE_ROW_LIST(ANSWER_MEMBER, ANSWER_NO_MEMBER)
};
struct assess_row {
	const struct assess_head *of;
	ASSESS_ROW_LIST(ANSWER_MEMBER, ANSWER_NO_MEMBER)
};

/* A kind of answer: the group of results.h5, whose attributes are the head, and its data set of rows.
 * JSON has both under the same names. */
struct answer_kind {
	const char *name, *rows_name; /* "find", "steps" */
	const char *help;
	struct record_shape head, rows;
	uint32_t rows_max;
	/* The meaning of each member, in the order of the members. */
	const char *const *head_help, *const *rows_help;
};
extern const struct answer_kind answer_kinds[ANSWERS];

struct answered {
	enum answer_type type;
	void *head, *rows; /* structs of that type, each of its own; NULL: there is none */
	uint64_t count;    /* rows */
};

/* Room for an answer with so many rows, in which nothing is known. -ENOMEM. */
int answer_make(struct answered *a, enum answer_type type, uint64_t count);
/* Lets each row know its head. */
void answer_join(struct answered *a);
void answer_free(struct answered *a);

/* What a search for a load surely knows, by its rows alone: what is unknown is neither. */
struct find_known {
	const struct find_row
		*meets; /* the greatest value that meets the target; NULL: none does */
	const struct find_row *misses; /* the least that misses it; NULL: none does */
	uint64_t undecided, measured;  /* values */
};
void find_known(const struct answered *a, struct find_known *k);
/* Corrects least and greatest of the head by the rows: haul before 1.0 took the ends of the range for
 * what was not known. */
void find_settle(struct answered *a);

/* Whether the question has an answer, by its evidence: of find, that a value surely meets the target; of
 * tune, that the best is better than the job as it is; of assess, that its streams were measured and it
 * came to its end. */
void answer_claim(const struct answered *a, struct claim *c);

/* The i-th row. */
static inline void *answer_row(const struct answered *a, uint64_t i)
{
	return (char *)a->rows + i * answer_kinds[a->type].rows.size;
}

#endif
