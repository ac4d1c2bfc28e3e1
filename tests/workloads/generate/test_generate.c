/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the phase "generate": the bytes of its files, files that exist already, errors, stops,
 * and clean. */
#include "workloads/generate/generate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/node_block.h"
#include "core/content/fnv.h"
#include "tests/libs/doubles/thread_group.h"
#include "tests/test_folder.h"
#include "tests/unit.h"
#include "tests/workloads/formats/variants.h"
#include "tests/workloads/generate/job_text.h"
#include "workloads/dataset/dataset.h"
#include "workloads/dataset/manifest.h"

enum { RANKS_MAX = 8 };

/* What the thread ranks of a test share. */
struct run {
	struct job job;
	struct clock clock;
	struct log log;
	struct stop stop;
	bool read_back;           /* checks every file's bytes afterwards */
	uint64_t hash[RANKS_MAX]; /* of all files that each rank has read */
	uint64_t rows[RANKS_MAX][32];
	uint32_t failures;
	char message[256];
	struct err err[RANKS_MAX];
	enum stop_reason stopped[RANKS_MAX];
	struct clean_counts cleaned;
	struct progress_figures shown; /* by the last status round of a clean */
	uint64_t stats;                /* stat requests of files */
};

static void start(struct run *r, const char *text)
{
	memset(r, 0, sizeof(*r));
	CU_ASSERT_EQUAL_FATAL(job_of_text(&r->job, &generate_workload, text), 0);
	clock_init(&r->clock);
	log_init(&r->log, -1, LOG_ERROR, 0, 1);
}

static struct rank_place place_of(const struct group *g)
{
	return (struct rank_place){.rank = g->rank,
				   .ranks = g->size,
				   .nodes = 1,
				   .local_rank = g->rank,
				   .local_ranks = g->size,
				   .data = g->rank,
				   .data_size = g->size,
				   .tensor_size = 1,
				   .pipeline_size = 1};
}

/* Verifies every file against its layout, and makes one hash of all files. */
static void read_back(struct run *r, struct group *g, const struct rank_place *place)
{
	struct store store = {0};
	struct dataset d;
	struct queue q;
	struct err err = {0};
	void *scratch = malloc(LAYOUT_SCRATCH_BYTES);

	CU_ASSERT_EQUAL_FATAL(
		dataset_init(&d, r->job.datasets[0].options, r->job.seed, "/dataset", &err), 0);
	CU_ASSERT_EQUAL_FATAL(store_open(&store, &r->job.stores[0],
					 &(struct store_opener){.place = place,
								.all = g,
								.node = g,
								.clock = &r->clock,
								.log = &r->log,
								.seed = r->job.seed},
					 &err),
			      0);
	CU_ASSERT_EQUAL_FATAL(queue_open(&q, &store, 1, &err), 0);
	for (uint64_t i = 0; i < dataset_objects(&d); i++) {
		struct object o = {0};
		struct layout l;
		uint8_t *data;
		uint64_t file;
		uint32_t object;

		dataset_object(&d, i, &file, &object);
		dataset_object_layout(&d, file, object, &l);
		dataset_object_key(&d, file, object, o.key);
		data = malloc(l.size);
		CU_ASSERT_EQUAL_FATAL(queue_do(&q, &(struct request){.op = REQ_OPEN, .object = &o}),
				      0);
		CU_ASSERT_EQUAL(o.size, l.size);
		CU_ASSERT_EQUAL(queue_do(&q, &(struct request){.op = REQ_READ,
							       .object = &o,
							       .length = l.size,
							       .data = data}),
				0);
		CU_ASSERT_EQUAL(layout_verify(&l, 0, data, l.size, scratch), l.size);
		r->hash[g->rank] = fnv_add(r->hash[g->rank], data, l.size);
		queue_do(&q, &(struct request){.op = REQ_CLOSE, .object = &o});
		free(data);
	}
	queue_close(&q);
	store_close(&store);
	free(scratch);
}

