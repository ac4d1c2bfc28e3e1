/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of phases that are published while they run: what is published agrees with itself and
 * grows, on all ranks at the same time, wherever ranks meet and whoever reads; and the phase ends
 * with the same figures as without. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit.h"
#include "tests/workloads/train/train_fixture.h"
#include "workloads/checkpoint/checkpoint.h"
#include "workloads/generate/generate.h"
#include "workloads/io/io.h"
#include "workloads/kvcache/kvcache.h"
#include "workloads/load/load.h"

enum { RANKS = 4, FILES = 48, BYTES = 1000, EPOCHS = 2 };

static const struct publish_case {
	uint32_t tensor; /* ranks of a replica */
	const char *train;
} cases[] = {
	{1, "\"sync\":\"step\",\"loader\":{\"workers\":2}"},
	{1, "\"sync\":\"step\",\"loader\":{\"workers\":0}"},
	{1, "\"sync\":\"step\",\"loader\":{\"kind\":\"sample\",\"workers\":2,\"pin_memory\":true}"},
	{1, "\"sync\":\"epoch\",\"loader\":{\"workers\":2}"},
	{1, "\"sync\":\"epoch\",\"loader\":{\"workers\":0},\"preprocess\":\"100 us\""},
	{1, "\"sync\":\"none\",\"loader\":{\"kind\":\"batch\",\"workers\":1}"},
	{1, "\"sync\":\"step\",\"evaluation\":{\"every\":1,\"batch\":2,\"dataset\":\"d\"}"},
	{2, "\"sync\":\"step\",\"readers\":\"replica\""},
	{2, "\"sync\":\"epoch\",\"readers\":\"replica\""},
};

/* What was published last, of each rank. */
static struct {
	uint64_t bytes, steps, times;
	bool wrong;
} seen[RANKS];

/* The accounts are the whole time, and what is counted in several places is the same in all. */
static bool agrees(const struct tally *t)
{
	const uint64_t *row = t->rank_row;
	uint64_t accounts = 0, moved = 0, steps = 0;

	for (int i = 0; i < ACCOUNTS; i++)
		accounts += row[TRAIN_ACCOUNTS + i];
	for (uint32_t i = 0; i < t->timeline->rows; i++)
		moved += t->timeline->row[i][SECOND_BYTES_READ];
	for (uint32_t i = 0; i < train_epochs(t); i++)
		if (!train_epoch_row(t, i)[EPOCH_EVALUATION])
			steps += train_epoch_row(t, i)[EPOCH_STEPS];
	return accounts == row[TALLY_WALL_NS] && moved == row[TALLY_BYTES_READ] &&
	       steps == row[TRAIN_STEPS] &&
	       row[TALLY_BYTES_READ] == hist_count(&t->hists[TRAIN_HIST_READ]) * BYTES &&
	       row[TRAIN_LOGICAL_BYTES] == row[TRAIN_SAMPLES] * BYTES &&
	       row[TRAIN_LOGICAL_BYTES] <= row[TALLY_BYTES_READ];
}

static void publish(struct fixture *f, struct group *g, struct tally *so_far)
{
	const uint64_t *row = so_far->rank_row;
	uint64_t number = ++seen[g->rank].times;

	(void)f;
	/* All ranks publish the same one. */
	group_allreduce(g, MERGE_MAX, &number, 1);
	seen[g->rank].wrong = seen[g->rank].wrong || !agrees(so_far) ||
			      number != seen[g->rank].times ||
			      row[TALLY_BYTES_READ] < seen[g->rank].bytes ||
			      row[TRAIN_STEPS] < seen[g->rank].steps;
	seen[g->rank].bytes = row[TALLY_BYTES_READ];
	seen[g->rank].steps = row[TRAIN_STEPS];
}

static struct fixture *run(const struct publish_case *c, uint64_t every_ns)
{
	struct fixture *f;
	char text[1024];

