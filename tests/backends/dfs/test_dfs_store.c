/* Tests of daos:// over the test library: what is written is read, whatever the library does, and
 * nothing hangs. No DAOS is asked. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/content/random.h"
#include "core/group/thread_group.h"
#include "tests/backends/rig.h"
#include "tests/unit.h"

enum { DEPTH = 128 };
#define STORE(more) "{\"uri\": \"daos://pool/cont/base\", \"library\": \"" TEST_DFS "\"" more "}"

/* A pool with a container, in a folder that ends with the test; the library logs its calls there. */
struct container {
	char folder[64], log[80];
	struct rig rig;
	struct queue q;
};

static void container_begin(struct container *c)
{
	char path[128];

	strcpy(c->folder, "/tmp/haul_dfs_XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(c->folder));
	snprintf(c->log, sizeof(c->log), "%s/log", c->folder);
	snprintf(path, sizeof(path), "%s/pool", c->folder);
	mkdir(path, 0777);
	strcat(path, "/cont");
	mkdir(path, 0777);
	setenv("HAUL_DFS_ROOT", c->folder, 1);
	setenv("HAUL_DFS_LOG", c->log, 1);
}

/* Lines of the log that begin so. */
static int container_lines(const struct container *c, const char *begin)
{
	FILE *f = fopen(c->log, "r");
	char line[600];
	int n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += strncmp(line, begin, strlen(begin)) == 0;
	if (f)
		fclose(f);
	return n;
}

static void container_end(struct container *c)
{
	static const char *const names[] = {
		"HAUL_DFS_ROOT",     "HAUL_DFS_LOG",    "HAUL_DFS_DELAY_US",
		"HAUL_DFS_OPEN_US",  "HAUL_DFS_EVENTS", "HAUL_DFS_CHUNK",
		"HAUL_DFS_DISORDER", "HAUL_DFS_FAIL",   "HAUL_DFS_LOST"};
	char command[128];

	CU_ASSERT_EQUAL(container_lines(c, "wrong:"), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
	snprintf(command, sizeof(command), "rm -rf %s", c->folder);
	CU_ASSERT_EQUAL(system(command), 0);
}

static void container_open(struct container *c, const char *json)
{
	rig_init(&c->rig);
	if (rig_open(&c->rig, json) < 0)
		CU_FAIL_FATAL(c->rig.err.text);
	CU_ASSERT_EQUAL_FATAL(queue_open(&c->q, &c->rig.store, DEPTH, NULL), 0);
}

static void container_close(struct container *c)
{
	queue_close(&c->q);
	rig_close(&c->rig);
}

static void test_objects(void)
{
	char text[] = "what is written is read", back[sizeof(text)];
	struct object o = {.key = "a/b/c"};
	struct request rename = {.op = REQ_RENAME, .object = &o, .target = "a/b/d"};
	struct container c;
	uint64_t bytes;

	container_begin(&c);
	container_open(&c, STORE(""));
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_STAT, 0, 0, NULL, NULL), -ENOENT);
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_OPEN, 0, 0, NULL, NULL), -ENOENT);
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_READ, 0, 1, back, NULL), -EBADF);
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_CLOSE, 0, 0, NULL, NULL), -EBADF);
	CU_ASSERT_EQUAL(rig_put(&c.q, "a/b/c", text, sizeof(text)), 0);
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_STAT, 0, 0, NULL, &bytes), 0);
	CU_ASSERT_EQUAL(bytes, sizeof(text));
	CU_ASSERT_EQUAL(rig_get(&c.q, "a/b/c", back, sizeof(back)), 0);
	CU_ASSERT_STRING_EQUAL(back, text);
	o.size = 0;
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_OPEN, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(o.size, sizeof(text));
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_READ, sizeof(text) - 2, 4, back, &bytes), -ENODATA);
	CU_ASSERT_EQUAL(bytes, 2);
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	/* What is aborted leaves the old version. */
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_BEGIN, 0, 4, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_WRITE, 0, 4, (char[]){"new"}, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_ABORT, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_get(&c.q, "a/b/c", back, sizeof(back)), 0);
	CU_ASSERT_STRING_EQUAL(back, text);
	/* A write in place shows at once. */
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_UPDATE, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_WRITE, 0, 4, (char[]){"THAT"}, NULL), 0);
	CU_ASSERT_EQUAL(rig_get(&c.q, "a/b/c", back, sizeof(back)), 0);
	CU_ASSERT_STRING_EQUAL(back, "THAT is written is read");
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(queue_do(&c.q, &rename), 0);
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_STAT, 0, 0, NULL, NULL), -ENOENT);
	strcpy(o.key, "a/b/");
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_DELETE, 0, 0, NULL, NULL), -ENOTEMPTY);
	strcpy(o.key, "a/b/d");
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_DELETE, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_DELETE, 0, 0, NULL, NULL), -ENOENT);
	strcpy(o.key, "a/b/");
	CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_DELETE, 0, 0, NULL, NULL), 0);
	/* The folder is gone, and is made again where it is needed. */
	CU_ASSERT_EQUAL(rig_put(&c.q, "a/b/c", text, sizeof(text)), 0);
	CU_ASSERT_EQUAL(rig_put(&c.q, "top", text, sizeof(text)), 0);
	container_close(&c);
	container_end(&c);
}

