/* SPDX-License-Identifier: Apache-2.0 */
/* A sentence that is made of several parts. */
#ifndef HAUL_REPORT_SAY_H
#define HAUL_REPORT_SAY_H

#include <stddef.h>

/* Appends to the text in a buffer of that size. What finds no room is cut. */
void say(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Decimals that show by how much a factor differs from 1: at least two. */
int say_decimals(double factor);
/* Appends "1.35", and " (1.31 to 1.39)" where the ends are known. A range that tells next to nothing
 * (core/ratio.h) is said to be so. */
void say_times(char *text, size_t size, double times);
void say_range(char *text, size_t size, double times, double low, double high);

#endif
