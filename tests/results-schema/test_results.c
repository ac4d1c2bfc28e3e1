/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of results.h5, written by any number of ranks and read back. Run by mpiexec. The file stays
 * at the given path (default: the working folder), so that other tools can read it. */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <math.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ranks/mpi/group.h"
#include "results-schema/append.h"
#include "results-schema/file_head.h"
#include "results-schema/results.h"
#include "results-schema/results_read.h"
#include "tests/results-schema/checks.h"
#include "tests/results-schema/synthetic.h"

/* What the last write of results was opened with; the MPI library's own function opens the file. */
static char hints[4][MPI_MAX_INFO_VAL + 1];
static const char *const hint_names[] = {"cb_nodes", "striping_factor", "striping_unit",
					 "romio_cb_write"};

int MPI_File_open(MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file)
{
	int found;

	for (int i = 0; i < 4; i++) {
		hints[i][0] = '\0';
		if (info != MPI_INFO_NULL)
			MPI_Info_get(info, hint_names[i], MPI_MAX_INFO_VAL, hints[i], &found);
	}
	return PMPI_File_open(comm, name, mode, info, file);
}

/* What the steps of the last publication were told. */
static struct {
	uint64_t steps, bytes;
} steps_seen;

static uint64_t interim_seen;

static void note_step(void *argument, uint64_t bytes)
{
	(void)argument;
	steps_seen.steps++;
	if (bytes > steps_seen.bytes)
		steps_seen.bytes = bytes;
}

/* What the file in place had each time that rank 0's own part of a publication ended, which is before
 * the other ranks hear of it. */
static void note_interim(void *argument, bool begins)
{
	if (!begins)
		interim_seen = results_interim(argument);
}

static int create(struct results **out, const char *path, bool force, uint32_t rank_rows_max,
		  bool parallel, struct group *g, struct err *err)
{
	struct node_row *nodes = calloc(g->size, sizeof(*nodes));
	struct rank_row *ranks = calloc(g->size, sizeof(*ranks));
	struct results_head head = {.version = "0.1.0",
				    .build = "test",
				    .command_line = "haul run µ.json",
				    .job_text = "{\"name\": \"unet3d_demo\"}",
				    .job_name = "unet3d_demo",
				    .started_utc_ns = 1700000000000000000ull,
				    .ranks = g->size,
				    .runs = 6,
				    .nodes = (g->size + 1) / 2,
				    .rank_rows_max = rank_rows_max,
				    /* One byte: all is written in parallel. */
				    .gather_bytes_max = parallel,
				    .client_nodes_max = 1};
	int rc;

	for (uint32_t r = 0; r < g->size; r++) {
		snprintf(nodes[r].host, sizeof(nodes[r].host), "nid%04u", r);
		ranks[r].place.rank = r;
		ranks[r].place.node = r / 2;
	}
	rc = results_create(out, path, force, mpi_group_comm(g), g, &head, nodes, ranks, err);
	if (rc == 0)
		results_set_join(*out, RESULTS_JOIN_NEVER);
	free(nodes);
	free(ranks);
	return rc;
}

static const char *const sets[] = {"train.batch=4", "train.compute=10 µs"};
static const struct results_run third_run = {3, 2, 1, true, sets, 2};

static const struct target_result targets[] = {
	{.name = "target_au",
	 .label = "AU",
	 .unit = "fraction",
	 .asked = 0.9,
	 .found = 0.964,
	 .met = 1},
	{.name = "target_p99",
	 .label = "p99 of reads",
	 .unit = "ns",
	 .most = 1,
	 .asked = 20e6,
	 .found = 21e6},
};

static int publish_as(struct results *r, uint32_t number, const char *kind,
		      void (*fill)(struct tally *t, uint32_t rank), bool running, struct group *g,
		      struct err *err)
{
	static uint64_t requests;
	struct tally t;
	struct results_phase phase = {
		.tally = &t, .running = running, .requests = running ? ++requests : 0};
	struct phase_record *record = &phase.record;
	struct client_series *client = g->rank % 2 ? NULL : malloc(sizeof(*client));
	int rc = tally_init(&t, &synthetic_schema, NULL, err);

