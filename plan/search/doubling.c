/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges whose values are doubled: see doubling.h. */
#include "plan/search/doubling.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/units.h"

#define DOTS ".."

/* A whole number, or a size with its unit. */
static bool doubling_value(const char *from, const char *to, uint64_t *value, bool *size)
{
	size_t length = (size_t)(to - from);
	char text[DOUBLING_TEXT_BYTES], *end;
	struct err ignored;

	if (to <= from || length >= sizeof(text) || !isdigit((unsigned char)*from))
		return false;
	memcpy(text, from, length);
	text[length] = '\0';
	errno = 0;
	*value = strtoull(text, &end, 10);
	if (!*end)
		return errno == 0;
	*size = true;
	return units_parse_bytes(text, value, &ignored) == 0;
}

bool doubling_begin(struct doubling *d, const char *from, const char *to)
{
	const char *dots = memmem(from, (size_t)(to - from), DOTS, strlen(DOTS));

	*d = (struct doubling){0};
	return dots && doubling_value(from, dots, &d->next, &d->size) &&
	       doubling_value(dots + strlen(DOTS), to, &d->high, &d->size) && d->next > 0 &&
	       d->next < d->high && d->high < UINT64_MAX / 2;
}

/* In the largest unit that leaves no rest. */
static void doubling_size(char text[DOUBLING_TEXT_BYTES], uint64_t value)
{
	static const char *const units[] = {"", " KiB", " MiB", " GiB", " TiB"};
	size_t i = 0;

	for (; i + 1 < COUNT(units) && value % 1024 == 0; i++)
		value /= 1024;
	snprintf(text, DOUBLING_TEXT_BYTES, "%llu%s", (unsigned long long)value, units[i]);
}

bool doubling_next(struct doubling *d, char text[DOUBLING_TEXT_BYTES])
{
	if (d->over)
		return false;
	if (d->size)
		doubling_size(text, d->next);
	else
		snprintf(text, DOUBLING_TEXT_BYTES, "%llu", (unsigned long long)d->next);
	d->over = d->next == d->high;
	d->next = min_u64(2 * d->next, d->high);
	return true;
}
