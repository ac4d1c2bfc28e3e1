/* Checkpoints and model loading as text: how many bytes per second all ranks moved, and the slowest one. */
#include "core/units.h"
#include "report/text/page.h"
#include "report/text/table.h"

/* The loop without storage costs nothing where it takes less of the time than this. */
static const double cost_matters = 0.005;

enum { PHASE, GB_FIRST, GB_LAST, GB_SLOWEST, COLS };

static bool is_stream(const struct results_phase_read *p)
{
	return results_role(&p->merged, ROLE_BYTE_RATE_SLOWEST) >= 0;
}

static void streams_row(struct table_row *row, const struct results_phase_read *p)
{
	const enum role roles[COLS] = {[GB_FIRST] = ROLE_BYTE_RATE_FIRST,
				       [GB_LAST] = ROLE_BYTE_RATE,
				       [GB_SLOWEST] = ROLE_BYTE_RATE_SLOWEST};

	for (int c = GB_FIRST; c < COLS; c++)
		table_figure(row->cell[c], results_role_value(&p->merged, 0, roles[c]) / 1e9);
}

/* What haul itself costs, where that is more than a matter of rounding. */
static void streams_null(const struct page *page, const struct results_phase_read *p)
{
	double null = results_role_value(&p->merged, 0, ROLE_BYTE_RATE_NULL);
	double share = results_role_value(&p->merged, 0, ROLE_BYTE_RATE) / null;
	char sentence[512] = "", rate[UNITS_TEXT_BYTES];

	if (!is_stream(p) || !(share > cost_matters) || share >= 1)
		return;
	page_add(
		sentence, sizeof(sentence),
		"%s: Without storage the same loop reaches %s; so %.1f %% of the time here is haul's own cost.",
		p->record.name, units_rate(rate, null), share * 100);
	text_wrap(page->out, sentence, 0, 2);
}

static void streams_table(const struct page *page)
{
	static const char *const headings[COLS] = {"checkpoints, models", "GB/s first", "last",
						   "slowest rank"};
	const struct text_kind_table table = {
		.headings = headings,
		.columns = COLS,
		.fill = streams_row,
		.below =
			"first, last: of all ranks, until the first one had done its part, until the last one had;\n"
			"slowest rank: of its own part\n",
	};

	text_kind_table(page, &text_streams, &table);
	for (uint32_t i = 0; i < page->file->phase_count; i++)
		streams_null(page, &page->file->phases[i]);
}

const struct text_kind text_streams = {.is = is_stream, .table = streams_table};
