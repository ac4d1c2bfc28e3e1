#include "tests/results-schema/synthetic.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct measure rank_measures[] = {
	TALLY_COMMON_MEASURES,
	{"samples", "", MERGE_SUM, "samples"},
	{"compute_ns", "ns", MERGE_SUM, "compute"},
	{"open_ns", "ns", MERGE_SUM, "open"},
	{"first_byte_ns", "ns", MERGE_SUM, "first byte"},
	{"transfer_ns", "ns", MERGE_SUM, "transfer"},
	{"queue_ns", "ns", MERGE_SUM, "queue"},
	{"ranks_ns", "ns", MERGE_SUM, "ranks"},
	{"decode_ns", "ns", MERGE_SUM, "decode"},
	{"haul_ns", "ns", MERGE_SUM, "haul"},
	{"au_compute_ns", "ns", MERGE_SUM, "compute, warm-up excluded"},
	{"au_wall_ns", "ns", MERGE_SUM, "wall, warm-up excluded"},
	{"least", "", MERGE_MIN, "a minimum"},
};
_Static_assert(sizeof(rank_measures) / sizeof(*rank_measures) == SYN_MEASURES, "a row a measure");

static const struct measure epoch_measures[] = {
	{"samples", "", MERGE_SUM, "samples"},
	{"id_sum", "id", MERGE_SUM, "sum of ids"},
	{"id_hash", "id", MERGE_SUM, "sum of hashed ids"},
	{"wall_ns", "ns", MERGE_MAX, "wall"},
};

static double au(const uint64_t *row)
{
	return row[SYN_AU_WALL] ? (double)row[SYN_AU_COMPUTE] / (double)row[SYN_AU_WALL] : NAN;
}

static double epoch_au(const uint64_t *row)
{
	return row[SYN_E_SAMPLES] ? 0.5 : NAN;
}

static const struct figure rank_figures[] = {{"au", "fraction", au, "utilisation"}};
static const struct figure epoch_figures[] = {{"au", "fraction", epoch_au, "utilisation"}};
static const struct hist_kind hists[] = {
	{"read", "reads"}, {"write", "writes"}, {"step_stall", "stalls of steps"}};

const struct tally_schema synthetic_schema = {
	.rank = {rank_measures, SYN_MEASURES, rank_figures, 1},
	.epoch = {epoch_measures, SYN_E_MEASURES, epoch_figures, 1},
	.hists = hists,
	.hist_count = SYN_HISTS,
	.main_hist = SYN_READ,
};

void synthetic_train(struct tally *t, uint32_t rank)
{
	static const uint64_t accounts[] = {964, 3, 0, 19, 0,
					    11,  0, 3}; /* of 1000, in ms: the guide's example */
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
	for (unsigned i = 0; i < 8; i++)
		t->rank_row[SYN_COMPUTE + i] = accounts[i] * 1000000;
	t->rank_row[SYN_AU_COMPUTE] = 964000000;
	t->rank_row[SYN_AU_WALL] = 1000000000;
	t->epochs = 2;
	for (unsigned e = 0; e < 2; e++) {
		uint64_t *row = t->epoch_rows + e * SYN_E_MEASURES;

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
