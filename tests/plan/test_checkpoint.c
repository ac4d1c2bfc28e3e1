/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints in a plan: what is refused, and that sizes computed once per kind of rank are those
 * of all ranks. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "tests/unit.h"
#include "workloads/checkpoint/checkpoint.h"

enum { JOB_TEXT_BYTES = 1024 };
#define PATH "/phases/0/checkpoint"

/* A job of one phase, on a store of that URI. */
static int load(struct job *job, const char *uri, const char *options, struct err *err)
{
	char text[JOB_TEXT_BYTES];
	int length = snprintf(text, sizeof(text),
			      "{\"stores\":{\"d\":{\"uri\":\"%s\"}},"
			      "\"phases\":[{\"checkpoint\":{%s}}]}",
			      uri, options);

	CU_ASSERT_FATAL(length < (int)sizeof(text));
	return job_parse(job, plan_schema(), "job", text, (size_t)length, NULL, 0, err);
}

static int check(const char *uri, const char *options, uint32_t ranks, struct err *err)
{
	struct job job = {0};
	int rc = load(&job, uri, options, err);

	if (rc == 0)
		rc = plan_check(&job, ranks, 1, true, err);
	job_free(&job);
	return rc;
}

#define SMALL \
	"\"model\":{\"vocabulary\":64,\"hidden\":16,\"feed_forward\":48,\"layers\":6,\"heads\":4,\"kv_heads\":2}"
#define MESH8 "\"mesh\":{\"tensor\":2,\"pipeline\":2,\"data\":2}"

