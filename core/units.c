/* SPDX-License-Identifier: Apache-2.0 */
/* Units: see units.h. Reading is exact: decimal digits go into 128-bit integers, never through
 * double, so that "18446744073709551615" and "0.1 s" keep their exact values. */
#include "core/units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"

typedef unsigned __int128 wide; /* C11 has no name for this type */

struct unit {
	const char *name;
	uint64_t factor;
};

/* So large a number is of bytes. */
enum { BYTES_LIKELY = 1 << 20 };

static const struct unit byte_units[] = {{"B", 1},
					 {"kB", 1000ull},
					 {"MB", 1000000ull},
					 {"GB", 1000000000ull},
					 {"TB", 1000000000000ull},
					 {"PB", 1000000000000000ull},
					 {"EB", 1000000000000000000ull},
					 {"KiB", 1ull << 10},
					 {"MiB", 1ull << 20},
					 {"GiB", 1ull << 30},
					 {"TiB", 1ull << 40},
					 {"PiB", 1ull << 50},
					 {"EiB", 1ull << 60},
					 {NULL, 0}};

static const struct unit time_units[] = {{"ns", 1},
					 {"us", 1000ull},
					 {"ms", 1000000ull},
					 {"s", 1000000000ull},
					 {"min", 60000000000ull},
					 {"h", 3600000000000ull},
					 {"d", 86400000000000ull},
					 {NULL, 0}};

/* A kind of quantity: its units, what follows them ("/s"), and words for messages. */
struct quantity {
	const struct unit *units;
	const char *suffix;
	const char *noun, *form;
	const char *likely, *other; /* units that a bare number may have been meant in */
};

static const struct quantity bytes_quantity = {byte_units, "", "size", "140 MiB", "GiB", "MiB"};
static const struct quantity time_quantity = {time_units, "", "time", "323 ms", "s", "ms"};
static const struct quantity rate_quantity = {byte_units, "/s", "rate", "2 GB/s", "GB/s", "MB/s"};

/* Reads "12.50" as digits 1250 with 2 decimals, then spaces. Returns what follows, or NULL where
 * text does not begin with a number. Decimals beyond the 12th are ignored. More than 20 whole
 * digits give 10^20, which is too large for any quantity. */
static const char *read_decimal(const char *text, wide *digits, unsigned *decimals)
{
	const wide limit = (wide)10000000000u * 10000000000u;
	const char *p = text;
	bool any = false;

	*digits = 0;
	*decimals = 0;
	for (; *p >= '0' && *p <= '9'; p++, any = true)
		*digits = *digits >= limit / 10 ? limit : *digits * 10 + (unsigned)(*p - '0');
	if (!any)
		return NULL;
	if (*p == '.') {
		for (p++, any = false; *p >= '0' && *p <= '9'; p++, any = true) {
			if (*decimals < 12 && *digits < limit / 10) {
				*digits = *digits * 10 + (unsigned)(*p - '0');
				++*decimals;
			}
		}
		if (!any)
			return NULL;
	}
	while (*p == ' ')
		p++;
	return p;
}

static int quantity_factor(const struct quantity *q, const char *text, const char *unit,
			   uint64_t *factor, struct err *err)
{
	char quoted[JSON_QUOTE_BYTES], unit_quoted[JSON_QUOTE_BYTES], known[128] = "";
	const struct unit *u;
	size_t n;

	/* Zero needs no unit. A long string of digits is a number of bytes that JSON cannot hold as
	 * a number. */
	if (!*unit && (strspn(text, "0. \t") == strlen(text) ||
		       (q->units == byte_units && strlen(text) >= 16 && !strchr(text, '.')))) {
		*factor = 1;
		return 0;
	}
	if (!*unit && q->units == byte_units && strtod(text, NULL) >= BYTES_LIKELY)
		return err_set(err, -EINVAL, "%s needs a unit; write it as \"%.24s B\"",
			       json_quote(quoted, text), text);
	if (!*unit)
		return err_set(err, -EINVAL,
			       "%s needs a unit; write it as \"%.24s %s\" or \"%.24s %s\"",
			       json_quote(quoted, text), text, q->likely, text, q->other);
	if (q->units == time_units && (!strcmp(unit, "\xc2\xb5s") || !strcmp(unit, "\xce\xbcs")))
		unit = "us"; /* Unicode has two micro signs */
	for (u = q->units; u->name; u++) {
		n = strlen(u->name);
		if ((!strncmp(unit, u->name, n) ||
		     (!strcmp(u->name, "kB") && !strncmp(unit, "KB", 2))) &&
		    !strcmp(unit + n, q->suffix)) {
			*factor = u->factor;
			return 0;
		}
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s%s",
			 *known ? ", " : "", u->name, q->suffix);
	}
	return err_set(err, -EINVAL, "%s is not a %s: unknown unit %s; known are %s",
		       json_quote(quoted, text), q->noun, json_quote(unit_quoted, unit), known);
}

