/* What parsing, printing and describing options share: paths, bounds, what is chosen. */
#include "core/option/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"

void option_path(char where[OPTION_PATH_BYTES], const char *path, const char *key)
{
	char quoted[JSON_QUOTE_BYTES], escaped[2 * JSON_QUOTE_BYTES];
	size_t n, i, at = 0;

	json_quote(quoted, key);
	n = strlen(quoted) - 1; /* without the quotes; as RFC 6901 writes keys */
	for (i = 1; i < n; i++) {
		if (quoted[i] == '~' || quoted[i] == '/') {
			escaped[at++] = '~';
			escaped[at++] = quoted[i] == '~' ? '0' : '1';
		} else {
			escaped[at++] = quoted[i];
		}
	}
	escaped[at] = '\0';
	snprintf(where, OPTION_PATH_BYTES, "%.140s/%s", path, escaped);
}

char *option_exact(char buf[OPTION_EXACT_BYTES], enum option_kind kind, uint64_t value)
{
	static const struct {
		uint64_t factor;
		const char *name;
	} sizes[] = {{1ull << 40, "TiB"}, {1ull << 30, "GiB"},      {1ull << 20, "MiB"},
		     {1ull << 10, "KiB"}, {1000000000000ull, "TB"}, {1000000000ull, "GB"},
		     {1000000ull, "MB"},  {1000ull, "kB"},          {1, "B"}},
	  times[] = {{86400000000000ull, "d"},
		     {3600000000000ull, "h"},
		     {60000000000ull, "min"},
		     {1000000000ull, "s"},
		     {1000000ull, "ms"},
		     {1000ull, "us"},
		     {1, "ns"}};
	const char *suffix = kind == OPTION_RATE ? "/s" : "";
	size_t i = 0;

	if (kind == OPTION_TIME) {
		while (value % times[i].factor || (!value && times[i].factor != 1000000000ull))
			i++;
		snprintf(buf, OPTION_EXACT_BYTES, "%llu %s",
			 (unsigned long long)(value / times[i].factor), times[i].name);
	} else if (kind == OPTION_BYTES || kind == OPTION_RATE) {
		while (value % sizes[i].factor || (!value && sizes[i].factor != 1))
			i++;
		snprintf(buf, OPTION_EXACT_BYTES, "%llu %s%s",
			 (unsigned long long)(value / sizes[i].factor), sizes[i].name, suffix);
	} else {
		snprintf(buf, OPTION_EXACT_BYTES, "%llu", (unsigned long long)value);
	}
	return buf;
}

double option_min_real(const struct option *o)
{
	return o->min_real == 0 && o->max_real == 0 ? -INFINITY : o->min_real;
}

double option_max_real(const struct option *o)
{
	return o->max_real < o->min_real || (o->min_real == 0 && o->max_real == 0) ? INFINITY
										   : o->max_real;
}

bool option_default_valid(const struct option *o)
{
	uint32_t n = 0;

	switch (o->kind) {
	case OPTION_U64:
	case OPTION_BYTES:
	case OPTION_TIME:
	case OPTION_RATE:
		return o->def >= o->min && (!o->max || o->def <= o->max);
	case OPTION_REAL:
		return isfinite(o->def_real) && o->def_real >= option_min_real(o) &&
		       o->def_real <= option_max_real(o);
	case OPTION_CHOICE:
		while (o->choices[n])
			n++;
		return o->def < n;
	default:
		return true;
	}
}

bool option_is_default(const struct option *o, const void *from)
{
	const void *member = option_member_of(from, o);
	double d;

	switch (o->kind) {
	case OPTION_U64:
	case OPTION_BYTES:
	case OPTION_TIME:
	case OPTION_RATE:
		return *(const uint64_t *)member == o->def;
	case OPTION_REAL:
		d = *(const double *)member;
		return !(d < o->def_real) &&
		       !(d > o->def_real); /* NaN is refused, too, unless it is the default */
	case OPTION_CHOICE:
		return *(const uint32_t *)member == o->def;
	default:
		return false;
	}
}

const char *option_choice(const char *name, const struct option *table, const void *from)
{
	while (strcmp(table->name, name) != 0)
		table++;
	return table->choices[*(const uint32_t *)option_member_of(from, table)];
}

bool option_chosen(const struct option *o, const struct option *table, const void *from)
{
	return !o->of || strcmp(option_choice(o->of, table, from), o->name) == 0;
}
