/* SPDX-License-Identifier: Apache-2.0 */
/* Synthetic workload: see synthetic.h. */
#include "tests/results-schema/synthetic.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct measure rank_measures[] = {TALLY_COMMON_LIST(MEASURE_ROW)
						       SYN_LIST(MEASURE_ROW, MEASURE_BLOCK_ROWS)};
static const struct measure epoch_measures[] = {SYN_EPOCH_LIST(MEASURE_ROW)};
static const struct measure tier_measures[] = {SYN_TIER_LIST(MEASURE_ROW)};

/* The later a rank ends an epoch, the less it was used. */
static double epoch_au(const uint64_t *row)
{
	return row[SYN_E_SAMPLES] ? 0.5 - ((double)row[SYN_E_WALL] - 500000000) / 1000 : NAN;
}

static const struct figure rank_figures[] = {FIGURE_PER("au", "fraction", 1, OF(SYN_AU_COMPUTE),
							OF(SYN_AU_WALL), "utilisation",
							.role = ROLE_UTILISATION)};
static const struct figure epoch_figures[] = {FIGURE_ROW(
	"au", "fraction", epoch_au, "(less the later)", "utilisation", .role = ROLE_UTILISATION)};
static const struct figure tier_figures[] = {FIGURE_PER(
	"hits_doubled", "", 1, OF_SUM(SYN_T_HITS, SYN_T_HITS), OF_NONE, "twice the hits")};
static const struct hist_kind hists[] = {
	{.name = "read", .help = "reads", .role = ROLE_READ_LATENCY},
	{.name = "write", .help = "writes"},
	{.name = "step_stall", .help = "stalls of steps"},
};
static const struct hist_kind tier_hists[] = {
	{.name = "get", .help = "gets"},
	{.name = "rough", .help = "gets, roughly", .coarse = true},
};
static const struct code_kind tier_codes = {"answers", "answer", "times", 600};

static const struct table_kind epochs = {
	.name = "epochs",
	.help = "epochs",
	.key = TABLE_NUMBER,
	.key_name = "epoch",
	.columns = {epoch_measures, SYN_E_MEASURES, epoch_figures, 1},
	.rows_max = 4,
	.rank_rows = "epoch_ranks",
};
static const struct table_kind tiers = {
	.name = "tiers",
	.help = "tiers of a cache",
	.key = TABLE_TEXT,
	.key_name = "tier",
	.columns = {tier_measures, SYN_T_MEASURES, tier_figures, 1},
	.hists = tier_hists,
	.hist_count = 2,
	.codes = &tier_codes,
	.rows_max = SYN_TIERS_MAX,
	.rank_rows = "rows_by_rank",
};
static const struct table_kind *const tables[] = {[SYN_EPOCHS] = &epochs, [SYN_TIERS] = &tiers};

const struct tally_schema synthetic_schema = {
	.rank = {rank_measures, SYN_MEASURES, rank_figures, 1},
	.hists = hists,
	.hist_count = SYN_HISTS,
	.main_hist = SYN_READ,
	.tables = tables,
	.table_count = SYN_TABLES,
	.steps = true,
};

static void hit(struct tally *t, const char *tier, uint32_t times, uint32_t answer, uint64_t ns)
{
	uint64_t *row = table_named(&t->tables[SYN_TIERS], tier);

	for (uint32_t i = 0; row && i < times; i++) {
		row[SYN_T_HITS]++;
		row[SYN_T_FIRST] = ns;
		row[SYN_T_MOST] = ns;
		table_codes(&tiers, row)[answer]++;
		hist_record(table_hist(&tiers, row, 0), ns);
		coarse_record(table_coarse_hist(&tiers, row, 1), ns);
	}
}

static void fill_tiers(struct tally *t, uint32_t rank)
{
	char own[32];

	snprintf(own, sizeof(own), "tier %u", rank);
	hit(t, "shared", 1, 200, 1000);
	hit(t, own, rank + 1, 500 + rank % 50, (rank + 1) * 1000ull);
}

