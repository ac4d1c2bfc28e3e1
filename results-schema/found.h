/* SPDX-License-Identifier: Apache-2.0 */
/* The search of haul run --find, as results.h5 has it: attributes of the group /find, and its data
 * set "steps", a row for each value that was measured. The lists below make the structs and the
 * tables of their members, so that they cannot differ. Needs no HDF5. */
#ifndef HAUL_RESULTS_SCHEMA_FOUND_H
#define HAUL_RESULTS_SCHEMA_FOUND_H

#include "core/target.h"
#include "results-schema/member.h"

enum { FOUND_TEXT_BYTES = 256, FOUND_WORD_BYTES = 16, FOUND_STEPS_MAX = 1024 };
/* A value that is not known. */
#define FOUND_NOTHING UINT64_MAX

/* TEXT(member, attribute, bytes), NUMBER(member, attribute), REAL(member, attribute) */
/* clang-format off */
#define FOUND_LIST(TEXT, NUMBER, REAL) \
	TEXT(path, "path", FOUND_TEXT_BYTES) /* of the job, whose value was searched for */ \
	TEXT(until, "until", FOUND_TEXT_BYTES) /* as it was asked: "train.au >= 0.9" */ \
	TEXT(phase, "phase", FOUND_TEXT_BYTES) /* the name of the phase that was judged */ \
	TEXT(target, "target", TARGET_NAME_BYTES) /* "target_au" */ \
	TEXT(label, "label", TARGET_LABEL_BYTES) /* "AU" */ \
	TEXT(unit, "unit", TARGET_UNIT_BYTES) \
	TEXT(end, "end", FOUND_WORD_BYTES) /* found, none, all, unknown; stopped */ \
	NUMBER(low, "low") /* the range: low, low + by, … high */ \
	NUMBER(high, "high") \
	NUMBER(by, "by") \
	NUMBER(most, "most") /* 1: asked is the most that may be found, 0: the least */ \
	NUMBER(repeats, "repeats") /* of a value at most */ \
	NUMBER(undecided, "undecided") /* values whose interval has the target in it */ \
	NUMBER(carries, "carries") /* the greatest value whose mean meets the target */ \
	NUMBER(least, "least") /* the answer is surely at least this */ \
	NUMBER(greatest, "greatest") /* and at most this */ \
	NUMBER(misses, "misses") /* the least value whose mean misses it */ \
	REAL(asked, "asked") \
	REAL(missed_with, "missed_with") /* what was found at that value */
#define FOUND_STEP_LIST(TEXT, NUMBER, REAL) \
	NUMBER(value, "value") \
	NUMBER(repeats, "repeats") \
	REAL(mean, "mean") \
	REAL(low, "low") /* its 99 % interval, by which it is judged */ \
	REAL(high, "high") \
	TEXT(state, "state", FOUND_WORD_BYTES) /* met, missed, undecided, open */
/* clang-format on */

#define FOUND_MEMBER_TEXT(member, attribute, bytes) char member[bytes];
#define FOUND_MEMBER_NUMBER(member, attribute)      uint64_t member;
#define FOUND_MEMBER_REAL(member, attribute)        double member;
struct found {
	FOUND_LIST(FOUND_MEMBER_TEXT, FOUND_MEMBER_NUMBER, FOUND_MEMBER_REAL)
};
struct found_step {
	FOUND_STEP_LIST(FOUND_MEMBER_TEXT, FOUND_MEMBER_NUMBER, FOUND_MEMBER_REAL)
};

#define FOUND_ONE(...) +1
enum {
	FOUND_MEMBERS = FOUND_LIST(FOUND_ONE, FOUND_ONE, FOUND_ONE),
	FOUND_STEP_MEMBERS = FOUND_STEP_LIST(FOUND_ONE, FOUND_ONE, FOUND_ONE)
};
extern const struct member found_members[FOUND_MEMBERS], found_step_members[FOUND_STEP_MEMBERS];

/* Nothing is known. */
void found_init(struct found *f);

#endif