static uint64_t stats_of(const struct tally *t)
{
	for (uint32_t i = 0; i < t->schema->hist_count; i++)
		if (strcmp(t->schema->hists[i].name, "stat") == 0)
			return hist_count(&t->hists[i]);
	return 0;
}

static int generate_body(struct group *g, void *argument)
{
	struct run *r = argument;
	struct rank_place place = place_of(g);
	struct tally tally;
	struct phase_context ctx = {.job = &r->job,
				    .phase = &r->job.phases[0],
				    .place = &place,
				    .group = g,
				    .node = g,
				    .clock = &r->clock,
				    .log = &r->log,
				    .stop = &r->stop,
				    .tally = &tally};
	int rc;

	if (tally_init(&tally, generate_workload.schema, NULL, NULL) < 0)
		return -ENOMEM;
	node_blocks_reserve(g, r->job.stores, r->job.store_count, NULL);
	rc = workload_run(&generate_workload, &ctx, &r->stopped[g->rank], &r->err[g->rank]);
	memcpy(r->rows[g->rank], tally.rank_row, generate_workload.schema->rank.measure_count * 8);
	__atomic_fetch_add(&r->stats, stats_of(&tally), __ATOMIC_RELAXED);
	__atomic_fetch_add(&r->failures, tally.failure_count, __ATOMIC_RELAXED);
	if (g->rank == 0)
		memcpy(r->message, ctx.message, sizeof(r->message));
	if (rc == 0 && r->read_back)
		read_back(r, g, &place);
	node_blocks_free(g);
	tally_free(&tally);
	return rc;
}

static void clean_shown(void *argument, const struct progress *p)
{
	struct run *r = argument;

	p->figures(p, &r->shown);
}

static int clean_body(struct group *g, void *argument)
{
	struct run *r = argument;
	struct rank_place place = place_of(g);
	struct clean_counts counts = {0};
	struct phase_context ctx = {.job = &r->job,
				    .place = &place,
				    .group = g,
				    .node = g,
				    .clock = &r->clock,
				    .log = &r->log,
				    .progress = g->rank == 0 ? clean_shown : NULL,
				    .progress_argument = r};
	int rc = generate_workload.clean(&ctx, &counts, &r->err[g->rank]);

	if (g->rank == 0)
		r->cleaned = counts;
	return rc;
}

static uint64_t sum_of(const struct run *r, const char *measure)
{
	const struct columns *c = &generate_workload.schema->rank;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < c->measure_count; i++)
		if (strcmp(c->measures[i].name, measure) == 0)
			for (uint32_t k = 0; k < RANKS_MAX; k++)
				sum += r->rows[k][i];
	return sum;
}

/* The files are small, because mem:// has a capacity of 64 MiB here. */
static void test_same_for_any_ranks(void)
{
	static const struct {
		uint32_t ranks;
		unsigned threads, transfer;
	} with[] = {{1, 1, 65536}, {1, 3, 1000}, {3, 1, 77777}, {3, 2, 65536}, {7, 1, 1 << 20}};
	const struct variant *formats;
	char text[1024];

	variants(&formats);
	for (unsigned f = 0; f < FORMATS_COUNT; f++) {
		unsigned samples = variant_holds(&formats[f], 3, 60000) ? 3 : 1;
		uint64_t hash = 0;

		for (unsigned i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
			struct run r;

			snprintf(
				text, sizeof(text),
				"{\"seed\": 42, \"stores\": {\"m\": {\"uri\": \"mem://\", \"transfer\": %u}},"
				"\"dataset\": {\"format\": \"%s\", \"files\": 9, \"samples_per_file\": %u, \"sample_bytes\": 60000,"
				"\"sample_bytes_stdev\": 30000, \"folder\": \"a/b\", \"subfolders\": 5},"
				"\"phases\": [{\"generate\": {\"threads\": %u}}]}",
				with[i].transfer, format_names[f], samples, with[i].threads);
			start(&r, text);
			r.read_back = true;
			CU_ASSERT_EQUAL(thread_group_run(with[i].ranks, generate_body, &r, NULL),
					0);
			CU_ASSERT_EQUAL(sum_of(&r, "files_made"),
					9 * format_objects(format_table()[f]));
			if (!hash)
				hash = r.hash[0];
			for (uint32_t k = 0; k < with[i].ranks; k++)
				CU_ASSERT_EQUAL(r.hash[k], hash);
			job_free(&r.job);
		}
	}
}

