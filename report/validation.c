/* SPDX-License-Identifier: Apache-2.0 */
/* What others published beside what haul says: see validation.h. */
#include "report/validation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"

struct validation_row {
	const char *of, *quantity, *source, *because, *job, *fact, *unit;
	const char *text, *own_text; /* NULL: they are numbers */
	double published, value, difference, tolerance;
	enum published_state is;
	const char *state;
};

static void validation_number(char cell[TABLE_CELL_BYTES], double value, const char *unit)
{
	/* Larger whole numbers are not kept exactly, and quotients are whole but for the last bits. */
	static const double whole_most = 0x1p53, same = 1e-12;
	char number[UNITS_TEXT_BYTES];

	if (isnan(value))
		snprintf(number, sizeof(number), "nothing");
	else if (value < whole_most && fabs(value - round(value)) <= same * value)
		units_count(number, (uint64_t)round(value));
	else
		snprintf(number, sizeof(number), "%.7g", value);
	snprintf(cell, TABLE_CELL_BYTES, "%s%s%s", number, *unit ? " " : "", unit);
}

static void show_published(char cell[TABLE_CELL_BYTES], const void *row)
{
	const struct validation_row *r = row;

	if (r->text)
		snprintf(cell, TABLE_CELL_BYTES, "%s", r->text);
	else
		validation_number(cell, r->published, r->unit);
}

static void show_own(char cell[TABLE_CELL_BYTES], const void *row)
{
	const struct validation_row *r = row;

	if (r->text)
		snprintf(cell, TABLE_CELL_BYTES, "%s", *r->own_text ? r->own_text : "–");
	else
		validation_number(cell, r->value, r->unit);
}

static void show_validated_difference(char cell[TABLE_CELL_BYTES], const void *row)
{
	/* Less than this is the rounding of a quotient. */
	static const double none = 1e-9, least = 5e-6;
	const struct validation_row *r = row;

	if (r->is == PUBLISHED_UNKNOWN)
		snprintf(cell, TABLE_CELL_BYTES, "not built");
	else if (r->text || fabs(r->difference) <= none)
		snprintf(cell, TABLE_CELL_BYTES, "%s",
			 r->is == PUBLISHED_HELD ? "none" : "another");
	else if (fabs(r->difference) < least)
		snprintf(cell, TABLE_CELL_BYTES, "< 0.001 %%");
	else
		snprintf(cell, TABLE_CELL_BYTES, "%+.3f %%", 100 * r->difference);
}

static void show_tolerance(char cell[TABLE_CELL_BYTES], const void *row)
{
	const struct validation_row *r = row;

	if (r->tolerance > 0)
		snprintf(cell, TABLE_CELL_BYTES, "%.3g %%", 100 * r->tolerance);
	else
		snprintf(cell, TABLE_CELL_BYTES, "none");
}

static void show_validated(char cell[TABLE_CELL_BYTES], const void *row)
{
	static const char *const words[PUBLISHED_STATES] = {"yes", "NO", "–", "–"};

	snprintf(cell, TABLE_CELL_BYTES, "%s", words[((const struct validation_row *)row)->is]);
}

static const struct column validation_columns[] = {
	COLUMN(TEXT, struct validation_row, of, "of", "of", .width = 40),
	COLUMN(TEXT, struct validation_row, quantity, "quantity", "quantity", .width = 46),
	COLUMN(REAL, struct validation_row, published, "published", NULL),
	COLUMN(REAL, struct validation_row, value, "haul", NULL),
	COLUMN(TEXT, struct validation_row, text, "published_text", NULL),
	COLUMN(TEXT, struct validation_row, own_text, "haul_text", NULL),
	FIELD(TEXT, struct validation_row, unit),
	SHOWN("published", show_published),
	SHOWN("haul", show_own),
	SHOWN("difference", show_validated_difference),
	SHOWN("tolerance", show_tolerance),
	SHOWN("held", show_validated),
	FIELD(REAL, struct validation_row, difference),
	FIELD(REAL, struct validation_row, tolerance),
	FIELD(TEXT, struct validation_row, because),
	FIELD(TEXT, struct validation_row, state),
	FIELD(TEXT, struct validation_row, source),
	FIELD(TEXT, struct validation_row, job),
	FIELD(TEXT, struct validation_row, fact),
	COLUMNS_END};

