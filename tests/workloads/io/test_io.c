/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the phase "io" on threads of this process: it does what the job requests, exactly once,
 * with any number of ranks. Wrong bytes are found, incomplete objects are read as far as they were
 * written, and other objects are not touched. */
#include "workloads/io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/test_folder.h"
#include "tests/unit.h"
#include "tests/workloads/io/io_fixture.h"
#include "workloads/io/share.h"

static char folder[TEST_FOLDER_BYTES];

static const char *on_files(void)
{
	static char uri[128];

	snprintf(uri, sizeof(uri), "\"file://%s/data\"", folder);
	return uri;
}

static uint64_t written_by(const char *store, const char *common, const char *last, uint32_t ranks,
			   unsigned measure)
{
	const char *phases[] = {"\"operation\": \"write\"", last};
	struct fixture *f = io_run(store, common, phases, 2, ranks, NULL);
	uint64_t sum = fixture_sum(f, measure);

	io_expect_ok(f);
	CU_ASSERT_EQUAL(fixture_sum(f, TALLY_ERRORS), 0);
	fixture_free(f);
	return sum;
}

/* Every item of a set belongs to exactly one thread of one rank in each pass, whatever the layout
 * and order. */
static void test_each_item_once(void)
{
	static const struct {
		uint32_t layout, order;
		uint64_t ranks, threads, objects, blocks;
	} cases[] = {
		{IO_OBJECTS, IO_SEQUENTIAL, 1, 1, 1, 1},   {IO_OBJECTS, IO_SEQUENTIAL, 2, 3, 7, 5},
		{IO_OBJECTS, IO_RANDOM, 3, 4, 5, 9},       {IO_OBJECTS, IO_RANDOM, 2, 7, 3, 11},
		{IO_OBJECTS, IO_SEQUENTIAL, 1, 8, 1, 100}, {IO_SEGMENTED, IO_RANDOM, 8, 1, 1, 30},
		{IO_STRIDED, IO_SEQUENTIAL, 3, 2, 1, 13},  {IO_STRIDED, IO_RANDOM, 64, 1, 1, 3},
	};

	for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct io_options o = {.operation = IO_DO_READ,
				       .layout = cases[c].layout,
				       .order = cases[c].order,
				       .objects = cases[c].objects,
				       .threads = cases[c].threads,
				       .block = 4096,
				       .size = cases[c].blocks * 4096};
		uint64_t n = cases[c].ranks * cases[c].objects * cases[c].blocks;
		unsigned *seen = calloc(n, sizeof(*seen)), wrong = 0;
		struct io_set set;

		io_set_of(&set, &o, 42, cases[c].ranks);
		set.complete = true;
		for (uint64_t w = 0; w < cases[c].ranks * cases[c].threads; w++) {
			struct io_share s;
			struct io_item item;

			io_share_init(&s, &set, &o, false, w / o.threads, w % o.threads);
			for (uint64_t i = 0; i < 2 * s.items; i++) {
				uint64_t at;

				io_share_next(&s, &item);
				at = item.offset / 4096;
				if (o.layout == IO_OBJECTS)
					at += (s.rank * o.objects + item.object) * cases[c].blocks;
				CU_ASSERT_FATAL(at < n);
				seen[at]++;
			}
		}
		for (uint64_t i = 0; i < n; i++)
			wrong += seen[i] != 2;
		CU_ASSERT_EQUAL(wrong, 0);
		free(seen);
	}
}

/* A shared object whose blocks cannot be divided evenly: each block is done once, the ranks' shares
 * differ by at most one block, and the last block is shorter. */
