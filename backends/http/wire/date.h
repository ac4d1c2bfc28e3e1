/* SPDX-License-Identifier: Apache-2.0 */
/* Dates of HTTP and of signatures, in seconds since 1970. They depend on no locale and no time
 * zone. */
#ifndef HAUL_BACKENDS_HTTP_WIRE_DATE_H
#define HAUL_BACKENDS_HTTP_WIRE_DATE_H

#include <stdint.h>

enum {
	DATE_BASIC_BYTES = 17, /* "20130524T000000Z" */
	DATE_HTTP_BYTES = 30   /* "Fri, 24 May 2013 00:00:00 GMT" */
};

void date_basic(char out[DATE_BASIC_BYTES], int64_t seconds);
void date_http(char out[DATE_HTTP_BYTES], int64_t seconds);

/* Reads a date of RFC 7231 (IMF-fixdate), or of ISO 8601 in UTC ("2013-05-24T00:00:00Z", with or
 * without a fraction). Returns -1 for anything else. */
int64_t date_parse(const char *s);

#endif
