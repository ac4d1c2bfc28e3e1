/* SPDX-License-Identifier: Apache-2.0 */
/* Kind of archive: what its functions do for archive.c, and what several kinds use. No state; any
 * thread. */
#ifndef HAUL_WORKLOADS_ARCHIVE_KIND_H
#define HAUL_WORKLOADS_ARCHIVE_KIND_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "workloads/model/shard.h"

struct archive;

struct archive_ops {
	/* Sets size, header_bytes and trailer_bytes, and fills offsets, ends and state unless they
	 * are NULL. tensors and payload are set, and the tensors are in order. -EINVAL with a
	 * sentence. */
	int (*lay_out)(struct archive *a, struct err *err);
	/* Bytes of state. NULL: the kind has none. */
	size_t (*state_bytes)(const struct archive *a);
	/* Makes the header, of header_bytes. NULL: the kind has none. */
	void (*header)(const struct archive *a, uint8_t *out);
	/* Makes bytes [at, at + length) of the file, between header and trailer. NULL: there the
	 * stream of the key stands, without framing. */
	void (*data)(const struct archive *a, uint64_t key, uint64_t at, uint8_t *to,
		     uint64_t length);
	/* Where the bytes end that data makes in one go with byte at. Set where data is. */
	uint64_t (*piece_end)(const struct archive *a, uint64_t at);
	/* Makes bytes [at, at + length) of the trailer. NULL: the kind has none. */
	void (*trailer)(const struct archive *a, uint64_t key, uint64_t at, uint8_t *to,
			uint64_t length);
};
extern const struct archive_ops archive_raw, archive_safetensors, archive_torch, archive_items;

/* For lay_out of kinds without framing: the tensors follow the header without a gap, and end the
 * file. */
void archive_contiguous(struct archive *a, uint64_t header_bytes);

/* The last tensor that begins at or before at; at is not in front of the first one. */
uint64_t archive_last_begun(const struct archive *a, uint64_t at);

/* The tensor as files have it: no framework stores four-bit numbers as such, but two of them in a
 * byte. */
void archive_stored(const struct archive *a, uint64_t i, struct tensor *out);

/* torch_pickle.c. data.pkl of torch.save: the pickle of an OrderedDict from names to tensors, or of the only one. */

struct archive;

/* Writes it at out (NULL: nowhere) and returns its bytes. Any thread. */
uint64_t torch_pickle(const struct archive *a, uint8_t *out);

#endif