static void test_shares_of_any_size(void)
{
	static const struct {
		uint64_t ranks, threads, size, all; /* blocks of 1000 bytes */
	} cases[] = {{1, 1, 999, 1},   {3, 1, 25001, 76}, {8, 2, 3126, 26},
		     {64, 1, 500, 32}, {7, 3, 7000, 49},  {2, 2, 1, 1}};
	enum { MOST = 80 };

	for (unsigned c = 0; c < 2 * sizeof(cases) / sizeof(cases[0]); c++) {
		struct io_options o = {.operation = IO_DO_WRITE,
				       .layout = c % 2 ? IO_STRIDED : IO_SEGMENTED,
				       .objects = 1,
				       .threads = cases[c / 2].threads,
				       .block = 1000,
				       .size = cases[c / 2].size};
		uint64_t ranks = cases[c / 2].ranks, whole = ranks * o.size;
		uint64_t least = UINT64_MAX, most = 0, bytes = 0;
		unsigned seen[MOST] = {0};
		struct io_set set;

		io_set_of(&set, &o, 42, ranks);
		for (uint64_t rank = 0; rank < ranks; rank++) {
			uint64_t items = 0;

			for (uint64_t thread = 0; thread < o.threads; thread++) {
				struct io_share s;
				struct io_item item;

				io_share_init(&s, &set, &o, false, rank, thread);
				for (uint64_t i = 0; i < s.items; i++) {
					io_share_next(&s, &item);
					CU_ASSERT_FATAL(item.offset + item.length <= whole);
					CU_ASSERT(item.length == 1000 ||
						  item.offset + item.length == whole);
					seen[item.offset / 1000]++;
					bytes += item.length;
				}
				items += s.items;
			}
			CU_ASSERT(items <= io_items(&o, false));
			least = items < least ? items : least;
			most = items > most ? items : most;
		}
		for (uint64_t i = 0; i < MOST; i++)
			CU_ASSERT_EQUAL(seen[i], i < cases[c / 2].all);
		CU_ASSERT_EQUAL(bytes, whole);
		CU_ASSERT(most - least <= 1);
	}
}

static void test_counts(void)
{
	static const uint32_t ranks[] = {1, 3, 8, 2, 64};
	static const char three[] = "\"objects\": 3, \"size\": \"32 KiB\", \"block\": 4096";
	static const char mem[] = "\"mem://\", \"capacity\": \"128 MiB\"";

	for (unsigned i = 0; i < (unit_full() ? 5 : 3); i++) {
		uint64_t n = ranks[i];

		CU_ASSERT_EQUAL(written_by(mem, three,
					   "\"operation\": \"read\", \"verify\": \"full\"",
					   ranks[i], IO_READS),
				24 * n);
		CU_ASSERT_EQUAL(
			written_by(
				mem, three,
				"\"operation\": \"read\", \"verify\": \"full\", \"order\": \"random\", "
				"\"depth\": 5, \"threads\": 2, \"passes\": 3, \"shift\": \"rank\"",
				ranks[i], TALLY_BYTES_READ),
			3 * 24 * 4096 * n);
		CU_ASSERT_EQUAL(written_by(mem, three, "\"operation\": \"read\", \"depth\": 64",
					   ranks[i], IO_OPENS),
				3 * n);
		CU_ASSERT_EQUAL(written_by(mem, three, "\"operation\": \"stat\", \"depth\": 2",
					   ranks[i], IO_STATS),
				3 * n);
		CU_ASSERT_EQUAL(
			written_by(mem, three, "\"operation\": \"rename\"", ranks[i], IO_RENAMES),
			6 * n);
		CU_ASSERT_EQUAL(
			written_by(mem, three, "\"operation\": \"list\"", ranks[i], IO_ENTRIES),
			3 * n * n);
		/* The parts of one listing, of which some have nothing, and some threads none. */
		CU_ASSERT_EQUAL(written_by(mem, three,
					   "\"operation\": \"list\", \"parts\": 7, \"threads\": 2, "
					   "\"depth\": 3, \"passes\": 2",
					   ranks[i], IO_ENTRIES),
				6 * n);
		CU_ASSERT_EQUAL(
			written_by(mem, three, "\"operation\": \"delete\"", ranks[i], IO_DELETES),
			3 * n);
		/* Two objects by one request, then the third one. */
		CU_ASSERT_EQUAL(written_by(mem, three,
					   "\"operation\": \"delete\", \"batch\": 2, \"depth\": 3",
					   ranks[i], IO_DELETES),
				2 * n);
		CU_ASSERT_EQUAL(
			written_by(mem, three,
				   "\"operation\": \"delete\", \"batch\": 1000, \"threads\": 2",
				   ranks[i], IO_DONE),
			3 * n);
		CU_ASSERT_EQUAL(written_by(mem, three, "\"operation\": \"write\", \"passes\": 2",
					   ranks[i], IO_WRITES),
				48 * n);
	}
}

