/* SPDX-License-Identifier: Apache-2.0 */
/* Data format: the bytes of a file as a function of seed and index.
 *
 * A format says how large a file is, which byte ranges a real reader requests for a sample (in the
 * reader's order: header or footer first, then data), and what any range of the file holds. All of
 * it takes constant time and memory. The payload comes from core/content/fill. The first 8 bytes of
 * a sample's payload (where the sample has 8, and the format leaves them free) hold the sample's
 * id, little-endian, so that a reader can prove what it read. Where they are not free, the first
 * comment of the format's file says where the id is.
 *
 * A format is one file, NAME.c (and NAME_walk.c where decoding it takes more than a few lines), and
 * one line in table.h. docs/add-a-format.md has a complete example.
 *
 * What a format cannot express today:
 *   - Samples of several sizes in one file. Sizes differ from file to file only.
 *   - Samples of several parts that a loader decodes differently (a picture and its caption, say).
 *     A sample is one payload; what a format puts around it counts as overhead.
 *   - Looking for a sample. `extents` gives the ranges of a reader that knows where the sample is. A
 *     container without an index (tfrecord) is honest when it is read as a stream or when its readers
 *     have an index from elsewhere. A reader that scans the file once to build an index can be
 *     expressed: an extent of the whole file, CACHE_FOR_FILE. One that scans for each sample cannot be. */
#ifndef HAUL_WORKLOADS_FORMATS_FORMAT_H
#define HAUL_WORKLOADS_FORMATS_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/option/option.h"
#include "workloads/formats/count.h"

enum {
	FORMAT_EXTENTS_MAX = 260,
	FORMAT_HEADER_BYTES = 32 << 10, /* at most, of a header and of a trailer */
	FORMAT_OPTION_BYTES = 64,       /* at most, of the struct with a format's options */
	FORMAT_MAGIC_BYTES = 16,        /* at most */
	/* A file may consist of several objects: 0, the file itself, and others beside it. */
	FORMAT_OBJECTS_MAX = 3,
	FORMAT_SUFFIX_BYTES = 16,
	LAYOUT_STATE_BYTES = 96
};

/* How long a reader keeps what it read. Closing the file drops everything. */
enum cache_scope {
	CACHE_FOR_SAMPLE, /* each sample reads it again */
	CACHE_FOR_GROUP,  /* while its group of samples is among the last few used */
	CACHE_FOR_FILE    /* as long as the file is open */
};

/* A range of an object of the file, how many bytes of it a reader requests at once (0: as many as
 * it can), and how long the reader keeps them. */
struct extent {
	uint64_t offset, length, step;
	uint32_t object;
	enum cache_scope cache;
};

struct format_ops;

/* One object of one file, laid out. Made by layout_make; plain data, read-only afterwards, any thread.
 *
 *	header                | data part                        | trailer
 *	0         data_offset   data_offset + data_bytes     size
 *
 * The trailer has gap_bytes zeros (npz, hdf5: the labels) behind its first gap_at bytes. */
struct layout {
	const struct format_ops *format;
	const void *options; /* the format's own struct, of the data set */
	uint64_t file;       /* index in the data set */
	uint64_t key;        /* fill_key of the payload */
	uint64_t first_id;   /* id of sample 0 of this file */
	uint64_t samples;    /* in this file */
	uint64_t sample_bytes;
	uint32_t object; /* which object of the file is laid out */

	/* Set by the format's layout hook. Zero before it, except for logical_bytes. */
	uint32_t id_bytes; /* 8: little-endian; more: decimal digits; 0: no room for ids */
	uint64_t size;     /* of the object */
	uint64_t data_offset, data_bytes;
	uint64_t gap_at, gap_bytes;
	uint64_t stride, id_at; /* sample k's id is at id_at + k * stride, unless id_place says */
	uint64_t
		logical_bytes; /* that a loader hands on per sample; sample_bytes before the hook */
	uint64_t group_samples; /* samples that share what is CACHE_FOR_GROUP; 0: nothing is */
	_Alignas(8) unsigned char state[LAYOUT_STATE_BYTES]; /* the format's own: LAYOUT_STATE */
};

/* The state that a format keeps in each layout, as a struct of its own. A struct that does not fit
 * stops the build. */
