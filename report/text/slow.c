/* Sentences about ranks and nodes that were slower than the others. */
#include <math.h>
#include <string.h>

#include "core/units.h"
#include "report/say.h"
#include "report/slow.h"
#include "report/text/parts.h"

enum { SLOW_SHOWN = 5, SLOW_LINE_BYTES = 640 };

static const char *slow_value(char text[UNITS_TEXT_BYTES], unsigned measure, double value)
{
	if (measure == SLOW_RATE)
		return units_rate(text, value);
	return units_time(text, measure == SLOW_P99 ? value / 1e9 : value);
}

/* "waited 12.4 s for storage (median 3.1 s)", and what else made it slow. */
static void slow_add_measures(char line[SLOW_LINE_BYTES], const struct slow *s,
			      const struct slow_unit *u)
{
	char value[UNITS_TEXT_BYTES], median[UNITS_TEXT_BYTES], words[128];
	const char *before = "", *its = u->ranks > 1 ? "the middle one of its ranks " : "it ";

	for (unsigned m = 0; m < SLOW_MEASURES; m++) {
		if (!u->beyond[m] || isnan(u->value[m]))
			continue;
		slow_value(value, m, u->value[m]);
		slow_value(median, m, u->median[m]);
		if (m == SLOW_STORAGE)
			snprintf(words, sizeof(words), "waited %s for storage", value);
		else if (m == SLOW_P99)
			snprintf(words, sizeof(words), "had a %.40s p99 of %s", s->latency, value);
		else
			snprintf(words, sizeof(words), "moved %s", value);
		say(line, SLOW_LINE_BYTES, "%s%s%s (median %s)", before, its, words, median);
		before = ", ";
		its = "";
	}
}

static void slow_phase(struct page *page, const struct results_phase_read *p, const struct slow *s)
{
	char line[SLOW_LINE_BYTES], who[SLOW_WHO_BYTES], name[PHASE_NAME_BYTES];

	phase_name(page->file, p, name);
	for (uint32_t i = 0; i < s->count && i < SLOW_SHOWN; i++) {
		slow_who(page->file, &s->units[i], who);
		snprintf(line, sizeof(line), "%s: %s was slow: ", name, who);
		slow_add_measures(line, s, &s->units[i]);
		say(line, sizeof(line), ".");
		page_wrap(page, line);
	}
	if (s->count > SLOW_SHOWN)
		fprintf(page->out, "%s: %u more are slow; haul report --json names all.\n", name,
			s->count - SLOW_SHOWN);
}

void text_slow(struct page *page)
{
	for (uint32_t i = 0; i < page->file->phase_count; i++) {
		const struct results_phase_read *p = &page->file->phases[i];
		struct slow s;

		if (!slow_of(p, &s))
			continue;
		slow_phase(page, p, &s);
		slow_free(&s);
	}
}
