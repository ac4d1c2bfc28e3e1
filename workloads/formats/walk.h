/* Looks through the bytes of a sample as they come, piece by piece, as one who decodes them would: structure
 * and checksums, nothing is kept. Believes no byte: what is wrong is said in a sentence. One walk belongs to
 * one thread.
 *
 * Begins zeroed but for the size. */
#ifndef HAUL_WORKLOADS_FORMATS_WALK_H
#define HAUL_WORKLOADS_FORMATS_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "workloads/formats/lookup3.h"
#include "workloads/formats/thrift.h"

enum { WALK_BYTES = 320, WALK_DEPTH = 4 };

struct walk {
	uint32_t part;  /* the format's own; 0: the begin */
	uint32_t sum;   /* running */
	uint64_t left;  /* of what is passed over or summed */
	uint64_t count; /* records, rows, members */
	uint32_t have;  /* of bytes */
	uint8_t bytes[WALK_BYTES];
	/* tfrecord: messages inside each other. Other formats use some of these for what they must know. */
	uint64_t at, ends[WALK_DEPTH], value, pass;
	uint32_t depth, shift, field;
	uint64_t size; /* of the file, not of objects beside it */
	/* Of what is read in ranges: where the next piece would go on. */
	uint64_t next;
	uint32_t object;
	struct lookup3 lookup3; /* hdf5 */
	struct thrift thrift;   /* parquet */
};

/* What is still to be looked at of a piece, and where in which object of the file it stands. */
struct walk_piece {
	const uint8_t *at;
	uint64_t left, offset;
	uint32_t object;
};

/* A piece begins; true: elsewhere than where the one before ended. */
bool walk_jumps(struct walk *w, const struct walk_piece *p);

/* The next n bytes, at most WALK_BYTES, together in w->bytes. False: the piece ended before. The caller sets
 * w->have to 0 when it has used them. */
bool walk_gather(struct walk *w, struct walk_piece *p, uint32_t n);
/* As much of w->left as the piece has; returns how much, at *span. */
uint64_t walk_span(struct walk *w, struct walk_piece *p, const uint8_t **span);
/* The next part, of n bytes. */
void walk_part(struct walk *w, uint32_t part, uint64_t n);

uint64_t walk_little(const uint8_t *bytes, unsigned n);
uint64_t walk_big(const uint8_t *bytes, unsigned n);

/* Each looks at a piece and returns NULL, or what is wrong. The second of each: at the end. */
const char *walk_png(struct walk *w, struct walk_piece *p);
const char *walk_png_end(const struct walk *w, uint64_t samples);
const char *walk_jpeg(struct walk *w, struct walk_piece *p);
const char *walk_jpeg_end(const struct walk *w, uint64_t samples);
const char *walk_npz(struct walk *w, struct walk_piece *p);
const char *walk_npz_end(const struct walk *w, uint64_t samples);
const char *walk_npy(struct walk *w, struct walk_piece *p);
const char *walk_npy_end(const struct walk *w, uint64_t samples);
const char *walk_parquet(struct walk *w, struct walk_piece *p);
const char *walk_parquet_end(const struct walk *w, uint64_t samples);
const char *walk_safetensors(struct walk *w, struct walk_piece *p);
const char *walk_safetensors_end(const struct walk *w, uint64_t samples);
const char *walk_hdf5(struct walk *w, struct walk_piece *p);
const char *walk_hdf5_end(const struct walk *w, uint64_t samples);
const char *walk_indexed(struct walk *w, struct walk_piece *p);
const char *walk_indexed_end(const struct walk *w, uint64_t samples);
const char *walk_csv(struct walk *w, struct walk_piece *p);
const char *walk_csv_end(const struct walk *w, uint64_t samples);
const char *walk_tfrecord(struct walk *w, struct walk_piece *p);
const char *walk_tfrecord_end(const struct walk *w, uint64_t samples);

#endif