static void fill_steps(struct tally *t, uint32_t rank)
{
	for (uint64_t i = 0; i < SYN_STEPS; i++)
		steps_add(t->steps, i,
			  (uint64_t[STEP_PARTS]){[STEP_LOAD] = i + rank, [STEP_COMPUTE] = 1000});
}

void synthetic_train(struct tally *t, uint32_t rank)
{
	/* In thousandths, as ms. */
	static const uint64_t accounts[ACCOUNTS] = {[ACCOUNT_COMPUTE] = 964,
						    [ACCOUNT_OPEN] = 3,
						    [ACCOUNT_TRANSFER] = 19,
						    [ACCOUNT_RANKS] = 11,
						    [ACCOUNT_HAUL] = 3};
	struct failure f = {.time_ns = 5,
			    .rank = rank,
			    .error = -5,
			    .attempts = 3,
			    .operation = "read",
			    .object = "file:///data/img_7.npz",
			    .text = "Input/output error",
			    .epoch = 1,
			    .step = 7};

	t->rank_row[TALLY_WALL_NS] = 1000000000;
	t->rank_row[TALLY_BYTES_READ] = 1000000 * (rank + 1);
	t->rank_row[TALLY_OPERATIONS] = 100;
	t->rank_row[SYN_SAMPLES] = 10 + rank;
	t->rank_row[SYN_LEAST] = 40 - rank;
	for (unsigned i = 0; i < ACCOUNTS; i++)
		t->rank_row[SYN_ACCOUNTS + i] = accounts[i] * 1000000;
	t->rank_row[SYN_AU_COMPUTE] = 964000000;
	t->rank_row[SYN_AU_WALL] = 1000000000;
	fill_tiers(t, rank);
	fill_steps(t, rank);
	for (unsigned e = 0; e < 2; e++) {
		uint64_t *row = table_numbered(&t->tables[SYN_EPOCHS], e + 1);

		row[SYN_E_SAMPLES] = 5 + rank;
		row[SYN_E_ID_SUM] = (1ull << 60) + rank;
		row[SYN_E_ID_HASH] = ~(uint64_t)0 - rank;
		row[SYN_E_WALL] = 500000000 + rank;
	}
	for (unsigned i = 0; i < 1000; i++) {
		hist_record(&t->hists[SYN_READ], 5000000 + i * 1000 + rank * 50000000ull);
		timeline_add(t->timeline, i * 2500000ull, SECOND_BYTES_READ, 1000);
	}
	hist_record(&t->hists[SYN_STALL], 7);
	if (rank % 2 == 0) {
		t->rank_row[TALLY_ERRORS] = 20;
		for (unsigned i = 0; i < 20; i++) {
			f.time_ns = 1000 + i * 10 + rank;
			tally_fail(t, &f);
		}
	}
}

void synthetic_generate(struct tally *t, uint32_t rank)
{
	t->rank_row[TALLY_WALL_NS] = 1400000000;
	t->rank_row[TALLY_BYTES_WRITTEN] = 1450000000;
	t->rank_row[TALLY_OPERATIONS] = 483;
	t->rank_row[SYN_SAMPLES] = 120;
	t->rank_row[SYN_LEAST] = 1;
	for (unsigned i = 0; i < 483; i++)
		hist_record(&t->hists[SYN_WRITE], 2000000 + 300ull * i * (rank + 1));
	if (rank == 0) /* more than a row by rank can hold */
		t->hists[SYN_WRITE].bucket[7] += SYN_MANY;
}

void synthetic_client(struct client_series *s, uint32_t node)
{
	const uint64_t second = 1000000000;
	uint64_t before[CLIENT_COLUMNS] = {0}, after[CLIENT_COLUMNS] = {0};

	client_series_init(s);
	for (uint64_t i = 0; i < 5; i++) {
		memcpy(before, after, sizeof(after));
		after[CLIENT_RANK_CORES_NS] += 4 * second;
		after[CLIENT_RANK_CORES_BUSY_NS] += 3 * second;
		after[CLIENT_NIC_IN_BYTES] += node + i;
		after[CLIENT_MEMORY_FREE_BYTES] = 100 - i;
		client_series_add(s, i * second, (i + 1) * second, before, after);
	}
	if (node % 2)
		client_series_fold(s, 2 * second);
}
