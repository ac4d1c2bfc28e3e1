/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints and model loading as text: how many bytes per second all ranks moved, and the slowest
 * one. */
#include "core/units.h"
#include "facts/text.h"
#include "report/text/page.h"

/* The loop without storage costs nothing where it takes less of the time than this. */
static const double cost_matters = 0.005;

static bool streams_is(const struct results_phase_read *p)
{
	return results_role(&p->merged, ROLE_BYTE_RATE_SLOWEST) >= 0;
}

/* What haul itself costs, where that is more than a matter of rounding. */
static void streams_null(struct page *page)
{
	for (uint32_t i = 0; i < page->file->phase_count; i++) {
		const struct results_phase_read *p = &page->file->phases[i];
		double null = results_role_value(&p->merged, 0, ROLE_BYTE_RATE_NULL);
		double share = results_role_value(&p->merged, 0, ROLE_BYTE_RATE) / null;
		char sentence[512], rate[UNITS_TEXT_BYTES];

		if (!streams_is(p) || !(share > cost_matters) || share >= 1)
			continue;
		snprintf(sentence, sizeof(sentence),
			 "%s: Without storage the same loop reaches %s; so %.1f %% of the time "
			 "here is haul's own cost.",
			 p->record.name, units_rate(rate, null), share * 100);
		text_wrap(page->out, sentence, 0, 2);
	}
}

static const struct column stream_columns[] = {
	COLUMN(NAME, struct phase_row, name, NULL, "checkpoints, models"),
	PHASE_ROLE("GB/s first", BYTE_RATE_FIRST, GIGA),
	PHASE_ROLE("last", BYTE_RATE, GIGA),
	PHASE_ROLE("written", WRITE_RATE, GIGA),
	PHASE_ROLE("read", READ_RATE, GIGA),
	PHASE_ROLE("slowest rank", BYTE_RATE_SLOWEST, GIGA),
	PHASE_ROLE("MLPerf written", WRITE_RATE_MLPERF, GIGA),
	PHASE_ROLE("MLPerf read", READ_RATE_MLPERF, GIGA),
	COLUMNS_END};

const struct text_kind text_streams = {
	.is = streams_is,
	.columns = stream_columns,
	.below =
		"first, last: of all ranks, until the first one had done its part, until the last "
		"one had;\nwritten, read: each by itself, until the last one had; slowest rank: of its own part;\n"
		"MLPerf: the rate of each checkpoint, on average (its GB are of 2^30 bytes, these of 10^9)\n",
	.after = streams_null,
};
