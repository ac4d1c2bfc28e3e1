/* SPDX-License-Identifier: Apache-2.0 */
/* Parts: files that are written under a drawn name beside the one that they get when they are
 * whole. Nobody can foresee such a name, and a part is made exclusively and never through a link:
 * what stands in its way is left as it is. Its ending says what it is, so that what a run that was
 * killed has left can be found again.
 *
 * And what may be replaced by one: nothing, or a regular file. Any thread. */
#ifndef HAUL_CORE_PART_H
#define HAUL_CORE_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/err.h"

enum {
	PART_DIGITS = 8,
	PART_MARK_BYTES = 16,                        /* of an ending such as ".part" */
	PART_ENDING_BYTES = PART_MARK_BYTES + 1 + 12 /* with "-", the digits and a zero byte */
};

/* Of objects in stores that have files. With the number it has 14 bytes: names of objects have up
 * to 240 (replay), and a file system allows 255. */
#define PART_OF_OBJECT ".haul"

/* A number that nobody else can know. */
uint32_t part_draw(void);
/* ".haul-1a2b3c4d" of ".haul". */
void part_ending(char out[PART_ENDING_BYTES], const char *mark, uint32_t draw);
/* Bytes of the name without the ending. 0: the name does not end so. */
size_t part_stem(const char *name, const char *mark);

/* Gives the names of all parts of path with that mark to visit that are of that kind: S_IFREG,
 * S_IFDIR. */
void part_visit(const char *path, const char *mark, mode_t kind,
		void (*visit)(void *argument, const char *part), void *argument);
/* Removes them: for whoever knows that nobody writes them. */
void part_remove_left(const char *path, const char *mark);
/* Opens a file for reading and writing that this process has named with part_ending, or makes
 * it: no link, no other kind of file, and none that has a second name. What it held is gone.
 * Returns its descriptor. */
int part_open_own(const char *path, mode_t mode);
/* Writes all of the bytes where the descriptor stands. */
int part_fill(int fd, const void *data, size_t bytes);

/* Whether that is nothing which haul makes: those are regular files of one name. */
#define PART_OF_OTHERS \
	"stands there, and haul made no such thing: a link, a file that has a second name, or no file; it stays"
bool part_of_others(const struct stat *st);
/* Renames the part over what stands at path. -EEXIST: that is of others. once: first in one call that
 * replaces nothing (renameat2). */
int part_put(const char *part, const char *path, bool once);

/* Whether haul may put a file at path: nothing stands there, or, with force, a regular file that is
 * not reached by a link. -EEXIST: a regular file stands there and force is not set. Else another
 * errno. Always with a sentence; instead says what to do about a file that stands there ("name
 * another with --results, or say --force"). *stands (may be NULL): one stands there. */
int part_check_place(const char *path, bool force, const char *instead, bool *stands,
		     struct err *err);
/* The same, and opens the file for writing with more flags (O_APPEND), empty. Returns its
 * descriptor. */
int part_open_place(const char *path, bool force, const char *instead, int flags, struct err *err);

#endif