static void test_no_content(void)
{
	static const char *const uris[] = {"null://", "sim://a"};
	char text[512];

	for (unsigned i = 0; i < 2; i++) {
		struct run r;

		snprintf(
			text, sizeof(text),
			"{\"stores\": {\"n\": {\"uri\": \"%s\"}}, \"dataset\": {\"files\": 100, \"sample_bytes\": 5000000},"
			"\"phases\": [{\"generate\": {}}]}",
			uris[i]);
		start(&r, text);
		CU_ASSERT_EQUAL(thread_group_run(2, generate_body, &r, NULL), 0);
		CU_ASSERT_EQUAL(sum_of(&r, "files_made"), 100);
		CU_ASSERT_TRUE(sum_of(&r, "bytes_written") > 500000000);
		job_free(&r.job);
	}
}

static char folder[TEST_FOLDER_BYTES];

static void start_on_files(struct run *r, unsigned seed)
{
	char text[512];

	snprintf(
		text, sizeof(text),
		"{\"seed\": %u, \"stores\": {\"f\": {\"uri\": \"file://%s/data\"}},"
		"\"dataset\": {\"files\": 40, \"sample_bytes\": 100000, \"sample_bytes_stdev\": 30000,"
		"\"folder\": \"train\", \"subfolders\": 4}, \"phases\": [{\"generate\": {\"threads\": 2}}]}",
		seed, folder);
	start(r, text);
	r->read_back = true;
}

static void path_of(const struct run *r, uint64_t file, char path[OBJECT_KEY_BYTES + 80])
{
	char key[OBJECT_KEY_BYTES];
	struct dataset d;

	dataset_init(&d, r->job.datasets[0].options, r->job.seed, "/dataset", NULL);
	dataset_key(&d, file, key);
	snprintf(path, OBJECT_KEY_BYTES + 80, "%s/data/%s", folder, key);
}

static void put_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(text, f);
	fclose(f);
}

/* The manifest as it is before the last file. */
static void not_complete(void)
{
	char path[128], text[8192];
	char *word;
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "%s/data/train/.haul-manifest.json", folder);
	file = fopen(path, "r+");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	word = strstr(text, "\"complete\"");
	CU_ASSERT_PTR_NOT_NULL_FATAL(word);
	word = strstr(word, "true");
	CU_ASSERT_PTR_NOT_NULL_FATAL(word);
	CU_ASSERT_EQUAL_FATAL(word[-1], ' ');
	fseek(file, word - text - 1, SEEK_SET);
	fputs("false", file);
	fclose(file);
}

static void test_resume(void)
{
	char path[OBJECT_KEY_BYTES + 80];
	struct run r;
	uint64_t hash;

	test_folder_make(folder);
	start_on_files(&r, 42);
	CU_ASSERT_EQUAL(thread_group_run(3, generate_body, &r, NULL), 0);
	CU_ASSERT_EQUAL(strncmp(r.message, "made 40 files, ", 15), 0);
	/* The folder did not exist, so there were no requests for the 40 files, and the manifest is
	 * not counted as a file. */
	CU_ASSERT_EQUAL(r.stats, 0);
	CU_ASSERT_EQUAL(sum_of(&r, "errors"), 0);
	hash = r.hash[0];
	/* Two files are missing, and one is truncated. */
	for (uint64_t i = 5; i < 7; i++) {
		path_of(&r, i, path);
		CU_ASSERT_EQUAL(unlink(path), 0);
	}
	path_of(&r, 11, path);
	CU_ASSERT_EQUAL(truncate(path, 1000), 0);
	job_free(&r.job);

	start_on_files(&r, 42);
	CU_ASSERT_EQUAL(thread_group_run(2, generate_body, &r, NULL), 0);
	CU_ASSERT_EQUAL(sum_of(&r, "files_made"), 3);
	CU_ASSERT_EQUAL(sum_of(&r, "files_kept"), 37);
	CU_ASSERT_EQUAL(r.hash[1], hash);
	CU_ASSERT_EQUAL(strncmp(r.message, "made 3 files, ", 14), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.message, "; 37 of 40 files were whole already; 1 had "
						 "another size and was made again"));
	CU_ASSERT_EQUAL(r.stats, 80);
	job_free(&r.job);

	start_on_files(&r, 42);
	CU_ASSERT_EQUAL(thread_group_run(1, generate_body, &r, NULL), 0);
	CU_ASSERT_EQUAL(sum_of(&r, "bytes_written"), 0);
	CU_ASSERT_STRING_EQUAL(r.message, "40 of 40 files were whole already");
	job_free(&r.job);
	test_folder_remove(folder);
}

