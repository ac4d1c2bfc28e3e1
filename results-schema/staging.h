/* SPDX-License-Identifier: Apache-2.0 */
/* Staging file: results.h5.part-1a2b3c4d (core/part.h), in which a publication is made before it is
 * renamed. Only rank 0 calls these functions, but for staging_path. No HDF5, no MPI. */
#ifndef HAUL_RESULTS_SCHEMA_STAGING_H
#define HAUL_RESULTS_SCHEMA_STAGING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

#define STAGING_PART ".part"
#define STAGING_BASE ".base"

/* "PATH.part-1a2b3c4d" with the number that one rank has drawn for the run. The caller frees it. */
char *staging_path(const char *path, uint32_t draw);
/* Makes it empty, exclusively and through no link, unless this run has made it. */
int staging_make(const char *part, struct err *err);

/* Copies path to part. Where the file system can, unchanged blocks are not copied. Fails with
 * -ENOSPC and the like and a sentence; part is then removed. */
int staging_copy(const char *path, const char *part, struct err *err);
/* The same of a file that is open, and may have no name any more. */
int staging_copy_open(int from, const char *part, struct err *err);

/* Base of publications that replace each other: what was in a file before the first of them. */
struct staging_base {
	char *path;    /* "FILE.base-1a2b3c4d"; NULL: none is kept */
	uint32_t draw; /* set by the caller */
	bool empty;    /* there was no file */
};

/* Keeps what `path` holds, which may be no file, unless it is kept already: under a second name
 * where the file system can (a published file is replaced, never written to), else as a copy. */
int staging_keep(struct staging_base *base, const char *path, struct err *err);
/* Keeps part, which has not been published: it is moved, and the next staging_copy makes it
 * again. */
int staging_keep_part(struct staging_base *base, const char *part, const char *path,
		      struct err *err);
/* Takes over the base that another rank has kept. -ENOENT: there is none. */
int staging_take_over(struct staging_base *base, const char *path);
/* Removes the base, if there is one. */
void staging_forget(struct staging_base *base);

/* Reserves room on disk for every byte of part, so that writing into it cannot meet a full disk. */
int staging_reserve(const char *part, struct err *err);

/* Puts part on disk, renames it to path, and puts that on disk, too. exclusive: returns -EEXIST
 * where path has been created meanwhile. Removes part where it fails. */
int staging_publish(const char *part, const char *path, bool exclusive, struct err *err);

#endif
