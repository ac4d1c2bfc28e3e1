/* SPDX-License-Identifier: Apache-2.0 */
/* The store behind file:// and its short form direct://: options, opening, what works here,
 * channels. */
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "backends/file/cache.h"
#include "backends/file/direct.h"
#include "backends/file/file.h"
#include "backends/file/system.h"
#include "backends/stores.h"
#include "core/content/random.h"
#include "core/numbers.h"

/* Not in every version of linux/magic.h. */
enum { SPACE_ZFS = 0x2fc12fc1, SPACE_XFS = 0x58465342 };

/* Whether a file system of that kind is that of one node. All others count as shared by all nodes,
 * so that nobody takes for its own what others have, too. */
static bool space_local(uint64_t magic)
{
	static const uint64_t local[] = {EXT4_SUPER_MAGIC,      SPACE_XFS,   BTRFS_SUPER_MAGIC,
					 OVERLAYFS_SUPER_MAGIC, TMPFS_MAGIC, RAMFS_MAGIC,
					 F2FS_SUPER_MAGIC,      SPACE_ZFS};

	for (size_t i = 0; i < COUNT(local); i++)
		if (magic == local[i])
			return true;
	return false;
}

static int file_space(const struct store *store, struct store_space *out)
{
	const struct file_store *f = store->state;
	char standing[URI_BYTES];
	struct statvfs fs;
	struct stat st;

	file_standing_folder(store->root, standing);
	if (statvfs(standing, &fs) < 0 || stat(standing, &st) < 0)
		return -errno;
	/* Some file systems tell nothing. */
	if (!fs.f_blocks)
		return -ENODATA;
	out->free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	out->node = space_local(f->system.magic);
	/* Each node numbers the devices of file systems that are not its own, so their kind and
	 * size tell which is meant. */
	out->device = out->node
			      ? st.st_dev
			      : mix64(f->system.magic ^ mix64((uint64_t)fs.f_blocks * fs.f_frsize));
	return 0;
}

enum engine_index { ENGINE_PSYNC, ENGINE_URING, ENGINE_MMAP };
static const struct file_engine *const engines[] = {&file_psync, &file_uring, &file_mmap};
static const char *const engine_names[] = {"psync", "uring", "mmap", NULL};
static const char *const fsync_names[] = {"none", "file", "folder", NULL};
static const char *const fadvise_names[] = {"none",     "sequential", "random",
					    "willneed", "noreuse",    NULL};

/* The two schemes differ in what these two are where the job does not say. */
#define WAY_OPTIONS(engine_default, direct_default) \
	OPT_CHOICE("engine", struct file_options, engine, .def = (engine_default), \
		   .choices = engine_names, \
		   .help = "how bytes are moved; psync: pread and pwrite, one at a time; uring: " \
			   "io_uring, many at once; mmap: files mapped, one at a time"), \
		OPT_BOOL("direct", struct file_options, direct, .def = (direct_default), \
			 .help = "bypasses the page cache (O_DIRECT)"), \
		OPT_END
static const struct option file_way_options[] = {WAY_OPTIONS(ENGINE_PSYNC, false)};
static const struct option direct_way_options[] = {WAY_OPTIONS(ENGINE_URING, true)};

static const struct option layout_options[] = {
	OPT_U64("stripe_count", struct file_layout_options, stripe_count, .def = 0, .max = 65535,
		.help = "number of servers or targets that a file is spread over; 0: as its folder says"),
	OPT_BYTES("stripe_size", struct file_layout_options, stripe_bytes, .def = 0,
		  .max = 1u << 31,
		  .help = "bytes that go to one of them before the next; 0: as its folder says"),
	OPT_TEXT("class", struct file_layout_options, class, .def_text = "",
		 .help = "the pool of a Lustre file; empty: as its folder says"),
	OPT_END,
};

static const struct option file_options[] = {
	OPT_CHOICE(
		"fsync", struct file_options, fsync, .choices = fsync_names,
		.help = "what is synced when an object is published: nothing, its file, or its file and folder"),
	OPT_CHOICE("fadvise", struct file_options, fadvise, .choices = fadvise_names,
		   .help = "what the page cache is told of a file when it is opened to be read"),
	OPT_BYTES(
		"readahead", struct file_options, readahead, .def = 0, .max = 1ull << 40,
		.help = "bytes behind each read that the kernel is asked to fetch; 0: its own choice"),
	OPT_BOOL("preallocate", struct file_options, preallocate, .def = false,
		 .help = "reserves the space of a whole file when it is begun (fallocate)"),
	OPT_TEXT(
		"on", struct file_options, on, .def_text = "",
		.help = "the file system that the folder must be on, as each node proves before a run "
			"begins: its type (lustre, dfuse, nfs) or its mount point (/flare); empty: any"),
	OPT_TABLE("layout", struct file_options, layout, .table = layout_options,
		  .help = "striping of new files, where the file system has it"),
	OPT_END,
};