/* Where generation was begun, each file is asked for once, just before it is made. */
static void test_begun_is_searched_once(void)
{
	char path[OBJECT_KEY_BYTES + 80];
	struct run r;

	test_folder_make(folder);
	start_on_files(&r, 42);
	CU_ASSERT_EQUAL(thread_group_run(3, generate_body, &r, NULL), 0);
	for (uint64_t i = 0; i < 30; i++) {
		path_of(&r, i, path);
		CU_ASSERT_EQUAL(unlink(path), 0);
	}
	job_free(&r.job);
	not_complete();
	start_on_files(&r, 42);
	CU_ASSERT_EQUAL(thread_group_run(3, generate_body, &r, NULL), 0);
	CU_ASSERT_EQUAL(r.stats, 40);
	CU_ASSERT_EQUAL(sum_of(&r, "files_made"), 30);
	CU_ASSERT_EQUAL(sum_of(&r, "files_kept"), 10);
	job_free(&r.job);
	test_folder_remove(folder);
}

/* An empty folder is listed once, without a request per file; a folder with files needs those
 * requests. */
static void test_empty_folder_is_not_searched(void)
{
	char own[128];
	struct run r;

	for (unsigned i = 0; i < 2; i++) {
		test_folder_make(folder);
		snprintf(own, sizeof(own), "%s/data", folder);
		CU_ASSERT_EQUAL(mkdir(own, 0777), 0);
		snprintf(own, sizeof(own), "%s/data/train", folder);
		CU_ASSERT_EQUAL(mkdir(own, 0777), 0);
		snprintf(own, sizeof(own), "%s/data/train/own.txt", folder);
		if (i)
			put_file(own, "mine");
		start_on_files(&r, 42);
		CU_ASSERT_EQUAL(thread_group_run(3, generate_body, &r, NULL), 0);
		CU_ASSERT_EQUAL(r.stats, i ? 40 : 0);
		CU_ASSERT_EQUAL(sum_of(&r, "files_made"), 40);
		job_free(&r.job);
		test_folder_remove(folder);
	}
}

static void test_other_seed_refused(void)
{
	struct run r;

	test_folder_make(folder);
	start_on_files(&r, 42);
	CU_ASSERT_EQUAL(thread_group_run(2, generate_body, &r, NULL), 0);
	job_free(&r.job);
	start_on_files(&r, 43);
	CU_ASSERT_EQUAL(thread_group_run(2, generate_body, &r, NULL), -EEXIST);
	CU_ASSERT_EQUAL(sum_of(&r, "bytes_written"), 0);
	for (unsigned i = 0; i < 2; i++) {
		CU_ASSERT_PTR_NOT_NULL(
			strstr(r.err[i].text, "made with seed 42, this job says 43"));
		CU_ASSERT_EQUAL(r.stopped[i], STOP_ERROR);
	}
	job_free(&r.job);
	test_folder_remove(folder);
}

