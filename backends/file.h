/* What file.c and its engines share. Engines move bytes; file.c does all else. */
#ifndef HAUL_BACKENDS_FILE_H
#define HAUL_BACKENDS_FILE_H

#include "backends/backend.h"
#include "backends/file_system.h"

enum file_fsync { FILE_FSYNC_NONE, FILE_FSYNC_FILE, FILE_FSYNC_FOLDER };

struct file_options {
	struct store_options common;
	uint32_t engine; /* index into the engines of file.c */
	bool direct;
	uint32_t fsync; /* enum file_fsync */
};

/* What an object's state words hold while it is open. */
enum {
	FILE_DESCRIPTOR, /* + 1, or FILE_CLOSED: begun, its part file stands, but is closed */
	FILE_WRITTEN     /* end of the writes: direct I/O pads the last block, commit cuts it off */
};
#define FILE_CLOSED UINT64_MAX

/* A synchronous engine has move alone; an asynchronous one has all but move. */
struct file_engine {
	const char *name;
	uint32_t depth_max;
	uint32_t copies_read; /* of each byte, in user space, where a request carries data */
	/* One attempt at an IO_READ or IO_WRITE, from done_bytes on. */
	void (*move)(struct channel *c, struct io *io);

	/* Moves one block below root through the engine, in time; a sentence says why it cannot. */
	int (*probe)(const struct store *store, struct err *err);
	int (*open)(struct channel *c, struct err *err); /* sets file_channel.engine */
	void (*close)(struct channel *c);
	void (*add_memory)(struct channel *c, void *base, uint64_t bytes);
	/* Starts one attempt each. What cannot even start goes to file_ready. */
	void (*submit)(struct channel *c, struct io *const *ios, uint32_t n);
	uint32_t (*reap)(struct channel *c, struct io **done, uint32_t min, uint32_t max,
			 uint64_t deadline_ns);
};

extern const struct file_engine file_psync;
extern const struct file_engine file_uring; /* where liburing is absent, one whose probe says so */

/* A channel of an asynchronous engine. What completes inside submit waits for reap in ready. */
struct file_channel {
	void *engine;
	uint32_t ready_count;
	struct io **ready; /* [depth] */
};

static inline void file_ready(struct channel *c, struct io *io)
{
	struct file_channel *ch = c->state;

	ch->ready[ch->ready_count++] = io;
}

/* What is in effect on an open store. */
struct file_store {
	const struct file_engine *engine; /* at work, which may not be the one in the options */
	struct file_system system;
	char note[256]; /* what is not as asked for, or "" */
};

/* The engine that works here: the wanted one, or psync after a warning that says why (one a node), and
 * a note of it. */
const struct file_engine *file_engine_working(const struct store *store,
					      const struct file_engine *wanted, char note[256]);

/* The descriptor of an open object, or -1. */
static inline int file_descriptor(const struct object *o)
{
	uint64_t word = o->state[FILE_DESCRIPTOR];

	return word && word != FILE_CLOSED ? (int)(word - 1) : -1;
}

#endif
