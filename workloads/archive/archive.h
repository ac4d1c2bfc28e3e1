/* SPDX-License-Identifier: Apache-2.0 */
/* Archive: a file of named tensors, as training frameworks save them.
 *
 *	header | tensor 0 | framing | tensor 1 | framing | … | trailer
 *
 * Every byte is a function of the kind of archive, its tensors, and the key of its content: names and shapes are what
 * the framework would write, the tensors hold random bytes (core/content/fill.h): byte p of all tensors, one behind the
 * other, is byte p of the key's stream. So any range can be made and verified on its own, by any thread, and no archive
 * is held in memory.
 *
 *	raw          the tensors and nothing else
 *	safetensors  8 bytes of length, a JSON header, the tensors. Source: the format's description in the README of
 *	             huggingface/safetensors
 *	torch        the stored zip of torch.save: PREFIX/data.pkl, PREFIX/data/0 …, PREFIX/version, with CRC-32. So that
 *	             the checksum of a tensor is known before its bytes are, four bytes in 64 KiB are not those of the
 *	             stream (formats/crc32.h)
 *
 *	items        a torch file per tensor, one behind the other
 *
 * Plain data, made once by archive_make and read-only afterwards; any thread. */
#ifndef HAUL_WORKLOADS_ARCHIVE_ARCHIVE_H
#define HAUL_WORKLOADS_ARCHIVE_ARCHIVE_H

#include "core/arena.h"
#include "core/err.h"
#include "workloads/model/shard.h"

/* Items are no choice of a job, but how some layouts frame torch's files. */
enum archive_kind {
	ARCHIVE_TORCH,
	ARCHIVE_SAFETENSORS,
	ARCHIVE_RAW,
	ARCHIVE_KINDS,
	ARCHIVE_ITEMS = ARCHIVE_KINDS
};
extern const char *const archive_kind_names[]; /* NULL-terminated, for an OPT_CHOICE */

enum { ARCHIVE_TENSORS_MAX = 1 << 20 };

/* A tensor that is a rectangle of a whole one, which stands in another archive: where it begins there, and which bytes of
 * that archive's payload it has. Byte b is byte from + b / run * pitch + b % run. */
struct archive_part {
	uint64_t offset[TENSOR_DIMENSIONS_MAX];
	uint64_t from, run, pitch;
};

/* The tensors of an archive, as functions of their number. */
struct archive_tensors {
	uint64_t count; /* at most ARCHIVE_TENSORS_MAX */
	void (*tensor)(const void *argument, uint64_t i, struct tensor *out);
	const void *argument;
	/* safetensors whose tensors are parts of those of another archive; NULL: they are whole. The content's key is then
	 * that archive's, and the header says where each part begins, as torch's writer does. */
	void (*part)(const void *argument, uint64_t i, struct archive_part *out);
};

struct archive {
	enum archive_kind kind;
	struct archive_tensors tensors;
	uint64_t size;    /* of the file */
	uint64_t payload; /* bytes of all tensors */
	/* Where each tensor begins, and behind the last one where the trailer begins: [count +
	 * 1]. */
	uint64_t *offsets;
	uint64_t *ends; /* where each tensor ends: [count] */
	/* Items: where each begins, and behind the last one the end of all. Else NULL. */
	uint64_t *starts;
	bool single; /* a torch file of one tensor, not of a dictionary */
	const uint8_t *header;
	uint64_t header_bytes, trailer_bytes;
	void *state; /* the kind's own */
};

/* Lays the archive out, in memory of the arena: a few hundred bytes per tensor. tensors is copied;
 * its argument must live as long. -ENOMEM, or -EINVAL where the kind cannot hold the tensors, with
 * a sentence. */
int archive_make(struct archive *a, enum archive_kind kind, const struct archive_tensors *tensors,
		 struct arena *arena, struct err *err);
/* Size and payload without anything else; needs no memory that lasts. */
int archive_size(enum archive_kind kind, const struct archive_tensors *tensors, uint64_t *size,
		 uint64_t *payload, struct err *err);

/* Makes bytes [at, at + length), which lie in the archive, of the one whose content has that key
 * (fill_key). */
void archive_image(const struct archive *a, uint64_t key, uint64_t at, void *to, uint64_t length);

/* Compares. Returns length when all bytes agree, else the position in data of the first one that
 * differs. scratch: ARCHIVE_SCRATCH_BYTES, the caller's. */
enum { ARCHIVE_SCRATCH_BYTES = 64 << 10 };
uint64_t archive_verify(const struct archive *a, uint64_t key, uint64_t at, const void *data,
			uint64_t length, void *scratch);

/* The tensor that holds byte at; count: none does, it is framing. */
uint64_t archive_tensor_at(const struct archive *a, uint64_t at);

#endif
