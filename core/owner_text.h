/* SPDX-License-Identifier: Apache-2.0 */
/* What the file or object that stands for a lock says of its owner: a line for people, and where
 * the place is an object, a second one by which another process on the same machine sees whether the
 * owner has ended. Any thread. */
#ifndef HAUL_CORE_OWNER_TEXT_H
#define HAUL_CORE_OWNER_TEXT_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
