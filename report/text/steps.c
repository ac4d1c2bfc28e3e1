/* Steps of a training that stand out: a sentence where a few steps caused most of the time in which
 * ranks waited for batches. */
#include <math.h>
#include <string.h>

#include "core/units.h"
#include "report/text/page.h"
#include "report/text/table.h"

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

void text_steps(const struct page *page)
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
		page_add(
			line, sizeof(line),
			" for %.0f %% of the time that all steps waited for their batches, up to %s "
			"at once.",
			share * 100, units_time(longest, s->max_ns[STEP_LOAD][worst] / 1e9));
		fputc('\n', page->out);
		text_wrap(page->out, line, 0, 2);
	}
}
