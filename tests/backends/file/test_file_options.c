/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the options of file:// and direct://: their effect as seen from outside, and which
 * combinations are refused. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "backends/file/cache.h"
#include "backends/file/file.h"
#include "backends/file/system.h"
#include "tests/backends/rig.h"
#include "tests/unit.h"

enum { SIZE = 8 << 20, TRIES = 20 };

struct files {
	struct rig rig;
	struct queue queue;
	char folder[64], path[128];
};

static int files_open(struct files *f, const char *parent, const char *scheme, const char *options)
{
	char json[512];
	int rc;

	memset(f, 0, sizeof(*f));
	rig_init(&f->rig);
	snprintf(f->folder, sizeof(f->folder), "%s/test_file_options.XXXXXX", parent);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(f->folder));
	snprintf(f->path, sizeof(f->path), "%s/x", f->folder);
	snprintf(json, sizeof(json), "{\"uri\": \"%s://%s\"%s}", scheme, f->folder, options);
	rc = rig_open(&f->rig, json);
	return rc < 0 ? rc : queue_open(&f->queue, &f->rig.store, 1, &f->rig.err);
}

/* Where the version of f->path lies that is begun: its name is drawn. */
static void part_of(const struct files *f, char part[160])
{
	char pattern[160];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s.haul-????????", f->path);
	CU_ASSERT_EQUAL_FATAL(glob(pattern, 0, NULL, &found), 0);
	snprintf(part, 160, "%s", found.gl_pathv[0]);
	globfree(&found);
}

static void files_close(struct files *f)
{
	unlink(f->path);
	CU_ASSERT_EQUAL(rmdir(f->folder), 0);
	queue_close(&f->queue);
	rig_close(&f->rig);
}

static void put(struct files *f, uint64_t bytes)
{
	char *data = calloc(1, SIZE + 4096);

	CU_ASSERT_PTR_NOT_NULL_FATAL(data);
	CU_ASSERT_EQUAL(rig_put(&f->queue, "x", data, bytes), 0);
	free(data);
}

static void test_refused(void)
{
	static const struct {
		const char *scheme, *options, *sentence;
	} cases[] = {
		{"file", ", \"engine\": \"mmap\", \"direct\": true",
		 "/stores/s/engine: mmap reads through the page cache"},
		{"direct", ", \"engine\": \"mmap\"",
		 "/stores/s/engine: mmap reads through the page cache"},
		{"direct", ", \"direct\": false", "/stores/s/direct: direct:// is direct"},
		{"file", ", \"direct\": true, \"fadvise\": \"random\"",
		 "/stores/s/fadvise: speaks of the page cache"},
		{"direct", ", \"readahead\": \"1 MiB\"",
		 "/stores/s/readahead: speaks of the page cache"},
		{"file", ", \"layout\": {\"stripe_size\": 1000}",
		 "/stores/s/layout/stripe_size: must be a multiple of 64 KiB"},
		{"file", ", \"layout\": {\"class\": \"sixteen_letters_\"}",
		 "/stores/s/layout/class"},
		{"file", ", \"fadvise\": \"sequentially\"", "sequential"},
	};
	struct files f;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CU_ASSERT_EQUAL(files_open(&f, ".", cases[i].scheme, cases[i].options), -EINVAL);
		if (!strstr(f.rig.err.text, cases[i].sentence))
			fprintf(stderr, "case %zu: %s\n", i, f.rig.err.text);
		CU_ASSERT_PTR_NOT_NULL(strstr(f.rig.err.text, cases[i].sentence));
		files_close(&f);
	}
}

static bool refuses_direct(void)
{
	int fd = open(".", O_TMPFILE | O_RDWR | O_DIRECT, 0600);

	if (fd >= 0)
		close(fd);
	return fd < 0;
}

/* direct:// is file:// with other defaults: options that the job leaves out are uring and
 * direct. */
