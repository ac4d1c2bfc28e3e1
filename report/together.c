/* Price of running together: see together.h. */
#include "report/together.h"

#include <string.h>

#include "report/series.h"

bool together_is(const struct results_phase_read *p)
{
	return p->record.together[0] && !p->record.alone;
}

static struct together_figure figure_of(const struct results_phase_read *p,
					const struct results_phase_read *alone,
					enum series_figure figure)
{
	return (struct together_figure){series_figure_of(p, figure),
					series_figure_of(alone, figure)};
}

bool together_price_of(const struct results_file *f, const struct results_phase_read *p,
		       struct together_price *price)
{
	const struct phase_record *r = &p->record;

	if (!together_is(p))
		return false;
	for (uint32_t i = 0; i < f->phase_count; i++) {
		const struct results_phase_read *alone = &f->phases[i];
		const struct phase_record *a = &alone->record;

		if (!a->alone || a->entry != r->entry || a->run != r->run ||
		    strcmp(a->name, r->name) != 0)
			continue;
		*price = (struct together_price){.alone = alone,
						 .bytes_per_second =
							 figure_of(p, alone, SERIES_BYTES),
						 .au = figure_of(p, alone, SERIES_AU)};
		return true;
	}
	return false;
}
