/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of the test library: delays, faults and the log, from the environment. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/libs/dfs/test_dfs.h"

struct fault {
	uint64_t every;
	int code;
	_Atomic uint64_t calls;
};

static struct {
	char root[2048], agent[512], hang[512], stale[512];
	uint64_t delay_ns, open_ns, entry_ns, chunk, lost_from, lost_count, space;
	uint32_t events, anchors, targets;
	bool disorder, read_only, posix, old;
	struct fault faults[TEST_KINDS_COUNT];
	_Atomic uint64_t moves;
	int log;
} settings = {.log = -1};

static _Atomic int open_things[TEST_THINGS];

static uint64_t settings_number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static void settings_text(const char *name, char text[512])
{
	const char *value = getenv(name);

	snprintf(text, 512, "%s", value ? value : "");
}

static void settings_faults(const char *text)
{
	static const char *const kinds[] = {
#define TEST_NAME(name) #name,
		TEST_KINDS(TEST_NAME)};
	char kind[32];
	unsigned long every;
	int code, used;

	while (text && sscanf(text, "%31[a-z0-9]:%lu:%d%n", kind, &every, &code, &used) == 3) {
		for (int i = 0; i < TEST_KINDS_COUNT; i++)
			if (strcmp(kind, kinds[i]) == 0) {
				settings.faults[i].every = every;
				settings.faults[i].code = code;
			}
		text += used;
		text += *text == ',';
	}
}

void test_settings_begin(void)
{
	const char *root = getenv("HAUL_DFS_ROOT"), *log = getenv("HAUL_DFS_LOG");
	const char *lost = getenv("HAUL_DFS_LOST"), *type = getenv("HAUL_DFS_TYPE");

	memset(settings.faults, 0, sizeof(settings.faults));
	snprintf(settings.root, sizeof(settings.root), "%s", root ? root : ".");
	settings.delay_ns = settings_number("HAUL_DFS_DELAY_US", 0) * 1000;
	settings.open_ns = settings_number("HAUL_DFS_OPEN_US", 0) * 1000;
	settings.chunk = settings_number("HAUL_DFS_CHUNK", 0);
	settings.events = (uint32_t)settings_number("HAUL_DFS_EVENTS", 4096);
	settings.disorder = settings_number("HAUL_DFS_DISORDER", 0) != 0;
	settings.entry_ns = settings_number("HAUL_DFS_ENTRY_US", 0) * 1000;
	settings.anchors = (uint32_t)settings_number("HAUL_DFS_ANCHORS", 4);
	settings.targets = (uint32_t)settings_number("HAUL_DFS_TARGETS", 64);
	settings.space = settings_number("HAUL_DFS_SPACE", 1ull << 40);
	settings.read_only = settings_number("HAUL_DFS_READ_ONLY", 0) != 0;
	settings.old = settings_number("HAUL_DFS_OLD", 0) != 0;
	settings.posix = !type || strcmp(type, "POSIX") == 0;
	settings_text("HAUL_DFS_AGENT", settings.agent);
	settings_text("HAUL_DFS_HANG", settings.hang);
	settings_text("HAUL_DFS_STALE", settings.stale);
	settings.lost_from = settings.lost_count = 0;
	atomic_store(&settings.moves, 0);
	if (lost)
		sscanf(lost, "%lu:%lu", &settings.lost_from, &settings.lost_count);
	settings_faults(getenv("HAUL_DFS_FAIL"));
	if (settings.log >= 0)
		close(settings.log);
	settings.log = log ? open(log, O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0666) : -1;
}

uint64_t test_delay_ns(enum test_kind kind)
{
	return kind == TEST_read || kind == TEST_write ? settings.delay_ns : settings.open_ns;
}

void test_look_at(uint32_t entries)
{
	if (settings.entry_ns && entries)
		test_sleep_until(test_now_ns() + entries * settings.entry_ns);
}

uint32_t test_anchors(void)
{
	return settings.anchors;
}

uint32_t test_targets(void)
{
	return settings.targets;
}

