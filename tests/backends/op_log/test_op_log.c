/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the operation log: its rows, the records it drops, its options, and errors of its
 * file. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zstd.h>

#include "backends/endpoint.h"
#include "backends/op_log/op_log.h"
#include "backends/op_log/row.h"
#include "tests/backends/rig.h"
#include "tests/test_folder.h"
#include "tests/unit.h"

static char folder[] = "/tmp/haul-op-log-XXXXXX";

static const char *at(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

/* Reads the whole file with zstd's own library. The caller frees the text. */
static char *read_log(const char *name)
{
	static char packed[8 << 20];
	FILE *f = fopen(at(name), "r");
	ZSTD_DCtx *d = ZSTD_createDCtx();
	size_t room = 64 << 20, left;
	char *text = malloc(room);
	ZSTD_outBuffer out = {text, room - 1, 0};
	ZSTD_inBuffer in = {packed, 0, 0};

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	in.size = fread(packed, 1, sizeof(packed), f);
	fclose(f);
	do {
		left = ZSTD_decompressStream(d, &out, &in);
		CU_ASSERT_FALSE_FATAL(ZSTD_isError(left));
	} while (in.pos < in.size);
	CU_ASSERT_EQUAL(left, 0); /* the frame is complete */
	ZSTD_freeDCtx(d);
	text[out.pos] = '\0';
	return text;
}

static void test_a_row(void)
{
	static const struct {
		const char *key, *root, *row;
		struct op_record r; /* without the key, which is its last and variable member */
	} cases[] = {
		{"a b/%2B",
		 "bucket/p",
		 "41\t3\tGET\t12\t1\t99\tmem://\tbucket/p/a b/%2B\t\t2000-01-01T00:00:00.000000005Z\t"
		 "2000-01-01T00:00:01.000000004Z\t2000-01-01T00:00:02.000000005Z\t"
		 "2000-01-01T00:00:02.000000005Z\t2000000000\t0\t7\t2\t206\ttrain\t4\n",
		 {.op = REQ_READ,
		  .submit_ns = 5,
		  .first_byte_ns = 1000000004,
		  .done_ns = 2000000005,
		  .offset = 7,
		  .bytes = 99,
		  .entries = 1,
		  .attempts = 2,
		  .protocol_status = 206}},
		{"t\"a\tb\nc",
		 "r/",
		 "41\t3\tSTAT\t12\t1\t0\tmem://\t\"r/t\"\"a\tb\nc\"\tAccess denied\t"
		 "2000-01-01T00:00:00.000000001Z\t\t\t2000-01-01T00:00:00.000000002Z\t1\t0\t0\t1\t0\ttrain\t4\n",
		 {.op = REQ_STAT,
		  .submit_ns = 1,
		  .done_ns = 2,
		  .entries = 1,
		  .attempts = 1,
		  .error = "Access denied"}},
		{"",
		 "",
		 "41\t3\tLIST\t12\t1000\t0\tmem://\t\t\t2000-01-01T00:00:00.000000001Z\t\t\t"
		 "2000-01-01T00:00:00.000000001Z\t0\t0\t0\t1\t0\ttrain\t4\n",
		 {.op = REQ_LIST, .submit_ns = 1, .done_ns = 1, .entries = 1000, .attempts = 1}},
	};
	struct op_row_context c = {.rank = 12,
				   .thread = 3,
				   .run = 4,
				   .utc_ns = 946684800000000000,
				   .phase = "train",
				   .scheme = "mem"};
	char out[OP_ROW_BYTES];

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct op_record *r = calloc(1, sizeof(*r) + OBJECT_KEY_BYTES);
		struct op_row_second second = {0};
		size_t n;

		CU_ASSERT_PTR_NOT_NULL_FATAL(r);
		memcpy(r, &cases[i].r, sizeof(*r));
		r->key_bytes = (uint16_t)strlen(cases[i].key);
		memcpy(r->key, cases[i].key, r->key_bytes);
		c.root = cases[i].root;
		n = op_row_write(out, 41, r, &c, &second);
		out[n] = '\0';
		CU_ASSERT_STRING_EQUAL(out, cases[i].row);
		free(r);
	}
}