	snprintf(
		text, sizeof(text),
		"{\"seed\":7,\"cluster\":{\"tensor\":%u},\"stores\":{\"s\":{\"uri\":\"null://\"}},"
		"\"datasets\":{\"d\":{\"store\":\"s\",\"format\":\"raw\",\"files\":%d,"
		"\"sample_bytes\":%d}},"
		"\"phases\":[{\"train\":{\"dataset\":\"d\",\"null_steps\":0,\"epochs\":%d,\"batch\":2,"
		"\"compute\":\"300 us\",%s}}]}",
		c->tensor, FILES, BYTES, EPOCHS, c->train);
	f = fixture_new(text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	f->publish_every_ns = every_ns;
	f->publish = publish;
	fixture_run(f, RANKS);
	return f;
}

static void expect_same(const struct fixture *with, const struct fixture *without)
{
	static const unsigned same[] = {TALLY_BYTES_READ, TALLY_OPERATIONS,    TALLY_ERRORS,
					TRAIN_STEPS,      TRAIN_SAMPLES,       TRAIN_LOGICAL_BYTES,
					TRAIN_AU_STEPS,   TRAIN_RECEIVED_BYTES};
	static const unsigned epochs[] = {EPOCH_SAMPLES, EPOCH_ID_SUM, EPOCH_ID_HASH, EPOCH_STEPS,
					  EPOCH_PROVEN};

	for (unsigned i = 0; i < sizeof(same) / sizeof(*same); i++)
		CU_ASSERT_EQUAL(fixture_sum(with, same[i]), fixture_sum(without, same[i]));
	for (unsigned e = 0; e < EPOCHS; e++)
		for (unsigned i = 0; i < sizeof(epochs) / sizeof(*epochs); i++)
			CU_ASSERT_EQUAL(fixture_epoch_sum(with, e, epochs[i]),
					fixture_epoch_sum(without, e, epochs[i]));
}

static void test_training(void)
{
	uint64_t steps = 0;

	for (unsigned c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		struct fixture *without = run(&cases[c], 0), *with;

		memset(seen, 0, sizeof(seen));
		with = run(&cases[c], 1);
		for (uint32_t r = 0; r < RANKS; r++) {
			CU_ASSERT_EQUAL(with->rc[r], 0);
			CU_ASSERT_FALSE(seen[r].wrong);
			CU_ASSERT_TRUE(seen[r].times > 0);
			CU_ASSERT_EQUAL(seen[r].times, seen[0].times);
			steps += seen[r].steps;
		}
		if (seen[0].wrong || !seen[0].times)
			fprintf(stderr, "%s\n", cases[c].train);
		CU_ASSERT_TRUE(fixture_accounts_add_up(with));
		expect_same(with, without);
		fixture_free(with);
		fixture_free(without);
	}
	/* On a busy machine a run may be published for the last time before its first step. */
	CU_ASSERT_TRUE(steps > 0);
}

/* Phases of a crew, in which a rank gets SIM_RATE bytes per second. Each thread has at most DEPTH
 * operations under way. */
enum {
	SIM_RATE = 4000000,
	BLOCK = 4096,
	OBJECTS = 5,
	BLOCKS = 60,
	FILE_BYTES = 50000,
	THREADS = 3,
	DEPTH = 4
};

static bool io_agrees(const struct tally *t)
{
	const uint64_t *row = t->rank_row;
	uint64_t moved = row[IO_READS] + row[IO_WRITES];

	return row[TALLY_BYTES_READ] + row[TALLY_BYTES_WRITTEN] == moved * BLOCK &&
	       row[IO_DONE_BYTES] == row[IO_DONE] * BLOCK &&
	       hist_count(&t->hists[IO_HIST_OPERATION]) == row[IO_DONE] && row[IO_DONE] <= moved &&
	       moved <= row[IO_DONE] + THREADS * DEPTH && row[IO_FIRST_DONE] == row[IO_DONE] &&
	       row[IO_LAST_DONE_NS] && row[IO_LAST_DONE_NS] <= row[TALLY_WALL_NS];
}

static bool generate_agrees(const struct tally *t)
{
	const uint64_t *row = t->rank_row;
	uint64_t commits = hist_count(&t->hists[GENERATE_HIST_COMMIT]);

	return row[TALLY_BYTES_WRITTEN] ==
		       hist_count(&t->hists[GENERATE_HIST_WRITE]) * FILE_BYTES &&
	       row[GENERATE_FILES_MADE] <= commits &&
	       commits <= row[GENERATE_FILES_MADE] + THREADS && row[TALLY_WALL_NS];
}

/* Models: of each rank a part of a checkpoint, and of all ranks one file that is loaded. */
enum { PIECE = 1 << 16, PART_BYTES = 16 * PIECE, HEADER = 104, MODELS = 3, LOADS = 8 };

/* Key-value caches, whose entries are one piece each. */
enum { ENTRY = 4096, REQUESTS = 60, USERS = 6 };

static uint64_t rows_sum(const struct table *t, unsigned measure)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < t->rows; i++)
		sum += table_row(t, i)[measure];
	return sum;
}

