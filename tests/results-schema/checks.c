/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/results-schema/checks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "results-schema/read_phase.h"
#include "tests/results-schema/synthetic.h"

uint64_t check_failed;

void expect(int holds, const char *what)
{
	if (holds)
		return;
	check_failed++;
	fprintf(stderr, "does not hold: %s\n", what);
}

/* The shared tier comes first, then the ranks' own tiers in their order, as long as there is
 * room. */
static void check_tiers(const struct results_phase_read *p, uint32_t ranks)
{
	uint32_t rows = ranks + 1 < SYN_TIERS_MAX ? ranks + 1 : SYN_TIERS_MAX;
	const struct results_rows *t = results_find_table(p, "tiers");
	char name[32];

	expect(t && t->table.row_count == rows && t->names && t->hist_count == 2, "tiers");
	if (!t || t->table.row_count != rows || !t->names || t->hist_count != 2)
		return;
	expect(t->left_out == ranks + 1 - rows, "tiers without room are counted");
	expect(strcmp(t->names[0], "shared") == 0 && results_value(&t->table, 0, "hits") == ranks &&
		       results_value(&t->table, 0, "first_ns") == 1000,
	       "the shared tier");
	expect(strcmp(t->table.columns[results_column(&t->table, "first_ns")].counted_by, "hits") ==
			       0 &&
		       !*t->table.columns[results_column(&t->table, "hits")].counted_by,
	       "what counts a time");
	for (uint32_t i = 1; i < rows; i++) {
		snprintf(name, sizeof(name), "tier %u", i - 1);
		expect(strcmp(t->names[i], name) == 0, "tiers by rank");
		expect(results_value(&t->table, i, "hits") == i &&
			       results_value(&t->table, i, "hits_doubled") == 2 * i,
		       "hits of a tier");
		expect(results_value(&t->table, i, "first_ns") == i * 1000 &&
			       results_value(&t->table, i, "most_bytes") == i * 1000,
		       "a rank without the row changes no minimum");
		for (uint32_t h = 0; h < 2; h++)
			expect(results_row_count(&t->hists[h], i) == i &&
				       fabs(results_row_quantile(&t->hists[h], i, 0.5) -
					    i * 1000.0) <= 0.07 * i * 1000,
			       "histograms of a tier");
	}
	expect(strcmp(t->codes_name, "answers") == 0 && t->code_count == rows, "codes of tiers");
	expect(t->codes[0][0] == 0 && t->codes[0][1] == 200 && t->codes[0][2] == ranks,
	       "codes of the shared tier");
	expect(t->codes[1][0] == 1 && t->codes[1][1] == 500 && t->codes[1][2] == 1,
	       "codes of a tier");
}

/* 5,000 steps fold into 2,500 rows, with means over ranks and steps and the maximum of all. */
static void check_steps(const struct results_phase_read *p, uint32_t ranks)
{
	const struct results_steps *s = &results_whole(p)->steps;

	expect(s->steps_per_row == 2 && s->rows == SYN_STEPS / 2, "steps fold");
	for (uint64_t i = 0; i < s->rows; i++) {
		expect(s->step[i] == 2 * (double)i + 1, "first step of a row");
		expect(fabs(s->mean_ns[STEP_LOAD][i] - (2 * (double)i + 0.5 + (ranks - 1) / 2.0)) <
			       1e-6,
		       "mean over ranks and steps");
		expect(s->max_ns[STEP_LOAD][i] == 2 * (double)i + ranks, "the maximum of all");
		expect(s->mean_ns[STEP_COMPUTE][i] == 1000 && s->mean_ns[STEP_RANKS][i] == 0,
		       "the other parts of a step");
	}
}

/* The last rank has the least AU, which is also that of all, because an epoch ends with its last
 * rank. */
static void check_epochs(const struct results_rows *epochs, uint32_t ranks)
{
	const struct results_spread *s = epochs->spread;
	const double least = 0.5 - (ranks - 1) / 1000.0;

	expect(s != NULL, "the rows of each rank in each epoch");
	for (uint64_t i = 0; s && i < epochs->table.row_count; i++) {
		expect(fabs(s[i].least - least) < 1e-12 && fabs(s[i].most - 0.5) < 1e-12 &&
			       s[i].least_rank == ranks - 1,
		       "how the ranks differed in an epoch");
		expect(fabs(results_role_value(&epochs->table, i, ROLE_UTILISATION) - least) <
			       1e-12,
		       "the AU of an epoch");
	}
}

static void check_failures(const struct results_phase_read *p, double ranks)
{
	expect(p->failure_count == 20 * ranks && p->failure_rows == 16 * ranks, "failures");
	for (uint32_t i = 1; i < p->failure_rows; i++)
		expect(p->failures[i - 1].time_ns <= p->failures[i].time_ns,
		       "failures are sorted by time");
	expect(p->failure_rows && p->failures[0].error == -5 && p->failures[0].step == 7 &&
		       strcmp(p->failures[0].object, "file:///data/img_7.npz") == 0,
	       "all members of a failure");
}

