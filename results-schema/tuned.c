/* SPDX-License-Identifier: Apache-2.0 */
/* The search of haul run --tune: see tuned.h. */
#include "results-schema/tuned.h"

#include <math.h>
#include <string.h>

#define TUNED_TEXT(member, attribute, bytes) MEMBER_OF_TEXT(struct tuned, attribute, member),
#define TUNED_NUMBER(member, attribute)      MEMBER_OF(struct tuned, attribute, member, MEMBER_U64),
#define TUNED_REAL(member, attribute)        MEMBER_OF(struct tuned, attribute, member, MEMBER_REAL),
const struct member tuned_members[TUNED_MEMBERS] = {
	TUNED_LIST(TUNED_TEXT, TUNED_NUMBER, TUNED_REAL)};

#define SETTING_TEXT(member, attribute, bytes) \
	MEMBER_OF_TEXT(struct tuned_setting, attribute, member),
#define SETTING_NUMBER(member, attribute) \
	MEMBER_OF(struct tuned_setting, attribute, member, MEMBER_U64),
#define SETTING_REAL(member, attribute) \
	MEMBER_OF(struct tuned_setting, attribute, member, MEMBER_REAL),
const struct member tuned_setting_members[TUNED_SETTING_MEMBERS] = {
	TUNED_SETTING_LIST(SETTING_TEXT, SETTING_NUMBER, SETTING_REAL)};

void tuned_init(struct tuned *t)
{
	memset(t, 0, sizeof(*t));
	t->level = t->times = t->times_low = t->times_high = (double)NAN;
}
