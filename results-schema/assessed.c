/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of haul assess: see assessed.h. */
#include "results-schema/assessed.h"

#include <math.h>
#include <string.h>

#define HEAD_TEXT(member, attribute, bytes) MEMBER_OF_TEXT(struct assessed, attribute, member),
#define HEAD_NUMBER(member, attribute)      MEMBER_OF(struct assessed, attribute, member, MEMBER_U64),
#define HEAD_REAL(member, attribute)        MEMBER_OF(struct assessed, attribute, member, MEMBER_REAL),
const struct member assessed_members[ASSESSED_MEMBERS] = {
	ASSESSED_LIST(HEAD_TEXT, HEAD_NUMBER, HEAD_REAL)};

#define ROW_TEXT(member, attribute, bytes) \
	MEMBER_OF_TEXT(struct assessed_workload, attribute, member),
#define ROW_NUMBER(member, attribute) \
	MEMBER_OF(struct assessed_workload, attribute, member, MEMBER_U64),
#define ROW_REAL(member, attribute) \
	MEMBER_OF(struct assessed_workload, attribute, member, MEMBER_REAL),
const struct member assessed_workload_members[ASSESSED_WORKLOAD_MEMBERS] = {
	ASSESSED_WORKLOAD_LIST(ROW_TEXT, ROW_NUMBER, ROW_REAL)};

void assessed_init(struct assessed *a)
{
	memset(a, 0, sizeof(*a));
	a->write = a->read = a->random = a->put = a->get = a->create = a->stat = a->remove =
		a->commit = (double)NAN;
}
