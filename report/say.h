/* SPDX-License-Identifier: Apache-2.0 */
/* A sentence that is made of several parts. */
#ifndef HAUL_REPORT_SAY_H
#define HAUL_REPORT_SAY_H

#include <stddef.h>

/* Appends to the text in a buffer of that size. What finds no room is cut. */
void say(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
