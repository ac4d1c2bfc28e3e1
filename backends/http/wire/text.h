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

#endif