uint32_t validation_count(const struct validation *v, enum published_state state)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < v->published->count; i++)
		count += v->matches[i].state == state;
	return count;
}

static void validation_fill(struct validation_row *row, const struct published_row *p,
			    const struct published_match *m)
{
	*row = (struct validation_row){.of = p->of,
				       .quantity = p->quantity,
				       .source = p->source,
				       .because = p->because,
				       .job = p->job,
				       .fact = p->fact,
				       .unit = published_units[p->unit],
				       .text = *p->text ? p->text : NULL,
				       .own_text = *p->text ? m->text : NULL,
				       .published = *p->text ? NAN : p->value,
				       .value = m->value,
				       .difference = m->difference,
				       .tolerance = p->tolerance,
				       .is = m->state,
				       .state = published_states[m->state]};
}

static void validation_write_fits(struct document *d, const struct validation *v)
{
	static const struct column fit_columns[] = {
		FIELD(TEXT, struct validation_fit, limit), FIELD(U32, struct validation_fit, count),
		FIELD(REAL, struct validation_fit, median),
		FIELD(REAL, struct validation_fit, most), COLUMNS_END};
	const struct report_table table = {
		.key = "fits", .columns = fit_columns, TABLE_ROWS(v->fits, VALIDATION_FITS)};

	if (!v->fits[0].limit)
		return;
	if (d->shape == REPORT_JSON)
		document_table(d, &table);
	document_say(d,
		     "Simulated, not measured: the storage that gives a submitter's largest result "
		     "its AU predicts the AU of the smaller ones.\n");
	for (uint32_t i = 0; i < VALIDATION_FITS; i++)
		document_say(
			d,
			"by a limit of the %s: %u predictions, half within %.1f points, all within %.1f\n",
			v->fits[i].limit, v->fits[i].count, v->fits[i].median, v->fits[i].most);
}

static bool validation_write(struct document *d, const void *about)
{
	const struct validation *v = about;
	const uint32_t count = v->published->count;
	const struct validation_total {
		uint32_t held, missed, unknown, predicted;
	} total = {validation_count(v, PUBLISHED_HELD), validation_count(v, PUBLISHED_MISSED),
		   validation_count(v, PUBLISHED_UNKNOWN),
		   validation_count(v, PUBLISHED_PREDICTED)};
	static const struct column total_columns[] = {
		FIELD(U32, struct validation_total, held),
		FIELD(U32, struct validation_total, missed),
		FIELD(U32, struct validation_total, unknown),
		FIELD(U32, struct validation_total, predicted), COLUMNS_END};
	struct validation_row *rows = calloc(count, sizeof(*rows));
	const struct report_table table = {.key = "rows",
					   .columns = validation_columns,
					   .flat = true,
					   TABLE_ROWS(rows, count)};

	if (!rows)
		return false;
	for (uint32_t i = 0; i < count; i++)
		validation_fill(&rows[i], &v->published->rows[i], &v->matches[i]);
	document_fields(d, total_columns, &total);
	document_table(d, &table);
	free(rows);
	document_say(d, "\nOf %u published values haul's plans have %u", count - total.predicted,
		     total.held);
	if (total.missed)
		document_say(d, ", and have another in place of %u", total.missed);
	if (total.unknown)
		document_say(d, "; %u need a haul that was built with more libraries",
			     total.unknown);
	document_say(d, ".\n");
	validation_write_fits(d, v);
	return true;
}

int validation_print(FILE *out, enum report_shape shape, const struct validation *v,
		     struct err *err)
{
	return document_print(out, shape, validation_write, v, err);
}