/* What no table can refuse, each with its path. */
static void test_refusals(void)
{
	static const struct {
		const char *options;
		uint32_t ranks;
		const char *uri, *says; /* NULL: it is accepted */
	} rows[] = {
		{"\"model\":\"llama3_8b\"", 8, "null://x", NULL},
		{"", 8, "null://x", PATH "/model/vocabulary: is missing"},
		{"\"model\":{\"name\":\"llama3_8b\",\"kv_heads\":64}", 8, "null://x",
		 PATH "/model/kv_heads: must be at most heads"},
		{"\"model\":\"llama3_9b\"", 8, "null://x", PATH "/model: must be \"custom\""},
		{"\"model\":{\"name\":\"llama3_8b\",\"hidden\":16777216,\"layers\":65536,"
		 "\"feed_forward\":67108864}",
		 8, "null://x", PATH "/model: is larger than any store"},
		{SMALL "," MESH8, 8, "null://x", NULL},
		{SMALL "," MESH8, 3, "null://x", NULL},
		{SMALL "," MESH8, 9, "null://x",
		 PATH
		 "/mesh: tensor 2 x pipeline 2 x data 2 is a mesh of 8 ranks, and the phase has "
		 "9; start at most 8"},
		{SMALL ",\"mesh\":{\"tensor\":3}", 8, "null://x",
		 PATH "/mesh: tensor 3 x pipeline 1 x data 2 is a mesh of 6 ranks"},
		{SMALL ",\"mesh\":{\"pipeline\":7}", 8, "null://x",
		 PATH "/mesh/pipeline: 7 stages are more than"},
		{SMALL ",\"mesh\":{\"pipeline\":2,\"zero\":3}", 8, "null://x", PATH "/mesh/zero: "},
		{SMALL ",\"mesh\":{\"tensor\":65536,\"pipeline\":1,\"data\":1048576}", 8,
		 "null://x", PATH "/mesh: has more ranks than any run"},
		{SMALL "," MESH8 ",\"read_mesh\":{\"data\":2}", 8, "null://x", NULL},
		{SMALL "," MESH8 ",\"read_mesh\":{\"tensor\":8,\"pipeline\":1}", 8, "null://x",
		 NULL},
		{SMALL "," MESH8 ",\"read_mesh\":{\"tensor\":1,\"pipeline\":1,\"data\":4}", 8,
		 "null://x", PATH "/read_mesh: is a mesh of 4 ranks, and the phase has 8"},
		{SMALL "," MESH8 ",\"read_mesh\":{\"tensor\":1,\"pipeline\":1}", 4, "null://x",
		 PATH "/read_mesh: the readers need the whole checkpoint, and 4 of the 8 ranks"},
		{SMALL "," MESH8
		       ",\"read_mesh\":{\"tensor\":1,\"pipeline\":1},\"operation\":\"read\"",
		 4, "null://x", NULL},
		{SMALL "," MESH8
		       ",\"read_mesh\":{\"tensor\":1,\"pipeline\":1},\"operation\":\"read\"",
		 16, "null://x", NULL},
		{SMALL "," MESH8
		       ",\"read_mesh\":{\"tensor\":2,\"pipeline\":2},\"operation\":\"write\"",
		 8, "null://x", PATH "/read_mesh: \"write\" reads nothing"},
		{SMALL ",\"operation\":\"write\",\"read_as\":\"pydaos\"", 8, "null://x",
		 PATH "/read_as: \"write\" reads nothing"},
		{SMALL ",\"read_as\":\"mlpstorage\",\"buffers\":\"512 MiB\"", 8, "null://x",
		 PATH "/readers: "},
		{SMALL ",\"operation\":\"write\",\"keep\":2", 8, "null://x", NULL},
		{SMALL ",\"operation\":\"read\",\"keep\":2", 8, "null://x",
		 PATH "/keep: \"read\" removes no checkpoints"},
		{SMALL ",\"operation\":\"write\",\"on_error\":\"count\"", 8, "file:///tmp/x",
		 PATH "/on_error: a checkpoint of which something is missing is none"},
		{SMALL ",\"count\":3,\"keep\":3", 8, "null://x", NULL},
		{SMALL ",\"count\":3,\"keep\":2", 8, "null://x",
		 PATH "/keep: 2 of 3 checkpoints stay, but \"both\" reads all of them"},
		{SMALL ",\"layout\":\"shared\"", 8, "null://x",
		 PATH "/framing: a shared file holds regions, not archives"},
		{SMALL ",\"layout\":\"shared\",\"framing\":\"raw\"", 8, "null://x", NULL},
		{SMALL ",\"folder\":\"../x\"", 8, "null://x", PATH "/folder: must be"},
		{SMALL ",\"folder\":\"\"", 8, "null://x", NULL},
		{SMALL ",\"chunk\":\"256 MiB\"", 8, "null://x",
		 PATH "/chunk: 256 MiB do not fit into buffers of 128 MiB"},
		{SMALL ",\"chunk\":\"128 MiB\"", 8, "null://x",
		 PATH "/buffers: must hold 2 to 64 chunks; 128 MiB hold 1 of 128 MiB"},
		{SMALL ",\"chunk\":\"1 MiB\"", 8, "null://x",
		 PATH "/buffers: must hold 2 to 64 chunks; 128 MiB hold 128 of 1 MiB"},
		{SMALL ",\"writers\":5", 8, "null://x",
		 PATH "/writers: 5 threads share the 4 chunks that buffers hold"},
		{SMALL ",\"writers\":5,\"operation\":\"read\"", 8, "null://x", NULL},
		{SMALL ",\"readers\":5", 8, "null://x",
		 PATH "/readers: 5 threads share the 4 chunks that buffers hold"},
		{SMALL ",\"behind\":\"drop\"", 8, "null://x",
		 PATH "/behind: store \"d\" (null://) has no page cache"},
		{SMALL ",\"behind\":\"drop\"", 8, "file:///tmp/x", NULL},
		{SMALL ",\"behind\":\"drop\",\"operation\":\"read\"", 8, "file:///tmp/x",
		 PATH "/behind: \"read\" writes nothing"},
		{SMALL ",\"fill\":\"whole\"", 8, "file:///tmp/x", NULL},
		{SMALL ",\"fill\":\"whole\",\"operation\":\"read\"", 8, "file:///tmp/x",
		 PATH "/fill: \"read\" writes nothing"},
		{SMALL ",\"fill\":\"whole\"", 8, "null://x",
		 PATH "/fill: store \"d\" (null://) keeps no bytes, so none are made"},
		{SMALL ",\"cold\":\"fadvise\",\"operation\":\"write\"", 8, "file:///tmp/x",
		 PATH "/cold/drop: \"write\" reads nothing"},
		{SMALL ",\"cold\":\"fadvise\"", 8, "null://x",
		 PATH "/cold/drop: store \"d\" (null://) has no page cache"},
		{SMALL ",\"cold\":\"fadvise\"", 8, "file:///tmp/x", NULL},
		{SMALL ",\"layout\":\"shared\",\"framing\":\"raw\"", 8, "mem://x",
		 PATH ": store \"d\" (mem://) cannot take one object from many ranks"},
		{SMALL ",\"writers\":2", 8, "mem://x",
		 PATH ": store \"d\" (mem://) cannot take one object from many ranks"},
		{SMALL ",\"writers\":2,\"operation\":\"read\"", 8, "mem://x", NULL},
		{SMALL ",\"verify\":\"full\"", 8, "null://x", PATH "/verify: \"full\" needs bytes"},
		{SMALL ",\"verify\":\"full\",\"operation\":\"write\"", 8, "null://x", NULL},
		{SMALL ",\"store\":\"other\"", 8, "null://x", PATH},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err = {0};
		int rc = check(rows[i].uri, rows[i].options, rows[i].ranks, &err);
		bool right =
			rows[i].says ? rc == -EINVAL && strstr(err.text, rows[i].says) : rc == 0;

		CU_ASSERT(right);
		if (!right)
			printf("%s on %u ranks: %d %s\n", rows[i].options, rows[i].ranks, rc,
			       err.text);
	}
}

