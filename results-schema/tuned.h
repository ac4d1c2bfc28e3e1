/* SPDX-License-Identifier: Apache-2.0 */
/* The search of haul run --tune, as results.h5 has it: attributes of the group /tune, and its data
 * set "settings", a row for each combination of the settings, the best first. The lists below make
 * the structs and the tables of their members, so that they cannot differ. Needs no HDF5. */
#ifndef HAUL_RESULTS_SCHEMA_TUNED_H
#define HAUL_RESULTS_SCHEMA_TUNED_H

#include "core/target.h"
#include "results-schema/member.h"

enum {
	TUNED_TEXT_BYTES = 256,
	TUNED_WORD_BYTES = 16,
	TUNED_SETS_BYTES = 512,
	TUNED_PATH_BYTES = 512,
	TUNED_SETTINGS_MAX = 1024
};

/* TEXT(member, attribute, bytes), NUMBER(member, attribute), REAL(member, attribute) */
/* clang-format off */
#define TUNED_LIST(TEXT, NUMBER, REAL) \
	TEXT(phase, "phase", TUNED_TEXT_BYTES) /* the name of the phase that was judged */ \
	TEXT(figure, "figure", TUNED_TEXT_BYTES) /* by which: one of its figures or targets */ \
	TEXT(label, "label", TARGET_LABEL_BYTES) /* "bandwidth" */ \
	TEXT(unit, "unit", TARGET_UNIT_BYTES) \
	TEXT(end, "end", TUNED_WORD_BYTES) /* found, unknown; stopped */ \
	TEXT(job, "job", TUNED_PATH_BYTES) /* the file with the job as tuned; "": none was written */ \
	NUMBER(less, "less") /* 1: the smaller figure is the better one */ \
	NUMBER(combinations, "combinations") \
	NUMBER(left_out, "left_out") /* of them, which cannot run */ \
	NUMBER(rounds, "rounds") \
	NUMBER(repeats, "repeats") /* in the final */ \
	NUMBER(better, "better") /* 1: the best is shown to be better than the job as it is */ \
	REAL(level, "level") /* of the intervals: all of them together are wrong in 5 of 100 searches */ \
	REAL(times, "times") /* how many times as good as the job as it is; nan: not known */ \
	REAL(times_low, "times_low") \
	REAL(times_high, "times_high")
#define TUNED_SETTING_LIST(TEXT, NUMBER, REAL) \
	NUMBER(combination, "combination") /* as phases have it */ \
	NUMBER(as_is, "as_is") /* 1: the job as it is */ \
	NUMBER(rounds, "rounds") /* in which it was measured */ \
	NUMBER(repeats, "repeats") /* in the final */ \
	REAL(mean, "mean") /* of the final, geometric, else what its last round has found */ \
	REAL(times, "times") /* how many times as good the best is */ \
	REAL(times_low, "times_low") \
	REAL(times_high, "times_high") \
	TEXT(state, "state", TUNED_WORD_BYTES) /* best, tied, worse, dropped, open, left out */ \
	TEXT(sets, "sets", TUNED_SETS_BYTES) /* "PATH=VALUE", with a tab between several */
/* clang-format on */

#define TUNED_MEMBER_TEXT(member, attribute, bytes) char member[bytes];
#define TUNED_MEMBER_NUMBER(member, attribute)      uint64_t member;
#define TUNED_MEMBER_REAL(member, attribute)        double member;
struct tuned {
	TUNED_LIST(TUNED_MEMBER_TEXT, TUNED_MEMBER_NUMBER, TUNED_MEMBER_REAL)
};
struct tuned_setting {
	TUNED_SETTING_LIST(TUNED_MEMBER_TEXT, TUNED_MEMBER_NUMBER, TUNED_MEMBER_REAL)
};

#define TUNED_ONE(...) +1
enum {
	TUNED_MEMBERS = TUNED_LIST(TUNED_ONE, TUNED_ONE, TUNED_ONE),
	TUNED_SETTING_MEMBERS = TUNED_SETTING_LIST(TUNED_ONE, TUNED_ONE, TUNED_ONE)
};
extern const struct member tuned_members[TUNED_MEMBERS],
	tuned_setting_members[TUNED_SETTING_MEMBERS];

/* Nothing is known. */
void tuned_init(struct tuned *t);

#endif
