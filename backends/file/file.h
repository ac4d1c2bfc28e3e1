/* SPDX-License-Identifier: Apache-2.0 */
/* What file.c, version.c and the engines share. Engines move bytes; version.c writes versions of
 * objects beside that; file.c does all else. */
#ifndef HAUL_BACKENDS_FILE_FILE_H
#define HAUL_BACKENDS_FILE_FILE_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/backend.h"
#include "backends/file/system.h"
#include "backends/store.h"

/* Reading mapped files: a page that cannot be had any more (the file was cut short, the device
 * failed) raises SIGBUS in the thread that touches it. A guard turns that into a word that says so:
 * zeroes take the place of what is missing, the thread goes on, and whoever reads the word knows.
 *
 * A guard is the calling thread's own. A SIGBUS outside of its guard ends the process as it would
 * have. */

struct fault_guard {
	char *base; /* whole pages of a mapping */
	uint64_t bytes, page_bytes;
	/* Set to 1 before the zeroes can be seen: who reads the same mapping in another thread and
	 * finds 0 after its own reading has had no zeroes. */
	uint64_t *broken;
};

/* Makes SIGBUS ours, for good; more than once does no harm. Before the first guard of the
 * process. */
int fault_guard_install(void);

/* g must stand until the guard is left. They do not nest. */
void fault_guard_enter(const struct fault_guard *g);
void fault_guard_leave(void);

/* Striping of new files, said to the file systems that have it, without their libraries:
 *
 *	            Lustre                      BeeGFS
 *	stripe_count  OSTs a file               targets a file
 *	stripe_size   stripe, times 64 KiB      chunk, a power of two from 64 KiB
 *	class         pool of OSTs              –
 *
 * A file gets its layout when it is made; what stands keeps its own. DAOS takes a layout (an object
 * class) through its library only, so dfuse does not: said, not done. */

enum { FILE_STRIPE_BYTES = 65536, FILE_CLASS_BYTES = 16, FILE_DRAWN_BYTES = 4096 };

struct file_layout_options {
	uint64_t stripe_count, stripe_bytes; /* 0: the folder's own */
	char class[FILE_CLASS_BYTES];        /* "": the folder's own */
};

enum file_layout_way { FILE_LAYOUT_NONE, FILE_LAYOUT_LUSTRE, FILE_LAYOUT_BEEGFS };

/* How a layout is said on this file system; text[96]: what is said, or why nothing is. */
enum file_layout_way file_layout_way(const struct file_layout_options *o,
				     const struct file_system *fs, char text[96]);

/* The layout that new files of the folder get unless they are given another: what Lustre tells of
 * it, in text[96] ("count 4 size 1048576 B pool flash"); "" where the file system tells nothing. */
void file_layout_find(const char *folder, const struct file_system *fs, char text[96]);
/* The same of one of the files below the folder, which seed draws; "" where there is none. */
void file_layout_find_drawn(const char *folder, uint64_t seed, const struct file_system *fs,
			    char text[96]);
/* Draws a file below the folder, from the first entries of each folder on the way. -ENOENT: none
 * was found. */
int file_layout_draw(const char *folder, uint64_t seed, char path[FILE_DRAWN_BYTES]);
/* The same of what Lustre answers. */
void file_layout_decode(const void *answer, size_t size, char text[96]);

/* Makes an empty file with the layout. -EEXIST: one stands already; -EOPNOTSUPP: there is no
 * way. */
int file_layout_make(enum file_layout_way way, const struct file_layout_options *o,
		     const char *path);

enum file_fsync { FILE_FSYNC_NONE, FILE_FSYNC_FILE, FILE_FSYNC_FOLDER };

enum file_fadvise {
	FILE_FADVISE_NONE,
	FILE_FADVISE_SEQUENTIAL,
	FILE_FADVISE_RANDOM,
	FILE_FADVISE_WILLNEED,
	FILE_FADVISE_NOREUSE
};

enum { FILE_ON_BYTES = 256 };

struct file_options {
	struct store_options common;
	uint32_t engine; /* index into the engines of store.c */
	bool direct;
	uint32_t fsync;   /* enum file_fsync */
	uint32_t fadvise; /* enum file_fadvise */
	uint64_t readahead;
	bool preallocate;
	struct file_layout_options layout;
	char on[FILE_ON_BYTES]; /* the file system that is meant, or where it is mounted; empty: any */
};

/* What an object's state words hold while it is open. */
enum {
	FILE_DESCRIPTOR, /* + 1, or FILE_CLOSED: begun, its part file stands, but is closed */
	FILE_WRITTEN,    /* end of the writes: direct I/O pads the last block, commit cuts it off */
	FILE_MAP,        /* where it is mapped, and how much of it: open for reading with mmap */
	FILE_MAP_BYTES,
	FILE_DRAWN = FILE_MAP, /* of one that is begun: the number of its part (core/part.h) */
	FILE_ENDING =
		FILE_MAP_BYTES, /* of one that is begun: 0, or the address of request.begin.ending */
	FILE_BROKEN = FILE_WRITTEN /* of a mapped one: see struct fault_guard */
};
#define FILE_CLOSED UINT64_MAX