/* Objects that a store makes in parts have a least part and a greatest number of them. */
static void test_parts(void)
{
	struct err err = {0};

	if (!backend_find("s3"))
		return;
	CU_ASSERT_EQUAL(check("s3://b/x", "\"model\":\"llama3_8b\",\"mesh\":{\"zero\":3}", 8, &err),
			0);
	CU_ASSERT_EQUAL(check("s3://b/x",
			      "\"model\":\"llama3_8b\",\"mesh\":{\"zero\":3},\"buffers\":\"8 MiB\","
			      "\"chunk\":\"1 MiB\"",
			      8, &err),
			-EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, PATH "/chunk: parts of an object"));
	CU_ASSERT_EQUAL(check("s3://b/x", "\"model\":{\"bytes\":\"1 TiB\"},\"operation\":\"write\"",
			      8, &err),
			-EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, PATH "/chunk: an object"));
	CU_ASSERT_EQUAL(check("s3://b/x", "\"model\":{\"bytes\":\"1 TiB\"},\"operation\":\"read\"",
			      8, &err),
			0);
}

static bool same(const struct checkpoint_written *a, const struct checkpoint_written *b)
{
	return a->weights == b->weights && a->optimizer == b->optimizer && a->bytes == b->bytes &&
	       a->files == b->files;
}

/* The first ranks of the mesh, one by one and together, for any number of them. */
static void check_ranks(const struct checkpoint_shape *s)
{
	struct checkpoint_written sum = {0}, one, together, like;
	struct err err = {0};

	for (uint64_t rank = 0; rank < mesh_ranks(&s->mesh); rank++) {
		uint64_t first = checkpoint_rank_like(&s->mesh, rank);

		CU_ASSERT_FATAL(first <= rank && checkpoint_rank_like(&s->mesh, first) == first);
		CU_ASSERT_EQUAL_FATAL(checkpoint_written_by(s, rank, &one, &err), 0);
		CU_ASSERT_EQUAL_FATAL(checkpoint_written_by(s, first, &like, &err), 0);
		CU_ASSERT(same(&one, &like));
		sum.weights += one.weights;
		sum.optimizer += one.optimizer;
		sum.bytes += one.bytes;
		if (s->layout == CHECKPOINT_SHARED)
			CU_ASSERT_EQUAL(sum.bytes, checkpoint_shared_bytes(s, rank + 1));
		sum.files = s->layout == CHECKPOINT_SHARED ? 1 : sum.files + one.files;
		CU_ASSERT_EQUAL_FATAL(checkpoint_written(s, rank + 1, &together, &err), 0);
		CU_ASSERT(same(&sum, &together));
	}
}