uint64_t test_space(void)
{
	return settings.space;
}

bool test_read_only(void)
{
	return settings.read_only;
}

bool test_posix(void)
{
	return settings.posix;
}

bool test_old(void)
{
	return settings.old;
}

bool test_agent(void)
{
	return !settings.agent[0] || access(settings.agent, F_OK) == 0;
}

void test_agent_ends(void)
{
	if (settings_number("HAUL_DFS_AGENT_ENDS", 0))
		unlink(settings.agent);
}

bool test_hangs(void)
{
	return settings.hang[0] && access(settings.hang, F_OK) == 0;
}

void test_hang(void)
{
	while (test_hangs())
		test_sleep_until(test_now_ns() + 10000000);
}

bool test_stale(void)
{
	return settings.stale[0] && access(settings.stale, F_OK) == 0;
}

uint32_t test_events(void)
{
	return settings.events;
}

uint64_t test_chunk(void)
{
	return settings.chunk;
}

bool test_disorder(void)
{
	return settings.disorder;
}

const char *test_root(void)
{
	return settings.root;
}

int test_fault(enum test_kind kind)
{
	struct fault *f = &settings.faults[kind];

	if (!f->every || (atomic_fetch_add(&f->calls, 1) + 1) % f->every)
		return 0;
	return f->code;
}

int test_errno(int code)
{
	static const struct {
		int code, error;
	} rows[] = {
		{-1001, EPERM},   {-1002, EINVAL},       {-1003, EINVAL},    {-1004, EEXIST},
		{-1005, ENOENT},  {-1006, EHOSTUNREACH}, {-1007, ENOSPC},    {-1008, EALREADY},
		{-1009, ENOMEM},  {-1011, ETIMEDOUT},    {-1012, EBUSY},     {-1013, EAGAIN},
		{-1014, EPROTO},  {-1017, EOVERFLOW},    {-1018, ECANCELED}, {-1026, ENOTDIR},
		{-1027, ENOTDIR}, {-2001, EIO},          {-2003, ENOENT},    {-2007, ESTALE},
		{-2010, EPERM},   {-2011, EPERM},        {-2012, E2BIG},     {-2013, E2BIG},
		{-2014, EINVAL},  {-2015, EBUSY},        {-2025, ERESTART},
	};

	if (code >= 0)
		return code;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].code == code)
			return rows[i].error;
	return EIO;
}

int test_blocking(enum test_kind kind)
{
	int code = test_errno(test_fault(kind));

	if (settings.open_ns)
		test_sleep_until(test_now_ns() + settings.open_ns);
	test_hang();
	if (code)
		fprintf(stderr, "ERR  src/client/dfs: rc %d\n", code);
	return code;
}

bool test_lost(void)
{
	uint64_t n = atomic_fetch_add(&settings.moves, 1) + 1;

	return settings.lost_count && n >= settings.lost_from &&
	       n - settings.lost_from < settings.lost_count;
}

void test_log(const char *format, ...)
{
	char line[512];
	va_list list;
	int n;

	if (settings.log < 0)
		return;
	va_start(list, format);
	n = vsnprintf(line, sizeof(line) - 1, format, list);
	va_end(list);
	n = n < (int)sizeof(line) - 2 ? n : (int)sizeof(line) - 2;
	line[n] = '\n';
	if (write(settings.log, line, (size_t)n + 1) < 0)
		close(settings.log);
}

uint64_t test_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void test_sleep_until(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000),
			     .tv_nsec = (long)(ns % 1000000000)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

void test_opened(enum test_thing thing, int by)
{
	if (atomic_fetch_add(&open_things[thing], by) + by < 0)
		test_log("wrong: closed more often than opened");
}

void test_check_closed(void)
{
	static const char *const names[] = {"mounts", "objects", "queues", "pools"};

	for (int i = 0; i < TEST_THINGS; i++)
		if (atomic_load(&open_things[i]))
			test_log("wrong: %d %s open at the end", atomic_load(&open_things[i]),
				 names[i]);
}