/* The URI of a job may begin with a placeholder or a variable, known only at open. */
static int check_paths(const struct texts *uris, const char *path, struct err *err)
{
	for (uint32_t i = 0; i < uris->count; i++) {
		const char *uri = uris->items[i], *rest = strstr(uri, "://");
		int scheme = rest ? (int)(rest - uri) : 0;

		if (!rest || !rest[3] || !strchr("/.${", rest[3]))
			return err_set(
				err, -EINVAL,
				"%s/uri: \"%s\" names no path; write %.*s:///absolute or %.*s://./relative",
				path, uri, scheme, uri, scheme, uri);
	}
	return 0;
}

static int check_layout(const struct file_layout_options *o, const char *path, struct err *err)
{
	if (o->stripe_bytes % FILE_STRIPE_BYTES)
		return err_set(err, -EINVAL, "%s/layout/stripe_size: must be a multiple of 64 KiB",
			       path);
	return 0;
}

static int file_check(const void *from, const char *path, struct err *err)
{
	const struct file_options *o = from;
	int rc = check_paths(&o->common.uri, path, err);

	if (rc == 0)
		rc = check_layout(&o->layout, path, err);
	if (rc < 0 || !o->direct)
		return rc;
	if (engines[o->engine]->cached_only)
		return err_set(
			err, -EINVAL,
			"%s/engine: %s reads through the page cache; take psync or uring, or no "
			"direct I/O",
			path, engine_names[o->engine]);
	if (o->fadvise || o->readahead)
		return err_set(
			err, -EINVAL,
			"%s/%s: speaks of the page cache, which direct I/O goes around; leave "
			"one out",
			path, o->fadvise ? "fadvise" : "readahead");
	return 0;
}

static int direct_check(const void *from, const char *path, struct err *err)
{
	const struct file_options *o = from;

	if (!o->direct)
		return err_set(err, -EINVAL,
			       "%s/direct: direct:// is direct; write file:// for the page cache",
			       path);
	return file_check(from, path, err);
}

static int file_stand(const void *from, const char *root, struct err *err)
{
	const struct file_options *o = from;
	struct file_system fs;

	if (!o->on[0])
		return 0;
	file_system_find(root, &fs);
	if (file_system_is(&fs, o->on))
		return 0;
	return err_set(err, -ENODEV,
		       "%s is on %s, mounted at %s, and the job wants it on %s: it may not be "
		       "mounted on this node",
		       root, *fs.name ? fs.name : "an unknown file system",
		       *fs.point ? fs.point : "an unknown place", o->on);
}

static void note(struct file_store *f, const char *text)
{
	size_t n = strlen(f->note);

	snprintf(f->note + n, sizeof(f->note) - n, "%s%s", n ? "; " : "", text);
}

/* An asynchronous engine hands its requests to the kernel itself. */
static int try_engine(const struct store *store, const struct file_engine *wanted, struct err *err)
{
	struct file_system fs;
	const char *library;

	if (wanted->submit) {
		file_system_find(store->root, &fs);
		library = file_interception(store->root, &fs);
		if (library)
			return err_set(err, -ENOTSUP, "it goes around %s", library);
	}
	return wanted->probe ? wanted->probe(store, err) : 0;
}

const struct file_engine *file_engine_working(const struct store *store,
					      const struct file_engine *wanted, char why[256])
{
	struct err err = {0};

	if (try_engine(store, wanted, &err) == 0)
		return wanted;
	snprintf(
		why, 256,
		"engine %s does not work here (%.120s); psync takes its place, one request at a time",
		wanted->name, err.text);
	if (store->place.local_rank == 0)
		log_say(store->log, LOG_WARNING, "%s: %s", store->uri, why);
	return &file_psync;
}

/* What is found out by doing. One rank of a node tries, for all whose folder is the same. */
struct trial {
	char root[URI_BYTES];
	int32_t rc;
	uint32_t block;
	bool engine_works, room_works;
	char why[256]; /* the engine does not */
	struct err err;
};

static bool reserves(const struct store *store)
{
	int fd = file_nameless(store->root, 0);
	bool refused = fd >= 0 && fallocate(fd, 0, 0, 4096) < 0 && errno == EOPNOTSUPP;

	if (fd >= 0)
		close(fd);
	return !refused;
}