static void object_fill(char *data, uint64_t length, uint64_t at)
{
	for (uint64_t i = 0; i < length; i++)
		data[i] = (char)mix64(at + i);
}

/* 200 reads of an object, as many in flight as the queue takes, each of which has its own place. */
static void read_all(struct queue *q, struct object *o, char *back, uint64_t piece, uint32_t count)
{
	struct request reqs[200], *done[DEPTH];
	uint32_t sent = 0, ended = 0, failed = 0;

	while (ended < count) {
		uint32_t n;

		for (; sent < count && sent - ended < DEPTH; sent++) {
			struct request *req = &reqs[sent];

			*req = (struct request){.op = REQ_READ,
						.object = o,
						.offset = sent * piece,
						.length = piece,
						.data = back + sent * piece};
			CU_ASSERT_EQUAL_FATAL(queue_submit(q, &req, 1), 0);
		}
		n = queue_reap(q, done, 1, DEPTH, UINT64_MAX);
		CU_ASSERT_FATAL(n > 0);
		for (uint32_t i = 0; i < n; i++)
			failed += done[i]->answer.status != 0;
		ended += n;
	}
	CU_ASSERT_EQUAL(failed, 0);
}

/* Whatever the library does to reads, the bytes arrive. */
static void test_reads(void)
{
	enum { PIECE = 5000, COUNT = 200, BYTES = PIECE * COUNT };
	static const struct {
		const char *name, *value;
	} cases[] = {
		{"HAUL_DFS_EVENTS", "4096"},       {"HAUL_DFS_DISORDER", "1"},
		{"HAUL_DFS_EVENTS", "16"},         {"HAUL_DFS_EVENTS", "1"},
		{"HAUL_DFS_CHUNK", "1024"},        {"HAUL_DFS_DELAY_US", "20"},
		{"HAUL_DFS_FAIL", "read:7:-1012"}, {"HAUL_DFS_FAIL", "read:5:16"},
		{"HAUL_DFS_LOST", "50:20"},
	};
	char *data = malloc(BYTES), *back = malloc(BYTES);
	struct object o = {.key = "o"};
	struct container c;

	object_fill(data, BYTES, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		container_begin(&c);
		setenv("HAUL_DFS_DISORDER", "1", 1);
		setenv(cases[i].name, cases[i].value, 1);
		container_open(&c, STORE(", \"transfer\": \"64 KiB\""));
		memset(back, 0, BYTES);
		CU_ASSERT_EQUAL(rig_put(&c.q, "o", data, BYTES), 0);
		CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_OPEN, 0, 0, NULL, NULL), 0);
		read_all(&c.q, &o, back, PIECE, COUNT);
		CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
		CU_ASSERT_EQUAL(memcmp(data, back, BYTES), 0);
		container_close(&c);
		container_end(&c);
	}
	free(data);
	free(back);
}

