/* SPDX-License-Identifier: Apache-2.0 */
/* Fixture for phases "kvcache": see kvcache_fixture.h. */
#include "tests/workloads/kvcache/kvcache_fixture.h"

#include <inttypes.h>
#include <stdio.h>

#include "tests/unit.h"

/* The model: 64 layers x 32 heads x 128 numbers x 2 (a key and a value) x 2 bytes. */
#define ONE \
	"\"model\": {\"layers\": 64, \"hidden\": 4096, \"heads\": 32, \"kv_heads\": 32, \"head_dim\": 128}, " USERS

#define USERS \
	"\"templates\": [{\"name\": \"one\", \"context_min\": 1, \"context_max\": 1, " \
	"\"generate_min\": 1, \"generate_max\": 1, \"think_min\": \"1 s\", \"think_max\": \"1 s\"}], " \
	"\"prefix\": {\"enabled\": false}, \"conversation\": {\"enabled\": false}, "

static char job[8192];

const char kvcache_one_user[] = USERS;

struct fixture *kvcache_new(uint32_t tensor, const char *stores, const char *phase)
{
	struct fixture *f;

	snprintf(job, sizeof(job),
		 "{\"seed\": 7, \"cluster\": {\"tensor\": %" PRIu32 "}, \"stores\": {%s}, "
		 "\"phases\": [{\"kvcache\": {%s}}]}",
		 tensor, stores, phase);
	f = fixture_new(job);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	return f;
}

struct fixture *kvcache_run(const char *stores, const char *phase, uint32_t ranks)
{
	struct fixture *f = kvcache_new(1, stores, phase);

	if (f)
		fixture_run(f, ranks);
	return f;
}

struct fixture *kvcache_run_one(const char *stores, const char *phase, uint32_t ranks)
{
	char text[4096];

	snprintf(text, sizeof(text), ONE "%s", phase);
	return kvcache_run(stores, text, ranks);
}

void kvcache_expect_ok(const struct fixture *f)
{
	for (uint32_t rank = 0; rank < f->ranks; rank++) {
		const uint64_t *row = f->tallies[rank].rank_row;
		uint64_t sum = 0;

		CU_ASSERT_EQUAL(f->rc[rank], 0);
		if (f->rc[rank])
			fprintf(stderr, "\n%s\nrank %" PRIu32 ": %s\n", job, rank,
				f->err[rank].text);
		for (int a = 0; a < ACCOUNTS; a++)
			sum += row[KV_ACCOUNTS + a];
		CU_ASSERT_NOT_EQUAL(sum, 0);
		CU_ASSERT_EQUAL(sum, row[TALLY_WALL_NS]);
		CU_ASSERT_EQUAL(row[TALLY_ERRORS], 0);
		CU_ASSERT_EQUAL(row[KV_PAYLOAD_ERRORS], 0);
		CU_ASSERT_EQUAL(row[KV_OFFERED],
				row[KV_REQUESTS] + row[KV_LEFT] + row[KV_TURNED_AWAY]);
	}
}

uint64_t kvcache_of(const struct fixture *f, uint32_t rank, unsigned measure)
{
	return f->tallies[rank].rank_row[measure];
}

uint64_t kvcache_tier(const struct fixture *f, uint32_t rank, uint32_t tier, unsigned measure)
{
	return table_row(&f->tallies[rank].tables[KV_TABLE_TIERS], tier)[measure];
}

uint64_t kvcache_class(const struct fixture *f, uint32_t rank, uint32_t class, unsigned measure)
{
	return table_row(&f->tallies[rank].tables[KV_TABLE_QOS], class)[measure];
}
