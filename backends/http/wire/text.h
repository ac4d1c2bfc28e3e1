/* Text into a bounded buffer, and the encodings of HTTP: percent, hex, base64, dates. Nothing
 * allocates; what does not fit is cut and said by full. */
#ifndef HAUL_BACKENDS_HTTP_WIRE_TEXT_H
#define HAUL_BACKENDS_HTTP_WIRE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A buffer being filled. Always terminated; nothing is added once something did not fit. */
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
/* Every byte but A-Z a-z 0-9 - _ . ~ (and, where keep_slash, '/') as %XX. */
void text_add_encoded(struct text *t, const char *s, bool keep_slash);
void text_add_hex(struct text *t, const uint8_t *bytes, size_t n);
void text_add_base64(struct text *t, const uint8_t *bytes, size_t n);

/* Bytes decoded, at most max; -1: no base64, or more than max. */
int text_from_base64(const char *s, uint8_t *out, size_t max);

enum {
	DATE_BASIC_BYTES = 17, /* "20130524T000000Z" */
	DATE_HTTP_BYTES = 30   /* "Fri, 24 May 2013 00:00:00 GMT" */
};
/* Of seconds since 1970; no locale, no time zone. */
void date_basic(char out[DATE_BASIC_BYTES], int64_t seconds);
void date_http(char out[DATE_HTTP_BYTES], int64_t seconds);
/* Of an RFC 7231 date (IMF-fixdate), or of ISO 8601 in UTC ("2013-05-24T00:00:00Z", with or without a
 * fraction). -1: neither. */
int64_t date_parse(const char *s);

/* n bytes at s, which need not end there, are the word, whatever the case. */
bool text_is(const char *s, size_t n, const char *word);

#endif
