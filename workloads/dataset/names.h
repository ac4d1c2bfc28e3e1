/* SPDX-License-Identifier: Apache-2.0 */
/* Name templates: names of files as functions of their number.
 *
 *	{i}       the file's number, from 0            img_{i:07}_of_{n}.npz
 *	{n}       the number of files                  {i/1000:03}/{i%1000:04}.jpeg
 *	+k /k %k  after either, computed from the left  part-{i+1:05}.tfrecord
 *	:0w       at the end: at least w digits, with zeros before (:0wd says the same)
 *	{{ }}     a brace
 *
 * Stateless, any thread. */
#ifndef HAUL_WORKLOADS_DATASET_NAMES_H
#define HAUL_WORKLOADS_DATASET_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

/* -EINVAL with a sentence where the template is wrong, or does not surely give each of n files a
 * name of its own, or gives one that is not a plain path, or that does not fit in room bytes. */
int names_check(const char *template, uint64_t n, size_t room, struct err *err);

/* The name of file i of n, by a template that was checked. */
void names_expand(const char *template, uint64_t i, uint64_t n, char *out, size_t room);

/* List of names: a text file with one name per line, for files whose names follow no pattern.
 *
 * Lines end in LF or CRLF. Empty lines and a byte order mark at the beginning do not count. There
 * are no comments, since a name may begin with any character. "./" and "/" at the beginning of a
 * name are dropped: so the output of `find` is a list, and so are absolute paths for a store at
 * file:///. A name that leaves the store is refused.
 *
 * The text stays in its file; memory holds the position of every 64th name, 8 bytes each (20 MB for
 * 160 million names). Read-only after name_list_open, any thread. */

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