static void test_foreign_file_refused(void)
{
	char path[OBJECT_KEY_BYTES + 80], top[128];
	struct stat st;
	struct run r;

	test_folder_make(folder);
	start_on_files(&r, 42);
	for (const char *sub = "/data\0/data/train\0/data/train/1\0"; *sub;
	     sub += strlen(sub) + 1) {
		snprintf(top, sizeof(top), "%s%s", folder, sub);
		CU_ASSERT_EQUAL(mkdir(top, 0755), 0);
	}
	path_of(&r, 1, path);
	put_file(path, "mine");
	CU_ASSERT_EQUAL(thread_group_run(3, generate_body, &r, NULL), -EEXIST);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.err[0].text, "img_01_of_40.npz: is there already"));
	CU_ASSERT_EQUAL(sum_of(&r, "files_made"), 0);
	CU_ASSERT_EQUAL(r.failures, 1);
	CU_ASSERT_EQUAL(stat(path, &st), 0);
	CU_ASSERT_EQUAL(st.st_size, 4);
	path_of(&r, 2, path);
	CU_ASSERT_EQUAL(access(path, F_OK), -1);
	job_free(&r.job);
	test_folder_remove(folder);
}

/* The error names the file and the errno's text, and is the same on every rank. */
static void test_error_on_all_ranks(void)
{
	struct run r;

	start(&r, "{\"stores\": {\"m\": {\"uri\": \"mem://\", \"capacity\": 1000000}},"
		  "\"dataset\": {\"format\": \"npy\", \"files\": 30, \"sample_bytes\": 100000},"
		  "\"phases\": [{\"generate\": {\"threads\": 2}}]}");
	CU_ASSERT_EQUAL(thread_group_run(4, generate_body, &r, NULL), -ENOSPC);
	for (unsigned i = 0; i < 4; i++) {
		CU_ASSERT_PTR_NOT_NULL(strstr(r.err[i].text, ".npy: No space left on device"));
		CU_ASSERT_EQUAL(r.stopped[i], STOP_ERROR);
	}
	CU_ASSERT_TRUE(r.failures >= 1);
	CU_ASSERT_TRUE(sum_of(&r, "errors") >= 1);
	job_free(&r.job);
}