/* The accounts are the whole time, and the timeline has all bytes. */
static bool models_agree(const struct tally *t, unsigned accounts_at)
{
	uint64_t accounts = 0, moved = 0;

	for (int i = 0; i < ACCOUNTS; i++)
		accounts += t->rank_row[accounts_at + i];
	for (uint32_t i = 0; i < t->timeline->rows; i++)
		moved += t->timeline->row[i][SECOND_BYTES_READ] +
			 t->timeline->row[i][SECOND_BYTES_WRITTEN];
	return accounts && accounts == t->rank_row[TALLY_WALL_NS] &&
	       moved == t->rank_row[TALLY_BYTES_READ] + t->rank_row[TALLY_BYTES_WRITTEN];
}

/* So many times all bytes of a rank are done, and of what is under way at most all. */
static bool models_done(const struct tally *t, const uint64_t *block, uint64_t times, uint64_t each,
			uint64_t moved, unsigned row_bytes)
{
	return block[REPEAT_DONE_BYTES] == times * each && moved >= times * each &&
	       moved <= (times + 1) * each && rows_sum(&t->tables[0], row_bytes) == times * each &&
	       !times == !block[REPEAT_SLOWEST_NS];
}

static bool checkpoint_agrees(const struct tally *t)
{
	const uint64_t *row = t->rank_row;

	return models_agree(t, CHECKPOINT_ACCOUNTS) &&
	       models_done(t, &row[CHECKPOINT_WRITE_NS], row[CHECKPOINT_WRITTEN], PART_BYTES,
			   row[TALLY_BYTES_WRITTEN], CHECKPOINT_ROW_BYTES_WRITTEN) &&
	       models_done(t, &row[CHECKPOINT_READ_NS], row[CHECKPOINT_READ_BACK], PART_BYTES,
			   row[TALLY_BYTES_READ], CHECKPOINT_ROW_BYTES_READ) &&
	       hist_count(&t->hists[CHECKPOINT_HIST_WRITE]) * PIECE == row[TALLY_BYTES_WRITTEN] &&
	       hist_count(&t->hists[CHECKPOINT_HIST_READ]) * PIECE == row[TALLY_BYTES_READ];
}

static bool load_agrees(const struct tally *t)
{
	const uint64_t *row = t->rank_row;

	return models_agree(t, LOAD_ACCOUNTS) &&
	       models_done(t, &row[LOAD_LOAD_NS], row[LOAD_LOADED], HEADER + PART_BYTES,
			   row[TALLY_BYTES_READ], LOAD_ROW_BYTES);
}

/* Threads add their counts after the main thread, so they have at least what it has counted. */
static bool kvcache_agrees(const struct tally *t)
{
	const uint64_t *row = t->rank_row;

	return models_agree(t, KV_ACCOUNTS) &&
	       hist_count(&t->hists[KV_HIST_CHUNK_READ]) * ENTRY == row[TALLY_BYTES_READ] &&
	       hist_count(&t->hists[KV_HIST_CHUNK_WRITE]) * ENTRY == row[TALLY_BYTES_WRITTEN] &&
	       row[KV_ENTRY_READS] * ENTRY <= row[TALLY_BYTES_READ] &&
	       row[KV_ENTRY_WRITES] * ENTRY <= row[TALLY_BYTES_WRITTEN] &&
	       row[KV_OFFERED] == row[KV_REQUESTS] + row[KV_LEFT];
}

static bool crew_agrees(const struct tally *t)
{
	return t->schema == &io_schema                                       ? io_agrees(t)
	       : t->schema->rank.measures == kvcache_schema.rank.measures    ? kvcache_agrees(t)
	       : t->schema->rank.measures == checkpoint_schema.rank.measures ? checkpoint_agrees(t)
	       : t->schema->rank.measures == load_schema.rank.measures       ? load_agrees(t)
									     : generate_agrees(t);
}