static void try_here(struct store *store, struct trial *t)
{
	const struct file_options *o = file_options_of(store);
	const struct file_engine *wanted = engines[o->engine];

	memset(t, 0, sizeof(*t));
	strcpy(t->root, store->root);
	t->block = 1;
	if (store->root[0] != '/' && store->root[0] != '.')
		t->rc = err_set(&t->err, -EINVAL,
				"\"%s\" names no path; write file:///absolute or file://./relative",
				store->uri);
	else if (o->direct)
		t->rc = file_direct_block(store->root, &t->block, &t->err);
	if (t->rc < 0)
		return;
	store->alignment = t->block;
	t->engine_works = file_engine_working(store, wanted, t->why) == wanted;
	t->room_works = !o->preallocate || reserves(store);
}

static void try_once_a_node(struct store *store, struct trial *t)
{
	memset(t, 0, sizeof(*t));
	if (!store->node || store->node->rank == 0)
		try_here(store, t);
	if (store->node)
		group_broadcast(store->node, t, sizeof(*t));
	if (strcmp(t->root, store->root) != 0)
		try_here(store, t);
}

/* What was tried, and what the file system takes. */
static void settle(struct store *store, struct file_store *f, const struct trial *t)
{
	const struct file_options *o = file_options_of(store);
	char text[128];

	store->alignment = t->block;
	f->engine = t->engine_works ? engines[o->engine] : &file_psync;
	if (!t->engine_works)
		note(f, t->why);
	file_system_find(store->root, &f->system);
	f->interception = file_interception(store->root, &f->system);
	if (f->interception) {
		snprintf(
			text, sizeof(text),
			"%s carries out the calls: each process has its own connection to the pool",
			f->interception);
		note(f, text);
	}
	if (!t->room_works) {
		snprintf(text, sizeof(text), "preallocate: %s reserves no room", f->system.name);
		note(f, text);
	}
	f->layout = file_layout_way(&o->layout, &f->system, f->layout_text);
	if (f->layout == FILE_LAYOUT_NONE && f->layout_text[0]) {
		snprintf(text, sizeof(text), "layout %s", f->layout_text);
		note(f, text);
	}
	if (file_cache_is_memory(store->root))
		store->cache = CACHE_MEMORY;
	else
		store->cache = o->direct || f->interception ? CACHE_UNKNOWN : CACHE_PAGES;
}

static int file_open(struct store *store, struct err *err)
{
	size_t length = strlen(store->root);
	struct file_store *f;
	struct trial t;
	int rc = 0;

	while (length > 1 && store->root[length - 1] == '/')
		store->root[--length] = '\0';
	try_once_a_node(store, &t);
	if (t.rc < 0) {
		*err = t.err;
		return t.rc;
	}
	f = calloc(1, sizeof(*f));
	if (!f)
		return err_set(err, -ENOMEM, "no memory for %s", store->uri);
	settle(store, f, &t);
	if (f->engine->start)
		rc = f->engine->start();
	if (rc < 0) {
		err_set(err, rc, "%s: engine %s: %s", store->uri, f->engine->name, strerror(-rc));
		free(f);
		return rc;
	}
	store->state = f;
	return 0;
}

static void file_close(struct store *store)
{
	free(store->state);
}

static void describe_add(struct store_facts *facts, const char *whose, const char *what)
{
	size_t n = strlen(facts->layout);

	if (what[0])
		snprintf(facts->layout + n, sizeof(facts->layout) - n, "%s%s%s", n ? "; " : "",
			 whose, what);
}

/* What the job asks for, then what the file system gives to files without it. */
static void describe_layout(const struct store *store, struct store_facts *facts)
{
	const struct file_store *f = store->state;
	char found[FILE_DFUSE_BYTES];

	describe_add(facts, "", f->layout_text);
	file_layout_find(store->root, &f->system, found);
	describe_add(facts, "the folder's: ", found);
	file_layout_find_drawn(store->root, store->seed, &f->system, found);
	describe_add(facts, "a drawn file's: ", found);
	file_dfuse_find("/proc", &f->system, found);
	describe_add(facts, "", found);
}

static void file_describe(const struct store *store, struct store_facts *facts)
{
	const struct file_store *f = store->state;

	snprintf(facts->engine, sizeof(facts->engine), "%s%s%s", f->engine->name,
		 f->interception ? " by " : "", f->interception ? f->interception : "");
	snprintf(facts->file_system, sizeof(facts->file_system), "%s", f->system.name);
	describe_layout(store, facts);
	snprintf(facts->note, sizeof(facts->note), "%s", f->note);
	facts->direct = file_options_of(store)->direct;
	facts->block_bytes = facts->direct ? store->alignment : 0;
	facts->copies_read = f->engine->copies_read;
}

