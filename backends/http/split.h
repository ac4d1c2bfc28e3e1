/* SPDX-License-Identifier: Apache-2.0 */
/* Splitting a folder's names into ranges, so that several callers can list it side by side.
 *
 * Names are sorted by their bytes, and the store tells which one follows a given text. A few such probes find the
 * smallest name, how much of it all names share (their stem), and the largest characters after the stem:
 *
 *	img_0000000.npz … img_0459999.npz      smallest img_0000000.npz, stem img_0, largest 45
 *
 * From there to there the ranges have the same length, counted in the characters that the names use: numbers with leading
 * zeroes, as data sets have them, are shared out evenly. Whatever the names are, the ranges touch and cover all texts,
 * so that each name is in exactly one range. All parts make the same probes and so find the same ranges, as long as
 * the folder does not change. Plain data; nothing here asks a store. */
#ifndef HAUL_BACKENDS_HTTP_SPLIT_H
#define HAUL_BACKENDS_HTTP_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/request.h"

enum { SPLIT_NAME_BYTES = OBJECT_KEY_BYTES + 16, SPLIT_LEVELS = 2, SPLIT_PARTS_MAX = 1 << 16 };

enum split_stage { SPLIT_FIRST, SPLIT_STEM, SPLIT_LARGEST, SPLIT_DONE };

struct split {
	enum split_stage stage;
	char first[OBJECT_KEY_BYTES]; /* the smallest name; "": there is none */
	uint32_t stem, stem_max;      /* bytes that all names surely share; at most share */
	uint32_t trying;              /* a length of the stem, or a byte */
	uint32_t level;               /* of the largest characters that are found */
	uint8_t largest[SPLIT_LEVELS];
	uint8_t low, high; /* the next of them lies between these, both included */
	/* The smallest name known to begin with the stem and the largest characters so far. */
	char largest_name[OBJECT_KEY_BYTES];
};

void split_begin(struct split *s);

/* The next probe: which is the smallest name after this text? False: there are no more probes. */
bool split_probe(const struct split *s, char after[SPLIT_NAME_BYTES]);
/* Its answer; NULL: no name follows. */
void split_answer(struct split *s, const char *name);

/* Part part of parts (from 0) has the names after `after`, which is "" in the first part, up to and
 * including `until`, which is "" in the last one. After the last probe. False: there are no names
 * at all. */
bool split_range(const struct split *s, uint32_t part, uint32_t parts, char after[SPLIT_NAME_BYTES],
		 char until[SPLIT_NAME_BYTES]);

/* Whether a name lies in the range. */
bool split_has(const char *after, const char *until, const char *name);

#endif