/* More slots than blocks: operations wait in line for an object that another one opens or closes,
 * and go on when it is done, whether the store answers at once or takes its time. */
static void test_in_line_for_an_object(void)
{
	static const char *const stores[] = {
		"\"mem://\", \"capacity\": \"1 MiB\"",
		"\"sim://s\", \"latency\": \"1 ms\"",
	};
	static const struct {
		const char *set, *read;
		uint64_t reads;
	} rows[] = {
		{"\"objects\": 1, \"size\": 4096, \"block\": 4096",
		 "\"operation\": \"read\", \"depth\": 4, \"passes\": 100", 100},
		{"\"objects\": 1, \"size\": 4096, \"block\": 4096",
		 "\"operation\": \"read\", \"depth\": 64, \"passes\": 100", 100},
		{"\"objects\": 2, \"size\": 8192, \"block\": 4096",
		 "\"operation\": \"read\", \"depth\": 7, \"passes\": 100", 400},
		{"\"objects\": 2, \"size\": 8192, \"block\": 4096",
		 "\"operation\": \"read\", \"depth\": 7, \"passes\": 100, \"order\": \"random\"",
		 400},
		{"\"objects\": 1, \"size\": 4096, \"block\": 4096",
		 "\"operation\": \"read\", \"depth\": 4, \"passes\": 100, \"rate\": 2000", 100},
	};

	for (unsigned i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++)
		CU_ASSERT_EQUAL(
			written_by(stores[i % 2], rows[i / 2].set, rows[i / 2].read, 1, IO_READS),
			rows[i / 2].reads);
}

static void test_files(void)
{
	static const char *const common[] = {
		"\"objects\": 4, \"size\": \"48 KiB\", \"block\": \"4 KiB\"",
		"\"objects\": 4, \"size\": \"48 KiB\", \"block\": \"4 KiB\", \"folder_per_rank\": true",
		"\"layout\": \"segmented\", \"size\": 47008, \"block\": 1808",
		"\"layout\": \"strided\", \"size\": 47008, \"block\": 1808, \"compress\": 2",
		"\"layout\": \"segmented\", \"size\": 47009, \"block\": 1808",
		"\"layout\": \"strided\", \"size\": 46000, \"block\": 1808",
	};
	static const uint64_t bytes[] = {4 * 48 * 1024, 4 * 48 * 1024, 47008, 47008, 47009, 46000};
	static const char *const engines[] = {"psync", "uring"};
	char store[256];

	for (unsigned i = 0; i < sizeof(common) / sizeof(common[0]); i++) {
		for (unsigned e = 0; e < 2; e++) {
			const char *phases[] = {
				e ? "\"operation\": \"write\", \"depth\": 7, \"order\": \"random\""
				  : "\"operation\": \"write\"",
				e ? "\"operation\": \"mixed\", \"depth\": 7, \"verify\": \"full\", \"order\": \"replacement\""
				  : "\"operation\": \"mixed\", \"verify\": \"full\", \"threads\": 3",
				e ? "\"operation\": \"read\", \"depth\": 3, \"threads\": 2, \"verify\": \"full\", \"order\": \"random\""
				  : "\"operation\": \"read\", \"verify\": \"full\", \"threads\": 5, \"shift\": \"rank\"",
				"\"operation\": \"delete\"",
			};
			struct fixture *f;
			char path[96];

			test_folder_make(folder);
			snprintf(store, sizeof(store), "%s, \"engine\": \"%s\"", on_files(),
				 engines[e]);
			f = io_run(store, common[i], phases, 3, 3, NULL);
			io_expect_ok(f);
			CU_ASSERT_EQUAL(fixture_sum(f, TALLY_ERRORS), 0);
			CU_ASSERT_EQUAL(fixture_sum(f, TALLY_BYTES_READ), 3 * bytes[i]);
			CU_ASSERT_EQUAL(fixture_sum(f, IO_DONE_BYTES), 3 * bytes[i]);
			fixture_free(f);
			f = io_run(store, common[i], &phases[3], 1, 3, NULL);
			io_expect_ok(f);
			fixture_free(f);
			snprintf(path, sizeof(path), "%s/data/io", folder);
			CU_ASSERT_EQUAL(access(path, F_OK), -1);
			test_folder_remove(folder);
		}
	}
}