/* A failure that stays: its errno, its kind, its sentence. */
static void test_failures(void)
{
	static const struct {
		const char *fails;
		enum request_op op;
		int status;
		enum request_fault fault;
		const char *says;
	} cases[] = {
		{"read:1:-1006", REQ_READ, -EHOSTUNREACH, REQ_FAULT_CONNECT, "cannot be reached"},
		{"read:1:-1011", REQ_READ, -ETIMEDOUT, REQ_FAULT_TIMEOUT, "did not answer in time"},
		{"read:1:-1012", REQ_READ, -EBUSY, REQ_FAULT_THROTTLE, "takes no more requests"},
		{"read:1:-2021", REQ_READ, -EBADMSG, REQ_FAULT_SERVER, "checksum"},
		{"read:1:-2001", REQ_READ, -EIO, REQ_FAULT_SERVER, "I/O error"},
		{"read:1:-2999", REQ_READ, -EIO, REQ_FAULT_SERVER, "I/O error"},
		{"read:1:113", REQ_READ, -EHOSTUNREACH, REQ_FAULT_CONNECT, "cannot be reached"},
		{"write:1:28", REQ_WRITE, -ENOSPC, REQ_FAULT_OTHER, "No space"},
		{"open:1:1", REQ_OPEN, -EPERM, REQ_FAULT_DENIED, "does not permit"},
		{"poll:3:-1020", REQ_READ, -EHOSTUNREACH, REQ_FAULT_CONNECT, "cannot be reached"},
		{"stat:1:5", REQ_STAT, -EIO, REQ_FAULT_SERVER, "I/O error"},
		{"remove:1:16", REQ_ABORT, -EBUSY, REQ_FAULT_THROTTLE, "takes no more requests"},
	};
	char data[100] = "";

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct object o = {.key = "o"};
		struct request req = {.op = cases[i].op, .object = &o, .length = 100, .data = data};
		struct container c;

		container_begin(&c);
		container_open(&c, STORE(""));
		CU_ASSERT_EQUAL(rig_put(&c.q, "o", data, 100), 0);
		container_close(&c);
		setenv("HAUL_DFS_FAIL", cases[i].fails, 1);
		container_open(&c, STORE(", \"retry\": {\"attempts\": 3}"));
		if (req.op == REQ_READ)
			rig_do(&c.q, &o, REQ_OPEN, 0, 0, NULL, NULL);
		if (req.op == REQ_WRITE || req.op == REQ_ABORT)
			rig_do(&c.q, &o, REQ_BEGIN, 0, 0, NULL, NULL);
		for (int n = 0; n < 3 && (n == 0 || strstr(cases[i].fails, "poll")); n++)
			queue_do(&c.q, &req);
		CU_ASSERT_EQUAL(req.answer.status, cases[i].status);
		CU_ASSERT_EQUAL(req.answer.fault, cases[i].fault);
		CU_ASSERT_PTR_NOT_NULL(strstr(request_text(&req), cases[i].says));
		/* An abort that failed has left the object open for another one. */
		if (req.op == REQ_READ || req.op == REQ_ABORT)
			CU_ASSERT_EQUAL(rig_do(&c.q, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
		if (req.op == REQ_WRITE)
			rig_do(&c.q, &o, REQ_ABORT, 0, 0, NULL, NULL);
		container_close(&c);
		container_end(&c);
	}
}

enum { ENTRIES = 300 };
struct names {
	uint32_t seen[ENTRIES], folders, others, pages;
};

static int names_see(struct request *req, const char *name, uint64_t size)
{
	struct names *names = req->user;
	uint32_t number;

	if (sscanf(name, "o%u", &number) == 1 && number < ENTRIES && size == number % 7)
		names->seen[number]++;
	else if (strcmp(name, "folder/") == 0)
		names->folders++;
	else
		names->others++;
	return 0;
}

static void list_part(struct queue *q, uint32_t part, uint32_t parts, struct names *names)
{
	struct object o = {.key = "many/"};
	struct listing listing = {.entry = names_see, .part = part, .parts = parts};
	struct request req = {
		.op = REQ_LIST, .object = &o, .length = 50, .listing = &listing, .user = names};

	do {
		CU_ASSERT_EQUAL_FATAL(queue_do(q, &req), 0);
		CU_ASSERT(req.answer.done_bytes <= 50);
		names->pages++;
	} while (listing.more);
}

static void list_with(const char *fault)
{
	struct names names = {.pages = 0};
	char key[32], data[8] = "";
	uint32_t once = 0;
	struct container c;

	container_begin(&c);
	setenv("HAUL_DFS_FAIL", fault, 1);
	container_open(&c, STORE(""));
	for (uint32_t i = 0; i < ENTRIES; i++) {
		snprintf(key, sizeof(key), "many/o%u", i);
		CU_ASSERT_EQUAL(rig_put(&c.q, key, data, i % 7), 0);
	}
	list_part(&c.q, 0, 1, &names);
	for (uint32_t n = 0; n < ENTRIES; n++)
		once += names.seen[n] == 1;
	CU_ASSERT_EQUAL(once, ENTRIES);
	container_close(&c);
	container_end(&c);
}

/* Each entry comes once, although one page in three fails, once the library has gone on: by EAGAIN, and by ENOENT, as where
 * an entry is removed before the library has looked at it. */
static void test_listing_again(void)
{
	list_with("entry:3:11");
	list_with("entry:3:2");
}

/* Parts: fewer than the anchors of the library, as many, and more. */
static void test_listing(void)
{
	static const uint32_t parts[] = {0, 1, 2, 3, 4, 9};
	struct object o = {.key = "nothing/"};
	struct listing listing = {.entry = names_see};
	struct request req = {.op = REQ_LIST, .object = &o, .listing = &listing};
	char key[32], data[8] = "";
	struct container c;

	container_begin(&c);
	container_open(&c, STORE(""));
	for (uint32_t i = 0; i < ENTRIES; i++) {
		snprintf(key, sizeof(key), "many/o%u", i);
		CU_ASSERT_EQUAL(rig_put(&c.q, key, data, i % 7), 0);
	}
	CU_ASSERT_EQUAL(rig_put(&c.q, "many/folder/x", data, 1), 0);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct names names = {.pages = 0};
		uint32_t once = 0;

		for (uint32_t part = 0; part < parts[i] || part == 0; part++)
			list_part(&c.q, part, parts[i], &names);
		for (uint32_t n = 0; n < ENTRIES; n++)
			once += names.seen[n] == 1;
		CU_ASSERT_EQUAL(once, ENTRIES);
		CU_ASSERT_EQUAL(names.folders, 1);
		CU_ASSERT_EQUAL(names.others, 0);
		CU_ASSERT(names.pages >= ENTRIES / 50);
	}
	CU_ASSERT_EQUAL(queue_do(&c.q, &req), -ENOENT);
	container_close(&c);
	container_end(&c);
}

