/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, times and rates as people write and read them. GB is 10^9 and GiB is 2^30; they are never
 * mixed up. */
#ifndef HAUL_CORE_UNITS_H
#define HAUL_CORE_UNITS_H

#include <stdint.h>

#include "core/err.h"

#define GiB 1073741824.0 /* bytes */

/* "140 MiB", "1.5GB" -> bytes; "323 ms", "5 us", "2 h" -> ns; "2 GB/s" -> bytes per second. Only
 * "0" needs no unit. Returns -EINVAL with a sentence that names the text and the known units. */
int units_parse_bytes(const char *text, uint64_t *bytes, struct err *err);
int units_parse_time(const char *text, uint64_t *ns, struct err *err);
int units_parse_rate(const char *text, uint64_t *bytes_per_second, struct err *err);

/* Text for people with three significant digits: "630.5 TB" / "573.4 TiB", "9.3 s", "412 ms",
 * "0:41", "4,300,800", "461 k", "1.12" (GB/s as a bare number). Each returns buf. */
enum { UNITS_TEXT_BYTES = 32, UNITS_COUNTED_BYTES = 64 };
char *units_bytes_decimal(char buf[UNITS_TEXT_BYTES], double bytes);
char *units_bytes_binary(char buf[UNITS_TEXT_BYTES], double bytes);
char *units_rate(char buf[UNITS_TEXT_BYTES], double bytes_per_second);
char *units_time(char buf[UNITS_TEXT_BYTES], double seconds);
char *units_clock(char buf[UNITS_TEXT_BYTES], double seconds); /* m:ss or h:mm:ss */
char *units_count(char buf[UNITS_TEXT_BYTES], uint64_t n);     /* with thousands separators */
/* "1 sample", "8,400 samples": one is what a single one is called, a word that takes an "s". */
char *units_counted(char buf[UNITS_COUNTED_BYTES], uint64_t n, const char *one);
char *units_short(char buf[UNITS_TEXT_BYTES], double n); /* k, M, G */

#endif
