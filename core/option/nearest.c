/* SPDX-License-Identifier: Apache-2.0 */
/* The nearest name to a word that is not known, for messages: by edit distance. */
#include <string.h>

#include "core/numbers.h"
#include "core/option/option.h"

enum { WORD_MAX = 40 };

static int lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

/* Edits that turn a into b: insert, delete, replace, swap neighbours (optimal string alignment).
 * Both at most WORD_MAX long. */
static size_t distance(const char *a, const char *b)
{
	size_t rows[3][WORD_MAX + 1], n = strlen(a), m = strlen(b), i, j, cost;
	size_t *older = rows[0], *old = rows[1], *now = rows[2], *spare;

	for (j = 0; j <= m; j++)
		old[j] = j;
	for (i = 1; i <= n; i++) {
		now[0] = i;
		for (j = 1; j <= m; j++) {
			cost = lower(a[i - 1]) != lower(b[j - 1]);
			now[j] = min_u64(min_u64(old[j], now[j - 1]) + 1, old[j - 1] + cost);
			if (i > 1 && j > 1 && cost && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = min_u64(now[j], older[j - 2] + 1);
		}
		spare = older;
		older = old;
		old = now;
		now = spare;
	}
	return old[m];
}

/* The letters and digits of word, in small letters. */
static void fold(const char *word, char folded[WORD_MAX + 1])
{
	size_t n = 0;

	for (; *word && n < WORD_MAX; word++)
		if ((lower(*word) >= 'a' && lower(*word) <= 'z') || (*word >= '0' && *word <= '9'))
			folded[n++] = (char)lower(*word);
	folded[n] = '\0';
}

static const char *folded_as(const char *folded, const char *const *names)
{
	const char *found = NULL;
	char other[WORD_MAX + 1];

	for (; *names; names++) {
		fold(*names, other);
		if (strcmp(folded, other) != 0)
			continue;
		if (found)
			return NULL;
		found = *names;
	}
	return found;
}

const char *option_spelled(const char *word, const char *const *names)
{
	static const char there[] = "llama31", here[] = "llama3";
	char folded[WORD_MAX + 1], *at;
	const char *found;

	if (strlen(word) > WORD_MAX)
		return NULL;
	fold(word, folded);
	if (!folded[0])
		return NULL;
	found = folded_as(folded, names);
	at = strstr(folded, there);
	if (found || !at)
		return found;
	memmove(at + sizeof(here) - 1, at + sizeof(there) - 1, strlen(at + sizeof(there) - 1) + 1);
	return folded_as(folded, names);
}

const char *option_nearest(const char *word, const char *const *names)
{
	size_t length = strlen(word), best = (length + 2) / 3 + 1, d;
	const char *nearest = NULL;

	if (!length || length > WORD_MAX)
		return NULL;
	for (; *names; names++) {
		if (strlen(*names) > WORD_MAX)
			continue;
		d = distance(word, *names);
		if (d < best && d < length) {
			best = d;
			nearest = *names;
		}
	}
	return nearest;
}