static void publish_crew(struct fixture *f, struct group *g, struct tally *so_far)
{
	uint64_t number = ++seen[g->rank].times,
		 bytes = so_far->rank_row[TALLY_BYTES_READ] + so_far->rank_row[TALLY_BYTES_WRITTEN];

	(void)f;
	group_allreduce(g, MERGE_MAX, &number, 1);
	seen[g->rank].wrong = seen[g->rank].wrong || number != seen[g->rank].times ||
			      !crew_agrees(so_far) || bytes < seen[g->rank].bytes;
	seen[g->rank].bytes = bytes;
}

/* Runs the phase once, on simulated storage of that rate per rank, or on the given store. */
static struct fixture *run_once(const char *store, unsigned rate, const char *phase)
{
	struct fixture *f;
	char text[1024], sim[64];

	snprintf(sim, sizeof(sim), "\"sim://s\",\"rank_bandwidth\":%u", rate);
	snprintf(
		text, sizeof(text),
		"{\"seed\":7,\"stores\":{\"s\":{\"uri\":%s}},"
		"\"dataset\":{\"store\":\"s\",\"format\":\"raw\",\"files\":%d,\"sample_bytes\":%d},"
		"\"phases\":[%s]}",
		store ? store : sim, FILES, FILE_BYTES, phase);
	f = fixture_new(text);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	/* Often, and so seldom that the snapshots do not take all of the time. */
	f->publish_every_ns = 2000000;
	f->publish = publish_crew;
	memset(seen, 0, sizeof(seen));
	fixture_run(f, RANKS);
	return f;
}

/* What all ranks had moved when they were published last. A rank without a core may have moved
 * nothing. */
static uint64_t seen_bytes(void)
{
	uint64_t bytes = 0;

	for (uint32_t r = 0; r < RANKS; r++)
		bytes += seen[r].bytes;
	return bytes;
}

/* Where other work has the cores, a phase may be over before its ranks have met for a snapshot. It
 * then runs again at half the rate, until some bytes are published. */
static struct fixture *run_crew(const char *store, const char *phase)
{
	struct fixture *f = run_once(store, SIM_RATE, phase);

	for (unsigned slower = 2; !seen[0].wrong && !seen_bytes() && slower <= 64; slower *= 2) {
		fixture_free(f);
		f = run_once(store, SIM_RATE / slower, phase);
	}
	for (uint32_t r = 0; r < RANKS; r++) {
		CU_ASSERT_EQUAL(f->rc[r], 0);
		CU_ASSERT_FALSE(seen[r].wrong);
		CU_ASSERT_EQUAL(seen[r].times, seen[0].times);
	}
	CU_ASSERT_TRUE(seen[0].times > 0 && seen_bytes() > 0);
	if (seen[0].wrong || !seen_bytes())
		fprintf(stderr, "%s\n", phase);
	return f;
}

static void test_io(void)
{
	static const char *const operations[] = {"write", "read"};
	struct fixture *f;
	char phase[512];

	for (unsigned i = 0; i < 2; i++) {
		snprintf(
			phase, sizeof(phase),
			"{\"io\":{\"operation\":\"write\",\"folder\":\"x\",\"objects\":%d,\"size\":%d,"
			"\"block\":%d}},"
			"{\"io\":{\"operation\":\"%s\",\"folder\":\"x\",\"objects\":%d,\"size\":%d,"
			"\"block\":%d,\"threads\":%d,\"depth\":%d}}",
			OBJECTS, BLOCKS * BLOCK, BLOCK, operations[i], OBJECTS, BLOCKS * BLOCK,
			BLOCK, THREADS, DEPTH);
		f = run_crew(NULL, phase);
		CU_ASSERT_EQUAL(fixture_sum(f, IO_DONE), RANKS * OBJECTS * BLOCKS);
		CU_ASSERT_EQUAL(fixture_sum(f, i ? TALLY_BYTES_READ : TALLY_BYTES_WRITTEN),
				RANKS * OBJECTS * BLOCKS * BLOCK);
		fixture_free(f);
	}
}

static void test_generate(void)
{
	char phase[64];
	struct fixture *f;

	snprintf(phase, sizeof(phase), "{\"generate\":{\"threads\":%d}}", THREADS);
	f = run_crew(NULL, phase);
	CU_ASSERT_EQUAL(fixture_sum(f, GENERATE_FILES_MADE), FILES);
	CU_ASSERT_EQUAL(fixture_sum(f, TALLY_BYTES_WRITTEN), FILES * FILE_BYTES);
	fixture_free(f);
}