static struct {
	const char *name;
	uint64_t at;
} flip;

static void flip_byte(struct fixture *f, struct group *g, struct group *node)
{
	char path[128], byte;
	int fd;

	(void)f, (void)node;
	if (g->rank == 0) {
		snprintf(path, sizeof(path), "%s/data/io/%s", folder, flip.name);
		fd = open(path, O_RDWR);
		CU_ASSERT_FATAL(fd >= 0);
		CU_ASSERT_EQUAL(pread(fd, &byte, 1, (off_t)flip.at), 1);
		byte ^= 1;
		CU_ASSERT_EQUAL(pwrite(fd, &byte, 1, (off_t)flip.at), 1);
		close(fd);
	}
	group_barrier(g);
}

/* Flips one bit of one byte, at and between the edges of blocks, pages and objects. */
static void test_flipped_byte(void)
{
	static const struct {
		const char *common, *name;
		uint64_t bytes;
	} sets[] = {
		{"\"objects\": 2, \"size\": 12288, \"block\": 6144", "0000001.0000000001", 12288},
		{"\"layout\": \"strided\", \"size\": 6000, \"block\": 1500, \"compress\": 3",
		 "shared", 12000},
	};
	static const char *const phases[] = {
		"\"operation\": \"write\"",
		"\"operation\": \"read\", \"verify\": \"full\", \"order\": \"random\", \"threads\": 2",
	};

	for (unsigned s = 0; s < 2; s++) {
		for (uint64_t i = 0; i < 60; i += unit_full() ? 1 : 4) {
			uint64_t pages = sets[s].bytes / 4096;
			struct fixture *f;
			char says[64];

			test_folder_make(folder);
			flip.name = sets[s].name;
			flip.at =
				i < 8 ? (i / 2 + i % 2 < pages ? (i / 2 + i % 2) * 4096 + i % 3 : 1)
				: i == 8 ? sets[s].bytes - 1
					 : i * 104729 % sets[s].bytes;
			f = io_run(on_files(), sets[s].common, phases, 2, 2, flip_byte);
			snprintf(says, sizeof(says), "payload differs at byte %llu",
				 (unsigned long long)flip.at);
			CU_ASSERT_EQUAL(f->rc[0], -EILSEQ);
			CU_ASSERT_EQUAL(f->rc[1], -EILSEQ);
			CU_ASSERT_PTR_NOT_NULL(strstr(f->err[0].text, says));
			CU_ASSERT_PTR_NOT_NULL(strstr(f->err[0].text, flip.name));
			CU_ASSERT_EQUAL(fixture_sum(f, IO_PAYLOAD_ERRORS), 1);
			fixture_free(f);
			test_folder_remove(folder);
		}
	}
}

static void test_errors_are_counted(void)
{
	static const char *const phases[] = {
		"\"operation\": \"write\"",
		"\"operation\": \"read\", \"verify\": \"full\", \"on_error\": \"count\"",
	};
	struct fixture *f;

	test_folder_make(folder);
	flip.name = "0000000.0000000000";
	flip.at = 5000;
	f = io_run(on_files(), "\"objects\": 2, \"size\": 16384, \"block\": 4096", phases, 2, 2,
		   flip_byte);
	io_expect_ok(f);
	CU_ASSERT_EQUAL(fixture_sum(f, TALLY_ERRORS), 1);
	CU_ASSERT_EQUAL(fixture_sum(f, IO_READS), 16);
	CU_ASSERT_EQUAL(fixture_sum(f, IO_DONE), 15);
	fixture_free(f);
	test_folder_remove(folder);
}

static void remove_one(struct fixture *f, struct group *g, struct group *node)
{
	char path[128];

	(void)f, (void)node;
	snprintf(path, sizeof(path), "%s/data/io/0000001.0000000002", folder);
	if (g->rank == 0)
		CU_ASSERT_EQUAL(unlink(path), 0);
	group_barrier(g);
}

