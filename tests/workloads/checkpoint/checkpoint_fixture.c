/* SPDX-License-Identifier: Apache-2.0 */
/* Fixture for phases "checkpoint": see checkpoint_fixture.h. */
#include "tests/workloads/checkpoint/checkpoint_fixture.h"

#include <inttypes.h>
#include <stdio.h>

#include "tests/unit.h"
#include "workloads/checkpoint/checkpoint.h"

static char job[2048];

struct fixture *checkpoint_fixture(const struct checkpoint_case *c)
{
	struct fixture *f;

	snprintf(
		job, sizeof(job),
		"{\"seed\": 7, \"stores\": {\"s\": {\"uri\": %s}}, \"phases\": [{\"checkpoint\": {%s}}]}",
		c->store, c->phase);
	f = fixture_new_with(job, c->own_store);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	if (f) {
		f->nodes = c->nodes;
		fixture_run(f, c->ranks);
	}
	return f;
}

void checkpoint_expect_ok(const struct fixture *f)
{
	for (uint32_t r = 0; r < f->ranks; r++) {
		CU_ASSERT_EQUAL(f->rc[r], 0);
		if (f->rc[r])
			fprintf(stderr, "\n%s\nrank %" PRIu32 ": %s\n", job, r, f->err[r].text);
	}
}

void checkpoint_expect_accounts(const struct fixture *f)
{
	for (uint32_t r = 0; r < f->ranks; r++) {
		const uint64_t *row = f->tallies[r].rank_row;
		uint64_t sum = 0;

		for (int a = 0; a < ACCOUNTS; a++)
			sum += row[CHECKPOINT_ACCOUNTS + a];
		CU_ASSERT_NOT_EQUAL(sum, 0);
		CU_ASSERT_EQUAL(sum, row[TALLY_WALL_NS]);
		if (sum != row[TALLY_WALL_NS])
			fprintf(stderr,
				"\n%s\nrank %" PRIu32 ": accounts %" PRIu64 " ns, wall %" PRIu64
				" ns\n",
				job, r, sum, row[TALLY_WALL_NS]);
	}
}

uint64_t checkpoint_row_max(const struct fixture *f, uint64_t checkpoint, unsigned measure)
{
	uint64_t most = 0;

	for (uint32_t r = 0; r < f->ranks; r++) {
		struct table t = f->tallies[r].tables[CHECKPOINT_TABLE_ROWS];
		const uint64_t *row = table_numbered(&t, checkpoint);

		CU_ASSERT_PTR_NOT_NULL_FATAL(row);
		most = row && row[measure] > most ? row[measure] : most;
	}
	return most;
}
