/* SPDX-License-Identifier: Apache-2.0 */
/* Header of a numpy array (NEP 1), which npz has too: to write it, and to look at one. Pure
 * functions of what they are given. */
#ifndef HAUL_WORKLOADS_FORMATS_NPY_H
#define HAUL_WORKLOADS_FORMATS_NPY_H

#include "workloads/formats/walk.h"

/* Writes the header, version 1.0, of an array of type descr ("|u1") and of shape (samples,
 * sample_bytes), padded to a multiple of 64. With samples 1, or with sample_bytes 0, the array has
 * only the other dimension. Returns its length, at most NPY_HEADER_MAX. */
enum { NPY_HEADER_MAX = 192 };
uint32_t npy_header(uint8_t *out, const char *descr, uint64_t samples, uint64_t sample_bytes);

/* A header as its bytes come: what is in front of the text, then the text. Texts longer than
 * NPY_TEXT_MAX are not looked at. */
enum { NPY_TEXT_MAX = 320 };
struct npy_text {
	uint8_t bytes[NPY_TEXT_MAX];
};

/* Gathers what is in front of the text; false: the piece ended before. *text_bytes is the length of
 * the text that follows. *wrong: NULL, or what is wrong. */
bool npy_walk_front(struct walk *w, struct walk_piece *p, struct npy_text *text,
		    uint64_t *text_bytes, const char **wrong);
/* Whether n bytes of text describe an array of data_bytes; NULL, or what is wrong. */
const char *npy_walk_text(const struct npy_text *text, uint64_t n, uint64_t data_bytes);

#endif
