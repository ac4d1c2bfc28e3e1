/* SPDX-License-Identifier: Apache-2.0 */
/* Targets: see target.h. */
#include "core/target.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "core/units.h"

enum { FOUND_DIGITS = 3, ASKED_DIGITS = 6, DIGITS_MAX = 12 };

bool target_met(const struct target_result *r)
{
	if (isnan(r->found))
		return false;
	return r->most ? r->found <= r->asked : r->found >= r->asked;
}

const char *const target_state_names[TARGET_STATES] = {
	[TARGET_MET] = "met", [TARGET_MISSED] = "missed", [TARGET_UNKNOWN] = "unknown"};

enum target_state target_state(const struct target_result *r)
{
	return isnan(r->found) || r->voided ? TARGET_UNKNOWN
	       : target_met(r)              ? TARGET_MET
					    : TARGET_MISSED;
}

const char *target_word(const struct target_result *r)
{
	static const char *const words[][2] = {{"is missed", "is met"},
					       {"would be missed", "would be met"}};

	return isnan(r->found) ? "is neither met nor missed" : words[r->voided][target_met(r)];
}

struct unit_step {
	double from, factor;
	const char *name;
};
static const struct unit_step times[] = {{60e9, 1 / 60e9, " min"},
					 {1e9, 1e-9, " s"},
					 {1e6, 1e-6, " ms"},
					 {1e3, 1e-3, " us"},
					 {0, 1, " ns"}};
static const struct unit_step rates[] = {{1e12, 1e-12, " TB/s"},
					 {1e9, 1e-9, " GB/s"},
					 {1e6, 1e-6, " MB/s"},
					 {1e3, 1e-3, " kB/s"},
					 {0, 1, " B/s"}};
static const struct unit_step shares[] = {{0, 100, " %"}};

static const struct unit_step *target_scale(const char *unit, double value)
{
	const struct unit_step *s = NULL;

	if (strcmp(unit, "fraction") == 0)
		s = shares;
	else if (strcmp(unit, "ns") == 0)
		s = times;
	else if (strcmp(unit, "B/s") == 0)
		s = rates;
	while (s && s->from > 0 && fabs(value) < s->from)
		s++;
	return s;
}

/* Writes the value with that many digits, followed by the unit. Returns the value that the text
 * shows, for comparison. */
static double target_value_text(char text[TARGET_TEXT_BYTES], const char *unit, double value,
				int digits)
{
	const struct unit_step *s = target_scale(unit, value);
	char number[32], *end;
	double factor = s ? s->factor : 1, scaled = value * factor;
	int decimals = fabs(scaled) >= 1 ? digits - 1 - (int)floor(log10(fabs(scaled))) : digits;

	snprintf(number, sizeof(number), "%.*f", max_int(decimals, 0), scaled);
	if (strchr(number, '.')) {
		end = number + strlen(number);
		while (end[-1] == '0')
			*--end = '\0';
		if (end[-1] == '.')
			*--end = '\0';
	}
	scaled = strtod(number, NULL);
	if (!s && scaled >= 1000 && !strchr(number, '.'))
		units_count(number, (uint64_t)scaled);
	snprintf(text, TARGET_TEXT_BYTES, "%s%s", number,
		 s                          ? s->name
		 : strcmp(unit, "1/s") == 0 ? "/s"
					    : "");
	return scaled / factor;
}

char *target_value(char text[TARGET_TEXT_BYTES], const char *unit, double value, int digits)
{
	if (isfinite(value))
		target_value_text(text, unit, value, digits);
	else
		snprintf(text, TARGET_TEXT_BYTES, "%s", isnan(value) ? "unknown" : "unlimited");
	return text;
}

void target_sentence(char *text, unsigned size, const struct target_result *r, const char *about)
{
	char found[TARGET_TEXT_BYTES], asked[TARGET_TEXT_BYTES];
	int digits = FOUND_DIGITS;

	target_value(asked, r->unit, r->asked, ASKED_DIGITS);
	target_value(found, r->unit, r->found, digits);
	/* The rounded value must not seem to be on the other side of the target. */
	while (isfinite(r->found) && digits < DIGITS_MAX) {
		struct target_result shown = *r;

		shown.found = target_value_text(found, r->unit, r->found, digits++);
		if (target_met(&shown) == target_met(r) &&
		    (target_met(r) || strcmp(found, asked) != 0))
			break;
	}
	if (isnan(r->found))
		snprintf(text, size,
			 "%s is unknown%s%s so the target of %s%s is neither met nor missed",
			 r->label, about, *about && about[strlen(about) - 1] == ',' ? "" : ",",
			 r->most ? "at most " : "", asked);
	else
		snprintf(text, size, "%s %s%s %s the target of %s%s", r->label, found, about,
			 r->voided       ? target_met(r) ? "would meet" : "would miss"
			 : target_met(r) ? "meets"
					 : "misses",
			 r->most ? "at most " : "", asked);
}
