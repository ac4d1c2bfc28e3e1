/* SPDX-License-Identifier: Apache-2.0 */
/* A phase against others of its file: see against.h. */
#include "report/against.h"

#include <string.h>

#include "report/phase.h"
#include "report/series.h"

bool plain_io(const struct results_phase_read *p)
{
	return results_role(&p->merged, ROLE_OPERATION_RATE_FIRST) >= 0;
}

bool plain_io_ceiling(const struct results_file *file, const struct results_phase_read *p,
		      struct ceiling *c)
{
	*c = (struct ceiling){0};
	if (results_role(&p->merged, ROLE_UTILISATION) < 0 || !p->record.store[0])
		return false;
	for (uint32_t i = 0; i < file->phase_count; i++) {
		const struct results_phase_read *other = &file->phases[i];
		double rate = results_role_value(&other->merged, 0, ROLE_BYTE_RATE);

		if (!plain_io(other) || strcmp(other->record.store, p->record.store) != 0 ||
		    other->record.run != p->record.run || other->record.together[0] ||
		    phase_common(other, TALLY_BYTES_WRITTEN) > 0)
			continue;
		if (rate > c->bytes_per_second)
			*c = (struct ceiling){.phase = other, .bytes_per_second = rate};
	}
	if (!c->phase)
		return false;
	c->share = series_figure_of(p, SERIES_BYTES) / c->bytes_per_second;
	return true;
}

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
