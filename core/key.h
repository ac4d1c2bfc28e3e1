/* Keys from outside the program: folders, names, lists, prefixes and templates of a job, a manifest or a trace.
 * A key is a path below the root of a store. These checks refuse what would leave the root, or would give one
 * object two names. Stateless but for struct key_scan, which belongs to one thread. */
#ifndef HAUL_CORE_KEY_H
#define HAUL_CORE_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"

/* Whether text is a plain path: parts that are neither empty nor "." nor "..", with "/" between them. -EINVAL with
 * a sentence that begins with "must be". */
int key_check(const char *text, struct err *err);

/* The same of a folder, which may also be "": the root of the store. */
int key_check_folder(const char *text, struct err *err);

/* Whether text can be what file names begin with: it has no "/" and no "." at its beginning. It may be "". */
int key_check_prefix(const char *text, struct err *err);

/* A name that comes piece by piece, as lines of a long list do. "/" and "./" at its beginning do not count, and
 * parts may be empty, since keys of object stores may have such. Zeroes are a new name. */
struct key_scan {
	char part[3]; /* of the part under way: its first bytes */
	size_t length;
	bool begun; /* something but "/" and "./" has come */
	bool leaves;
};
void key_scan_add(struct key_scan *k, const char *text, size_t bytes);

/* The name has ended. Whether a part of it is "." or "..". cut: so many of the bytes that came last are not of the
 * name (0, or 1 for a carriage return). */
bool key_scan_leaves(struct key_scan *k, size_t cut);

#endif