static void test_direct_is_file(void)
{
	const struct backend_ops *file = backend_find("file"), *direct = backend_find("direct");
	struct store_facts facts;
	struct files f;

	CU_ASSERT_PTR_NOT_EQUAL_FATAL(direct, NULL);
	CU_ASSERT_PTR_EQUAL(file->open, direct->open);
	CU_ASSERT_PTR_EQUAL(file->submit, direct->submit);
	CU_ASSERT_EQUAL(file->capabilities, direct->capabilities);
	if (refuses_direct())
		return;
	CU_ASSERT_EQUAL_FATAL(files_open(&f, ".", "direct", ", \"fsync\": \"file\""), 0);
	store_describe(&f.rig.store, &f.rig.described, &facts);
	CU_ASSERT(strcmp(facts.engine, "uring") == 0 || strstr(facts.note, "engine uring"));
	CU_ASSERT_EQUAL(facts.direct, 1);
	CU_ASSERT(f.rig.store.alignment >= 512);
	CU_ASSERT_EQUAL(((const struct file_options *)f.rig.store.options)->fsync, FILE_FSYNC_FILE);
	files_close(&f);
	CU_ASSERT_EQUAL_FATAL(files_open(&f, ".", "direct", ", \"engine\": \"psync\""), 0);
	store_describe(&f.rig.store, &f.rig.described, &facts);
	CU_ASSERT_STRING_EQUAL(facts.engine, "psync");
	CU_ASSERT_EQUAL(facts.direct, 1);
	files_close(&f);
}

/* Bytes of the file in the page cache after its first `bytes` bytes were read, or, with 0, after it
 * was opened. */
static int64_t cached_after(const char *options, uint64_t bytes)
{
	struct object o = {.key = "x"};
	char *data = malloc(SIZE);
	int64_t before = -1, now = -1;
	struct files f;

	CU_ASSERT_EQUAL_FATAL(files_open(&f, ".", "file", options), 0);
	put(&f, SIZE);
	for (int i = 0; i < TRIES && file_cache_evict(f.path) != 0; i++)
		;
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_OPEN, 0, 0, NULL, NULL), 0);
	if (bytes)
		CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_READ, 0, bytes, data, NULL), 0);
	/* The kernel reads ahead after the call has returned, so this waits until the number no
	 * longer changes. */
	while (now != before || now < 0) {
		before = now;
		usleep(20000);
		now = store_resident(&f.rig.store, &o, 0, SIZE);
	}
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	files_close(&f);
	free(data);
	return now;
}

/* Tests the effect of the options, not the results of the system calls. Other processes also change
 * the page cache, so each case has several tries; wrong code fails all of them. */
static void test_advice_has_its_effect(void)
{
	static const struct {
		const char *options;
		uint64_t bytes;
		int64_t least, most;
	} cases[] = {
		{"", 0, 0, 0},
		{", \"fadvise\": \"willneed\"", 0, SIZE, SIZE},
		{", \"fadvise\": \"random\"", 4096, 4096, 4096},
		{", \"fadvise\": \"sequential\"", 4096, 4097, SIZE},
		{", \"fadvise\": \"random\", \"readahead\": \"1 MiB\"", 4096, 4096 + (1 << 20),
		 4096 + (1 << 20)},
		{", \"fadvise\": \"noreuse\", \"engine\": \"mmap\"", SIZE, SIZE, SIZE},
	};

	for (size_t i = 0; !file_cache_is_memory(".") && i < sizeof(cases) / sizeof(cases[0]);
	     i++) {
		int tries = 0;
		int64_t cached;

		do {
			cached = cached_after(cases[i].options, cases[i].bytes);
		} while ((cached < cases[i].least || cached > cases[i].most) && ++tries < TRIES);
		CU_ASSERT(tries < TRIES);
	}
}

/* Pages behind a writer are dropped, from the start of the object on, and the file keeps what was
 * written. */
