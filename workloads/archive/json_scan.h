/* SPDX-License-Identifier: Apache-2.0 */
/* JSON scanner: takes a text apart in place, value by value, without a tree of it. Only for texts
 * that json_check has accepted. Owned by one thread. */
#ifndef HAUL_WORKLOADS_ARCHIVE_JSON_SCAN_H
#define HAUL_WORKLOADS_ARCHIVE_JSON_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/err.h"

struct json_scan {
	const char *at, *end;
};

/* The first character of the value that comes next: '"', '{', '[', or that of a number or word. */
char json_scan_kind(struct json_scan *s);

/* Goes through an object or a list: json_scan_enter skips its bracket, and json_scan_next is true
 * while another value comes (then at an object's key, or at a list's value), else it skips the
 * closing bracket. */
void json_scan_enter(struct json_scan *s);
bool json_scan_next(struct json_scan *s);

/* An object's key with the ':' behind it, or a value that is a string, in memory of the arena.
 * NULL: no memory. */
char *json_scan_key(struct json_scan *s, struct arena *arena);
char *json_scan_text(struct json_scan *s, struct arena *arena);

/* A whole number of 64 bits, without sign; false: the value is something else, or larger. */
bool json_scan_whole(struct json_scan *s, uint64_t *value);

/* Goes past any value. */
void json_scan_skip(struct json_scan *s);

#endif