static uint32_t file_depth(const void *options)
{
	const struct file_options *o = options;

	return engines[o->engine]->depth_max;
}

/* psync in another's place takes the other's depth: it completes each request inside submit. */
static int file_channel_open(struct channel *c, struct err *err)
{
	const struct file_engine *wanted = engines[file_options_of(c->store)->engine];
	const struct file_engine *engine = file_engine_of(c->store);
	struct file_channel *ch;
	int rc;

	if (c->depth > wanted->depth_max)
		return err_set(
			err, -EINVAL,
			"file:// engine %s works on one request at a time; set depth 1 or another engine",
			wanted->name);
	c->synchronous = !engine->submit;
	c->streams = engine->streams;
	if (c->synchronous)
		return 0;
	ch = calloc(1, sizeof(*ch) + c->depth * sizeof(struct request *));
	if (!ch)
		return err_set(err, -ENOMEM, "no memory for a queue of depth %u", c->depth);
	ch->ready = (struct request **)(ch + 1);
	c->state = ch;
	rc = engine->open(c, err);
	if (rc < 0) {
		free(ch);
		c->state = NULL;
	}
	return rc;
}

static void file_channel_close(struct channel *c)
{
	if (!c->state)
		return;
	file_engine_of(c->store)->close(c);
	free(c->state);
}

static void file_channel_memory(struct channel *c, void *base, uint64_t bytes)
{
	if (c->state)
		file_engine_of(c->store)->add_memory(c, base, bytes);
}

#define FILE_HELP   "a folder of files, local or on a parallel file system"
#define DIRECT_HELP "file:// with engine uring and direct I/O, where nothing else is said"

#define FILE_SECTION(scheme, text, way, ops) \
	{ \
		.name = (scheme), .help = (text), \
		.tables = {store_common_options, (way), file_options}, \
		.size = sizeof(struct file_options), .owner = (ops), \
	}

/* Bytes of the file that are holes. The position of the descriptor is nobody's: all reads name theirs. A file whose blocks hold all of
 * its bytes has no holes, which is known without looking for them. */
static int64_t file_holes(const struct store *store, const struct object *o)
{
	int fd = file_descriptor(o);
	off_t data = 0, hole, holes = 0;
	struct stat st;

	if (files_of(store)->interception)
		return -ENOTSUP;
	if (fd < 0)
		return -EBADF;
	if (fstat(fd, &st) < 0)
		return -errno;
	if ((uint64_t)st.st_blocks * 512 >= (uint64_t)st.st_size)
		return 0;
	for (hole = 0; hole < st.st_size; hole = lseek(fd, data, SEEK_HOLE)) {
		if (hole < 0)
			return -errno;
		data = lseek(fd, hole, SEEK_DATA);
		if (data < 0 && errno != ENXIO)
			return -errno;
		holes += (data < 0 ? st.st_size : data) - hole;
		if (data < 0)
			break;
	}
	return holes;
}

#define FILE_OPERATIONS \
	.capabilities = BACKEND_CONTENT | BACKEND_RANGES | BACKEND_ATOMIC_COMMIT | \
			BACKEND_PERSISTENT | BACKEND_MANY_NODES | BACKEND_MISSING_IS_ERROR | \
			BACKEND_DEPTH | BACKEND_CACHED | BACKEND_RENAME | BACKEND_LIST | \
			BACKEND_UPDATE | BACKEND_SHARED | BACKEND_LIST_PARTS | BACKEND_WRITES | \
			BACKEND_MAPS, \
\
	.transfer = 4 << 20, .depth_max = QUEUE_DEPTH_MAX, .depth = file_depth, .open = file_open, \
	.stand = file_stand, .close = file_close, .describe = file_describe, \
	.channel_open = file_channel_open, .channel_close = file_channel_close, \
	.channel_memory = file_channel_memory, .submit = file_submit, .reap = file_reap, \
	.resident = file_resident, .evict = file_evict, .holes = file_holes, .space = file_space, \
	.own = file_own

const struct backend_ops file_backend = {
	.scheme = "file",
	.help = FILE_HELP,
	.section = FILE_SECTION("file", FILE_HELP, file_way_options, &file_backend),
	.check = file_check,
	FILE_OPERATIONS,
};

const struct backend_ops direct_backend = {
	.scheme = "direct",
	.help = DIRECT_HELP,
	.section = FILE_SECTION("direct", DIRECT_HELP, direct_way_options, &direct_backend),
	.check = direct_check,
	FILE_OPERATIONS,
};