static void test_missing_object(void)
{
	static const char *const last[] = {"list", "stat", "delete", "read"};
	static const char *const says[] = {"lists 7 objects, not 8", "is not there", "is not there",
					   "No such file"};

	for (unsigned i = 0; i < 4; i++) {
		char phase[64];
		const char *phases[] = {"\"operation\": \"write\"", phase};
		struct fixture *f;

		snprintf(phase, sizeof(phase), "\"operation\": \"%s\"", last[i]);
		test_folder_make(folder);
		f = io_run(on_files(), "\"objects\": 4, \"size\": 4096, \"block\": 4096", phases, 2,
			   2, remove_one);
		CU_ASSERT_TRUE(f->rc[0] < 0);
		CU_ASSERT_PTR_NOT_NULL(strstr(f->err[0].text, says[i]));
		fixture_free(f);
		test_folder_remove(folder);
	}
}

/* Objects that an earlier phase has deleted count as absent, and not as errors, when a phase
 * deletes several by one request. Each of them is an operation of the rate. */
static void test_missing_in_a_batch(void)
{
	static const char *const phases[] = {
		"\"operation\": \"write\"", "\"operation\": \"delete\", \"count\": 1",
		("\"operation\": \"delete\", \"batch\": 3, \"rate\": 20000, "
		 "\"arrivals\": \"poisson\"")};
	struct fixture *f =
		io_run("\"mem://\", \"capacity\": \"16 MiB\"",
		       "\"objects\": 4, \"size\": 4096, \"block\": 4096", phases, 3, 2, NULL);

	io_expect_ok(f);
	CU_ASSERT_EQUAL(fixture_sum(f, IO_DELETES), 2 * 2);
	CU_ASSERT_EQUAL(fixture_sum(f, IO_DONE), 2 * 4);
	CU_ASSERT_EQUAL(fixture_sum(f, IO_ABSENT), 2);
	CU_ASSERT_EQUAL(fixture_sum(f, TALLY_ERRORS), 0);
	fixture_free(f);
}

/* After a phase that ended early, each thread's blocks are read as far as it has written them. */
static void test_ended_early(void)
{
	static const char *const orders[] = {"sequential", "random"};
	static const char common[] =
		"\"objects\": 2, \"size\": 65536, \"block\": 4096, \"threads\": 2";

	for (unsigned i = 0; i < 2; i++) {
		char write[96];
		const char *phases[] = {
			write,
			"\"operation\": \"read\", \"verify\": \"full\", \"order\": \"random\", \"passes\": 2",
		};
		const char *refused[] = {
			"\"operation\": \"read\", \"block\": 8192, \"objects\": 2, \"size\": 65536"};
		const char *mixed[] = {"\"operation\": \"mixed\""};
		const char *deleted[] = {"\"operation\": \"delete\""};
		struct fixture *f;

		snprintf(write, sizeof(write),
			 "\"operation\": \"write\", \"count\": 5, \"order\": \"%s\"", orders[i]);
		test_folder_make(folder);
		f = io_run(on_files(), common, phases, 2, 3, NULL);
		io_expect_ok(f);
		CU_ASSERT_EQUAL(fixture_sum(f, TALLY_ERRORS), 0);
		CU_ASSERT_EQUAL(fixture_sum(f, IO_READS), 2 * 5 * 2 * 3);
		fixture_free(f);
		f = io_run(on_files(), "", refused, 1, 3, NULL);
		io_expect_refused(f, -EINVAL,
				  "can be read with the same threads (2) and block (4096)");
		fixture_free(f);
		f = io_run(on_files(), common, mixed, 1, 3, NULL);
		io_expect_refused(f, -EINVAL, "not all objects were written");
		fixture_free(f);
		f = io_run(on_files(), common, deleted, 1, 3, NULL);
		io_expect_ok(f);
		fixture_free(f);
		test_folder_remove(folder);
	}
}

static void put_foreign(const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/data", folder);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/data/io", folder);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/data/io/%s", folder, name);
	fd = open(path, O_CREAT | O_WRONLY, 0666);
	CU_ASSERT_EQUAL(write(fd, "mine", 4), 4);
	close(fd);
}

