/* SPDX-License-Identifier: Apache-2.0 */
/* Owner of a place: one process at a time that writes a results file, a data set, a folder. It
 * holds a lock of the kernel on a small file beside or in that place, so no crash leaves the place
 * owned: what remains then is a file that nobody has locked, which the next owner takes over. The
 * file says who owns it. Its locks are those of open file descriptions (F_OFD_SETLK), which NFS and
 * Lustre pass on to other nodes where they are mounted so. Any thread. */
#ifndef HAUL_CORE_OWNER_H
#define HAUL_CORE_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/owner_text.h"

/* What the name of the file of a folder in a store has behind that of the folder. */
#define OWNER_ENDING ".haul-owner"

/* Zeroed: owns nothing. A store without files has a lock of its own: lease, which drop gives back. */
struct owner {
	int fd_and_one;
	char *path;
	void *lease;
	void (*drop)(struct owner *o);
	uint32_t look_ms;           /* -EBUSY: trying again pays no sooner; 0: at any time */
	char who[OWNER_TEXT_BYTES]; /* -EBUSY: "host n07, process 4711, since 2026-03-01 10:00:00 UTC" */
};

/* Takes the place whose lock is the file at path. -EBUSY: another process has it, who says which.
 * -ENOLCK: the file system has no locks. -ENOENT: there is no such folder. Always with a sentence
 * where it fails. */
int owner_take(struct owner *o, const char *path, struct err *err);
/* Gives the place back, and removes the file. Does nothing where it is not owned. */
void owner_drop(struct owner *o);

static inline bool owner_has(const struct owner *o)
{
	return o->fd_and_one || o->lease;
}

#endif
