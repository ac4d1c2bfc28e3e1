/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences about phases: targets that a phase has, what phases that ran together cost each other,
 * steps of a training that stand out, and ranks and nodes that were slower than the others. */
#include <math.h>
#include <string.h>

#include "core/units.h"
#include "facts/text.h"
#include "report/against.h"
#include "report/doubt.h"
#include "report/say.h"
#include "report/slow.h"
#include "report/text/page.h"

void text_targets(struct page *page, const struct results_phase_read *told)
{
	const struct results_file *f = page->file;
	char sentence[512 + 3 * DOUBT_BYTES], of[256];
	struct doubts doubts;

	for (uint32_t i = 0; i < f->phase_count; i++) {
		const struct results_phase_read *p = &f->phases[i];
		bool has_au = !isnan(results_role_value(&p->merged, 0, ROLE_UTILISATION));

		for (uint32_t k = 0; p != told && k < p->target_count; k++) {
			const struct target_result *t = &p->targets[k];

			if (has_au && strcmp(t->name, "target_au") == 0)
				continue;
			target_sentence(of, sizeof(of), t, "");
			snprintf(sentence, sizeof(sentence), "%s: %s.", p->record.name, of);
			doubts_of(&doubts, f, p);
			doubts_but(sentence, sizeof(sentence), &doubts, !isnan(t->found));
			text_wrap(page->out, sentence, 0, 2);
		}
	}
}

/* "AU 61.0 %, alone 98.2 % (-37.2 points)" */
static void price_au(char *line, size_t size, const struct together_figure *au)
{
	if (isnan(au->beside) || isnan(au->alone))
		return;
	say(line, size, " AU %.1f %%, alone %.1f %% (%+.1f points)", au->beside * 100,
	    au->alone * 100, (au->beside - au->alone) * 100);
}

/* "1.20 GB/s, alone 2.00 GB/s (-40.0 %)" */
static void price_rate(char *line, size_t size, const struct together_figure *rate)
{
	char beside[UNITS_TEXT_BYTES], alone[UNITS_TEXT_BYTES];

	if (!(rate->alone > 0) || isnan(rate->beside))
		return;
	say(line, size, "%s %s, alone %s (%+.1f %%)", line[strlen(line) - 1] == ')' ? ";" : "",
	    units_rate(beside, rate->beside), units_rate(alone, rate->alone),
	    (rate->beside / rate->alone - 1) * 100);
}

void text_together(struct page *page)
{
	for (uint32_t i = 0; i < page->file->phase_count; i++) {
		const struct results_phase_read *p = &page->file->phases[i];
		char line[512], name[PHASE_NAME_BYTES];
		struct together_price price;

		if (!together_price_of(page->file, p, &price))
			continue;
		phase_name(page->file, p, name);
		snprintf(line, sizeof(line), "%s on %.100s beside others:", name,
			 p->record.together);
		price_au(line, sizeof(line), &price.au);
		price_rate(line, sizeof(line), &price.bytes_per_second);
		/* A phase that moves no bytes, such as one of stat, has neither. */
		if (line[strlen(line) - 1] == ':')
			continue;
		page_wrap(page, line);
	}
}

/* With fewer rows nothing stands out. A row that holds this share of all waiting does. */
enum { ROWS_LEAST = 16 };
static const double share_large = 0.25, wait_least_s = 0.1;

/* Finds the row, after the first (which waits for an empty pipeline), in which ranks waited longest
 * for their batches. */
static bool worst_row(const struct results_steps *s, uint64_t *worst, double *share)
{
	double sum = 0, most = 0;

	for (uint64_t i = 1; i < s->rows; i++) {
		double load = s->mean_ns[STEP_LOAD][i];

		if (isnan(load))
			continue;
		sum += load;
		if (load > most) {
			most = load;
			*worst = i;
		}
	}
	*share = most / sum;
	return s->rows >= ROWS_LEAST && most > 0 &&
	       most * (double)s->steps_per_row >= wait_least_s * 1e9;
}

void text_steps(struct page *page)
{
	char line[512], longest[UNITS_TEXT_BYTES];
	uint64_t worst = 0;
	double share;

	for (uint32_t i = 0; i < page->file->phase_count; i++) {
		const struct results_phase_read *p = &page->file->phases[i];
		const struct results_steps *s = &results_whole(p)->steps;

		if (!worst_row(s, &worst, &share) || share < share_large)
			continue;
		if (s->steps_per_row > 1)
			snprintf(line, sizeof(line), "%s: steps %.0f to %.0f waited",
				 p->record.name, s->step[worst],
				 s->step[worst] + (double)s->steps_per_row - 1);
		else
			snprintf(line, sizeof(line), "%s: step %.0f waited", p->record.name,
				 s->step[worst]);
		say(line, sizeof(line),
		    " for %.0f %% of the time that all steps waited for their batches, up to %s "
		    "at once.",
		    share * 100, units_time(longest, s->max_ns[STEP_LOAD][worst] / 1e9));
		fputc('\n', page->out);
		text_wrap(page->out, line, 0, 2);
	}
}

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
