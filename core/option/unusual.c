/* SPDX-License-Identifier: Apache-2.0 */
/* Values that are allowed and yet are probably a slip of a unit: see option.h. */
#include <stdio.h>

#include "core/content/random.h"
#include "core/option/internal.h"
#include "core/option/option.h"
#include "core/units.h"

enum { SAID_BYTES = 128 };

static bool unusual_bytes(const struct option *o, const void *member, char said[SAID_BYTES])
{
	uint64_t bytes = *(const uint64_t *)member;
	char is[UNITS_TEXT_BYTES];

	if (bytes == o->def || bytes >= o->usual)
		return false;
	snprintf(said, SAID_BYTES, "is %s; a bare number is bytes: perhaps \"%llu MiB\" is meant",
		 units_bytes_binary(is, (double)bytes), (unsigned long long)bytes);
	return true;
}

static bool unusual_time(const struct option *o, double ns, char said[SAID_BYTES])
{
	char is[UNITS_TEXT_BYTES];

	if (ns <= (double)o->usual)
		return false;
	snprintf(said, SAID_BYTES, "is %s; a bare number is seconds: perhaps \"%.6g ms\" is meant",
		 units_time(is, ns / 1e9), ns / 1e9);
	return true;
}

static void unusual_table(const struct option *table, const void *from, const char *path,
			  void (*note)(void *argument, const char *where, const char *said),
			  void *argument)
{
	char where[OPTION_PATH_BYTES], said[SAID_BYTES];

	for (const struct option *o = table; o->name; o++) {
		const void *member = (const char *)from + o->offset;
		bool odd = false;

		option_path(where, path, o->name);
		if (o->kind == OPTION_TABLE)
			unusual_table(o->table, member, where, note, argument);
		else if (o->usual && o->kind == OPTION_BYTES)
			odd = unusual_bytes(o, member, said);
		else if (o->usual && o->kind == OPTION_TIME)
			odd = unusual_time(o, (double)*(const uint64_t *)member, said);
		else if (o->usual && o->kind == OPTION_DRAW)
			odd = unusual_time(o, draw_mean(member), said);
		if (odd)
			note(argument, where, said);
	}
}

void options_unusual(const struct option *const *tables, const void *from, const char *path,
		     void (*note)(void *argument, const char *where, const char *said),
		     void *argument)
{
	for (; *tables; tables++)
		unusual_table(*tables, from, path, note, argument);
}
