/* SPDX-License-Identifier: Apache-2.0 */
/* Test library with the interface of libdfs over a directory. It is no DAOS: it shows that haul
 * keeps to the interface, and lets tests cause what a real one does only now and then.
 *
 * The pool and the container are folders: $HAUL_DFS_ROOT/pool/container. Asynchronous requests are
 * done by the thread that polls their event queue, as libdfs does its progress, when their time has
 * come. The environment is read by the first dfs_init:
 *
 *	HAUL_DFS_ROOT          the folder with the pools
 *	HAUL_DFS_VERSION       the version that is told: 2.8.0
 *	HAUL_DFS_DELAY_US      how long a read or write takes
 *	HAUL_DFS_OPEN_US       how long any other request takes
 *	HAUL_DFS_EVENTS        requests in flight per event queue; one more fails with EBUSY
 *	HAUL_DFS_CHUNK         reads end at multiples of so many bytes
 *	HAUL_DFS_DISORDER      1: requests complete in random order
 *	HAUL_DFS_FAIL          kind:every:code, …: every so many-th call of the kind fails with that
 *	                       code. Kinds: enum test_kind. A negative code comes by the event
 *	HAUL_DFS_LOST          from:count: so many reads and writes fail from that one on
 *	HAUL_DFS_AGENT         a file: the agent's socket. Without it dfs_init fails with EIO, and dfs_fini
 *	                       fails once its tables are gone, so that the next dfs_init succeeds without them
 *	HAUL_DFS_AGENT_ENDS    1: the end of a connection removes that file
 *	HAUL_DFS_HANG          a file: as long as it is there, nothing completes, and calls do not return
 *	HAUL_DFS_READ_ONLY     1: who connects for writing is refused
 *	HAUL_DFS_OLD           1: dfs_obj_get_info is that of DAOS 2.4
 *	HAUL_DFS_ANCHORS       into how many parts a folder's names are divided: 4
 *	HAUL_DFS_ENTRY_US      how long finding out what an entry is takes
 *	HAUL_DFS_TARGETS       targets of the pool: 64. Classes that need more are refused
 *	HAUL_DFS_TYPE          type of the container: POSIX. Others are refused
 *	HAUL_DFS_SPACE         free bytes that the pool tells
 *	HAUL_DFS_STALE         a file: mounts and objects that were opened before it came are no longer known
 *	HAUL_DFS_LOG           a file, to which each call that tests count adds a line, and each queue
 *	                       how many requests it had in flight at most
 *
 * Functions whose names begin with dfs_ return positive errnos, as do events, and codes of DAOS become errnos
 * as by its daos_der2errno: what that does not know is EIO. Where a call fails, the library writes a line to
 * standard error, as DAOS does without D_LOG_FILE.
 *
 * What breaks the rules of the interface (a queue that is destroyed with requests in flight, an
 * object that is released twice or never) adds a line "wrong: …" to the log. */
#ifndef HAUL_TESTS_LIBS_DFS_H
#define HAUL_TESTS_LIBS_DFS_H

#include <pthread.h>

#include "backends/dfs/abi.h"

/* X(kind): what may be made to fail. */
/* clang-format off */
#define TEST_KINDS(X) \
	X(init) X(fini) X(connect) X(pool) X(global) X(query) X(queue) X(poll) X(read) X(write) X(open) X(lookup) X(size) X(stat) \
	X(mkdir) X(remove) X(move) X(list) X(split)
/* clang-format on */
enum test_kind {
#define TEST_KIND(name) TEST_##name,
	TEST_KINDS(TEST_KIND) TEST_KINDS_COUNT
#undef TEST_KIND
};

struct dfs_mount {
	char root[3072]; /* of the container */
	char pool[256], container[256];
	int fd, flags;
};

struct dfs_object {
	int fd, flags;
	mode_t mode;
	uint32_t object_class;
	uint64_t chunk_bytes;
	_Atomic int flying;
};

/* Reads the environment, once until test_settings_end. */
void test_settings_begin(void);
uint64_t test_delay_ns(enum test_kind kind);
/* Waits as long as entries take to be looked at. */
void test_look_at(uint32_t entries);
uint32_t test_events(void);
uint32_t test_anchors(void);
uint32_t test_targets(void);
uint64_t test_space(void);
uint64_t test_chunk(void);
bool test_disorder(void);
bool test_agent(void); /* the agent answers */
void test_agent_ends(void);
bool test_hangs(void); /* servers do not answer */
void test_hang(void);  /* returns when they do */
bool test_stale(void);
bool test_read_only(void);
bool test_posix(void);
bool test_old(void);
const char *test_root(void);

/* The code with which this call of the kind fails, or 0. Counts the call. */
int test_fault(enum test_kind kind);
/* The positive errno of a code of DAOS, or of an errno. */
int test_errno(int code);
/* Waits as long as a blocking call of the kind takes, and returns the errno with which it fails. */
int test_blocking(enum test_kind kind);
/* Whether the server is lost for this read or write. */
bool test_lost(void);

void test_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
uint64_t test_now_ns(void);
void test_sleep_until(uint64_t ns);

/* Counts of what is open, so that what is forgotten is seen by the last dfs_fini. */
enum test_thing { TEST_MOUNTS, TEST_OBJECTS, TEST_QUEUES, TEST_POOLS, TEST_THINGS };
void test_opened(enum test_thing thing, int by);
void test_check_closed(void);

/* events.c: starts a read or write. Returns 0 or a positive errno. */
int test_events_start(struct dfs_object *object, const struct dfs_scatter *buffers, uint64_t offset,
		      uint64_t *bytes, struct dfs_event *event);
/* Moves the bytes. Returns 0 or a positive errno. bytes NULL: a write. */
int test_events_move(const struct dfs_object *object, void *data, uint64_t length, uint64_t offset,
		     uint64_t *bytes);

/* The functions of the interface; the library shows no others. */
#define TEST_DECLARE(name, arguments) __attribute__((visibility("default"))) int name arguments;
DFS_FUNCTIONS(TEST_DECLARE)
DFS_OPTIONAL_FUNCTIONS(TEST_DECLARE)
#undef TEST_DECLARE

#endif
