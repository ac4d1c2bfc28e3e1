/* Data formats: a file as a function of seed and index.
 *
 * A format says how large a file is, which byte ranges a real reader takes for a sample (in its
 * order: header or footer first, then data), and what the bytes of any range are, all in constant
 * time and memory. Payload comes from core/fill; the first 8 bytes of a sample's payload (where it
 * has 8, and the format leaves them free) hold the sample's id, little-endian, so that a reader can
 * prove what it read. Where they are not free the format's own comment says where the id stands. */
#ifndef HAUL_WORKLOADS_FORMATS_FORMAT_H
#define HAUL_WORKLOADS_FORMATS_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/option/option.h"

enum { FORMAT_EXTENTS_MAX = 12, FORMAT_HEADER_BYTES = 1280, FORMAT_UNIT_MAX = 16 << 20 };

/* A file may be several objects: itself, 0, and others beside it. */
enum { FORMAT_OBJECTS_MAX = 3, FORMAT_SUFFIX_BYTES = 16 };

/* How long a reader has what it read. All is gone when the file is closed. */
enum cache_scope {
	CACHE_FOR_SAMPLE, /* each sample reads it */
	CACHE_FOR_GROUP,  /* while its group of samples is among the last few used */
	CACHE_FOR_FILE    /* as long as the file is open */
};

/* A range of an object of the file, what a reader asks for at once of it (0: as much as it can), and how
 * long it is kept. */
struct extent {
	uint64_t offset, length, step;
	uint32_t object;
	enum cache_scope cache;
};

/* What a data set may say about its format, under the format's name: {"hdf5": {"datasets": 2}}. The
 * tables stand beside the formats. */
enum { HDF5_DATASETS_MAX = 8 };
struct hdf5_options {
	uint64_t datasets, chunk_samples, chunk_bytes;
};
extern const struct option hdf5_options[];

/* Columns of one type, side by side. */
enum { FORMAT_RUNS_MAX = 8 };
struct column_run {
	uint32_t columns;
	uint8_t type;   /* Parquet's */
	bool read;      /* by loaders */
	uint64_t bytes; /* a value */
};
struct parquet_options {
	struct texts columns; /* a run each */
	uint64_t row_group;   /* rows */
};
extern const struct option parquet_options[];

struct format_options {
	struct hdf5_options hdf5;
	struct parquet_options parquet;
};

struct format_ops;
struct walk;
struct walk_piece;

/* One file, laid out. Made by format->layout; plain data, read-only afterwards, any thread. */
struct layout {
	const struct format_ops *format;
	const struct format_options *options; /* the data set's */
	uint64_t file;                        /* index in the data set */
	uint32_t object;                      /* of the file: what is laid out */
	uint64_t key;                         /* fill_key of its payload */
	uint64_t first_id;                    /* id of its sample 0 */
	uint64_t samples;                     /* in this file */
	uint64_t sample_bytes;                /* of each sample in this file */
	uint64_t size;                        /* of the object, bytes */
	uint64_t logical_bytes;               /* of a sample, that a loader hands on */
	uint64_t group_samples; /* that share what is CACHE_FOR_GROUP; 0: nothing is */
	/* header [0, data_offset) | data part, data_bytes, made by format->payload | trailer */
	uint64_t data_offset, data_bytes;
	uint64_t stride; /* from one sample to the next */
	/* Sample 0's id, the others' stride apart. id_bytes: 8, little-endian; ID_DIGITS, a decimal
	 * number; 0, no room for one. */
	uint64_t id_at;
	uint32_t id_bytes;
	/* The trailer, after the data part, is trailer[0, gap_at), then gap_bytes zeros (npz: the
	 * labels), then the rest of trailer. In a format with a frame around each sample (tfrecord)
	 * header and trailer are that frame, and all behind the first header is data part. */
	uint32_t header_bytes, trailer_bytes, gap_at;
	uint64_t gap_bytes;
	uint32_t crc_state;     /* npz: the CRC register that each block returns to */
	uint32_t width, height; /* png: in pixels; jpeg: in blocks of 8 x 8 */
	/* parquet: its columns, the run of which the first holds the ids, and where the footer
	 * begins. */
	struct column_run runs[FORMAT_RUNS_MAX];
	uint32_t run_count, id_run;
	uint64_t footer_at;
	uint64_t group_bytes; /* of a row group but the last */
	uint8_t header[FORMAT_HEADER_BYTES], trailer[FORMAT_HEADER_BYTES];
};

