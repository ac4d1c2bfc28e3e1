/* What formats share: plain payload with its ids, and numpy's header. Pure functions, any
 * thread. */
#ifndef HAUL_WORKLOADS_FORMATS_PAYLOAD_H
#define HAUL_WORKLOADS_FORMATS_PAYLOAD_H

#include "workloads/formats/format.h"

enum { ID_BYTES = 8, ID_DIGITS = 20 };

/* Puts the ids (or the parts of them) that fall in the payload's bytes [at, at + length),
 * counted from the payload's begin, where sample 0's id stands, into data; stride is from one
 * sample's to the next. Nothing where samples have no room for one. */
void payload_stamp_ids(const struct layout *l, uint64_t stride, uint64_t at, void *data,
		       uint64_t length);

/* The payload hook of formats without checksums: the stream of the file's key, with ids. */
void payload_plain(const struct layout *l, uint64_t offset, void *data, uint64_t length);

uint64_t payload_bytes(const struct layout *l);

/* For formats whose samples lie one behind the other in the data part, which begins at
 * l->data_offset: sets data_bytes, stride and the ids' place. */
void payload_contiguous(struct layout *l);

/* Writes value in the lowest bytes' order, lowest or highest first; returns what follows. */
uint8_t *put_little(uint8_t *at, uint64_t value, unsigned bytes);
uint8_t *put_big(uint8_t *at, uint64_t value, unsigned bytes);

/* The extents hook of formats whose readers take the whole file. */
uint32_t payload_whole_file(const struct layout *l, uint64_t sample,
			    struct extent out[FORMAT_EXTENTS_MAX]);

/* What pictures, one a file, share: the largest, and the place of the bytes that make a file's size exact
 * in the stream of its key, behind all that is seen. */
#define PICTURE_BYTES_MAX      (UINT64_C(256) << 20)
#define PICTURE_PADDING_STREAM (UINT64_C(1) << 40)

/* Their check hook; size_min is the format's. */
int payload_check_picture(const char *name, uint64_t samples, uint64_t least, uint64_t largest,
			  uint64_t size_min, struct err *err);

/* Writes a numpy 1.0 header for samples x sample_bytes values of type descr ("|u1"), padded to
 * a multiple of 64; with sample_bytes 0 or samples 1 the shape has the one other dimension.
 * Returns its length, at most NPY_HEADER_MAX. */
enum { NPY_HEADER_MAX = 192 };
uint32_t npy_header(uint8_t *out, const char *descr, uint64_t samples, uint64_t sample_bytes);

extern const struct format_ops format_raw, format_npy, format_npz, format_tfrecord, format_png,
	format_jpeg, format_csv, format_hdf5, format_safetensors, format_parquet,
	format_indexed_binary, format_mmap_indexed_binary;

#endif
