/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of core lists: see list.h. */
#include "plan/pin/list.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

static bool pin_list_number(const char **text, unsigned *value)
{
	unsigned long n = 0;
	const char *p = *text;

	if (!isdigit((unsigned char)*p))
		return false;
	for (; isdigit((unsigned char)*p) && n <= PIN_LIST_PU_MAX; p++)
		n = n * 10 + (unsigned long)(*p - '0');
	*text = p;
	*value = (unsigned)n;
	return n <= PIN_LIST_PU_MAX;
}

bool pin_list_read(const char **text, hwloc_bitmap_t set)
{
	unsigned first, last;

	for (;;) {
		if (!pin_list_number(text, &first))
			return false;
		last = first;
		if (**text == '-') {
			(*text)++;
			if (!pin_list_number(text, &last) || last < first)
				return false;
		}
		if (set)
			hwloc_bitmap_set_range(set, first, (int)last);
		if (**text != ',')
			return true;
		(*text)++;
	}
}

int pin_list_set(const char *list, uint32_t rank, uint32_t ranks, hwloc_bitmap_t set,
		 struct err *err)
{
	const char *p = list;
	uint32_t count = 0;

	if (set)
		hwloc_bitmap_zero(set);
	if (!*list)
		return err_set(err, -EINVAL,
			       "/cluster/cores: pin \"list\" needs core sets, one per local rank: "
			       "\"1-8:9-16\"");
	for (;; p++) {
		if (!pin_list_read(&p, count == rank ? set : NULL) || (*p && *p != ':'))
			return err_set(err, -EINVAL,
				       "/cluster/cores: \"%s\" is not a list of core sets at "
				       "\"%s\"; write it as \"1-8:9-16:17,19\"",
				       list, p);
		count++;
		if (*p == '\0')
			break;
	}
	if (count < ranks)
		return err_set(err, -EINVAL,
			       "/cluster/cores: names %u set%s, but a node has %u ranks", count,
			       count == 1 ? "" : "s", ranks);
	return 0;
}

int pin_list_reserved(const char *text, hwloc_bitmap_t set, struct err *err)
{
	const char *p = text;

	if (set)
		hwloc_bitmap_zero(set);
	if (strcmp(text, "none") == 0 || (pin_list_read(&p, set) && *p == '\0'))
		return 0;
	return err_set(
		err, -EINVAL,
		"/cluster/reserved_cores: \"%s\" is not a set of cores; write it as \"0,52\", or "
		"\"none\"",
		text);
}