static int share(struct group *g, void *argument)
{
	char key[32], data[100], back[100];
	struct queue q;
	struct rig r;

	(void)argument;
	rig_init(&r);
	r.all = r.node = g;
	r.place.rank = r.place.local_rank = g->rank;
	r.place.ranks = r.place.local_ranks = g->size;
	if (rig_open(&r, STORE("")) < 0 || queue_open(&q, &r.store, 4, NULL) < 0)
		return -__LINE__;
	snprintf(key, sizeof(key), "of/rank%u", g->rank);
	memset(data, (int)g->rank + 1, sizeof(data));
	if (rig_put(&q, key, data, sizeof(data)) < 0)
		return -__LINE__;
	group_barrier(g);
	snprintf(key, sizeof(key), "of/rank%u", (g->rank + 1) % g->size);
	memset(data, (int)((g->rank + 1) % g->size) + 1, sizeof(data));
	if (rig_get(&q, key, back, sizeof(back)) < 0 || memcmp(data, back, sizeof(data)) != 0)
		return -__LINE__;
	queue_close(&q);
	rig_close(&r);
	return 0;
}

static void test_one_connection_for_all_ranks(void)
{
	static const uint32_t ranks[] = {1, 2, 8};

	for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
		struct err err = {0};
		struct container c;

		container_begin(&c);
		CU_ASSERT_EQUAL(thread_group_run(ranks[i], share, NULL, &err), 0);
		CU_ASSERT_EQUAL(container_lines(&c, "connect pool/cont"), 1);
		CU_ASSERT_EQUAL(container_lines(&c, "global pool/cont"), (int)ranks[i] - 1);
		CU_ASSERT_EQUAL(container_lines(&c, "queue"), (int)ranks[i]);
		container_end(&c);
	}
}

/* All ranks fail, and with the same sentence, whoever it was that could not connect. */
static int refuse(struct group *g, void *argument)
{
	struct rig r;
	int rc;

	rig_init(&r);
	r.all = r.node = g;
	rc = rig_open(&r, STORE(""));
	rig_close(&r);
	if (rc == 0 || !strstr(r.err.text, argument))
		return -__LINE__;
	return 0;
}