static void test_ranks_alike(void)
{
	static const struct mesh meshes[] = {
		{1, 1, 1, 0, 0, 0}, {2, 1, 4, 0, 0, 0}, {2, 3, 2, 0, 0, 0}, {4, 1, 3, 1, 0, 0},
		{2, 3, 3, 1, 0, 0}, {3, 2, 2, 2, 0, 0}, {2, 1, 5, 3, 0, 0}, {1, 7, 2, 1, 0, 0}};

	for (unsigned i = 0; i < sizeof(meshes) / sizeof(meshes[0]); i++)
		for (uint32_t layout = CHECKPOINT_RANK; layout <= CHECKPOINT_SHARED; layout++)
			for (uint32_t framing = 0; framing < ARCHIVE_KINDS; framing++) {
				struct checkpoint_shape s = {
					/* hidden is not divisible by heads; a tensor rank more than
					 * kv_heads */
					.model = {.vocabulary = 101,
						  .hidden = 50,
						  .feed_forward = 77,
						  .layers = 7,
						  .heads = 4,
						  .kv_heads = 1,
						  .weights = MODEL_BF16,
						  .optimizer = MODEL_FP32},
					.mesh = meshes[i],
					.layout = layout,
					.framing = framing,
				};

				if (layout == CHECKPOINT_SHARED) {
					if (framing != ARCHIVE_RAW)
						continue;
					s.part = 4096;
				}
				check_ranks(&s);
			}
}

/* The stores alone, which each publication asks for, make no layouts: these know of no bytes. */
static int stores_with_space(const struct job *job, uint32_t ranks, struct phase_store *stores,
			     uint32_t *count, struct err *err)
{
	int rc = checkpoint_stores(job, job->phases, ranks, stores, count, err);

	CU_ASSERT(stores[0].space_bytes == 0 && stores[0].inodes == 0);
	return rc < 0 ? rc : plan_phase_space(job, job->phases, ranks, 1, NULL, stores, count, err);
}

/* Writes and reads of 8 ranks, of which those of the second data rank write no weights. */
static void test_demand(void)
{
	static const struct {
		const char *options;
		double checkpoints,
			weights_again; /* moved: whole checkpoints, and weights beside them */
	} rows[] = {
		{"\"operation\":\"write\"", 1, 0},
		{"\"operation\":\"read\",\"replicas\":\"first\"", 1, 0},
		{"\"operation\":\"read\"", 1, 1},
		{"\"replicas\":\"first\"", 2, 0},
		{"", 2, 1},
	};
	const double weights = 2 * (2 * 64 * 16 + 6 * (16 + 16 * 32 + 256 + 16 + 3 * 16 * 48) + 16);

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct phase_store stores[PHASE_STORES_MAX];
		char options[512];
		struct err err = {0};
		struct demand d = {0};
		uint32_t count = 0;
		struct job job;
		double total;

		snprintf(options, sizeof(options),
			 SMALL ",\"mesh\":{\"tensor\":1,\"pipeline\":4,\"data\":2,\"zero\":1},"
			       "\"framing\":\"raw\",\"count\":5%s%s",
			 rows[i].options[0] ? "," : "", rows[i].options);
		CU_ASSERT_EQUAL_FATAL(load(&job, "file:///tmp/x", options, &err), 0);
		CU_ASSERT_EQUAL_FATAL(checkpoint_size(&job, job.phases, 8, 4, &d, &err), 0);
		CU_ASSERT_EQUAL_FATAL(stores_with_space(&job, 8, stores, &count, &err), 0);
		total = weights + 8 * 12 * (weights / 2 / 8 + 5 * 16);
		CU_ASSERT_DOUBLE_EQUAL(
			d.bytes,
			5 * (rows[i].checkpoints * total + rows[i].weights_again * weights), 1000);
		CU_ASSERT_EQUAL(count, 1);
		CU_ASSERT_STRING_EQUAL(stores[0].role, "checkpoint");
		CU_ASSERT_DOUBLE_EQUAL(stores[0].space_bytes,
				       strstr(rows[i].options, "\"read\"") ? 0 : 5 * total, 1000);
		CU_ASSERT(d.memory_per_rank >= 128 << 20 && d.memory_per_rank < 160 << 20);
		job_free(&job);
	}
}

/* Readers with a mesh of their own move their shards: without ZeRO, each data rank the optimizer's
 * states, too. */
static void test_reader_mesh(void)
{
	const double weights = 2 * (2 * 64 * 16 + 6 * (16 + 16 * 32 + 256 + 16 + 3 * 16 * 48) + 16);
	struct err err = {0};
	struct demand d = {0};
	struct job job;

	CU_ASSERT_EQUAL_FATAL(
		load(&job, "null://x",
		     SMALL ",\"mesh\":{\"data\":8,\"zero\":3},\"operation\":\"read\",\"count\":1,"
			   "\"read_mesh\":{\"data\":16}",
		     &err),
		0);
	CU_ASSERT_EQUAL_FATAL(checkpoint_check(&job, job.phases, 16, &err), 0);
	CU_ASSERT_EQUAL_FATAL(checkpoint_size(&job, job.phases, 16, 16, &d, &err), 0);
	CU_ASSERT_EQUAL(d.bytes, 16 * (weights + 12 * (weights / 2 + 5 * 16)));
	CU_ASSERT_EQUAL(d.files, 16);
	job_free(&job);
}

