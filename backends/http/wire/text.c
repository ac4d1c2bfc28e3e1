/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/wire/text.h"

#include <openssl/evp.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { TEXT_BASE64_BYTES = 1024 };

static const char text_base64_digits[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void text_add_n(struct text *t, const char *s, size_t n)
{
	if (t->full || n >= t->size - t->used) {
		t->full = true;
		return;
	}
	memcpy(t->at + t->used, s, n);
	t->used += n;
	t->at[t->used] = '\0';
}

void text_add(struct text *t, const char *s)
{
	text_add_n(t, s, strlen(s));
}

void text_add_char(struct text *t, char c)
{
	text_add_n(t, &c, 1);
}

void text_add_u64(struct text *t, uint64_t value)
{
	char digits[20];
	size_t n = sizeof(digits);

	do {
		digits[--n] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	text_add_n(t, digits + n, sizeof(digits) - n);
}

static bool text_unreserved(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_' || c == '.' || c == '~';
}

void text_add_encoded(struct text *t, const char *s, bool keep_slash)
{
	static const char digits[] = "0123456789ABCDEF";
	const char *from = s;

	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		char code[3] = {'%', digits[c >> 4], digits[c & 15]};

		if (text_unreserved(c) || (keep_slash && c == '/'))
			continue;
		text_add_n(t, from, (size_t)(s - from));
		text_add_n(t, code, 3);
		from = s + 1;
	}
	text_add_n(t, from, (size_t)(s - from));
}

void text_add_hex(struct text *t, const uint8_t *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	char *at = t->at + t->used;

	if (t->full || 2 * n >= t->size - t->used) {
		t->full = true;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		*at++ = digits[bytes[i] >> 4];
		*at++ = digits[bytes[i] & 15];
	}
	*at = '\0';
	t->used += 2 * n;
}

void text_add_base64(struct text *t, const uint8_t *bytes, size_t n)
{
	size_t length = (n + 2) / 3 * 4;

	if (t->full || length >= t->size - t->used) {
		t->full = true;
		return;
	}
	/* Terminates it, too. */
	EVP_EncodeBlock((unsigned char *)t->at + t->used, bytes, (int)n);
	t->used += length;
}

/* EVP_DecodeBlock is lax: it skips white space at the ends and counts what padding stands for. */
int text_from_base64(const char *s, uint8_t *out, size_t max)
{
	size_t length = strlen(s), padding = 0, n;
	uint8_t bytes[TEXT_BASE64_BYTES];

	while (padding < 2 && padding < length && s[length - 1 - padding] == '=')
		padding++;
	n = length / 4 * 3;
	if (length % 4 || n > sizeof(bytes) || n < padding || n - padding > max ||
	    strspn(s, text_base64_digits) != length - padding)
		return -1;
	if (n && EVP_DecodeBlock(bytes, (const unsigned char *)s, (int)length) < 0)
		return -1;
	memcpy(out, bytes, n - padding);
	return (int)(n - padding);
}

bool text_is(const char *s, size_t n, const char *word)
{
	return strlen(word) == n && strncasecmp(s, word, n) == 0;
}

size_t text_url_shown(const char *url)
{
	const char *host = strstr(url, "://");

	host = host ? host + 3 : url;
	return host[strcspn(host, "@/?#")] == '@' ? 0 : strcspn(url, "?#");
}

/* haul never calls setlocale, so names of days and months are English. */
static void date_print(char *out, size_t size, const char *format, int64_t seconds)
{
	time_t t = (time_t)seconds;
	struct tm tm = {0};

	gmtime_r(&t, &tm);
	if (strftime(out, size, format, &tm) == 0)
		out[0] = '\0';
}

void date_basic(char out[DATE_BASIC_BYTES], int64_t seconds)
{
	date_print(out, DATE_BASIC_BYTES, "%Y%m%dT%H%M%SZ", seconds);
}

void date_http(char out[DATE_HTTP_BYTES], int64_t seconds)
{
	date_print(out, DATE_HTTP_BYTES, "%a, %d %b %Y %H:%M:%S GMT", seconds);
}

int64_t date_parse(const char *s)
{
	struct tm tm = {0};

	if (!strptime(s, "%a, %d %b %Y %H:%M:%S", &tm)) {
		tm = (struct tm){0};
		if (!strptime(s, "%Y-%m-%dT%H:%M:%S", &tm))
			return -1;
	}
	return tm.tm_year < 70 ? -1 : (int64_t)timegm(&tm);
}