#define LAYOUT_STATE(type, l) \
	((type *)((l)->state + 0 * sizeof(char[sizeof(type) <= LAYOUT_STATE_BYTES ? 1 : -1])))

/* What every file of a format has at one place, by which a wrong file is noticed before a phase. */
struct format_magic {
	const char *bytes; /* NULL: the format has none */
	uint32_t count;    /* at most FORMAT_MAGIC_BYTES */
	uint64_t offset;
};

struct walk_ops;

struct format_ops {
	/* Of file names, without the dot. NULL: the format's name. */
	const char *extension;
	struct format_magic magic;
	/* A reader leaves the file open for the file's next sample. Otherwise each sample opens and
	 * closes it, and no cache scope lasts longer than the sample. */
	bool stays_open;
	/* The file may be read as a stream: sample 0 begins at byte 0, and each of the others where
	 * the one before it ends, one extent each. A trailer is read behind the last sample. */
	bool streams;
	/* Suffixes that make the names of objects 1 … from the file's name. */
	char beside[FORMAT_OBJECTS_MAX - 1][FORMAT_SUFFIX_BYTES];

	/* Refuses what the format cannot hold, in a sentence. The sizes are the smallest and the
	 * largest that will be drawn. May be NULL. */
	int (*check)(const void *options, uint64_t samples, uint64_t sample_bytes_min,
		     uint64_t sample_bytes_max, struct err *err);
	/* Called by layout_make; fills the second half of the layout. */
	void (*layout)(struct layout *l);
	/* The ranges that a reader without any cached data requests for a sample (0-based in the
	 * file), in order. l is of object 0. Returns their number. */
	uint32_t (*extents)(const struct layout *l, uint64_t sample,
			    struct extent out[FORMAT_EXTENTS_MAX]);
	/* Make the whole header (data_offset bytes, no more), and the whole trailer without its
	 * gap. Called when bytes of them are needed. NULL: the format has none. */
	void (*header)(const struct layout *l, uint8_t *out);
	void (*trailer)(const struct layout *l, uint8_t *out);
	/* Makes the bytes [offset, offset + length) of the object, inside the data part. A block
	 * that must be made whole to make any byte of it should have at most some 64 KiB. */
	void (*payload)(const struct layout *l, uint64_t offset, void *data, uint64_t length);
	/* Where the id of a sample is, in layouts that have ids. NULL: id_at and stride say. */
	uint64_t (*id_place)(const struct layout *l, uint64_t sample);
	/* Looks at the bytes as a decoder would (walk.h). NULL: haul cannot. */
	const struct walk_ops *walk;
	/* How many samples a file says that it holds (count.h). NULL: files of the format do not
	 * tell. */
	format_count *count;
	/* How files are read that haul did not make and whose sizes only the store knows. NULL: as
	 * format_parts. */
	const struct format_ops *parts;
};

/* Not in the table: files that haul did not make and whose sizes only the store knows. Nothing of
 * theirs is ever made or verified. */
extern const struct format_ops format_parts;

/* Number of objects that make a file. */
uint32_t format_objects(const struct format_ops *format);

/* Lays out an object. The members from format to object are set. */
void layout_make(struct layout *l);
/* Another object of l's file. */
void layout_beside(const struct layout *l, uint32_t object, struct layout *out);

/* Makes the object's bytes [offset, offset + length): header, payload with ids, trailer. */
void layout_image(const struct layout *l, uint64_t offset, void *data, uint64_t length);

/* Compares. Returns length when all bytes agree, else the position in data of the first byte that
 * differs. scratch is at least LAYOUT_SCRATCH_BYTES, the caller's. */
enum { LAYOUT_SCRATCH_BYTES = 64 << 10 };
uint64_t layout_verify(const struct layout *l, uint64_t offset, const void *data, uint64_t length,
		       void *scratch);

/* Whether the bytes [offset, offset + length) of the file hold the whole id of sample; if so,
 * *position is where the id begins in them. */
bool layout_id_at(const struct layout *l, uint64_t sample, uint64_t offset, uint64_t length,
		  uint64_t *position);
/* The id that those l->id_bytes bytes say, whatever they are: they come from a store. */
uint64_t layout_id(const struct layout *l, const void *bytes);

#endif