	if (rc < 0)
		return rc;
	phase_record_init(record);
	results_set_run(&phase, fill ? &(struct results_run){0} : &third_run);
	record->number = number;
	record->within = fill ? RECORD_NOT_WITHIN : 1;
	record->started_ns = 1700000000000000001ull + number;
	record->finished_ns = record->started_ns + 1400000000;
	strcpy(record->kind, kind);
	strcpy(record->status, running ? "running" : "done");
	strcpy(record->message, g->rank ? "not rank 0's" : "all is well");
	record->seconds = 1.4;
	/* A phase in which the last rank does not take part. */
	t.absent = !fill && g->size > 1 && g->rank == g->size - 1;
	t.rank_row[SYN_LEAST] = t.absent ? 0 : 7 + g->rank;
	if (fill) {
		phase.targets = targets;
		phase.target_count = 2;
		fill(&t, g->rank);
	}
	if (client && fill == synthetic_train) {
		synthetic_client(client, g->rank / 2);
		phase.client = client;
	}
	rc = results_publish(r, &phase, err);
	tally_free(&t);
	free(client);
	return rc;
}

static int publish(struct results *r, uint32_t number, const char *kind,
		   void (*fill)(struct tally *t, uint32_t rank), struct group *g, struct err *err)
{
	return publish_as(r, number, kind, fill, false, g, err);
}

/* Checks the times of the phase, the phase that it is part of, and its targets. */
static void check_record(const struct results_phase_read *p)
{
	const struct phase_record *r = &p->record;

	expect(r->started_ns == 1700000000000000001ull + r->number &&
		       r->finished_ns == r->started_ns + 1400000000,
	       "the times of the phase");
	expect(r->within == (strcmp(r->kind, "io") == 0 ? 1 : RECORD_NOT_WITHIN),
	       "the phase that it is part of");
	if (strcmp(r->kind, "io") == 0) {
		expect(p->target_count == 0 && isnan(r->target_au), "no targets");
		return;
	}
	expect(p->target_count == 2 && memcmp(p->targets, targets, sizeof(targets)) == 0,
	       "targets");
	expect(fabs(r->target_au - 0.9) < 1e-12, "the target of AU");
}

/* Checks the places in the series: one phase of the only run, and one of the third run. */
static void check_run_of(const struct results_phase_read *only,
			 const struct results_phase_read *third)
{
	const struct phase_record *a = &only->record, *b = &third->record;

	expect(a->run == 1 && a->combination == 1 && a->repeat == 1 && !a->warmup &&
		       only->set_count == 0 && strcmp(a->sweep, "") == 0,
	       "the place of the only run");
	expect(b->run == 3 && b->combination == 2 && b->repeat == 1 && b->warmup,
	       "the place of the third run");
	expect(third->set_count == 2 && strcmp(third->sets[0], sets[0]) == 0 &&
		       strcmp(third->sets[1], sets[1]) == 0 &&
		       strcmp(b->sweep, "train.batch=4, train.compute=10 µs") == 0,
	       "the sweep of the third run");
}

/* Files beside the results file; -1: there is no folder for them. */
static int side_files(const char *path)
{
	char folder[4096];
	struct dirent *entry;
	DIR *entries;
	int n = 0;

	snprintf(folder, sizeof(folder), "%s.runs", path);
	entries = opendir(folder);
	while (entries && (entry = readdir(entries)))
		n += entry->d_name[0] != '.';
	if (entries)
		closedir(entries);
	return entries ? n : -1;
}

static int load_without_room(struct results_file **f, const char *path, struct err *err)
{
	return results_load_within(f, path, 0, err);
}

