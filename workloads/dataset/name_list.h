/* SPDX-License-Identifier: Apache-2.0 */
/* List of names: a text file with one name per line, for files whose names follow no pattern.
 *
 * Lines end in LF or CRLF. Empty lines and a byte order mark at the beginning do not count. There
 * are no comments, since a name may begin with any character. "./" and "/" at the beginning of a
 * name are dropped: so the output of `find` is a list, and so are absolute paths for a store at
 * file:///. A name that leaves the store is refused.
 *
 * The text stays in its file; memory holds the position of every 64th name, 8 bytes each (20 MB for
 * 160 million names). Read-only after name_list_open, any thread. */
#ifndef HAUL_WORKLOADS_DATASET_NAME_LIST_H
#define HAUL_WORKLOADS_DATASET_NAME_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

enum { NAME_LIST_EVERY = 64 };

struct name_list {
	int fd;
	uint64_t names;
	uint64_t *places; /* of names 0, 64, 128 … */
	uint64_t place_count, place_capacity;
};

/* Reads the whole file once. No name may have room bytes or more. The sentence names file and
 * line. */
int name_list_open(struct name_list *l, const char *path, size_t room, struct err *err);
void name_list_close(struct name_list *l);

/* Name i < names. Where the file has changed since and the name is not there, a text that says so:
 * no object is called that. */
void name_list_at(const struct name_list *l, uint64_t i, char *out, size_t room);

#endif