static void test_pages_behind_a_writer_go(void)
{
	enum { PIECE = 1 << 20 };
	unsigned char *data = malloc(SIZE), *back = malloc(SIZE);
	struct object o = {.key = "x"};
	char part[160];
	struct files f;
	int fd;

	CU_ASSERT_EQUAL_FATAL(files_open(&f, ".", "file", ""), 0);
	for (uint64_t i = 0; i < SIZE; i++)
		data[i] = (unsigned char)(i / 4096 + i);
	CU_ASSERT_EQUAL(store_evict(&f.rig.store, &o, 4096, 4096), -EBADF);
	CU_ASSERT_EQUAL(store_evict(&f.rig.store, &o, 0, 0), -ENOENT);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_BEGIN, 0, SIZE, NULL, NULL), 0);
	part_of(&f, part);
	fd = open(part, O_RDONLY);
	CU_ASSERT_FATAL(fd >= 0);
	for (uint64_t at = 0; at < SIZE; at += PIECE) {
		uint64_t end = at + PIECE;

		CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_WRITE, at, PIECE, data + at, NULL), 0);
		if (file_cache_is_memory("."))
			continue;
		CU_ASSERT(file_cache_resident(fd, at, PIECE) > 0);
		/* The kernel may hold a page for a moment, hence the tries. */
		for (int i = 0; i < TRIES && store_evict(&f.rig.store, &o, 0, end) != 0; i++)
			;
		CU_ASSERT_EQUAL(file_cache_resident(fd, 0, end), 0);
	}
	close(fd);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_COMMIT, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(rig_get(&f.queue, "x", back, SIZE), 0);
	CU_ASSERT_EQUAL(memcmp(data, back, SIZE), 0);
	files_close(&f);
	free(data);
	free(back);
}

/* Does one request and returns its answer. */
static struct answer answer_to(struct files *f, struct object *o, enum request_op op,
			       uint64_t length, void *data)
{
	struct request req = {.op = op, .object = o, .length = length, .data = data};

	CU_ASSERT_EQUAL(queue_do(&f->queue, &req), 0);
	return req.answer;
}

/* A commit and a close report their times for durability and for visibility separately. */
static void test_durability_and_visibility(void)
{
	static const struct {
		const char *options;
		bool syncs;
	} cases[] = {{"", false},
		     {", \"fsync\": \"file\"", true},
		     {", \"fsync\": \"folder\"", true},
		     {", \"fsync\": \"file\", \"engine\": \"uring\"", true}};
	static char data[4096];
	struct clock clock;

	clock_init(&clock);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct object o = {.key = "x"};
		struct answer a;
		struct files f;

		CU_ASSERT_EQUAL_FATAL(files_open(&f, ".", "file", cases[i].options), 0);
		queue_close(&f.queue);
		f.rig.store.clock = &clock;
		CU_ASSERT_EQUAL_FATAL(queue_open(&f.queue, &f.rig.store, 1, &f.rig.err), 0);
		answer_to(&f, &o, REQ_BEGIN, sizeof(data), NULL);
		a = answer_to(&f, &o, REQ_WRITE, sizeof(data), data);
		CU_ASSERT_EQUAL(a.sync_ns | a.publish_ns, 0);
		a = answer_to(&f, &o, REQ_COMMIT, 0, NULL);
		CU_ASSERT_EQUAL(a.sync_ns > 0, cases[i].syncs);
		CU_ASSERT(a.publish_ns > 0);
		CU_ASSERT(a.sync_ns + a.publish_ns <= a.done_ns - a.submit_ns);
		answer_to(&f, &o, REQ_OPEN, 0, NULL);
		a = answer_to(&f, &o, REQ_CLOSE, 0, NULL);
		CU_ASSERT_EQUAL(a.sync_ns | a.publish_ns, 0);
		answer_to(&f, &o, REQ_UPDATE, 0, NULL);
		answer_to(&f, &o, REQ_WRITE, sizeof(data), data);
		a = answer_to(&f, &o, REQ_CLOSE, 0, NULL);
		CU_ASSERT_EQUAL(a.sync_ns > 0, cases[i].syncs);
		CU_ASSERT_EQUAL(a.publish_ns, 0);
		CU_ASSERT(a.sync_ns <= a.done_ns - a.submit_ns);
		files_close(&f);
	}
}

