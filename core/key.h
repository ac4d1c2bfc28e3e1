/* SPDX-License-Identifier: Apache-2.0 */
/* Keys from outside the program: folders, names, lists, prefixes and templates of a job, a manifest
 * or a trace. A key is a path below the root of a store. These checks refuse keys that would leave
 * the root or would give one object two names. Stateless, except struct key_scan, which belongs to
 * one thread. */
#ifndef HAUL_CORE_KEY_H
#define HAUL_CORE_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"

/* Checks that text is a plain path: its parts are neither empty nor "." nor "..", with "/" between
 * them. Returns -EINVAL with a sentence that begins with "must be". */
int key_check(const char *text, struct err *err);

/* The same check for a folder, which may also be "": the root of the store. */
int key_check_folder(const char *text, struct err *err);

/* Checks that text can be the beginning of a file name: it has no "/" and does not begin with ".".
 * It may be "". */
int key_check_prefix(const char *text, struct err *err);

/* A name that comes piece by piece, as in a long list. "/" and "./" at its beginning are ignored,
 * and parts may be empty, because keys of object stores may have empty parts. A zeroed struct is a
 * new name. */
struct key_scan {
	char part[3]; /* the first bytes of the current part */
	size_t length;
	bool begun; /* something other than "/" and "./" has come */
	bool leaves;
};
void key_scan_add(struct key_scan *k, const char *text, size_t bytes);

/* Ends the name. Returns whether a part of it is "." or "..". cut is how many of the last bytes do
 * not belong to the name (0, or 1 for a carriage return). */
bool key_scan_leaves(struct key_scan *k, size_t cut);

#endif
