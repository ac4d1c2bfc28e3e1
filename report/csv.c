/* Report as CSV: one row per phase. Text is quoted by the rules of RFC 4180. Undefined figures are
 * empty. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/measure/quantile.h"
#include "report/accounts.h"
#include "report/phase.h"
#include "report/shapes.h"
#include "report/spread.h"
#include "report/stats.h"
#include "report/table.h"

static void csv_number(FILE *out, const char *before, double value)
{
	fputs(before, out);
	if (isfinite(value))
		fprintf(out, "%.9g", value);
}

static void csv_quoted(FILE *out, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

/* Prints the keys, or with a row its values. Returns what stands before the next value. */
static const char *csv_columns(FILE *out, const char *before, const char *path,
			       const struct column *columns, const void *row)
{
	static const char *const interval[] = {"_ci95_low", "_ci95_high"};

	for (const struct column *c = columns; c->type; c++) {
		if (!c->key || c->type == COLUMN_TEXTS || c->type == COLUMN_VALUES)
			continue;
		fputs(before, out);
		before = ",";
		if (!row)
			fprintf(out, "%s%s", path, c->key);
		else if (column_text(c, row))
			csv_quoted(out, column_text(c, row));
		else
			csv_number(out, "", column_number(c, row));
		for (int i = 0; c->type == COLUMN_STATS && i < 2; i++) {
			if (row)
				csv_number(out, ",",
					   i ? column_stats(c, row)->high
					     : column_stats(c, row)->low);
			else
				fprintf(out, ",%s%s%s", path, c->key, interval[i]);
		}
	}
	return before;
}

static void csv_line(FILE *out, const struct column *outer, const void *outer_row,
		     const struct report_table *t, const void *row)
{
	char path[64] = "";
	const char *before = "";

	if (outer) {
		before = csv_columns(out, before, "", outer, outer_row);
		snprintf(path, sizeof(path), "%s.", t->key);
	}
	csv_columns(out, before, path, t->columns, row);
	fputc('\n', out);
}

void csv_table(FILE *out, bool headed, const struct column *outer, const void *outer_row,
	       const struct report_table *t)
{
	if (!headed)
		csv_line(out, outer, NULL, t, NULL);
	for (size_t i = 0; i < t->count; i++)
		csv_line(out, outer, outer_row, t, table_row_at(t, i));
}

const char *report_csv_heading(void)
{
/* clang-format off */
#define CSV_ACCOUNT(id, name, words, sort, help) #name "_s,"
#define CSV_QUANTILE(id, name, share) #name "_ns,"
	return "file,name,started,ranks,nodes,number,phase,kind,status,seconds,au,au_min,au_max,"
	       "null_au,bytes_read,bytes_written,operations,errors,retries,samples,"
	       ACCOUNT_LIST(CSV_ACCOUNT)
	       "latency," QUANTILE_LIST(CSV_QUANTILE) "max_ns,run,combination,repeat,warmup,sweep,"
	       "within,together,alone\n";
	/* clang-format on */
}

static void csv_latencies(FILE *out, const struct results_phase_read *p)
{
	const struct hist *h = results_find_hist(p, p->record.main_hist);

	fputc(',', out);
	if (h)
		csv_quoted(out, p->record.main_hist);
	for (int q = 0; q < QUANTILES; q++) {
		fputc(',', out);
		if (h)
			fprintf(out, "%llu",
				(unsigned long long)hist_quantile_ns(h, quantile_kinds[q].share));
	}
	fputc(',', out);
	if (h)
		fprintf(out, "%llu", (unsigned long long)h->max_ns);
}

/* Prints a whole number, or nothing where there is no such column. */
static void csv_count(FILE *out, const struct results_table *t, int column)
{
	if (column < 0)
		fputc(',', out);
	else
		fprintf(out, ",%llu", (unsigned long long)t->cells[column].count);
}

static void csv_phase_row(FILE *out, const struct results_file *f,
			  const struct results_phase_read *p)
{
	static const enum tally_common counts[] = {TALLY_BYTES_READ, TALLY_BYTES_WRITTEN,
						   TALLY_OPERATIONS, TALLY_ERRORS, TALLY_RETRIES};
	struct spread au = spread_of(results_ranks(p), ROLE_UTILISATION);
	const struct phase_record *r = &p->record;
	struct account_shares accounts;
	bool kept = accounts_of(p, &accounts);

	csv_quoted(out, f->path);
	fputc(',', out);
	csv_quoted(out, f->name);
	fprintf(out, ",%s,%llu,%llu,%llu,", f->started, (unsigned long long)f->ranks,
		(unsigned long long)f->nodes, (unsigned long long)r->number);
	csv_quoted(out, r->name);
	fprintf(out, ",%s,%s", r->kind, r->status);
	csv_number(out, ",", r->seconds);
	csv_number(out, ",", au.mean);
	csv_number(out, ",", au.min);
	csv_number(out, ",", au.max);
	csv_number(out, ",", r->null_au);
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		csv_count(
			out, &p->merged,
			results_column(&p->merged, tally_common_columns.measures[counts[i]].name));
	csv_count(out, &p->merged, results_role(&p->merged, ROLE_ITEMS));
	for (int i = 0; i < ACCOUNTS; i++)
		csv_number(out, ",", kept ? accounts.list[i].seconds : NAN);
	csv_latencies(out, p);
	fprintf(out, ",%llu,%llu,%llu,%llu,", (unsigned long long)r->run,
		(unsigned long long)r->combination, (unsigned long long)r->repeat,
		(unsigned long long)r->warmup);
	csv_quoted(out, r->sweep);
	fputc(',', out);
	if (r->within != RECORD_NOT_WITHIN)
		fprintf(out, "%llu", (unsigned long long)r->within);
	fputc(',', out);
	csv_quoted(out, r->together);
	fprintf(out, ",%llu\n", (unsigned long long)r->alone);
}

char *report_csv(const struct results_file *file)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (uint32_t i = 0; i < file->phase_count; i++)
		csv_phase_row(out, file, &file->phases[i]);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