static void test_ranks_fail_together(void)
{
	static const struct {
		const char *fails, *says;
	} cases[] = {
		{"connect:1:111", "connecting to the container"},
		{"connect:1:2", "there is no pool \"pool\""},
		{"global:3:113",
		 "taking over the connection of rank 0: a server of DAOS cannot be"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = {0};
		struct container c;

		container_begin(&c);
		setenv("HAUL_DFS_FAIL", cases[i].fails, 1);
		CU_ASSERT_EQUAL(thread_group_run(4, refuse, (void *)cases[i].says, &err), 0);
		container_end(&c);
	}
}

/* Reads the object by an open, a read and a close of its own. */
static int read_once(struct queue *q, const char *key, char byte)
{
	struct object o = {.key = ""};
	char data[64];
	int rc;

	snprintf(o.key, sizeof(o.key), "%s", key);
	rc = rig_do(q, &o, REQ_OPEN, 0, 0, NULL, NULL);
	if (rc == 0)
		rc = rig_do(q, &o, REQ_READ, 0, sizeof(data), data, NULL);
	if (rc == 0)
		rc = rig_do(q, &o, REQ_CLOSE, 0, 0, NULL, NULL);
	return rc ? rc : o.size == sizeof(data) && data[0] == byte && data[63] == byte ? 0 : -EIO;
}

/* What one caller believes of the size is not told to another. */
static void check_sizes(struct queue *q)
{
	static const uint64_t believed[] = {99, 0, 7, 0}, is[] = {99, 64, 7, 64};

	for (int i = 0; i < 4; i++) {
		struct object o = {.key = "f/c", .size = believed[i]};

		CU_ASSERT_EQUAL(rig_do(q, &o, REQ_OPEN, 0, 0, NULL, NULL), 0);
		CU_ASSERT_EQUAL(o.size, is[i]);
		CU_ASSERT_EQUAL(rig_do(q, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	}
}

static void put_letters(struct container *c)
{
	char key[] = "f/a", data[64];

	for (; key[2] < 'i'; key[2]++) {
		memset(data, key[2], sizeof(data));
		CU_ASSERT_EQUAL(rig_put(&c->q, key, data, sizeof(data)), 0);
	}
}

/* Files that are read again are not opened again, where nobody changes them. */
static void test_handles(void)
{
	static const struct {
		const char *options;
		bool constant;
		int opened;
	} cases[] = {
		{"", true, 2},
		{"", false, 6},
		{", \"handles\": 0", true, 6},
		{", \"client\": \"pydaos\"", true, 6},
		{", \"client\": \"pydaos\", \"handles\": 10", true, 2},
	};
	char data[64], json[256];
	struct container c;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		container_begin(&c);
		container_open(&c, STORE(""));
		put_letters(&c);
		container_close(&c);
		snprintf(json, sizeof(json), STORE("%s"), cases[i].options);
		rig_init(&c.rig);
		c.rig.constant = cases[i].constant;
		CU_ASSERT_EQUAL_FATAL(rig_open(&c.rig, json), 0);
		CU_ASSERT_EQUAL_FATAL(queue_open(&c.q, &c.rig.store, DEPTH, NULL), 0);
		for (int n = 0; n < 3; n++) {
			CU_ASSERT_EQUAL(read_once(&c.q, "f/a", 'a'), 0);
			CU_ASSERT_EQUAL(read_once(&c.q, "f/b", 'b'), 0);
		}
		CU_ASSERT_EQUAL(container_lines(&c, "open "), cases[i].opened);
		CU_ASSERT_EQUAL(read_once(&c.q, "f/z", 'z'), -ENOENT);
		check_sizes(&c.q);
		/* What this rank replaces, it finds replaced. */
		memset(data, 'B', sizeof(data));
		CU_ASSERT_EQUAL(rig_put(&c.q, "f/b", data, sizeof(data)), 0);
		CU_ASSERT_EQUAL(read_once(&c.q, "f/b", 'B'), 0);
		container_close(&c);
		container_end(&c);
	}
}

static void *read_letters(void *argument)
{
	struct store *store = argument;
	intptr_t failed = 0;
	char key[] = "f/a";
	struct queue q;

	if (queue_open(&q, store, 4, NULL) < 0)
		return (void *)1;
	for (uint64_t i = 0; i < 400; i++) {
		key[2] = (char)('a' + mix64(i) % 8);
		failed += read_once(&q, key, key[2]) != 0;
	}
	queue_close(&q);
	return (void *)failed;
}

/* Threads of a rank share what is kept open, which has fewer places than there are files. */
static void test_handles_of_threads(void)
{
	pthread_t threads[4];
	struct container c;
	void *failed;

	container_begin(&c);
	container_open(&c, STORE(""));
	put_letters(&c);
	container_close(&c);
	rig_init(&c.rig);
	c.rig.constant = true;
	CU_ASSERT_EQUAL_FATAL(rig_open(&c.rig, STORE(", \"handles\": 5")), 0);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, read_letters, &c.rig.store);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &failed);
		CU_ASSERT_PTR_NULL(failed);
	}
	rig_close(&c.rig);
	container_end(&c);
}