static void test_checkpoint(void)
{
	char phase[512];
	struct fixture *f;

	snprintf(
		phase, sizeof(phase),
		"{\"checkpoint\":{\"model\":{\"bytes\":%d},\"mesh\":{\"zero\":3},\"framing\":\"raw\","
		"\"count\":%d,\"pause\":\"5 ms\",\"chunk\":%d,\"buffers\":%d,\"writers\":2,"
		"\"readers\":2}}",
		PART_BYTES, MODELS, PIECE, 8 * PIECE);
	f = run_crew(NULL, phase);
	CU_ASSERT_EQUAL(fixture_sum(f, CHECKPOINT_WRITE_DONE_BYTES), RANKS * MODELS * PART_BYTES);
	CU_ASSERT_EQUAL(fixture_sum(f, TALLY_BYTES_READ), RANKS * MODELS * PART_BYTES);
	fixture_free(f);
}

/* A model of one tensor of zeros, which every rank reads whole. */
static void make_model(const char *folder)
{
	char path[64], header[HEADER + 1] = "";
	uint64_t length = HEADER - 8;
	FILE *file;

	snprintf(path, sizeof(path), "%s/model.safetensors", folder);
	memcpy(header, &length, 8);
	snprintf(
		header + 8, HEADER - 7, "%-*s", HEADER - 8,
		"{\"model.norm.weight\":{\"dtype\":\"U8\",\"shape\":[1048576],\"data_offsets\":[0,1048576]}}");
	file = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fwrite(header, 1, HEADER, file);
	fclose(file);
	CU_ASSERT_EQUAL(truncate(path, HEADER + PART_BYTES), 0);
}

static void test_load(void)
{
	char folder[] = "/tmp/haul_publish_XXXXXX", store[96], phase[256], path[64];
	struct fixture *f;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
	make_model(folder);
	snprintf(store, sizeof(store), "\"file://%s\",\"engine\":\"psync\"", folder);
	snprintf(phase, sizeof(phase),
		 "{\"load\":{\"count\":%d,\"pause\":\"30 ms\",\"chunk\":%d,\"buffers\":%d,"
		 "\"threads\":2,\"null_passes\":1}}",
		 LOADS, PIECE, 4 * PIECE);
	f = run_crew(store, phase);
	CU_ASSERT_EQUAL(fixture_sum(f, LOAD_LOAD_DONE_BYTES),
			RANKS * LOADS * (HEADER + PART_BYTES));
	CU_ASSERT_EQUAL(fixture_sum(f, LOAD_NULL_BYTES), RANKS * PART_BYTES);
	fixture_free(f);
	snprintf(path, sizeof(path), "%s/model.safetensors", folder);
	unlink(path);
	rmdir(folder);
}

/* Threads that have no task rest, and begin to count again when they get one. */
static void test_kvcache(void)
{
	static const struct {
		unsigned threads, depth;
	} each[] = {{3, 1}, {2, 4}};
	struct fixture *f;
	char phase[512];

	for (unsigned i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		snprintf(
			phase, sizeof(phase),
			"{\"kvcache\":{\"model\":{\"layers\":1,\"hidden\":1024,\"heads\":1,\"kv_heads\":1,\"head_dim\":1024},"
			"\"users\":%d,\"requests\":%d,\"threads\":%u,\"depth\":%u,\"prefix\":{\"enabled\":false},"
			"\"templates\":[{\"name\":\"a\",\"context_min\":1,\"context_max\":1,\"generate_min\":1,"
			"\"generate_max\":1,\"think_min\":\"2 ms\",\"think_max\":\"5 ms\"}],"
			"\"conversation\":{\"enabled\":false}}}",
			USERS, REQUESTS, each[i].threads, each[i].depth);
		f = run_crew(NULL, phase);
		for (uint32_t r = 0; r < RANKS; r++)
			CU_ASSERT_TRUE(f->tallies[r].rank_row[KV_REQUESTS] >= REQUESTS);
		CU_ASSERT_TRUE(fixture_sum(f, TALLY_BYTES_READ) >
			       fixture_sum(f, TALLY_BYTES_WRITTEN));
		fixture_free(f);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"training", test_training},
		{"plain I/O", test_io},
		{"generation", test_generate},
		{"checkpoints", test_checkpoint},
		{"model loading", test_load},
		{"key-value caches", test_kvcache},
		CU_TEST_INFO_NULL,
	};

	return unit_main("publish", tests);
}