/* The least free space that a thread has seen on the file system. */
struct watch {
	pthread_t thread;
	atomic_bool over;
	uint64_t free_at_first, free_min; /* bytes */
};

static uint64_t free_bytes(void)
{
	struct statvfs fs;

	CU_ASSERT_EQUAL(statvfs(".", &fs), 0);
	return fs.f_bavail * fs.f_frsize;
}

static void *watch_room(void *argument)
{
	struct watch *w = argument;

	while (!atomic_load(&w->over)) {
		uint64_t now = free_bytes();

		w->free_min = now < w->free_min ? now : w->free_min;
	}
	return NULL;
}

/* A size above the free space is refused at once. Nothing is left of it, and meanwhile other
 * writers keep their space. */
static void check_too_much(struct files *f, const char *part)
{
	struct object o = {.key = "x"};
	struct watch w = {.over = false};

	w.free_at_first = w.free_min = free_bytes();
	CU_ASSERT_EQUAL_FATAL(pthread_create(&w.thread, NULL, watch_room, &w), 0);
	CU_ASSERT_EQUAL(rig_do(&f->queue, &o, REQ_BEGIN, 0, 2 * w.free_at_first, NULL, NULL),
			-ENOSPC);
	atomic_store(&w.over, true);
	pthread_join(w.thread, NULL);
	CU_ASSERT(w.free_min > w.free_at_first / 2);
	CU_ASSERT_EQUAL(access(part, F_OK), -1);
}

/* The part has all of its space reserved, and the published file only what was written. */
static void test_preallocate(void)
{
	struct object o = {.key = "x"};
	char text[100] = "text", part[160];
	struct files f;
	struct stat st;

	CU_ASSERT_EQUAL_FATAL(files_open(&f, ".", "file", ", \"preallocate\": true"), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_BEGIN, 0, SIZE, NULL, NULL), 0);
	part_of(&f, part);
	CU_ASSERT_EQUAL(stat(part, &st), 0);
	CU_ASSERT(st.st_blocks * 512 >= SIZE);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_WRITE, 0, sizeof(text), text, NULL), 0);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_COMMIT, 0, 0, NULL, NULL), 0);
	CU_ASSERT_EQUAL(stat(f.path, &st), 0);
	CU_ASSERT_EQUAL(st.st_size, sizeof(text));
	CU_ASSERT(st.st_blocks * 512 < SIZE);
	check_too_much(&f, part);
	/* An object that is written in place has room for its full size. */
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_UPDATE, 0, SIZE, NULL, NULL), 0);
	CU_ASSERT_EQUAL(stat(f.path, &st), 0);
	CU_ASSERT(st.st_size == SIZE && st.st_blocks * 512 >= SIZE);
	CU_ASSERT_EQUAL(rig_do(&f.queue, &o, REQ_CLOSE, 0, 0, NULL, NULL), 0);
	files_close(&f);
}