/* What does not stream has memory for the rank that writes most, in whole pages for each of its
 * files, and no ring but to read. In the last row that is a rank of stage 0, with the embedding, 2
 * of 6 layers of 3,104 parameters, and its eighth of the optimizer's states. */
static void test_memory_of_whole(void)
{
	static const struct {
		const char *model, *operation;
		uint64_t memory;  /* more than what streams through 8 KiB needs */
		uint64_t tensors; /* of which there is a layout of 512 bytes beside */
	} rows[] = {
		{"\"model\":{\"bytes\":1000000}", "write", 1003520 - 8192, 1},
		{"\"model\":{\"bytes\":1000000}", "both", 1003520, 1},
		{SMALL ",\"mesh\":{\"tensor\":1,\"pipeline\":4,\"data\":2,\"zero\":1}", "write",
		 16384 + 32768 - 8192, 1 + 2 * 6 + 6},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t memory[2];

		for (unsigned whole = 0; whole < 2; whole++) {
			struct err err = {0};
			struct demand d = {0};
			struct job job;
			char options[512];

			snprintf(options, sizeof(options),
				 "%s,\"framing\":\"raw\",\"chunk\":4096,\"buffers\":8192,"
				 "\"operation\":\"%s\",\"fill\":\"%s\"",
				 rows[i].model, rows[i].operation, whole ? "whole" : "stream");
			CU_ASSERT_EQUAL_FATAL(load(&job, "file:///tmp/x", options, &err), 0);
			CU_ASSERT_EQUAL_FATAL(checkpoint_size(&job, job.phases, 8, 2, &d, &err), 0);
			memory[whole] = d.memory_per_rank;
			job_free(&job);
		}
		CU_ASSERT_EQUAL(memory[1] - memory[0], rows[i].memory + 512 * rows[i].tensors);
		if (memory[1] - memory[0] != rows[i].memory + 512 * rows[i].tensors)
			printf("row %u: %llu\n", i, (unsigned long long)(memory[1] - memory[0]));
	}
}

/* Ranks need unequal shares where only the first data rank writes all bytes, or the weights. Bytes
 * in whole pages: of a model of known size; of each rank's states of the optimizer; and of the
 * weights of 4 stages, which have 2, 2, 1 and 1 layers, the first one with the embedding, and the
 * last one with the head. */
static void test_memory_of_nodes(void)
{
	enum {
		ALL = 1003520,
		OPTIMIZER = 32768,
		FIRST = 16384,
		SECOND = 16384,
		THIRD = 8192,
		FOURTH = 12288
	};
	static const struct {
		const char *options;
		uint32_t ranks_per_node;
		uint64_t most, node; /* of a rank, of a node */
	} rows[] = {
		{"\"model\":{\"bytes\":1000000},\"mesh\":{\"zero\":3}", 4, ALL, 4 * ALL},
		{"\"model\":{\"bytes\":1000000},\"mesh\":{\"zero\":0}", 4, ALL, ALL},
		{"\"model\":{\"bytes\":1000000},\"mesh\":{\"zero\":0}", 8, ALL, ALL},
		{SMALL ",\"mesh\":{\"tensor\":1,\"pipeline\":4,\"data\":2,\"zero\":1}", 2,
		 FIRST + OPTIMIZER, FIRST + SECOND + 2 * OPTIMIZER},
		{SMALL ",\"mesh\":{\"tensor\":1,\"pipeline\":4,\"data\":2,\"zero\":1}", 8,
		 FIRST + OPTIMIZER, FIRST + SECOND + THIRD + FOURTH + 8 * OPTIMIZER},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t nodes = 8 / rows[i].ranks_per_node;
		uint64_t node[2], rank[2];

		for (unsigned whole = 0; whole < 2; whole++) {
			struct err err = {0};
			struct plan plan;
			struct job job;
			char options[512];

			snprintf(options, sizeof(options),
				 "%s,\"framing\":\"raw\",\"chunk\":4096,\"buffers\":8192,"
				 "\"operation\":\"both\",\"fill\":\"%s\"",
				 rows[i].options, whole ? "whole" : "stream");
			CU_ASSERT_EQUAL_FATAL(load(&job, "file:///tmp/x", options, &err), 0);
			CU_ASSERT_EQUAL_FATAL(plan_make(&plan, &job, 8, nodes, &err), 0);
			node[whole] = plan.memory_bytes_per_node;
			rank[whole] = plan.phases[0].demand.memory_per_rank;
			plan_free(&plan);
			job_free(&job);
		}
		/* Beside that are layouts: of one tensor per rank, or of 19. */
		CU_ASSERT_EQUAL((rank[1] - rank[0]) / 4096, rows[i].most / 4096 + 2 * (i > 2));
		node[1] -= (rank[1] - rank[0] - rows[i].most) * rows[i].ranks_per_node;
		CU_ASSERT_EQUAL(node[1] - node[0], rows[i].node);
		if (node[1] - node[0] != rows[i].node)
			printf("row %u: %llu per node\n", i,
			       (unsigned long long)(node[1] - node[0]));
	}
}

