/* SPDX-License-Identifier: Apache-2.0 */
/* Cost of publishing the runs of a series, and the phases of a job of many: the last of 60 (in
 * full: 1,000) costs no more than twice what the first costs, in bytes written and in calls of
 * reading and writing, but for the phases that share its side file. Each rank is a node, and two
 * nodes are many here: their rows of the client's side are folded. */
#include <errno.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranks/mpi/group.h"
#include "results-schema/file_head.h"
#include "results-schema/results.h"
#include "results-schema/results_read.h"
#include "tests/results-schema/synthetic.h"

enum { PHASES = 80, PHASES_FULL = 1000 };
enum { BYTES_WRITTEN, READS, WRITES, COSTS };
/* HDF5 looks through a longer list of links: 65 reads more after 1,000 runs. */
enum { MORE_READS = 80 };
static const char *const cost_names[] = {"wchar: ", "syscr: ", "syscw: "};

/* What all ranks have done so far, as the kernel counts it. */
static void count(uint64_t cost[COSTS], struct group *g)
{
	FILE *file = fopen("/proc/self/io", "r");
	char line[80];

	memset(cost, 0, COSTS * sizeof(*cost));
	while (file && fgets(line, sizeof(line), file))
		for (int i = 0; i < COSTS; i++)
			if (strncmp(line, cost_names[i], 7) == 0)
				cost[i] = strtoull(line + 7, NULL, 10);
	if (file)
		fclose(file);
	group_allreduce(g, MERGE_SUM, cost, COSTS);
}

/* Twenty seconds of this node. */
static void fill_client(struct client_series *s)
{
	uint64_t zero[CLIENT_COLUMNS] = {0}, some[CLIENT_COLUMNS] = {0};

	client_series_init(s);
	some[CLIENT_NIC_IN_BYTES] = 5;
	for (uint64_t i = 0; i < 20; i++)
		client_series_add(s, i * 1000000000, (i + 1) * 1000000000, zero, some);
}

/* nth: the run of a series, or the phase of the only run, from 0. */
static int publish(struct results *r, uint32_t nth, bool series, struct group *g,
		   uint64_t cost[COSTS], struct err *err)
{
	uint32_t run = series ? nth + 1 : 1;
	struct tally t;
	struct client_series *client = malloc(sizeof(*client));
	struct results_phase phase = {.tally = &t, .client = client};
	uint64_t before[COSTS];
	int rc = tally_init(&t, &synthetic_schema, NULL, err);

	if (rc < 0 || !client) {
		free(client);
		return rc < 0 ? rc : -ENOMEM;
	}
	fill_client(client);
	phase_record_init(&phase.record);
	results_set_run(&phase, &(struct results_run){.run = run, .repeat = run});
	phase.record.number = nth;
	strcpy(phase.record.kind, "train");
	strcpy(phase.record.status, "done");
	phase.record.seconds = 1;
	synthetic_train(&t, g->rank);
	count(before, g);
	rc = results_publish(r, &phase, err);
	count(cost, g);
	for (int i = 0; i < COSTS; i++)
		cost[i] -= before[i];
	tally_free(&t);
	free(client);
	return rc;
}

static int check_cost(const uint64_t first[COSTS], const uint64_t last[COSTS], uint64_t each)
{
	int failed = 0;

	for (int i = 0; i < COSTS; i++) {
		printf("%s%" PRIu64 " at first, %" PRIu64 " at last\n", cost_names[i],
		       first[i] / each, last[i] / each);
		failed |= !first[i] ||
			  last[i] > (i == READS ? first[i] + each * MORE_READS : 2 * first[i]);
	}
	return failed;
}

static int check_file(const char *path, uint32_t phases, bool series)
{
	struct results_file *f;
	struct err err = {0};
	int failed = 0;

	if (results_load(&f, path, &err) < 0) {
		printf("%s\n", err.text);
		return 1;
	}
	failed = f->phase_count != phases;
	for (uint32_t i = 0; i < f->phase_count; i++) {
		const struct results_phase_read *p = results_whole(&f->phases[i]);

		failed |= p->record.run != (series ? i + 1 : 1) || p->record.number != i ||
			  p->ranks.row_count < 1;
		/* These are many nodes here, so the rows of each are folded to 8 at most. */
		failed |= p->client.row_count != 2 * 5 || p->client_interval_s != 4 ||
			  results_value(&p->client, 0, "nic_in_bytes") != 4 * 5;
	}
	results_unload(f);
	return failed;
}

/* count phases, one a run or all of one run. The cost of a phase swings as a side file fills, so
 * costs are of a quarter of them. */
static int check_many(uint32_t count, bool series, struct group *g)
{
	uint64_t first[COSTS] = {0}, last[COSTS] = {0}, one[COSTS];
	struct node_row nodes[2] = {{.host = "one"}, {.host = "two"}};
	struct rank_row ranks[2] = {{.place = {.rank = 0}}, {.place = {.rank = 1, .node = 1}}};
	struct results_head head = {.version = "",
				    .build = "",
				    .command_line = "",
				    .job_text = "{}",
				    .job_name = "",
				    .started_utc_ns = 1,
				    .ranks = g->size,
				    .nodes = 2,
				    .client_nodes_max = 1,
				    .runs = series ? count : 1,
				    .phases = series ? 1 : count,
				    .name_bytes = 12,
				    .sweep_bytes = 1};
	char path[64], key[SERIES_KEY_BYTES];
	struct results *r = NULL;
	struct err err = {0};
	int rc, failed = 0;

	snprintf(path, sizeof(path), "test_series_cost_%u_%u_%d.h5", g->size, count, series);
	if (g->rank == 0)
		unlink(path);
	rc = results_create(&r, path, true, mpi_group_comm(g), g, &head, nodes, ranks, &err);
	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		rc = publish(r, i, series, g, one, &err);
		for (int k = 0; k < COSTS; k++) {
			first[k] += i < count / 4 ? one[k] : 0;
			last[k] += i >= count - count / 4 ? one[k] : 0;
		}
	}
	if (rc == 0)
		rc = results_finish(r, RESULTS_DONE, "", &err);
	if (rc < 0)
		printf("%s\n", err.text);
	if (rc == 0 && g->rank == 0) {
		failed = check_cost(first, last, count / 4) | check_file(path, count, series);
		file_head_series(path, key);
		failed |= !series && key[0]; /* joined */
		file_head_joined(path, key);
		failed |= !series && !key[0];
		side_files_remove(path, key);
		unlink(path);
	}
	results_free(r);
	return rc < 0 || failed;
}

int main(int argc, char **argv)
{
	uint32_t count = getenv("HAUL_TEST_FULL") ? PHASES_FULL : PHASES;
	struct err err = {0};
	struct group *g;
	int failed;

	MPI_Init(&argc, &argv);
	if (mpi_group_world(&g, &err) < 0)
		MPI_Abort(MPI_COMM_WORLD, 1);
	failed = check_many(count, true, g);
	failed |= check_many(count, false, g);
	group_free(g);
	MPI_Finalize();
	return failed;
}