static void test_layout_is_found(void)
{
	static const struct {
		const char *text;
		size_t size;
		unsigned char answer[48];
	} cases[] = {
		/* What Lustre answers for a folder: magic, pattern, object, stripe size, count,
		 * first, pool. */
		{"count 4 size 1048576 B",
		 32,
		 {0xd0, 0x0b, 0xd1, 0x0b, 1, 0, 0, 0, [24] = 0, 0, 0x10, 0, 4, 0, 0xff, 0xff}},
		{"count all size 65536 B pool flash",
		 48,
		 {0xd0, 0x0b, 0xd3, 0x0b, 1,    0,   0,   0,   [24] = 0, 0,  1,
		  0,    0xff, 0xff, 0xff, 0xff, 'f', 'l', 'a', 's',      'h'}},
		{"composite", 48, {0xd0, 0x0b, 0xd6, 0x0b}},
		{"", 16, {0xd0, 0x0b, 0xd1, 0x0b}},
		{"", 2, {0xd0, 0x0b}},
		{"", 48, {1, 2, 3, 4}},
	};
	struct file_system fs = {.magic = 0xef53, .name = "ext4"};
	char text[96];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		file_layout_decode(cases[i].answer, cases[i].size, text);
		CU_ASSERT_STRING_EQUAL(text, cases[i].text);
	}
	strcpy(text, "x");
	file_layout_find(".", &fs, text);
	CU_ASSERT_STRING_EQUAL(text, "");
}

static void test_layout_is_reported(void)
{
	static const struct {
		uint64_t magic;
		const char *name, *class, *text;
		enum file_layout_way way;
	} cases[] = {
		{FILE_SYSTEM_LUSTRE, "lustre", "flash",
		 "lustre: stripe count 4 size 1048576 B class flash", FILE_LAYOUT_LUSTRE},
		{FILE_SYSTEM_BEEGFS, "beegfs", "", "beegfs: stripe count 4 size 1048576 B",
		 FILE_LAYOUT_BEEGFS},
		{FILE_SYSTEM_BEEGFS, "beegfs", "x", "not applied: beegfs takes no class",
		 FILE_LAYOUT_NONE},
		{0x65735546, "fuse.daos", "",
		 "not applied: dfuse takes none, set the folder's by `daos fs set-attr`",
		 FILE_LAYOUT_NONE},
		{0xef53, "ext4", "", "not applied: ext4 has no striping that haul can set",
		 FILE_LAYOUT_NONE},
	};
	struct file_layout_options o = {.stripe_count = 4, .stripe_bytes = 1 << 20};
	struct store_facts facts;
	struct file_system fs;
	struct files f;
	char text[96];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fs.magic = cases[i].magic;
		strcpy(fs.name, cases[i].name);
		strcpy(o.class, cases[i].class);
		CU_ASSERT_EQUAL(file_layout_way(&o, &fs, text), cases[i].way);
		CU_ASSERT_STRING_EQUAL(text, cases[i].text);
	}
	o = (struct file_layout_options){0};
	CU_ASSERT_EQUAL(file_layout_way(&o, &fs, text), FILE_LAYOUT_NONE);
	CU_ASSERT_STRING_EQUAL(text, "");
	CU_ASSERT_EQUAL(file_layout_make(FILE_LAYOUT_NONE, &o, "./x"), -EOPNOTSUPP);
	CU_ASSERT_EQUAL_FATAL(files_open(&f, ".", "file", ", \"layout\": {\"stripe_count\": 4}"),
			      0);
	put(&f, 10);
	store_describe(&f.rig.store, &f.rig.described, &facts);
	CU_ASSERT_EQUAL(strncmp(facts.layout, "not applied: ", 13), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(facts.note, facts.layout));
	files_close(&f);
}

