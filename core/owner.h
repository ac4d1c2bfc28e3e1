/* SPDX-License-Identifier: Apache-2.0 */
/* Owner of a place: one process at a time that writes a results file, a data set, a folder. It
 * holds a lock of the kernel on a small file beside or in that place, so no crash leaves the place
 * owned: what remains then is a file that nobody has locked, which the next owner takes over. The
 * file says who owns it. Its locks are those of open file descriptions (F_OFD_SETLK), which NFS and
 * Lustre pass on to other nodes where they are mounted so. Any thread. */
#ifndef HAUL_CORE_OWNER_H
#define HAUL_CORE_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

/* What the file or object that stands for a lock says of its owner: a line for people, and where
 * the place is an object, a second one by which another process on the same machine sees whether the
 * owner has ended. Any thread. */

enum {
	OWNER_TEXT_BYTES = 160,  /* the line, and what else is known of the owner */
	OWNER_OBJECT_BYTES = 320 /* both lines of an object, always */
};

/* "host n07, process 4711, since 2026-03-01 10:00:00 UTC" and a line's end. Returns its bytes. */
size_t owner_text_line(char line[OWNER_TEXT_BYTES]);
/* Both lines, filled up with blanks; no other call of any process makes the same. */
void owner_text(char text[OWNER_OBJECT_BYTES]);

/* The line for people, of n bytes that may be foreign: what is no plain character ends it, since it
 * may go to a terminal. */
void owner_text_who(char who[OWNER_TEXT_BYTES], const char *text, size_t n);
/* Whether the text begins as haul's lines do. */
bool owner_text_is(const char *text, size_t n);
/* Whether the second line says of a process of this machine that it has ended. */
bool owner_text_ended(const char *text, size_t n);

/* What the name of the file of a folder in a store has behind that of the folder. */
#define OWNER_ENDING ".haul-owner"

/* Zeroed: owns nothing. A store without files has a lock of its own: lease, which drop gives back. */
struct owner {
	int fd_and_one;
	char *path;
	void *lease;
	void (*drop)(struct owner *o);
	void (*left)(const char *path); /* once the file is gone; NULL: nothing is left to do */
	uint32_t look_ms;               /* -EBUSY: trying again pays no sooner; 0: at any time */
	char who[OWNER_TEXT_BYTES]; /* -EBUSY: "host n07, process 4711, since 2026-03-01 10:00:00 UTC" */
};

/* Takes the place whose lock is the file at path. -EBUSY: another process has it, who says which.
 * -ENOLCK: the file system has no locks. -ENOENT: there is no such folder. Always with a sentence
 * where it fails. */
int owner_take(struct owner *o, const char *path, struct err *err);
/* Gives the place back, and removes the file. Does nothing where it is not owned. */
void owner_drop(struct owner *o);

/* The file of a place that is owned, by which other processes of the machine know it. Zeroed: none. */
struct owner_file {
	uint64_t device, number;
};

struct owner_file owner_file(const struct owner *o);
/* Removes the file at path if it is that one: for who ends the work of an owner that does not come to it. */
void owner_remove(const char *path, struct owner_file file);

static inline bool owner_has(const struct owner *o)
{
	return o->fd_and_one || o->lease;
}

#endif
