/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of claims: every list of up to three parts, by the rule itself; and what a claim says. */
#include "core/claim.h"

#include <stdio.h>

#include "core/target.h"
#include "tests/unit.h"

static enum claim_state by_rule(const unsigned parts[CLAIM_STATES])
{
	if (parts[CLAIM_MISSED])
		return CLAIM_MISSED;
	return parts[CLAIM_UNKNOWN] || !parts[CLAIM_HELD] ? CLAIM_UNKNOWN : CLAIM_HELD;
}

/* Parts in every order. */
static void test_parts(void)
{
	for (unsigned i = 0; i < 64; i++) {
		unsigned parts[CLAIM_STATES] = {0}, left = i;
		struct claim c;

		claim_begin(&c);
		CU_ASSERT_EQUAL(c.state, CLAIM_UNKNOWN);
		/* The fourth digit ends the list. */
		for (unsigned k = 0; k < 3 && left % 4 < CLAIM_STATES; k++, left /= 4) {
			parts[left % 4]++;
			claim_add(&c, (enum claim_state)(left % 4), NULL, NULL);
		}
		CU_ASSERT_EQUAL(c.state, by_rule(parts));
		for (unsigned s = 0; s < CLAIM_STATES; s++)
			CU_ASSERT_EQUAL(c.parts[s], parts[s]);
		CU_ASSERT_EQUAL(claim_holds(c.state), c.state == CLAIM_HELD);
	}
}

/* The evidence is that of the part that decides; what would settle it, that of an unknown one. */
static void test_texts(void)
{
	struct claim c;

	claim_begin(&c);
	CU_ASSERT_STRING_EQUAL(c.evidence, "");
	claim_add(&c, CLAIM_HELD, "five repeats", NULL);
	CU_ASSERT_STRING_EQUAL(c.evidence, "five repeats");
	CU_ASSERT_STRING_EQUAL(c.missing, "");
	claim_add(&c, CLAIM_UNKNOWN, "no percentile", "a longer phase");
	CU_ASSERT_STRING_EQUAL(c.evidence, "no percentile");
	claim_add(&c, CLAIM_MISSED, "70 ms", NULL);
	claim_add(&c, CLAIM_UNKNOWN, "no percentile", "another disk");
	claim_add(&c, CLAIM_MISSED, "80 ms", NULL);
	CU_ASSERT_EQUAL(c.state, CLAIM_MISSED);
	CU_ASSERT_STRING_EQUAL(c.evidence, "70 ms");
	CU_ASSERT_STRING_EQUAL(c.missing, "a longer phase");
}

/* A target is a claim. */
static void test_targets(void)
{
	CU_ASSERT_EQUAL((int)TARGET_MET, (int)CLAIM_HELD);
	CU_ASSERT_EQUAL((int)TARGET_MISSED, (int)CLAIM_MISSED);
	CU_ASSERT_EQUAL((int)TARGET_UNKNOWN, (int)CLAIM_UNKNOWN);
}

int main(void)
{
	const CU_TestInfo tests[] = {
		{"parts", test_parts},
		{"texts", test_texts},
		{"targets", test_targets},
		CU_TEST_INFO_NULL,
	};

	return unit_main("claim", tests);
}
