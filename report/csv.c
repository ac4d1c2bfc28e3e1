/* SPDX-License-Identifier: Apache-2.0 */
/* Report of files as CSV: one row per phase. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/measure/quantile.h"
#include "facts/csv.h"
#include "report/accounts.h"
#include "report/phase.h"
#include "report/series.h"
#include "report/shapes.h"

/* The figure of the phase; the least and the greatest of a rank. */
static double csv_au(const void *phase, int which)
{
	struct spread au = phase_spread(phase, ROLE_UTILISATION);

	return which == 0 ? series_figure_of(phase, SERIES_AU) : which == 1 ? au.min : au.max;
}

static double csv_rate(const void *phase, int figure)
{
	return series_figure_of(phase, (enum series_figure)figure);
}

static double csv_common(const void *phase, int measure)
{
	return phase_common(phase, (enum tally_common)measure);
}

static double csv_role(const void *phase, int role)
{
	const struct results_phase_read *p = phase;

	return results_role_value(&p->merged, 0, (enum role)role);
}

/* Mean seconds of the ranks. */
static double csv_account(const void *phase, int account)
{
	struct account_shares accounts;

	return accounts_of(phase, &accounts) ? accounts.list[account].seconds : NAN;
}

static const struct hist *csv_hist(const struct results_phase_read *p)
{
	return results_find_hist(p, p->record.main_hist);
}

static const char *csv_latency(const void *phase)
{
	return csv_hist(phase) ? ((const struct results_phase_read *)phase)->record.main_hist : "";
}

static double csv_quantile(const void *phase, int quantile)
{
	return phase_quantile_ns(csv_hist(phase), quantile);
}

static double csv_within(const void *phase, int which)
{
	uint64_t within = ((const struct results_phase_read *)phase)->record.within;

	(void)which;
	return within == RECORD_NOT_WITHIN ? NAN : (double)within;
}

/* clang-format off */
#define CALLED(key_, number_, which_) \
	{.type = COLUMN_VALUE, .key = (key_), .number = (number_), .which = (int)(which_)}
#define RECORD(type, member, key) COLUMN(type, struct results_phase_read, record.member, key, NULL)
#define CSV_ACCOUNT(id, name, words, sort, help) CALLED(#name "_s", csv_account, ACCOUNT_##id),
#define CSV_QUANTILE(id, name, share) CALLED(#name "_ns", csv_quantile, QUANTILE_##id),
static const struct column phase_columns[] = {
	RECORD(U64, number, "number"),
	RECORD(NAME, name, "phase"),
	RECORD(NAME, kind, "kind"),
	RECORD(NAME, status, "status"),
	RECORD(REAL, seconds, "seconds"),
	CALLED("au", csv_au, 0),
	CALLED("au_min", csv_au, 1),
	CALLED("au_max", csv_au, 2),
	RECORD(REAL, null_au, "null_au"),
	CALLED("bytes_read", csv_common, TALLY_BYTES_READ),
	CALLED("bytes_written", csv_common, TALLY_BYTES_WRITTEN),
	CALLED("operations", csv_common, TALLY_OPERATIONS),
	CALLED("errors", csv_common, TALLY_ERRORS),
	CALLED("retries", csv_common, TALLY_RETRIES),
	CALLED("samples", csv_role, ROLE_ITEMS),
	ACCOUNT_LIST(CSV_ACCOUNT)
	{.type = COLUMN_WORD, .key = "latency", .word = csv_latency},
	QUANTILE_LIST(CSV_QUANTILE)
	CALLED("max_ns", csv_quantile, QUANTILES),
	RECORD(U64, run, "run"),
	RECORD(U64, combination, "combination"),
	RECORD(U64, repeat, "repeat"),
	RECORD(U64, warmup, "warmup"),
	RECORD(NAME, sweep, "sweep"),
	CALLED("within", csv_within, 0),
	RECORD(NAME, together, "together"),
	RECORD(U64, alone, "alone"),
	CALLED("bytes_per_second", csv_rate, SERIES_BYTES),
	CALLED("operations_per_second", csv_rate, SERIES_OPERATIONS),
	CALLED("samples_per_second", csv_rate, SERIES_SAMPLES),
	CALLED("cached_share", csv_role, ROLE_CACHED),
	CALLED("bytes_written_per_second", csv_rate, SERIES_WRITE),
	CALLED("bytes_read_per_second", csv_rate, SERIES_READ),
	CALLED("samples_dropped", csv_role, ROLE_ITEMS_DROPPED),
	COLUMNS_END};
/* clang-format on */

static const struct column file_columns[] = {COLUMN(TEXT, struct results_file, path, "file", NULL),
					     FIELD(NAME, struct results_file, name),
					     FIELD(NAME, struct results_file, started),
					     FIELD(U64, struct results_file, ranks),
					     FIELD(U64, struct results_file, nodes),
					     COLUMNS_END};

char *report_csv(const struct results_file *const *files, unsigned count)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (unsigned i = 0; i < count; i++) {
		const struct report_table table = {
			.columns = phase_columns,
			TABLE_ROWS(files[i]->phases, files[i]->phase_count)};

		csv_table(out, i > 0, file_columns, files[i], &table);
	}
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