static void put_between(struct fixture *f, struct group *g, struct group *node)
{
	(void)f, (void)node;
	if (g->rank == 0)
		put_foreign("0000000.txt");
	group_barrier(g);
}

static void test_other_objects_are_not_touched(void)
{
	static const char common[] = "\"objects\": 2, \"size\": 4096, \"block\": 4096";
	const char *phases[] = {"\"operation\": \"write\"", "\"operation\": \"delete\""};
	const char *other[] = {"\"operation\": \"write\", \"size\": 8192"};
	struct fixture *f;
	char path[128];

	test_folder_make(folder);
	put_foreign("0000000.0000000000");
	f = io_run(on_files(), common, phases, 1, 2, NULL);
	io_expect_refused(f, -EEXIST, "holds \"0000000.0000000000\"");
	fixture_free(f);
	f = io_run(on_files(), common, phases + 1, 1, 2, NULL);
	io_expect_refused(f, -ENOENT, "no io phase has written objects there");
	fixture_free(f);
	snprintf(path, sizeof(path), "%s/data/io/0000000.0000000000", folder);
	CU_ASSERT_EQUAL(access(path, F_OK), 0);
	test_folder_remove(folder);

	test_folder_make(folder);
	f = io_run(on_files(), common, phases, 2, 2, put_between);
	io_expect_ok(f);
	fixture_free(f);
	snprintf(path, sizeof(path), "%s/data/io/0000000.txt", folder);
	CU_ASSERT_EQUAL(access(path, F_OK), 0);
	snprintf(path, sizeof(path), "%s/data/io/0000000.0000000000", folder);
	CU_ASSERT_EQUAL(access(path, F_OK), -1);
	test_folder_remove(folder);

	test_folder_make(folder);
	f = io_run(on_files(), common, phases, 1, 2, NULL);
	io_expect_ok(f);
	fixture_free(f);
	f = io_run(on_files(), "\"objects\": 2, \"block\": 4096", other, 1, 2, NULL);
	io_expect_refused(f, -EEXIST, "were made with size 4096, this phase says 8192");
	fixture_free(f);
	f = io_run(on_files(), common, phases, 1, 3, NULL);
	io_expect_refused(f, -EEXIST, "were made with ranks 2, this phase says 3");
	fixture_free(f);
	test_folder_remove(folder);
}

static void spoil_description(struct fixture *f, struct group *g, struct group *node)
{
	char path[128];
	int fd;

	(void)f, (void)node;
	snprintf(path, sizeof(path), "%s/data/io/.haul-io.json", folder);
	if (g->rank == 0) {
		fd = open(path, O_WRONLY | O_TRUNC);
		CU_ASSERT_EQUAL(write(fd, "{\"folder\": 3}", 13), 13);
		close(fd);
	}
	group_barrier(g);
}

static void test_spoiled_description(void)
{
	static const char *const phases[] = {"\"operation\": \"write\"",
					     "\"operation\": \"delete\""};
	char path[128];
	struct fixture *f;

	test_folder_make(folder);
	f = io_run(on_files(), "\"size\": 4096, \"block\": 4096", phases, 2, 2, spoil_description);
	io_expect_refused(f, -EINVAL, "/data/io/.haul-io.json: /folder: must be");
	fixture_free(f);
	snprintf(path, sizeof(path), "%s/data/io/0000000.0000000000", folder);
	CU_ASSERT_EQUAL(access(path, F_OK), 0);
	test_folder_remove(folder);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"each item once", test_each_item_once},
		{"shares of any size", test_shares_of_any_size},
		{"counts", test_counts},
		{"in line for an object", test_in_line_for_an_object},
		{"files", test_files},
		{"flipped byte", test_flipped_byte},
		{"errors are counted", test_errors_are_counted},
		{"missing object", test_missing_object},
		{"missing in a batch", test_missing_in_a_batch},
		{"ended early", test_ended_early},
		{"other objects are not touched", test_other_objects_are_not_touched},
		{"spoiled description", test_spoiled_description},
		CU_TEST_INFO_NULL,
	};

	return unit_main("io", tests);
}