void check_train(const struct results_phase_read *p, uint32_t ranks)
{
	const struct hist *read = results_find_hist(p, "read");
	const struct results_rows *epochs = results_find_table(p, "epochs");
	double n = ranks, with_failures = (ranks + 1) / 2;

	expect(results_ranks(p)->row_count == ranks && epochs && epochs->table.row_count == 2,
	       "rows");
	if (!epochs)
		return;
	expect(results_value(&p->merged, 0, "samples") == 10 * n + n * (n - 1) / 2,
	       "samples are summed");
	expect(results_value(&p->merged, 0, "least") == 41 - n, "a minimum is the least");
	expect(results_value(&p->merged, 0, "wall_ns") == 1e9,
	       "the wall time is the slowest rank's");
	expect(fabs(results_value(&p->merged, 0, "au") - 0.964) < 1e-12, "au of the merged row");
	expect(results_value(results_ranks(p), ranks - 1, "rank") == n - 1, "rank column");
	expect(results_value(results_ranks(p), ranks - 1, "samples") == 9 + n,
	       "the samples of a rank");
	expect(results_value(&epochs->table, 1, "samples") == 5 * n + n * (n - 1) / 2,
	       "an epoch's samples");
	expect(results_value(&epochs->table, 1, "wall_ns") == 500000000 + n - 1,
	       "an epoch's wall time");
	expect(epochs->table.cells[results_column(&epochs->table, "id_sum")].count ==
		       (uint64_t)ranks * (1ull << 60) + ranks * (ranks - 1) / 2,
	       "ids are summed modulo 2^64");
	expect(read && hist_count(read) == 1000ull * ranks, "reads counted");
	expect(read && read->max_ns == 5999000 + (ranks - 1) * 50000000ull &&
		       ~read->min_not_ns == 5000000,
	       "the maximum and the minimum");
	expect(results_find_hist(p, "write") == NULL, "an empty histogram is not stored");
	check_failures(results_whole(p), with_failures);
	expect(strcmp(p->record.message, "all is well") == 0 &&
		       strcmp(p->record.main_hist, "read") == 0,
	       "texts come from rank 0");
	expect(results_role_value(&p->merged, 0, ROLE_ITEMS) ==
		       results_value(&p->merged, 0, "samples"),
	       "a column by its role");
	expect(results_role_hist(p, ROLE_READ_LATENCY) != NULL, "histograms have roles");
	expect(results_column(results_ranks(p), "operations") >= 0 &&
		       results_column(results_ranks(p), "least") < 0,
	       "of the ranks only the columns that reports use are read");
	check_epochs(epochs, ranks);
	check_tiers(p, ranks);
	check_steps(p, ranks);
}

/* All nodes' rows have the interval of the coarsest node, and are indexed by node and time. */
void check_client(const struct results_phase_read *p, uint32_t nodes)
{
	uint32_t seconds = nodes > 1 ? 2 : 1, rows = nodes > 1 ? 3 : 5;
	const struct results_table *t = &results_whole(p)->client;

	expect(results_whole(p)->client_interval_s == seconds &&
		       t->row_count == (uint64_t)nodes * rows,
	       "client-side rows");
	for (uint64_t i = 0; i < t->row_count; i++) {
		uint64_t node = i / rows, row = i % rows;
		double in = row == 2 && seconds == 2 ? (double)node + 4
			    : seconds == 2           ? 2 * (double)node + 4 * (double)row + 1
						     : (double)row;

		expect(results_value(t, i, "node") == (double)node &&
			       results_value(t, i, "time_ns") == (double)(row * seconds) * 1e9,
		       "node and time of a client-side row");
		expect(results_value(t, i, "nic_in_bytes") == in, "the bytes of a node");
		expect(results_value(t, i, "rank_cores_busy_ns") ==
			       results_value(t, i, "rank_cores_ns") * 0.75,
		       "the cores of a node");
	}
	expect(results_value(t, 0, "memory_free_bytes") == (seconds == 2 ? 99 : 100),
	       "the least free memory");
}

/* The bytes of details that are in memory. */
static uint64_t bytes_kept(const struct results_file *f)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < f->phase_count; i++)
		bytes += read_details_bytes(&f->phases[i]);
	return bytes;
}

void check_room(const char *path)
{
	struct results_file *f;
	struct err err = {0};
	uint64_t all;

	if (results_load_within(&f, path, UINT64_MAX, &err) < 0) {
		expect(0, err.text);
		return;
	}
	all = bytes_kept(f);
	results_unload(f);
	for (uint64_t quarters = 0; quarters <= 8; quarters++) {
		uint64_t room = all * quarters / 4 - (quarters == 4);

		if (results_load_within(&f, path, room, &err) < 0) {
			expect(0, err.text);
			continue;
		}
		expect(bytes_kept(f) <= room, "details take no more memory than there is room");
		expect(quarters <= 4 || bytes_kept(f) == all, "all details stay in memory");
		results_unload(f);
	}
}