static int quantity_parse(const struct quantity *q, const char *text, uint64_t *value,
			  struct err *err)
{
	char quoted[JSON_QUOTE_BYTES];
	uint64_t factor = 0, scale = 1;
	unsigned decimals, i;
	const char *unit;
	wide digits;
	int rc;

	unit = read_decimal(text, &digits, &decimals);
	if (!unit && *text == '-')
		return err_set(err, -EINVAL, "%s is not a %s: it must not be negative",
			       json_quote(quoted, text), q->noun);
	if (!unit)
		return err_set(err, -EINVAL, "%s is not a %s; write it as \"%s\"",
			       json_quote(quoted, text), q->noun, q->form);
	rc = quantity_factor(q, text, unit, &factor, err);
	if (rc < 0)
		return rc;
	for (i = 0; i < decimals; i++)
		scale *= 10;
	if (factor == 1 && digits % scale)
		return err_set(err, -EINVAL, "%s is not a whole number of %s",
			       json_quote(quoted, text),
			       q->units == time_units ? "nanoseconds" : "bytes");
	digits = (digits * factor + scale / 2) / scale;
	if (digits > UINT64_MAX)
		return err_set(err, -EINVAL, "%s is too large: a %s must be below 2^64 %s",
			       json_quote(quoted, text), q->noun,
			       q->units == time_units ? "ns" : "bytes");
	*value = (uint64_t)digits;
	return 0;
}

int units_parse_bytes(const char *text, uint64_t *bytes, struct err *err)
{
	return quantity_parse(&bytes_quantity, text, bytes, err);
}

int units_parse_time(const char *text, uint64_t *ns, struct err *err)
{
	return quantity_parse(&time_quantity, text, ns, err);
}

int units_parse_rate(const char *text, uint64_t *bytes_per_second, struct err *err)
{
	return quantity_parse(&rate_quantity, text, bytes_per_second, err);
}

/* At least three digits, with zeros at the end dropped: 1.12, 14, 93.3. Hundreds keep tenths where
 * they are asked for: 630.5. */
static void units_figure(char buf[UNITS_TEXT_BYTES], double v, bool tenths)
{
	int decimals = v < 9.995 ? 2 : v < 99.95 || tenths ? 1 : 0;
	size_t n;

	n = (size_t)snprintf(buf, UNITS_TEXT_BYTES, "%.*f", decimals, v);
	if (!decimals)
		return;
	while (buf[n - 1] == '0')
		buf[--n] = '\0';
	if (buf[n - 1] == '.')
		buf[n - 1] = '\0';
}

/* NaN and infinities, which need no unit. Returns true when it has written buf. */
static bool units_odd(char buf[UNITS_TEXT_BYTES], double v)
{
	if (isfinite(v))
		return false;
	snprintf(buf, UNITS_TEXT_BYTES, "%s", isnan(v) ? "-" : v > 0 ? "unlimited" : "-unlimited");
	return true;
}

