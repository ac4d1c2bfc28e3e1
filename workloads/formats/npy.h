/* The header of a numpy array, which npz has too. Pure functions of what they are given. */
#ifndef HAUL_WORKLOADS_FORMATS_NPY_WALK_H
#define HAUL_WORKLOADS_FORMATS_NPY_WALK_H

#include "workloads/formats/walk.h"

/* What stands before the text, in w->bytes; false: the piece ended before. text: its length. */
bool walk_npy_head(struct walk *w, struct walk_piece *p, const char **wrong, uint64_t *text);
/* Whether the text says so many bytes of data; NULL, or what is wrong. */
const char *walk_npy_text(const uint8_t *bytes, uint64_t n, uint64_t data_bytes);

#endif
