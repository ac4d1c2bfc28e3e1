/* SPDX-License-Identifier: Apache-2.0 */
/* The search of haul run --find: see found.h. */
#include "results-schema/found.h"

#include <math.h>
#include <string.h>

#define FOUND_TEXT(member, attribute, bytes) MEMBER_OF_TEXT(struct found, attribute, member),
#define FOUND_NUMBER(member, attribute)      MEMBER_OF(struct found, attribute, member, MEMBER_U64),
#define FOUND_REAL(member, attribute)        MEMBER_OF(struct found, attribute, member, MEMBER_REAL),
const struct member found_members[FOUND_MEMBERS] = {
	FOUND_LIST(FOUND_TEXT, FOUND_NUMBER, FOUND_REAL)};

#define STEP_TEXT(member, attribute, bytes) MEMBER_OF_TEXT(struct found_step, attribute, member),
#define STEP_NUMBER(member, attribute)      MEMBER_OF(struct found_step, attribute, member, MEMBER_U64),
#define STEP_REAL(member, attribute)        MEMBER_OF(struct found_step, attribute, member, MEMBER_REAL),
const struct member found_step_members[FOUND_STEP_MEMBERS] = {
	FOUND_STEP_LIST(STEP_TEXT, STEP_NUMBER, STEP_REAL)};

void found_init(struct found *f)
{
	memset(f, 0, sizeof(*f));
	f->carries = f->least = f->greatest = f->misses = FOUND_NOTHING;
	f->asked = f->missed_with = (double)NAN;
}
