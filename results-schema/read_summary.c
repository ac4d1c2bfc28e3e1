/* SPDX-License-Identifier: Apache-2.0 */
/* Phases of a series whose side files stayed behind: what the results file itself says of them in
 * /summary. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"
#include "results-schema/h5.h"
#include "results-schema/read_phase.h"
#include "results-schema/rows.h"

/* The columns of a merged row that /summary has, too, and where they are in its rows. */
static const struct known {
	const char *name, *unit;
	enum role role;
	double times; /* from the unit of /summary */
	size_t offset;
} known[] = {
	{"au", "fraction", ROLE_UTILISATION, 1, offsetof(struct summary_row, au)},
	{"bytes_rate", "bytes per second", ROLE_BYTE_RATE, 1e9,
	 offsetof(struct summary_row, gb_per_s)},
	{"operations_rate", "per second", ROLE_OPERATION_RATE, 1,
	 offsetof(struct summary_row, operations_per_s)},
};
enum { KNOWN = sizeof(known) / sizeof(*known) };

static void fill_merged(struct h5_reader *r, struct results_table *t, const struct summary_row *row)
{
	t->columns = h5r_room(r, KNOWN + 1, sizeof(*t->columns));
	t->cells = h5r_room(r, KNOWN + 1, sizeof(*t->cells));
	if (r->rc < 0)
		return;
	for (size_t i = 0; i < KNOWN; i++) {
		struct results_column *c = &t->columns[i];

		utf8_copy(c->name, sizeof(c->name), known[i].name);
		utf8_copy(c->unit, sizeof(c->unit), known[i].unit);
		c->role = known[i].role;
		c->real = true;
		t->cells[i].real =
			known[i].times * *(const double *)((const char *)row + known[i].offset);
	}
	utf8_copy(t->columns[KNOWN].name, sizeof(t->columns[KNOWN].name),
		  tally_common_columns.measures[TALLY_ERRORS].name);
	t->cells[KNOWN].count = row->errors;
	t->column_count = KNOWN + 1;
	t->row_count = 1;
}

/* What sweeps set, as one text, is one of the phase's sets here. Each text that is new is a
 * combination. */
static void fill_sets(struct h5_reader *r, struct results_phase_read *p)
{
	if (!p->record.sweep[0])
		return;
	p->sets = h5r_room(r, 1, sizeof(*p->sets));
	if (!p->sets)
		return;
	utf8_copy(p->sets[0], sizeof(p->sets[0]), p->record.sweep);
	p->set_count = 1;
}

static uint64_t combination_of(const struct results_file *f, uint32_t i)
{
	uint64_t most = 0;

	for (uint32_t k = 0; k < i; k++) {
		if (strcmp(f->phases[k].record.sweep, f->phases[i].record.sweep) == 0)
			return f->phases[k].record.combination;
		if (f->phases[k].record.combination > most)
			most = f->phases[k].record.combination;
	}
	return most + 1;
}

static void fill_record(const struct results_file *f, struct phase_record *to,
			const struct summary_row *row)
{
	size_t name = strlen(row->phase), alone = strlen(RESULTS_ALONE);

	to->alone = name > alone && strcmp(row->phase + name - alone, RESULTS_ALONE) == 0;
	utf8_copy(to->name, sizeof(to->name), row->phase);
	if (to->alone)
		to->name[name - alone] = '\0';
	utf8_copy(to->kind, sizeof(to->kind), row->kind);
	utf8_copy(to->sweep, sizeof(to->sweep), row->sweep);
	/* Of a run that is done, all phases are. */
	utf8_copy(to->status, sizeof(to->status),
		  strcmp(f->status, "done") == 0 ? "done" : "unknown");
	to->seconds = row->seconds;
	to->run = row->run;
	to->repeat = row->repeat;
	to->warmup = row->warmup;
}

void read_summary(struct h5_reader *r, struct results_file *f)
{
	struct summary_row *rows;
	uint64_t count, gone = 0;
	hid_t type;

	for (uint32_t i = 0; i < f->phase_count; i++)
		gone += f->phases[i].gone;
	if (!gone)
		return;
	type = rows_record_type(&rows_summary);
	rows = h5r_list(r, "summary", type, RESULTS_PHASES_MAX, sizeof(*rows), &count);
	h5_close(type);
	if (count != f->phase_count)
		h5r_error(r, -EINVAL, "summary has %llu rows for %u phases",
			  (unsigned long long)count, f->phase_count);
	rows_end_texts(&rows_summary, rows, count);
	for (uint32_t i = 0; r->rc == 0 && i < f->phase_count; i++) {
		struct results_phase_read *p = &f->phases[i];

		if (!p->gone)
			continue;
		fill_record(f, &p->record, &rows[i]);
		p->record.combination = combination_of(f, i);
		fill_sets(r, p);
		fill_merged(r, &p->merged, &rows[i]);
		for (int q = 0; q < QUANTILES; q++)
			p->gone_ns[q] = round(1e6 * rows[i].quantile_ms[q]);
	}
	free(rows);
}