/* What pydaos does by default, and options that say otherwise. */
static void test_clients(void)
{
	static const struct {
		const char *options, *client;
		uint64_t transfer, part;
		uint32_t in_flight;
	} cases[] = {
		{"", "dfs", 4 << 20, 4 << 20, 1},
		{", \"transfer\": \"1 MiB\", \"part\": \"2 MiB\"", "dfs", 1 << 20, 2 << 20, 1},
		{", \"client\": \"pydaos\"", "pydaos", 1ull << 40, 64 << 20, 4},
		{", \"client\": \"pydaos\", \"part\": \"8 MiB\", \"in_flight\": 2", "pydaos",
		 1ull << 40, 8 << 20, 2},
	};
	struct store_facts facts;
	char json[256];
	struct container c;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		container_begin(&c);
		snprintf(json, sizeof(json), STORE("%s"), cases[i].options);
		container_open(&c, json);
		store_describe(&c.rig.store, &c.rig.described, &facts);
		CU_ASSERT_STRING_EQUAL(facts.client, cases[i].client);
		CU_ASSERT_EQUAL(store_transfer(&c.rig.store), cases[i].transfer);
		CU_ASSERT_EQUAL(store_part(&c.rig.store, 1 << 30), cases[i].part);
		CU_ASSERT_EQUAL(backend_in_flight(&c.rig.described), cases[i].in_flight);
		container_close(&c);
		container_end(&c);
	}
}

static void test_hints(void)
{
	struct store_facts facts;
	struct container c;
	char data[10] = "";

	container_begin(&c);
	container_open(&c, STORE(", \"object_class\": \"EC_16P2GX\", \"folder_class\": \"S1\", "
				 "\"chunk_size\": \"2 MiB\""));
	CU_ASSERT_EQUAL(rig_put(&c.q, "folder/x", data, sizeof(data)), 0);
	CU_ASSERT_EQUAL(container_lines(&c, "create x.haul-part 300ffff 2097152"), 1);
	CU_ASSERT_EQUAL(container_lines(&c, "mkdir folder 1000001"), 1);
	store_describe(&c.rig.store, &c.rig.described, &facts);
	CU_ASSERT_STRING_EQUAL(facts.engine, "libdfs 2.8.0");
	CU_ASSERT_STRING_EQUAL(
		facts.layout,
		"4 engines with 64 targets, 3 of them out of service; new files: class "
		"EC_16P2GX, 2 parities for 16 parts, chunks of 2 MiB");
	container_close(&c);
	/* What was not asked for, and a pool that does not tell. */
	setenv("HAUL_DFS_FAIL", "query:1:-1006", 1);
	container_open(&c, STORE(""));
	store_describe(&c.rig.store, &c.rig.described, &facts);
	CU_ASSERT_STRING_EQUAL(facts.layout, "new files: class SX, no redundancy, chunks of 1 MiB");
	container_close(&c);
	container_end(&c);
}

static void test_refusals(void)
{
	static const struct {
		const char *json, *says;
	} cases[] = {
		{"{\"uri\": \"daos://pool\", \"library\": \"" TEST_DFS "\"}", "names no container"},
		{"{\"uri\": \"daos:///pool/cont\"}", "names no container"},
		{"{\"uri\": \"daos://pool/cont\", \"library\": \"/nowhere/libdfs.so\"}",
		 "module load daos"},
		{"{\"uri\": \"daos://pool/other\", \"library\": \"" TEST_DFS "\"}",
		 "no container \"other\""},
		{STORE(", \"object_class\": \"SZ\""),
		 "object_class: DAOS knows no object class \"SZ\""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct container c;

		container_begin(&c);
		rig_init(&c.rig);
		CU_ASSERT_NOT_EQUAL(rig_open(&c.rig, cases[i].json), 0);
		CU_ASSERT_PTR_NOT_NULL(strstr(c.rig.err.text, cases[i].says));
		rig_close(&c.rig);
		container_end(&c);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"objects", test_objects},
		{"reads", test_reads},
		{"failures", test_failures},
		{"listing", test_listing},
		{"listing again", test_listing_again},
		{"one connection for all ranks", test_one_connection_for_all_ranks},
		{"ranks fail together", test_ranks_fail_together},
		{"handles", test_handles},
		{"handles of threads", test_handles_of_threads},
		{"clients", test_clients},
		{"hints", test_hints},
		{"refusals", test_refusals},
		CU_TEST_INFO_NULL,
	};

	return unit_main("dfs_store", tests);
}