static char *units_scaled(char buf[UNITS_TEXT_BYTES], double v, double base,
			  const char *const *names, int last, bool tenths, const char *suffix)
{
	double size = fabs(v), limit = base - (tenths ? 0.05 : 0.5);
	char number[UNITS_TEXT_BYTES];
	int i = 0;

	if (units_odd(buf, v))
		return buf;
	while (i < last && size >= (i || !tenths ? limit : base - 0.5)) {
		size /= base;
		i++;
	}
	if (size >= 1e9) /* larger than the last unit */
		snprintf(number, sizeof(number), "%.3g", size);
	else if (!i && tenths)
		snprintf(number, sizeof(number), "%.0f", size); /* bytes are whole numbers */
	else
		units_figure(number, size, tenths);
	snprintf(buf, UNITS_TEXT_BYTES, "%s%.16s%s%s%s", v < 0 ? "-" : "", number,
		 *names[i] ? " " : "", names[i], suffix);
	return buf;
}

static const char *const decimal_names[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
static const char *const binary_names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
static const char *const short_names[] = {"", "k", "M", "G", "T", "P", "E"};

char *units_bytes_decimal(char buf[UNITS_TEXT_BYTES], double bytes)
{
	return units_scaled(buf, bytes, 1000, decimal_names, 6, true, "");
}

char *units_bytes_binary(char buf[UNITS_TEXT_BYTES], double bytes)
{
	return units_scaled(buf, bytes, 1024, binary_names, 6, true, "");
}

char *units_rate(char buf[UNITS_TEXT_BYTES], double bytes_per_second)
{
	return units_scaled(buf, bytes_per_second, 1000, decimal_names, 6, true, "/s");
}

char *units_short(char buf[UNITS_TEXT_BYTES], double n)
{
	return units_scaled(buf, n, 1000, short_names, 6, false, "");
}

char *units_time(char buf[UNITS_TEXT_BYTES], double seconds)
{
	static const struct {
		double below,
			factor; /* below: in seconds, where this unit's figure would round up to the next */
		const char *name;
	} steps[] = {{999.5e-9, 1e9, "ns"},       {999.5e-6, 1e6, "us"},
		     {999.5e-3, 1e3, "ms"},       {119.5, 1, "s"},
		     {7200, 1 / 60.0, "min"},     {172800, 1 / 3600.0, "h"},
		     {INFINITY, 1 / 86400.0, "d"}};
	double size = fabs(seconds);
	char number[UNITS_TEXT_BYTES];
	int i = 0;

	if (units_odd(buf, seconds))
		return buf;
	if (size < 0.5e-12) {
		snprintf(buf, UNITS_TEXT_BYTES, "0 s");
		return buf;
	}
	while (size >= steps[i].below)
		i++;
	size *= steps[i].factor;
	if (size >= 1e9)
		snprintf(number, sizeof(number), "%.3g", size);
	else
		units_figure(number, size, false);
	snprintf(buf, UNITS_TEXT_BYTES, "%s%.16s %s", seconds < 0 ? "-" : "", number,
		 steps[i].name);
	return buf;
}

char *units_clock(char buf[UNITS_TEXT_BYTES], double seconds)
{
	uint64_t s;

	if (units_odd(buf, seconds))
		return buf;
	s = seconds <= 0 ? 0 : seconds > 1e15 ? (uint64_t)1e15 : (uint64_t)(seconds + 0.5);
	if (s < 3600)
		snprintf(buf, UNITS_TEXT_BYTES, "%u:%02u", (unsigned)(s / 60), (unsigned)(s % 60));
	else
		snprintf(buf, UNITS_TEXT_BYTES, "%llu:%02u:%02u", (unsigned long long)(s / 3600),
			 (unsigned)(s / 60 % 60), (unsigned)(s % 60));
	return buf;
}

char *units_count(char buf[UNITS_TEXT_BYTES], uint64_t n)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n), i;
	char *p = buf;

	for (i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*p++ = ',';
		*p++ = digits[i];
	}
	*p = '\0';
	return buf;
}

char *units_counted(char buf[UNITS_COUNTED_BYTES], uint64_t n, const char *one)
{
	char count[UNITS_TEXT_BYTES];

	snprintf(buf, UNITS_COUNTED_BYTES, "%s %s%s", units_count(count, n), one,
		 n == 1 ? "" : "s");
	return buf;
}
