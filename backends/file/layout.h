/* SPDX-License-Identifier: Apache-2.0 */
/* Striping of new files, said to the file systems that have it, without their libraries:
 *
 *	            Lustre                      BeeGFS
 *	stripe_count  OSTs a file               targets a file
 *	stripe_size   stripe, times 64 KiB      chunk, a power of two from 64 KiB
 *	class         pool of OSTs              –
 *
 * A file gets its layout when it is made; what stands keeps its own. DAOS takes a layout (an object
 * class) through its library only, so dfuse does not: said, not done. */
#ifndef HAUL_BACKENDS_FILE_LAYOUT_H
#define HAUL_BACKENDS_FILE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "backends/file/system.h"

enum { FILE_STRIPE_BYTES = 65536, FILE_CLASS_BYTES = 16, FILE_DRAWN_BYTES = 4096 };

struct file_layout_options {
	uint64_t stripe_count, stripe_bytes; /* 0: the folder's own */
	char class[FILE_CLASS_BYTES];        /* "": the folder's own */
};

enum file_layout_way { FILE_LAYOUT_NONE, FILE_LAYOUT_LUSTRE, FILE_LAYOUT_BEEGFS };

/* How a layout is said on this file system; text[96]: what is said, or why nothing is. */
enum file_layout_way file_layout_way(const struct file_layout_options *o,
				     const struct file_system *fs, char text[96]);

/* The layout that new files of the folder get unless they are given another: what Lustre tells of
 * it, in text[96] ("count 4 size 1048576 B pool flash"); "" where the file system tells nothing. */
void file_layout_find(const char *folder, const struct file_system *fs, char text[96]);
/* The same of one of the files below the folder, which seed draws; "" where there is none. */
void file_layout_find_drawn(const char *folder, uint64_t seed, const struct file_system *fs,
			    char text[96]);
/* Draws a file below the folder, from the first entries of each folder on the way. -ENOENT: none
 * was found. */
int file_layout_draw(const char *folder, uint64_t seed, char path[FILE_DRAWN_BYTES]);
/* The same of what Lustre answers. */
void file_layout_decode(const void *answer, size_t size, char text[96]);

/* Makes an empty file with the layout. -EEXIST: one stands already; -EOPNOTSUPP: there is no
 * way. */
int file_layout_make(enum file_layout_way way, const struct file_layout_options *o,
		     const char *path);

#endif
