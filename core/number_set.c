/* SPDX-License-Identifier: Apache-2.0 */
/* Number set: see number_set.h. */
#include "core/number_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"

enum { NUMBER_DIGITS = 9 };

/* Reads a number and moves *at behind it. */
static bool number_read(const char **at, uint32_t *number)
{
	size_t digits = strspn(*at, "0123456789");

	if (!digits || digits > NUMBER_DIGITS)
		return false;
	*number = (uint32_t)strtoul(*at, NULL, 10);
	*at += digits;
	return true;
}

static int range_read(const char **at, struct number_range *range, struct err *err)
{
	bool read;

	range->first = 0;
	read = number_read(at, &range->first);
	range->last = range->first;
	if (read && **at == '-') {
		++*at;
		read = number_read(at, &range->last);
	}
	if (!read || (**at && **at != ','))
		return err_set(err, -EINVAL, "must be numbers and ranges such as \"0-47,60\"");
	if (range->last < range->first)
		return err_set(err, -EINVAL, "the range %u-%u runs backwards", range->first,
			       range->last);
	return 0;
}

/* Keeps the ranges in ascending order. */
static int range_add(struct number_set *set, const struct number_range *range, struct err *err)
{
	uint32_t at = set->count;

	if (set->count == NUMBER_SET_RANGES)
		return err_set(err, -EINVAL, "has more than %d ranges", NUMBER_SET_RANGES);
	while (at && set->ranges[at - 1].first > range->first)
		at--;
	if (at && set->ranges[at - 1].last >= range->first)
		return err_set(err, -EINVAL, "names %u twice", range->first);
	if (at < set->count && set->ranges[at].first <= range->last)
		return err_set(err, -EINVAL, "names %u twice", set->ranges[at].first);
	memmove(&set->ranges[at + 1], &set->ranges[at], (set->count - at) * sizeof(*range));
	set->ranges[at] = *range;
	set->count++;
	return 0;
}

int number_set_parse(struct number_set *set, const char *text, struct err *err)
{
	const char *at = text;

	set->count = 0;
	for (;;) {
		struct number_range range;
		int rc = range_read(&at, &range, err);

		if (rc == 0)
			rc = range_add(set, &range, err);
		if (rc < 0)
			return rc;
		if (!*at)
			return 0;
		at++;
	}
}

bool number_set_has(const struct number_set *set, uint32_t number)
{
	for (uint32_t i = 0; i < set->count; i++)
		if (number >= set->ranges[i].first && number <= set->ranges[i].last)
			return true;
	return false;
}

uint64_t number_set_size(const struct number_set *set)
{
	uint64_t size = 0;

	for (uint32_t i = 0; i < set->count; i++)
		size += (uint64_t)set->ranges[i].last - set->ranges[i].first + 1;
	return size;
}

uint32_t number_set_last(const struct number_set *set)
{
	return set->ranges[set->count - 1].last;
}

bool number_sets_meet(const struct number_set *a, const struct number_set *b, uint32_t *number)
{
	for (uint32_t i = 0; i < a->count; i++) {
		for (uint32_t k = 0; k < b->count; k++) {
			const struct number_range *x = &a->ranges[i], *y = &b->ranges[k];

			*number = max_u64(x->first, y->first);
			if (*number <= x->last && *number <= y->last)
				return true;
		}
	}
	return false;
}