/* A synchronous engine has move alone; an asynchronous one has all but move. */
struct file_engine {
	const char *name;
	uint32_t depth_max;
	uint32_t copies_read; /* of each byte, in user space, where a request carries data */
	bool streams;         /* hands its own memory to chunk: see channel.streams */
	bool cached_only;     /* knows no direct I/O */
	/* One attempt at an REQ_READ or REQ_WRITE, from done_bytes on. */
	void (*move)(struct channel *c, struct request *req);

	/* Moves one block below root through the engine, in time; a sentence says why it cannot. */
	int (*probe)(const struct store *store, struct err *err);
	int (*start)(void); /* once a process at least, before all that follows. NULL: nothing */
	/* Of an object open for reading: behind its open, before its close. NULL: nothing. */
	int (*object_open)(struct object *o);
	void (*object_close)(struct object *o);
	int (*open)(struct channel *c, struct err *err); /* sets file_channel.engine */
	void (*close)(struct channel *c);
	void (*add_memory)(struct channel *c, void *base, uint64_t bytes);
	/* Starts one attempt each. What cannot even start goes to file_ready. */
	void (*submit)(struct channel *c, struct request *const *reqs, uint32_t n);
	uint32_t (*reap)(struct channel *c, struct request **done, uint32_t min, uint32_t max,
			 uint64_t deadline_ns);
};

extern const struct file_engine file_psync;
extern const struct file_engine file_mmap;
extern const struct file_engine file_uring; /* where liburing is absent, one whose probe says so */

/* A channel of an asynchronous engine. What completes inside submit waits for reap in ready. */
struct file_channel {
	void *engine;
	uint32_t ready_count;
	struct request **ready; /* [depth] */
};

static inline void file_ready(struct channel *c, struct request *req)
{
	struct file_channel *ch = c->state;

	ch->ready[ch->ready_count++] = req;
}

/* What is in effect on an open store. */
struct file_store {
	const struct file_engine *engine; /* at work, which may not be the one in the options */
	struct file_system system;
	const char *interception; /* file_interception */
	enum file_layout_way layout;
	char layout_text[96];
	char note[256];               /* what is not as asked for, or "" */
	_Atomic bool threads_refused; /* io_uring was, and it has been said */
};

static inline const struct file_options *file_options_of(const struct store *store)
{
	return store->options;
}

static inline const struct file_store *files_of(const struct store *store)
{
	return store->state;
}

static inline const struct file_engine *file_engine_of(const struct store *store)
{
	return files_of(store)->engine;
}

/* The engine that works here: the wanted one, or psync after a warning that says why (one a node),
 * and a note of it. */
const struct file_engine *file_engine_working(const struct store *store,
					      const struct file_engine *wanted, char note[256]);

/* The descriptor of an open object, or -1. */
static inline int file_descriptor(const struct object *o)
{
	uint64_t word = o->state[FILE_DESCRIPTOR];

	return word && word != FILE_CLOSED ? (int)(word - 1) : -1;
}

enum { FILE_PATH_BYTES = URI_BYTES + OBJECT_KEY_BYTES + 16, FILE_FOLDER_TRIES = 3 };

/* Of version.c, as all up to file_refuse_others is: the path of the object with that suffix. */
void file_path(const struct store *store, const struct object *o, const char *suffix,
	       char path[FILE_PATH_BYTES]);

/* A descriptor or a negative errno. */
int file_open_retried(const char *path, int flags);

static inline int file_direct_flag(const struct store *store)
{
	return file_options_of(store)->direct ? O_DIRECT : 0;
}

/* Requests that write a version, and what makes it durable. 0 or a negative errno. */
int file_begin(const struct store *store, const struct request *req);
int file_update(const struct store *store, struct request *req);
int file_commit(const struct store *store, struct request *req);
int file_abort(const struct store *store, struct object *o);
int file_sync(const struct store *store, int fd, struct answer *a);
/* The answer to a request on what haul did not make. */
int file_refuse_others(struct request *req);

/* The kernel is asked to fetch what lies behind a read, where the options say how much. */
static inline void file_ask_ahead(const struct store *store, int fd, uint64_t end)
{
	const struct file_options *o = store->options;

	if (o->readahead)
		posix_fadvise(fd, (off_t)end, (off_t)o->readahead, POSIX_FADV_WILLNEED);
}

/* Maps an object that has been opened, where the engine does, or since it is to be touched (mmap.c). */
int file_map_opened(const struct store *store, struct object *o, bool touch);

/* Verbs (file.c); the store itself, its options and what is found out about it (store.c). */
void file_submit(struct channel *c, struct request *const *reqs, uint32_t n);
uint32_t file_reap(struct channel *c, struct request **done, uint32_t min, uint32_t max,
		   uint64_t deadline_ns);
int64_t file_resident(const struct store *store, const struct object *o, uint64_t offset,
		      uint64_t length);
int64_t file_evict(const struct store *store, const struct object *o, uint64_t offset,
		   uint64_t length);
int file_own(const struct store *store, const char *folder, struct owner *owner, struct err *err);

#endif
