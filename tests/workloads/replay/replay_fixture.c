/* SPDX-License-Identifier: Apache-2.0 */
/* Fixture for phases "replay": see replay_fixture.h. */
#include "tests/workloads/replay/replay_fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit.h"

static char folder[] = "/tmp/haul-replay-XXXXXX";
static char job[4096];

int replay_fixture_begin(void)
{
	return mkdtemp(folder) ? 0 : 1;
}

int replay_fixture_end(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

const char *replay_path(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

const char *replay_trace(const char *text)
{
	const char *path = replay_path("trace.csv");
	FILE *file = fopen(path, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	if (!file)
		return path;
	CU_ASSERT_TRUE(fputs(text, file) >= 0);
	CU_ASSERT_EQUAL(fclose(file), 0);
	return path;
}

struct fixture *replay_run_trace(const char *store, const char *trace, const char *options,
				 uint32_t ranks)
{
	struct fixture *f;

	snprintf(job, sizeof(job),
		 "{\"seed\": 7, \"stores\": {\"s\": {%s}}, \"phases\": [{\"replay\": {\"trace\": "
		 "\"%s\"%s}}]}",
		 store, replay_trace(trace), options);
	f = fixture_new(job);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	if (f)
		fixture_run(f, ranks);
	return f;
}

void replay_expect_ok(const struct fixture *f)
{
	for (uint32_t rank = 0; rank < f->ranks; rank++) {
		CU_ASSERT_EQUAL(f->rc[rank], 0);
		if (f->rc[rank])
			fprintf(stderr, "\n%s\nrank %" PRIu32 ": %s\n", job, rank,
				f->err[rank].text);
	}
	CU_ASSERT_EQUAL(replay_of(f, TALLY_ERRORS), 0);
	CU_ASSERT_EQUAL(replay_of(f, REPLAY_PAYLOAD_ERRORS), 0);
	CU_ASSERT_EQUAL(replay_of(f, REPLAY_LEFT), 0);
	CU_ASSERT_EQUAL(replay_of(f, REPLAY_REQUESTS), replay_of(f, REPLAY_ROWS));
	CU_ASSERT_EQUAL(replay_of(f, REPLAY_REQUESTS), replay_of(f, REPLAY_OBJECT_READS) +
							       replay_of(f, REPLAY_OBJECT_WRITES) +
							       replay_of(f, REPLAY_OBJECT_DELETES));
}

uint64_t replay_of(const struct fixture *f, unsigned measure)
{
	return fixture_sum(f, measure);
}

uint64_t replay_tier(const struct fixture *f, const char *tier, unsigned measure)
{
	uint64_t sum = 0;

	for (uint32_t rank = 0; rank < f->ranks; rank++) {
		const struct table *t = &f->tallies[rank].tables[REPLAY_TABLE_TIERS];

		for (uint32_t i = 0; i < t->rows; i++) {
			const uint64_t *row = table_row(t, i);

			if (strcmp((const char *)table_key(t->kind, row), tier) == 0)
				sum += row[measure];
		}
	}
	return sum;
}
