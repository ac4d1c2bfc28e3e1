/* What phases that ran together cost each other, in a line each. */
#include "report/together.h"

#include <math.h>
#include <string.h>

#include "core/units.h"
#include "report/text/page.h"
#include "report/text/table.h"

/* "AU 61.0 %, alone 98.2 % (-37.2 points)" */
static void price_au(char *line, size_t size, const struct together_figure *au)
{
	if (isnan(au->beside) || isnan(au->alone))
		return;
	page_add(line, size, " AU %.1f %%, alone %.1f %% (%+.1f points)", au->beside * 100,
		 au->alone * 100, (au->beside - au->alone) * 100);
}

/* "1.20 GB/s, alone 2.00 GB/s (-40.0 %)" */
static void price_rate(char *line, size_t size, const struct together_figure *rate)
{
	char beside[UNITS_TEXT_BYTES], alone[UNITS_TEXT_BYTES];

	if (!(rate->alone > 0) || isnan(rate->beside))
		return;
	page_add(line, size, "%s %s, alone %s (%+.1f %%)", line[strlen(line) - 1] == ')' ? ";" : "",
		 units_rate(beside, rate->beside), units_rate(alone, rate->alone),
		 (rate->beside / rate->alone - 1) * 100);
}

void text_together(const struct page *page)
{
	const char *before = "\n";

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
		fputs(before, page->out);
		before = "";
		text_wrap(page->out, line, 0, 2);
	}
}