/* Where no details may stay in memory, they are read for one phase after the other, and again. */
static void check_on_demand(const char *path, const struct group *g,
			    int (*load)(struct results_file **f, const char *path, struct err *err))
{
	struct results_file *f;
	struct err err = {0};

	if (load(&f, path, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		check_failed++;
		return;
	}
	for (uint32_t i = 0; i < f->phase_count; i++) {
		const struct results_phase_read *p = &f->phases[i];

		expect(!p->ranks.row_count && !p->hist_count && !p->table_count && !p->steps.rows &&
			       !p->client.row_count && !p->failure_rows,
		       "no details stay in memory");
		if (strcmp(p->record.kind, "train") == 0)
			check_train(p, g->size);
		if (i > 0 && strcmp(f->phases[i - 1].record.kind, "generate") == 0)
			expect(results_value(results_ranks(&f->phases[i - 1]), 0, "samples") == 120,
			       "the details of a phase that was read before");
	}
	results_unload(f);
}

static void check_file(const char *path, uint32_t phases, const char *status, const struct group *g)
{
	struct results_file *f;
	struct err err = {0};
	char part[4096];
	glob_t left;

	if (g->rank != 0)
		return;
	snprintf(part, sizeof(part), "%s.part-*", path);
	expect(glob(part, 0, NULL, &left) == GLOB_NOMATCH, "no .part is left");
	globfree(&left);
	if (results_load(&f, path, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		check_failed++;
		return;
	}
	expect(f->phase_count == phases && strcmp(f->status, status) == 0, "phases and status");
	/* Runs 1 and 3 have published. */
	expect(side_files(path) == (phases < 3 ? phases > 0 : 2), "a side file for each run");
	expect(f->runs == 6, "runs of the series");
	expect(f->ranks == g->size && strcmp(f->hosts[0], "nid0000") == 0, "head");
	expect(strcmp(f->started, "2023-11-14T22:13:20Z") == 0, "date");
	expect(strcmp(f->command_line, "haul run µ.json") == 0, "command line");
	expect(strcmp(f->job_text, "{\"name\": \"unet3d_demo\"}") == 0, "job");
	for (uint32_t i = 0; i < f->phase_count; i++) {
		expect(f->phases[i].record.number == i, "order");
		check_record(&f->phases[i]);
		if (strcmp(f->phases[i].record.kind, "train") == 0) {
			check_train(&f->phases[i], g->size);
			check_client(&f->phases[i], (g->size + 1) / 2);
		} else {
			expect(f->phases[i].client.row_count == 0, "no client-side rows");
		}
	}
	if (phases > 2)
		expect(f->phases[2].hist_count == 0 && f->phases[2].table_count == 0 &&
			       f->phases[2].failure_count == 0 && f->phases[2].steps.rows == 0 &&
			       f->phases[2].record.main_hist[0] == '\0',
		       "the values of an empty phase");
	if (phases > 2)
		expect(results_value(&f->phases[2].merged, 0, "least") == 7 &&
			       results_ranks(&f->phases[2])->row_count ==
				       (g->size > 1 ? g->size - 1 : 1),
		       "a rank without part changes no minimum and has no row");
	if (phases > 2)
		check_run_of(&f->phases[1], &f->phases[2]);
	results_unload(f);
	check_on_demand(path, g, load_without_room);
	check_on_demand(path, g, results_open);
	check_room(path);
}

/* There is no room for another phase: all ranks get the same error, and the file stays as it is. */
static void check_no_room(struct results *r, const char *path, struct group *g)
{
	struct rlimit all, few = {1000, 1000};
	struct err err = {0};
	int rc;

	getrlimit(RLIMIT_FSIZE, &all);
	few.rlim_max = all.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	if (g->rank == 0)
		setrlimit(RLIMIT_FSIZE, &few);
	rc = publish(r, 2, "train", synthetic_train, g, &err);
	if (g->rank == 0)
		setrlimit(RLIMIT_FSIZE, &all);
	expect(rc == -EFBIG, "a full disk is every rank's error");
	expect(strstr(err.text, "no room for results") != NULL, "a full disk has a sentence");
	check_file(path, 2, "interrupted", g);
}

/* Rows of stores for the next publication; later rows replace them, whether there are more or
 * fewer. */
static void set_stores(struct results *r, uint32_t count)
{
	struct store_facts rows[9] = {0};

	for (uint32_t i = 0; i < count; i++) {
		snprintf(rows[i].name, sizeof(rows[i].name), "store %u of %u", i, count);
		strcpy(rows[i].uri, "file:///${SCRATCH}/µ");
		rows[i].block_bytes = 512 + i;
		rows[i].nodes = i + 1;
	}
	expect(results_set_stores(r, rows, count) == 0, "rows of stores are accepted");
}

static void check_stores(const char *path, uint32_t count, const struct group *g)
{
	struct results_file *f;
	struct err err = {0};
	char name[64];

	if (g->rank != 0 || results_load(&f, path, &err) < 0)
		return;
	expect(f->store_count == count, "rows of stores");
	for (uint32_t i = 0; i < f->store_count; i++) {
		snprintf(name, sizeof(name), "store %u of %u", i, count);
		expect(strcmp(f->stores[i].name, name) == 0 && f->stores[i].nodes == i + 1 &&
			       f->stores[i].block_bytes == 512 + i &&
			       strcmp(f->stores[i].uri, "file:///${SCRATCH}/µ") == 0,
		       "the row of a store");
	}
	results_unload(f);
}

/* A run without results: an older file of three phases stays as it is, or no file is made. */
static void check_discarded(const char *path, bool older, struct group *g)
{
	enum { DISCARDED, FAILED, INTERRUPTED, WAYS };
	struct err err = {0};

	for (int way = DISCARDED; way < (older ? WAYS : FAILED); way++) {
		struct results *r = NULL;

		expect(create(&r, path, true, 0, false, g, &err) == 0 && r, "created");
		if (!r)
			return;
		expect(results_stand(r) == (g->rank == 0 && !older), "the run's file at the start");
		if (way == DISCARDED)
			results_discard(r);
		else
			expect(results_finish(r,
					      way == FAILED ? RESULTS_FAILED : RESULTS_INTERRUPTED,
					      "", &err) == 0,
			       "finished without a phase");
		expect(!results_stand(r), "no file of the run is left");
		results_free(r);
		group_barrier(g);
		if (older)
			check_file(path, 3, "done", g);
		else
			expect(g->rank != 0 || (access(path, F_OK) < 0 && side_files(path) < 0),
			       "no file is left");
		group_barrier(g);
	}
}

/* Publishes a phase. Every rank, also one that only waits, hears of steps, and that one of them
 * moves as much as the files are large. */
static void check_steps_told(struct results *r, const char *path, bool parallel, struct group *g)
{
	struct results_file *f;
	struct err err = {0};
	uint64_t words[3];

	memset(&steps_seen, 0, sizeof(steps_seen));
	expect(publish(r, 1, "train", synthetic_train, g, &err) == 0, "train published");
	words[0] = steps_seen.steps;
	words[1] = steps_seen.bytes;
	words[2] = 0;
	group_allreduce(g, MERGE_MIN, words, 2);
	expect(words[0] == steps_seen.steps && words[1] == steps_seen.bytes,
	       "all ranks hear of the same steps");
	expect(words[0] > (parallel ? 8 : 2), "each data set of rows that all write is a step");
	if (g->rank == 0 && results_load(&f, path, &err) == 0) {
		expect(words[1] >= f->file_bytes, "a step has the bytes that it moves");
		results_unload(f);
	}
}

static void check_writers(void)
{
	static const struct {
		uint32_t nodes;
		uint64_t bytes;
		uint32_t writers;
	} cases[] = {
		{1, 0, 1},
		{1, 1ull << 40, 1},
		{512, 0, 1},
		{512, 7 << 20, 1},
		{512, 8 << 20, 2},
		{512, 40 << 20, 6},
		{512, 1ull << 40, 16},
		{4, 1ull << 40, 4},
		{10000, 64 << 20, 9},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		expect(append_writers(cases[i].nodes, cases[i].bytes) == cases[i].writers,
		       "writers follow from the bytes");
}

/* Bytes of the results file, in which the phase of that number is the last one and still runs. */
static uint64_t check_running_file(const char *path, uint32_t number)
{
	struct results_file *f;
	struct err err = {0};
	uint64_t bytes;

	if (results_load(&f, path, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		check_failed++;
		return 0;
	}
	expect(f->phase_count == number + 1, "a running phase is there once");
	expect(f->phase_count && strcmp(f->phases[number].record.status, "running") == 0,
	       "it says that it runs");
	expect(results_value(&f->phases[number].merged, 0, "samples") > 0, "its figures");
	bytes = f->file_bytes;
	results_unload(f);
	return bytes;
}

/* A phase is published while it runs, by and by: each publication takes the place of the one
 * before, also if there is no room for one of them. What was published before is kept, until the
 * phase has ended. */
static void check_running(struct results *r, const char *path, uint32_t number, const char *kind,
			  void (*fill)(struct tally *t, uint32_t rank), struct group *g)
{
	struct rlimit all, few = {1000, 1000};
	struct err err = {0};
	uint64_t bytes[2], before = 0;
	int rc;

	for (int i = 0; i < 2; i++) {
		set_stores(r, 3);
		expect(publish_as(r, number, kind, fill, true, g, &err) == 0, "published running");
		check_stores(path, 3, g);
		expect(g->rank || interim_seen > before, "its requests are known at once");
		before = interim_seen;
		bytes[i] = g->rank == 0 ? check_running_file(path, number) : 0;
	}
	expect(bytes[0] == bytes[1], "the file does not grow");
	getrlimit(RLIMIT_FSIZE, &all);
	few.rlim_max = all.rlim_max;
	if (g->rank == 0)
		setrlimit(RLIMIT_FSIZE, &few);
	rc = publish_as(r, number, kind, fill, true, g, &err);
	if (g->rank == 0)
		setrlimit(RLIMIT_FSIZE, &all);
	expect(rc == -EFBIG, "no room for a running phase");
	expect(g->rank || results_interim(r) == before, "the file in place has those of before");
	if (g->rank == 0)
		check_running_file(path, number);
	group_barrier(g);
}

static void check_no_base(const char *path)
{
	char base[4096];
	glob_t left;

	snprintf(base, sizeof(base), "%s.base-*", path);
	expect(glob(base, 0, NULL, &left) == GLOB_NOMATCH, "no .base is left");
	globfree(&left);
}

static void check_run(const char *path, bool older, uint32_t rank_rows_max, bool parallel,
		      struct group *g)
{
	struct results *r = NULL, *second = NULL;
	struct results_file *f;
	struct err err = {0};

	expect(create(&r, path, true, rank_rows_max, parallel, g, &err) == 0 && r, "created");
	if (!r)
		return;
	if (!older) {
		check_file(path, 0, "interrupted", g);
		check_stores(path, 0, g);
	} else if (g->rank == 0 && results_load(&f, path, &err) == 0) {
		expect(f->phase_count == 3 && strcmp(f->status, "done") == 0,
		       "the older file stays until the first publication");
		results_unload(f);
	}
	expect(create(&second, path, false, 0, false, g, &err) == -EEXIST && !second,
	       "an existing file is kept");
	expect(strstr(err.text, "exists; name another with --results, or say --force") != NULL,
	       "the message for an existing file");
	group_barrier(g);
	results_set_watch(r, &(struct results_watch){
				     .step = note_step, .works = note_interim, .argument = r});
	signal(SIGXFSZ, SIG_IGN);
	check_running(r, path, 0, "generate", synthetic_generate, g);
	expect(publish(r, 0, "generate", synthetic_generate, g, &err) == 0, "generate published");
	if (parallel)
		expect(strcmp(hints[0], "1") == 0 && strcmp(hints[1], "1") == 0 &&
			       strcmp(hints[2], "1048576") == 0 && strcmp(hints[3], "enable") == 0,
		       "hints of MPI-IO");
	check_file(path, 1, "interrupted", g);
	expect(results_stand(r) == (g->rank == 0), "the run's own file is published");
	expect(results_interim(r) == 0, "no phase runs");
	set_stores(r, 9);
	check_stores(path, 0, g);
	check_running(r, path, 1, "train", synthetic_train, g);
	set_stores(r, 9);
	check_steps_told(r, path, parallel, g);
	check_file(path, 2, "interrupted", g);
	check_no_base(path);
	check_stores(path, 9, g);
	check_no_room(r, path, g);
	group_barrier(g);
	set_stores(r, 2);
	expect(publish(r, 2, "io", NULL, g, &err) == 0, "an empty phase published");
	check_file(path, 3, "interrupted", g);
	expect(results_finish(r, RESULTS_DONE, "", &err) == 0, "finished");
	check_file(path, 3, "done", g);
	check_stores(path, 2, g);
	results_free(r);
}

static void remove_series(const char *path)
{
	char key[SERIES_KEY_BYTES] = "";

	if (access(path, F_OK) == 0)
		file_head_series(path, key);
	if (key[0])
		side_files_remove(path, key);
	unlink(path);
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "test_results.h5";
	struct err err = {0};
	struct group *g;
	char name[4096];

	MPI_Init(&argc, &argv);
	if (mpi_group_world(&g, &err) < 0)
		MPI_Abort(MPI_COMM_WORLD, 1);
	if (argc < 2) {
		snprintf(name, sizeof(name), "test_results_%u.h5", g->size);
		path = name;
	}
	if (g->rank == 0)
		remove_series(path);
	group_barrier(g);
	check_discarded(path, false, g);
	check_run(path, false, 1, true, g); /* one row per node where there are several ranks */
	group_barrier(g);
	check_discarded(path, true, g);
	check_run(path, true, 1, false, g);
	group_barrier(g);
	check_run(path, true, 0, false, g);
	check_writers();
	group_allreduce(g, MERGE_SUM, &check_failed, 1);
	if (g->rank == 0 && argc < 2)
		remove_series(path);
	group_free(g);
	MPI_Finalize();
	return check_failed ? 1 : 0;
}