/* The last ones stay; an old one goes when the new one is whole. */
static void test_keep(void)
{
	static const struct {
		const char *options;
		double checkpoints;
	} rows[] = {{"\"keep\":0", 10}, {"\"keep\":2", 3}, {"\"keep\":9", 10}, {"\"keep\":20", 10}};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct phase_store stores[PHASE_STORES_MAX];
		char options[256];
		struct err err = {0};
		uint32_t count = 0;
		struct job job;

		snprintf(
			options, sizeof(options),
			"\"model\":{\"bytes\":1000},\"framing\":\"raw\",\"operation\":\"write\",%s",
			rows[i].options);
		CU_ASSERT_EQUAL_FATAL(load(&job, "file:///tmp/x", options, &err), 0);
		CU_ASSERT_EQUAL_FATAL(stores_with_space(&job, 4, stores, &count, &err), 0);
		CU_ASSERT_EQUAL(stores[0].space_bytes, 1000 * rows[i].checkpoints);
		/* A file, a marker and a folder of each, and the folder around them. */
		CU_ASSERT_EQUAL(stores[0].inodes, 3 * rows[i].checkpoints + 1);
		job_free(&job);
	}
}

/* What another program's way of reading stands for; whatever else the job says takes precedence. */
static void test_read_as(void)
{
	enum { MIB = 1 << 20 };
	static const struct {
		const char *options;
		uint64_t readers, chunk, buffers;
	} rows[] = {
		{"\"readers\":1", 1, 32 * MIB, 128 * MIB},
		{"\"read_as\":\"haul\"", 1, 32 * MIB, 128 * MIB},
		{"\"read_as\":\"mlpstorage\"", 8, 128 * MIB, 1024 * MIB},
		{"\"read_as\":\"pydaos\"", 4, 64 * MIB, 256 * MIB},
		{"\"readers\":2,\"read_as\":\"pydaos\"", 2, 64 * MIB, 256 * MIB},
		{"\"read_as\":\"mlpstorage\",\"chunk\":\"1 MiB\",\"buffers\":\"16 MiB\"", 8, MIB,
		 16 * MIB},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct checkpoint_options *o;
		struct err err = {0};
		struct job job = {0};

		CU_ASSERT_EQUAL_FATAL(load(&job, "null://x", rows[i].options, &err), 0);
		o = job.phases[0].options;
		CU_ASSERT_EQUAL(o->readers, rows[i].readers);
		CU_ASSERT_EQUAL(o->chunk, rows[i].chunk);
		CU_ASSERT_EQUAL(o->buffers, rows[i].buffers);
		job_free(&job);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {{"refusals", test_refusals},
			       {"parts of objects", test_parts},
			       {"ranks that are alike", test_ranks_alike},
			       {"demand", test_demand},
			       {"readers with a mesh of their own", test_reader_mesh},
			       {"memory of what does not stream", test_memory_of_whole},
			       {"memory of nodes", test_memory_of_nodes},
			       {"keep", test_keep},
			       {"as others read", test_read_as},
			       CU_TEST_INFO_NULL};

	return unit_main("checkpoint in plans", tests);
}
