#include "backends/http/wire/text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

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

static bool unreserved(unsigned char c)
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

		if (unreserved(c) || (keep_slash && c == '/'))
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

	for (size_t i = 0; i < n; i++) {
		char pair[2] = {digits[bytes[i] >> 4], digits[bytes[i] & 15]};

		text_add_n(t, pair, 2);
	}
}

static const char base64_digits[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void text_add_base64(struct text *t, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i += 3) {
		size_t left = n - i;
		uint32_t w = (uint32_t)bytes[i] << 16;
		char four[4];

		w |= left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
		w |= left > 2 ? bytes[i + 2] : 0;
		four[0] = base64_digits[w >> 18];
		four[1] = base64_digits[w >> 12 & 63];
		four[2] = left > 1 ? base64_digits[w >> 6 & 63] : '=';
		four[3] = left > 2 ? base64_digits[w & 63] : '=';
		text_add_n(t, four, 4);
	}
}

int text_from_base64(const char *s, uint8_t *out, size_t max)
{
	size_t length = strlen(s), n = 0;
	uint32_t w = 0;
	unsigned bits = 0;

	while (length && s[length - 1] == '=')
		length--;
	for (size_t i = 0; i < length; i++) {
		const char *digit = s[i] ? strchr(base64_digits, s[i]) : NULL;

		if (!digit)
			return -1;
		w = w << 6 | (uint32_t)(digit - base64_digits);
		bits += 6;
		if (bits < 8)
			continue;
		bits -= 8;
		if (n == max)
			return -1;
		out[n++] = (uint8_t)(w >> bits);
	}
	return (int)n;
}

static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
				 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

static struct tm calendar(int64_t seconds)
{
	time_t t = (time_t)seconds;
	struct tm tm = {0};

	gmtime_r(&t, &tm);
	return tm;
}

static void put(char *out, unsigned value, unsigned width)
{
	while (width) {
		out[--width] = (char)('0' + value % 10);
		value /= 10;
	}
}

void date_basic(char out[DATE_BASIC_BYTES], int64_t seconds)
{
	struct tm tm = calendar(seconds);

	memcpy(out, "yyyymmddThhmmssZ", DATE_BASIC_BYTES);
	put(out, (unsigned)tm.tm_year + 1900, 4);
	put(out + 4, (unsigned)tm.tm_mon + 1, 2);
	put(out + 6, (unsigned)tm.tm_mday, 2);
	put(out + 9, (unsigned)tm.tm_hour, 2);
	put(out + 11, (unsigned)tm.tm_min, 2);
	put(out + 13, (unsigned)tm.tm_sec, 2);
}

void date_http(char out[DATE_HTTP_BYTES], int64_t seconds)
{
	struct tm tm = calendar(seconds);

	memcpy(out, "www, dd mmm yyyy hh:mm:ss GMT", DATE_HTTP_BYTES);
	memcpy(out, days[tm.tm_wday], 3);
	put(out + 5, (unsigned)tm.tm_mday, 2);
	memcpy(out + 8, months[tm.tm_mon], 3);
	put(out + 12, (unsigned)tm.tm_year + 1900, 4);
	put(out + 17, (unsigned)tm.tm_hour, 2);
	put(out + 20, (unsigned)tm.tm_min, 2);
	put(out + 23, (unsigned)tm.tm_sec, 2);
}

int64_t date_parse(const char *s)
{
	struct tm tm = {0};
	char month[4] = "";

	if (sscanf(s, "%*3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d", &tm.tm_mday, month,
		   &tm.tm_year, &tm.tm_hour, &tm.tm_min, &tm.tm_sec) == 6) {
		while (tm.tm_mon < 12 && strcmp(months[tm.tm_mon], month) != 0)
			tm.tm_mon++;
	} else if (sscanf(s, "%4d-%2d-%2dT%2d:%2d:%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
			  &tm.tm_hour, &tm.tm_min, &tm.tm_sec) == 6) {
		tm.tm_mon--;
	} else {
		return -1;
	}
	if (tm.tm_year < 1970 || tm.tm_mon < 0 || tm.tm_mon > 11 || tm.tm_mday < 1)
		return -1;
	tm.tm_year -= 1900;
	return (int64_t)timegm(&tm);
}

bool text_is(const char *s, size_t n, const char *word)
{
	return strlen(word) == n && strncasecmp(s, word, n) == 0;
}