static void test_the_longest_row_fits(void)
{
	struct op_record *r = calloc(1, sizeof(*r) + OBJECT_KEY_BYTES);
	char root[URI_BYTES], phase[JOB_NAME_BYTES], out[OP_ROW_BYTES];
	struct op_row_context c = {.rank = UINT32_MAX,
				   .thread = UINT32_MAX,
				   .run = UINT32_MAX,
				   .utc_ns = 946684800000000000,
				   .phase = phase,
				   .root = root};
	struct op_row_second second = {0};

	CU_ASSERT_PTR_NOT_NULL_FATAL(r);
	memset(root, '"', sizeof(root));
	root[sizeof(root) - 1] = '\0';
	memset(phase, 'p', sizeof(phase));
	phase[sizeof(phase) - 1] = '\0';
	*r = (struct op_record){.submit_ns = 1,
				.first_byte_ns = 1,
				.done_ns = UINT64_MAX / 4,
				.offset = UINT64_MAX,
				.bytes = UINT64_MAX,
				.entries = UINT64_MAX,
				.attempts = UINT32_MAX,
				.protocol_status = 999,
				.op = REQ_READ,
				.key_bytes = OBJECT_KEY_BYTES - 1};
	memset(r->key, '"', OBJECT_KEY_BYTES - 1);
	c.scheme = "direct";
	/* The rest of the buffer must have room for an endpoint's name and an error's sentence. */
	CU_ASSERT_TRUE(op_row_write(out, UINT64_MAX, r, &c, &second) + ENDPOINT_NAME_BYTES + 256 <
		       OP_ROW_BYTES);
	free(r);
}

static void open_log(struct op_log **log, const char *name, uint32_t rank, uint32_t ranks,
		     uint64_t rows)
{
	struct op_log_options o = {.path = at(name), .rank = rank, .ranks = ranks, .rows = rows};
	struct err err = {0};

	CU_ASSERT_EQUAL_FATAL(op_log_open(log, &o, &err), 0);
	op_log_phase(*log, "phase", 1);
}

static unsigned lines(const char *text, const char *with)
{
	unsigned n = 0;

	size_t left = strlen(text);

	while (left) {
		const char *end = memchr(text, '\n', left);

		CU_ASSERT_PTR_NOT_NULL_FATAL(end);
		n += memmem(text, (size_t)(end - text), with, strlen(with)) != NULL;
		left -= (size_t)(end + 1 - text);
		text = end + 1;
	}
	return n;
}

