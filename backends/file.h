/* What file.c and its engines share. Engines move bytes; file.c does all else. */
#ifndef HAUL_BACKENDS_FILE_H
#define HAUL_BACKENDS_FILE_H

#include "backends/backend.h"

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

struct file_engine {
	const char *name;
	uint32_t depth_max;
	/* One attempt at an IO_READ or IO_WRITE, from done_bytes on. */
	void (*move)(struct channel *c, struct io *io);
};

extern const struct file_engine file_psync;

/* The descriptor of an open object, or -1. */
static inline int file_descriptor(const struct object *o)
{
	uint64_t word = o->state[FILE_DESCRIPTOR];

	return word && word != FILE_CLOSED ? (int)(word - 1) : -1;
}

#endif