static void test_stop(void)
{
	struct run r;

	test_folder_make(folder);
	start_on_files(&r, 42);
	r.read_back = false;
	stop_ask(&r.stop, STOP_SIGNAL);
	CU_ASSERT_EQUAL(thread_group_run(3, generate_body, &r, NULL), 0);
	for (unsigned i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(r.stopped[i], STOP_SIGNAL);
	CU_ASSERT_EQUAL(sum_of(&r, "files_made"), 0);
	job_free(&r.job);
	test_folder_remove(folder);
}

static void test_clean(void)
{
	char path[OBJECT_KEY_BYTES + 80], own[128];
	struct run r;

	test_folder_make(folder);
	start_on_files(&r, 42);
	CU_ASSERT_EQUAL(thread_group_run(3, generate_body, &r, NULL), 0);
	path_of(&r, 3, path);
	put_file(path, "changed");
	snprintf(own, sizeof(own), "%s/data/train/2/own.txt", folder);
	put_file(own, "mine");
	CU_ASSERT_EQUAL(thread_group_run(2, clean_body, &r, NULL), 0);
	CU_ASSERT_EQUAL(r.cleaned.removed, 39);
	CU_ASSERT_EQUAL(r.cleaned.kept, 1);
	/* What the progress line shows in the end. */
	CU_ASSERT_STRING_EQUAL(r.shown.work, "clean");
	CU_ASSERT_TRUE(r.shown.removed && r.shown.items == 40 && r.shown.items_total == 40);
	CU_ASSERT_TRUE(r.shown.bytes > 0 && r.shown.bytes == r.cleaned.removed_bytes);
	CU_ASSERT_EQUAL(r.cleaned.folders, 2);
	CU_ASSERT_EQUAL(access(path, F_OK), 0);
	CU_ASSERT_EQUAL(access(own, F_OK), 0);
	CU_ASSERT_EQUAL(thread_group_run(2, clean_body, &r, NULL), -ENOENT);
	CU_ASSERT_PTR_NOT_NULL(strstr(r.err[1].text, "there is no manifest"));
	job_free(&r.job);
	test_folder_remove(folder);
}

static void test_clean_unfinished(void)
{
	char path[OBJECT_KEY_BYTES + 80], part[OBJECT_KEY_BYTES + 100];
	struct manifest m;
	struct dataset d;
	struct run r;
	char *text;

	test_folder_make(folder);
	start_on_files(&r, 42);
	CU_ASSERT_EQUAL(thread_group_run(1, generate_body, &r, NULL), 0);
	/* The state that a killed run leaves: one file is unfinished, and the manifest is not
	 * complete. */
	path_of(&r, 7, path);
	snprintf(part, sizeof(part), "%s.haul-0123abcd", path);
	CU_ASSERT_EQUAL(rename(path, part), 0);
	CU_ASSERT_EQUAL(dataset_init(&d, r.job.datasets[0].options, 42, "/dataset", NULL), 0);
	manifest_of(&m, &d, false);
	text = manifest_text(&m);
	snprintf(path, sizeof(path), "%s/data/train/.haul-manifest.json", folder);
	put_file(path, text);
	free(text);
	CU_ASSERT_EQUAL(thread_group_run(2, clean_body, &r, NULL), 0);
	CU_ASSERT_EQUAL(r.cleaned.removed, 39);
	CU_ASSERT_EQUAL(r.cleaned.parts, 1);
	CU_ASSERT_EQUAL(r.cleaned.absent, 1);
	CU_ASSERT_EQUAL(r.cleaned.folders, 4);
	snprintf(path, sizeof(path), "%s/data/train", folder);
	CU_ASSERT_EQUAL(access(path, F_OK), -1);
	job_free(&r.job);
	test_folder_remove(folder);
}

static void test_size(void)
{
	struct phase_store stores[PHASE_STORES_MAX];
	uint32_t count = 0;
	struct demand demand = {0};
	struct err err = {0};
	struct run r;

	start(&r,
	      "{\"stores\": {\"f\": {\"uri\": \"file:///tmp\"}},"
	      "\"dataset\": {\"files\": 4300800, \"sample_bytes\": 146600628, \"subfolders\": 10},"
	      "\"phases\": [{\"generate\": {}}]}");
	CU_ASSERT_EQUAL(generate_workload.check(&r.job, &r.job.phases[0], 6144, &err), 0);
	CU_ASSERT_EQUAL(generate_workload.size(&r.job, &r.job.phases[0], 6144, 12, &demand, &err),
			0);
	CU_ASSERT_EQUAL(demand.files, 4300800);
	CU_ASSERT_EQUAL(
		generate_workload.stores(&r.job, &r.job.phases[0], 6144, stores, &count, &err), 0);
	CU_ASSERT_EQUAL_FATAL(count, 1);
	CU_ASSERT_DOUBLE_EQUAL(stores[0].space_bytes, 630.5e12, 0.1e12);
	CU_ASSERT_EQUAL(stores[0].inodes, 4300811);
	CU_ASSERT_STRING_EQUAL(stores[0].role, "data");
	CU_ASSERT_STRING_EQUAL(stores[0].store->name, "f");
	job_free(&r.job);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"the same bytes for any ranks and threads", test_same_for_any_ranks},
		{"stores without content", test_no_content},
		{"complete files are kept", test_resume},
		{"where generation was begun, each file is asked for once",
		 test_begun_is_searched_once},
		{"an empty folder is not searched", test_empty_folder_is_not_searched},
		{"another seed is refused", test_other_seed_refused},
		{"a file that haul did not make is refused", test_foreign_file_refused},
		{"an error ends all ranks", test_error_on_all_ranks},
		{"a stop ends all ranks", test_stop},
		{"clean removes what was made, as it was made", test_clean},
		{"clean removes unfinished files", test_clean_unfinished},
		{"the demand on the store", test_size},
		CU_TEST_INFO_NULL,
	};

	return unit_main("generate", tests);
}