static void write_file(const char *path, const char *data, size_t bytes)
{
	FILE *f = fopen(path, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(fwrite(data, 1, bytes, f), bytes);
	fclose(f);
}

/* Every file can be drawn, and nothing else. */
static void test_drawn_file(void)
{
	char folder[] = "/tmp/haul_drawn_XXXXXX", path[FILE_DRAWN_BYTES], command[128];
	struct file_system fs = {.magic = FILE_SYSTEM_LUSTRE};
	uint32_t drawn[3] = {0}, other = 0;
	char text[96];

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
	CU_ASSERT_EQUAL(file_layout_draw(folder, 1, path), -ENOENT);
	CU_ASSERT_EQUAL(file_layout_draw("/nowhere", 1, path), -ENOENT);
	snprintf(command, sizeof(command),
		 "cd %s && mkdir -p a/b && touch .hidden a/b/0 a/b/1 2 && ln -s 2 link", folder);
	CU_ASSERT_EQUAL_FATAL(system(command), 0);
	for (uint64_t seed = 0; seed < 100; seed++) {
		CU_ASSERT_EQUAL(file_layout_draw(folder, seed, path), 0);
		if (strcmp(path + strlen(folder), "/2") == 0)
			drawn[2]++;
		else if (strncmp(path + strlen(folder), "/a/b/", 5) == 0)
			drawn[path[strlen(path) - 1] - '0']++;
		else
			other++;
	}
	CU_ASSERT(drawn[0] > 5 && drawn[1] > 5 && drawn[2] > 5 && !other);
	/* It lies on another file system, which tells nothing. */
	file_layout_find_drawn(folder, 1, &fs, text);
	CU_ASSERT_STRING_EQUAL(text, "");
	snprintf(command, sizeof(command), "rm -r %s", folder);
	CU_ASSERT_EQUAL(system(command), 0);
}

/* Processes as /proc shows them: of two mounts, and another program that names the mount. */
static void test_dfuse(void)
{
	static const char *const comms[] = {"dfuse\n", "dfuse\n", "vi\n"};
	static const char lines[][64] = {
		"dfuse\0-m\0/mnt/other\0--disable-caching",
		"/usr/bin/dfuse\0--mountpoint=/mnt/cont\0-t\00016\0--disable-wb-cache",
		"vi\0/mnt/cont",
	};
	struct file_system fs = {
		.name = "fuse.daos", .point = "/mnt/cont", .options = "rw,max_read=1048576"};
	char proc[] = "/tmp/haul_proc_XXXXXX", path[64], text[FILE_DFUSE_BYTES], command[64];

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(proc));
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%d", proc, 10 + i);
		mkdir(path, 0777);
		snprintf(path, sizeof(path), "%s/%d/comm", proc, 10 + i);
		write_file(path, comms[i], strlen(comms[i]));
		snprintf(path, sizeof(path), "%s/%d/cmdline", proc, 10 + i);
		write_file(path, lines[i], sizeof(lines[i]));
	}
	file_dfuse_find(proc, &fs, text);
	CU_ASSERT_STRING_EQUAL(text,
			       "dfuse --mountpoint=/mnt/cont -t 16 --disable-wb-cache; mounted "
			       "rw,max_read=1048576");
	strcpy(fs.point, "/mnt/third");
	file_dfuse_find(proc, &fs, text);
	CU_ASSERT_STRING_EQUAL(text, "dfuse (not found); mounted rw,max_read=1048576");
	strcpy(fs.name, "ext4");
	file_dfuse_find(proc, &fs, text);
	CU_ASSERT_STRING_EQUAL(text, "");
	snprintf(command, sizeof(command), "rm -r %s", proc);
	CU_ASSERT_EQUAL(system(command), 0);
}

/* Where the test's own folder is mounted. */
static void test_mount(void)
{
	struct file_system fs;

	file_system_find("/proc/self", &fs);
	CU_ASSERT_STRING_EQUAL(fs.name, "proc");
	CU_ASSERT_STRING_EQUAL(fs.point, "/proc");
	CU_ASSERT_EQUAL(strncmp(fs.options, "rw", 2), 0);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"refused", test_refused},
		{"direct:// is file://", test_direct_is_file},
		{"advice has its effect", test_advice_has_its_effect},
		{"pages behind a writer go", test_pages_behind_a_writer_go},
		{"durability and visibility apart", test_durability_and_visibility},
		{"preallocate", test_preallocate},
		{"layout is found", test_layout_is_found},
		{"drawn file", test_drawn_file},
		{"dfuse", test_dfuse},
		{"mount", test_mount},
		{"layout is reported", test_layout_is_reported},
		CU_TEST_INFO_NULL,
	};

	return unit_main("file_options", tests);
}