static void test_a_row_for_each_request(void)
{
	struct op_log *log;
	uint64_t rows, dropped;
	char data[100] = "", *text;
	struct queue q, side;
	struct rig r;

	rig_init(&r);
	CU_ASSERT_EQUAL_FATAL(rig_open(&r, "{\"uri\": \"mem://rows\"}"), 0);
	open_log(&log, "each.tsv.zst", 0, 1, OP_LOG_ROWS);
	r.store.op_log = log;
	CU_ASSERT_EQUAL_FATAL(queue_open(&q, &r.store, 1, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(queue_open(&side, &r.store, 1, NULL), 0);
	queue_unlogged(&side);
	CU_ASSERT_EQUAL(rig_put(&q, "one", data, sizeof(data)), 0);
	CU_ASSERT_EQUAL(rig_get(&q, "one", data, sizeof(data)), 0);
	CU_ASSERT_EQUAL(rig_get(&side, "one", data, sizeof(data)), 0);
	CU_ASSERT_EQUAL(rig_get(&q, "absent", data, 1), -ENOENT);
	queue_close(&q);
	/* The new queue takes the place of the closed one, so that numbers of threads stay
	 * small. */
	CU_ASSERT_EQUAL_FATAL(queue_open(&q, &r.store, 1, NULL), 0);
	CU_ASSERT_EQUAL(rig_get(&q, "one", data, 10), 0);
	queue_close(&q);
	queue_close(&side);
	CU_ASSERT_EQUAL(op_log_close(log, &rows, &dropped, NULL), 0);
	text = read_log("each.tsv.zst");
	/* begin, write, commit; open, read, close; the open that fails; open, read, close */
	CU_ASSERT_EQUAL(rows, 10);
	CU_ASSERT_EQUAL(dropped, 0);
	CU_ASSERT_EQUAL(lines(text, "\tmem://\trows/"), 10);
	CU_ASSERT_EQUAL(lines(text, "\tPUT\t0\t1\t100\t"), 1);
	CU_ASSERT_EQUAL(lines(text, "\tGET\t0\t1\t100\t"), 1);
	CU_ASSERT_EQUAL(lines(text, "\tGET\t0\t1\t10\t"), 1);
	CU_ASSERT_EQUAL(lines(text, "\trows/absent\tNo such file or directory\t"), 1);
	CU_ASSERT_EQUAL(
		lines(text, "idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\t"
			    "start\tfirst_byte\tlast_byte\tend\tduration_ns\tcat\t"),
		1);
	CU_ASSERT_EQUAL(lines(text, "# rank 0 of 1: 10 rows, 0 dropped"), 1);
	free(text);
	rig_close(&r);
}

/* The rings are small, and the writer may not empty them for a while: records that do not fit are
 * dropped and counted, and the others are written. */
static void test_drops_are_counted(void)
{
	enum { REQUESTS = 200000 };
	struct object o = {.key = "x"};
	struct request req = {.op = REQ_READ, .object = &o, .length = 4096};
	uint64_t rows, dropped;
	struct op_log *log;
	struct queue q;
	struct rig r;
	char *text;

	rig_init(&r);
	CU_ASSERT_EQUAL_FATAL(rig_open(&r, "{\"uri\": \"null://drops\"}"), 0);
	open_log(&log, "drops.tsv.zst", 7, 64, OP_LOG_ROWS_MIN);
	r.store.op_log = log;
	CU_ASSERT_EQUAL_FATAL(queue_open(&q, &r.store, 1, NULL), 0);
	for (int i = 0; i < REQUESTS; i++)
		queue_do(&q, &req);
	CU_ASSERT_EQUAL(q.op[REQ_READ].operations, REQUESTS);
	queue_close(&q);
	CU_ASSERT_TRUE(op_log_dropped(log) > 0);
	CU_ASSERT_EQUAL(op_log_close(log, &rows, &dropped, NULL), 0);
	CU_ASSERT_EQUAL(rows + dropped, REQUESTS);
	text = read_log("drops.07.tsv.zst");
	CU_ASSERT_EQUAL(lines(text, "\tGET\t7\t1\t4096\t"), rows);
	/* Only the first rank's file has the header. */
	CU_ASSERT_EQUAL(lines(text, "idx"), 0);
	CU_ASSERT_EQUAL(lines(text, "# rank 7 of 64: "), 1);
	free(text);
	rig_close(&r);
}

static void test_names_by_rank(void)
{
	static const struct {
		const char *path, *name;
		uint32_t rank, ranks;
	} cases[] = {
		{"a.tsv.zst", "a.tsv.zst", 0, 1},       {"a.tsv.zst", "a.0.tsv.zst", 0, 2},
		{"a.tsv.zst", "a.9.tsv.zst", 9, 10},    {"a.tsv.zst", "a.009.tsv.zst", 9, 101},
		{"b.1.csv.zst", "b.1.1.csv.zst", 1, 2}, {"plain", "plain.1", 1, 2},
		{"only.zst", "only.1.zst", 1, 2},       {".tsv.zst", ".tsv.1.zst", 1, 2},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct op_log *log;

		open_log(&log, cases[i].path, cases[i].rank, cases[i].ranks, OP_LOG_ROWS_MIN);
		CU_ASSERT_EQUAL(access(at(cases[i].name), F_OK), 0);
		op_log_discard(log);
		CU_ASSERT_EQUAL(access(at(cases[i].name), F_OK), -1);
	}
}

static void test_refusals(void)
{
	struct op_log_options o = {.path = at("twice.zst"), .ranks = 1, .rows = OP_LOG_ROWS_MIN};
	struct op_log *log, *again;
	uint64_t rows, dropped;
	struct err err = {0};

	CU_ASSERT_EQUAL_FATAL(op_log_open(&log, &o, &err), 0);
	CU_ASSERT_EQUAL(op_log_close(log, &rows, &dropped, NULL), 0);
	CU_ASSERT_EQUAL(op_log_open(&again, &o, &err), -EEXIST);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(err.text, "exists; name another file with --op-log, or use --force"));
	o.force = true;
	CU_ASSERT_EQUAL_FATAL(op_log_open(&again, &o, &err), 0);
	op_log_discard(again);
	o.path = at("no/such/folder.zst");
	CU_ASSERT_EQUAL(op_log_open(&again, &o, &err), -ENOENT);
}

/* A file that may not grow stands for a full disk: it loses rows of the log, but no request fails.
 * A device is no log. */
static void test_a_file_that_takes_no_more(void)
{
	struct op_log_options o = {
		.path = "/dev/full", .force = true, .ranks = 1, .rows = OP_LOG_ROWS};
	struct rlimit limit;
	struct object o1 = {.key = "x"};
	struct request req = {.op = REQ_READ, .object = &o1, .length = 1};
	uint64_t rows, dropped;
	struct op_log *log;
	struct err err = {0};
	struct queue q;
	struct rig r;

	rig_init(&r);
	CU_ASSERT_EQUAL_FATAL(rig_open(&r, "{\"uri\": \"null://full\"}"), 0);
	CU_ASSERT_EQUAL(op_log_open(&log, &o, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/dev/full is a device"));
	o.path = at("full.tsv");
	CU_ASSERT_EQUAL_FATAL(op_log_open(&log, &o, &err), 0);
	r.store.op_log = log;
	CU_ASSERT_EQUAL_FATAL(queue_open(&q, &r.store, 1, NULL), 0);
	CU_ASSERT_EQUAL(queue_do(&q, &req), 0);
	queue_close(&q);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = 0;
	setrlimit(RLIMIT_FSIZE, &limit);
	CU_ASSERT_EQUAL(op_log_close(log, &rows, &dropped, &err), -EFBIG);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_FSIZE, &limit);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "full.tsv: File too large"));
	rig_close(&r);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"a row", test_a_row},
		{"the longest row fits", test_the_longest_row_fits},
		{"a row for each request", test_a_row_for_each_request},
		{"drops are counted", test_drops_are_counted},
		{"names by rank", test_names_by_rank},
		{"refusals", test_refusals},
		{"a file that takes no more", test_a_file_that_takes_no_more},
		CU_TEST_INFO_NULL,
	};

	return test_folder_main("op_log", tests, folder);
}