struct format_ops {
	const char *name; /* "npz": also the files' extension */
	const char *help;
	/* What every file of the format begins with; no bytes: not known. */
	const char *begins;
	uint32_t begins_bytes;
	/* A reader leaves the file open for the next sample of it. Else each sample opens it and
	 * closes it, and all that is kept is kept in vain. */
	bool stays_open;
	/* A file is its samples one behind the other, from its first byte to its last, each one range:
	 * it may be read as a stream. */
	bool streams;
	/* Objects 1 … of a file: its name and this. */
	char beside[FORMAT_OBJECTS_MAX - 1][FORMAT_SUFFIX_BYTES];
	/* Bytes that must be made to make any byte of the data part (npz: 64 KiB). Less than the
	 * whole of what a checksum covers where only the checksum's own bytes need that. */
	uint64_t unit;
	/* What this format cannot hold; the sizes are the least and the largest drawn. May be
	 * NULL. */
	int (*check)(const struct format_options *options, uint64_t samples,
		     uint64_t sample_bytes_min, uint64_t sample_bytes_max, struct err *err);
	/* Called by layout_make; fills the rest. */
	void (*layout)(struct layout *l);
	/* The ranges a reader that has nothing yet takes for sample (0-based in the file), in order.
	 * l is of object 0. Returns how many. */
	uint32_t (*extents)(const struct layout *l, uint64_t sample,
			    struct extent out[FORMAT_EXTENTS_MAX]);
	/* The bytes [offset, offset + length) of the file, inside the data part. */
	void (*payload)(const struct layout *l, uint64_t offset, void *data, uint64_t length);
	/* Looks through a sample as its bytes come (walk.h), and at its end; NULL: haul cannot. */
	const char *(*walk)(struct walk *w, struct walk_piece *p);
	const char *(*walk_end)(const struct walk *w, uint64_t samples);
	/* Where the id of a sample stands, in layouts that have ids; NULL: id_at and strides. */
	uint64_t (*id_place)(const struct layout *l, uint64_t sample);
};

const struct format_ops *const *format_table(void); /* NULL-terminated */
/* Into it. */
enum format_index {
	FORMAT_RAW,
	FORMAT_NPY,
	FORMAT_NPZ,
	FORMAT_TFRECORD,
	FORMAT_PNG,
	FORMAT_JPEG,
	FORMAT_CSV,
	FORMAT_HDF5,
	FORMAT_SAFETENSORS,
	FORMAT_PARQUET,
	FORMAT_INDEXED_BINARY,
	FORMAT_MMAP_INDEXED_BINARY
};
extern const char *const format_names[]; /* the same order, NULL-terminated, for OPT_CHOICE */

/* Not in the table: files that haul did not make. Has neither payload nor unit. */
extern const struct format_ops format_parts;

/* Objects of a file. */
uint32_t format_objects(const struct format_ops *format);

/* Lays out: format, options, file, object, key, first_id, samples, sample_bytes are set. */
void layout_make(struct layout *l);
/* Another object of l's file. */
void layout_beside(const struct layout *l, uint32_t object, struct layout *out);

/* Makes the object's bytes [offset, offset + length): header, payload with ids, trailer. */
void layout_image(const struct layout *l, uint64_t offset, void *data, uint64_t length);

/* Compares. Returns length when all agree, else the position in data of the first byte that
 * differs. scratch is at least LAYOUT_SCRATCH_BYTES, the caller's. */
enum { LAYOUT_SCRATCH_BYTES = 64 << 10 };
uint64_t layout_verify(const struct layout *l, uint64_t offset, const void *data, uint64_t length,
		       void *scratch);

/* Whether the bytes [offset, offset + length) of the file hold the whole id of sample; if so, where
 * in them it stands. */
bool layout_id_at(const struct layout *l, uint64_t sample, uint64_t offset, uint64_t length,
		  uint64_t *position);
/* The id that stands in those l->id_bytes bytes, whatever they are: read from a store. */
uint64_t layout_id(const struct layout *l, const void *bytes);

#endif
