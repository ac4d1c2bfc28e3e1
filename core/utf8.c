/* SPDX-License-Identifier: Apache-2.0 */
/* Columns and cuts of UTF-8 text: see utf8.h. */
#include "core/utf8.h"

#include <limits.h>
#include <string.h>

/* Whether the byte continues a character: 10xxxxxx. */
static bool utf8_continues(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

unsigned utf8_columns(const char *text, size_t bytes)
{
	unsigned columns = 0;

	for (size_t i = 0; i < bytes && text[i]; i++)
		columns += !utf8_continues(text[i]);
	return columns;
}

size_t utf8_fit(const char *text, size_t bytes, unsigned columns)
{
	unsigned seen = 0;
	size_t n = 0;

	while (n < bytes && text[n]) {
		bool begins = !utf8_continues(text[n]);

		if (begins && seen == columns)
			return n;
		seen += begins;
		n++;
	}
	if (!text[n])
		return n;
	/* The cut goes back to the beginning of the character that does not fit. */
	while (n > 0 && utf8_continues(text[n]))
		n--;
	return n;
}

bool utf8_copy(char *to, size_t size, const char *text)
{
	size_t n = text ? utf8_fit(text, size - 1, UINT_MAX) : 0;

	if (n)
		memcpy(to, text, n);
	to[n] = '\0';
	return !text || !text[n];
}
