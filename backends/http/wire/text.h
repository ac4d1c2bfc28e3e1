/* SPDX-License-Identifier: Apache-2.0 */
/* Text in a bounded buffer, and the encodings of HTTP: percent, hexadecimal, base64. Nothing
 * allocates. Text that does not fit is cut, and the buffer says so. */
#ifndef HAUL_BACKENDS_HTTP_WIRE_TEXT_H
#define HAUL_BACKENDS_HTTP_WIRE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A buffer that is being filled. It is always terminated; after something did not fit nothing more
 * is added. */
struct text {
	char *at;
	size_t used, size;
	bool full;
};

static inline struct text text_in(char *buffer, size_t size)
{
	buffer[0] = '\0';
	return (struct text){.at = buffer, .size = size};
}

void text_add(struct text *t, const char *s);
void text_add_n(struct text *t, const char *s, size_t n);
void text_add_char(struct text *t, char c);
void text_add_u64(struct text *t, uint64_t value);
/* Writes every byte but A-Z a-z 0-9 - _ . ~ (and '/' with keep_slash) as %XX. */
void text_add_encoded(struct text *t, const char *s, bool keep_slash);
void text_add_hex(struct text *t, const uint8_t *bytes, size_t n);
void text_add_base64(struct text *t, const uint8_t *bytes, size_t n);

/* Returns how many bytes were decoded, at most max; -1 where s is not base64, or is longer. */
int text_from_base64(const char *s, uint8_t *out, size_t max);

/* Bytes of a URL that may be shown: what is before its query, which may hold a signature or a
 * token, and before its fragment. 0: it has user information. */
size_t text_url_shown(const char *url);

/* Whether the n bytes at s, which need not end there, are the word, whatever the case. */
bool text_is(const char *s, size_t n, const char *word);

/* Dates of HTTP and of signatures, in seconds since 1970. They depend on no locale and no time
 * zone. */

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
