/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of a phase: see phase_columns.h. */
#include "report/phase_columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/measure/quantile.h"
#include "core/units.h"
#include "facts/text.h"
#include "report/accounts.h"
#include "report/phase.h"
#include "report/series.h"

static const struct results_phase_read *phase_of(const void *row)
{
	return ((const struct phase_row *)row)->phase;
}

/* What all phases that have it have alike; several: where they do not. */
static const char *phases_common(const struct results_file *f, const char *several,
				 const char *(*of)(const struct results_phase_read *p))
{
	const char *all = "";

	for (uint32_t i = 0; i < f->phase_count; i++) {
		const char *own = of(&f->phases[i]);

		if (*own && *all && strcmp(own, all) != 0)
			return several;
		all = *own ? own : all;
	}
	return all;
}

static const char *phase_main_name(const struct results_phase_read *p)
{
	return p->record.main_hist;
}

/* "": phases have several, and a column tells which. */
static const char *phases_latency(const struct results_file *f)
{
	return phases_common(f, "", phase_main_name);
}

static void head_name(char heading[TABLE_CELL_BYTES], const void *file)
{
	bool series = ((const struct results_file *)file)->runs > 1;

	strcpy(heading, series ? "run, phase" : "phase");
}

/* "samples/s", "requests/s"; "items/s" where phases count different things. */
static void head_items(char heading[TABLE_CELL_BYTES], const void *file)
{
	snprintf(heading, TABLE_CELL_BYTES, "%.20s/s", phases_common(file, "items", phase_items));
}

static void head_median(char heading[TABLE_CELL_BYTES], const void *file)
{
	const char *latency = phases_latency(file);

	snprintf(heading, TABLE_CELL_BYTES, "%.20s%sp50", latency, *latency ? " " : "");
}

/* Parts of a phase are indented. */
static void show_name(char cell[TABLE_CELL_BYTES], const void *row)
{
	const struct phase_row *r = row;
	char name[PHASE_NAME_BYTES + 32];

	snprintf(name, sizeof(name), "%*s%s", 2 * (int)phase_depth(r->file, r->phase), "", r->name);
	table_name(cell, name);
}

static void show_seconds(char cell[TABLE_CELL_BYTES], const void *row)
{
	double seconds = phase_of(row)->record.seconds;

	/* Three digits: whoever multiplies a rate by it gets the bytes. */
	snprintf(cell, TABLE_CELL_BYTES, "%.*f",
		 seconds < 0.9995  ? 3
		 : seconds < 9.995 ? 2
				   : 1,
		 seconds);
}

static void show_latency(char cell[TABLE_CELL_BYTES], const void *row)
{
	const char *own = phase_of(row)->record.main_hist;

	if (*own && !*phases_latency(((const struct phase_row *)row)->file))
		table_cut(cell, own, strlen(own), 12);
}

static void show_memory(char cell[TABLE_CELL_BYTES], const void *row)
{
	double memory = phase_role(row, ROLE_MEMORY);
	char text[UNITS_TEXT_BYTES];

	if (memory > 0)
		snprintf(cell, TABLE_CELL_BYTES, "%s", units_bytes_binary(text, memory));
}

/* Where no phase has an error, the column is empty and therefore left out. */
static enum column_format format_errors(const void *row)
{
	const struct results_file *f = ((const struct phase_row *)row)->file;

	for (uint32_t i = 0; i < f->phase_count; i++)
		if (phase_common(&f->phases[i], TALLY_ERRORS) > 0)
			return FORMAT_COUNT;
	return FORMAT_SOME;
}

/* Requests that object stores got for each operation that the phase was asked for, as they count
 * them. NaN: there are none. */
static double phase_requests(const void *row, int which)
{
	const struct results_rows *rows = results_find_table(phase_of(row), "endpoints");
	double requests = 0;

	(void)which;
	for (uint64_t i = 0; rows && i < rows->table.row_count; i++)
		requests += results_value(&rows->table, i, "requests");
	return requests > 0 ? requests / phase_common(phase_of(row), TALLY_OPERATIONS) : NAN;
}

static double phase_least_au(const void *row, int which)
{
	struct spread au = phase_spread(phase_of(row), ROLE_UTILISATION);

	return which ? au.max : au.min;
}

static double phase_figure(const void *row, int figure)
{
	return series_figure_of(phase_of(row), (enum series_figure)figure);
}

static double phase_count_of(const void *row, int measure)
{
	return phase_common(phase_of(row), (enum tally_common)measure);
}

/* Mean seconds of the ranks. */
static double phase_account(const void *row, int account)
{
	struct account_shares accounts;

	return accounts_of(phase_of(row), &accounts) ? accounts.list[account].seconds : NAN;
}

/* A time of day in seconds since 1970 UTC; NaN where the file does not have it. */
static double phase_time(const void *row, int finished)
{
	const struct phase_record *r = &phase_of(row)->record;
	uint64_t utc_ns = finished ? r->finished_ns : r->started_ns;

	return utc_ns ? (double)utc_ns / 1e9 : NAN;
}

static double phase_within(const void *row, int which)
{
	uint64_t within = phase_of(row)->record.within;

	(void)which;
	return within == RECORD_NOT_WITHIN ? NAN : (double)within;
}

static const char *phase_latency(const void *row)
{
	return phase_has_main(row) ? phase_of(row)->record.main_hist : "";
}

static const char *phase_counts(const void *row)
{
	return phase_items(phase_of(row));
}

static const char *phase_judged_by(const void *row)
{
	enum series_figure main = series_main(phase_of(row));

	return main == SERIES_VALUES ? NULL : series_keys[main];
}

/* clang-format off */
#define RECORD(type_, member, key_, ...) \
	{.type = COLUMN_##type_, .behind = true, \
	 .offset = offsetof(struct results_phase_read, record.member), .key = (key_), __VA_ARGS__}
#define VALUE(key_, number_, which_, ...) \
	{.type = COLUMN_VALUE, .key = (key_), .number = (number_), .which = (int)(which_), __VA_ARGS__}
#define WORD(key_, word_, ...) {.type = COLUMN_WORD, .key = (key_), .word = (word_), __VA_ARGS__}
#define RATE(figure, name, ...) \
	VALUE(name, phase_figure, SERIES_##figure, .json = "rates." name, __VA_ARGS__)
#define ACCOUNT(id, name, words, sort, help) VALUE(#name "_s", phase_account, ACCOUNT_##id, .json = ""),
#define QUANTILE(key_, quantile, ...) \
	VALUE(key_, phase_main_ns, quantile, .format = FORMAT_NS, .place = 1, __VA_ARGS__)
#define NOT_SHOWN .json = ""
/* Those of the end are in JSON only, where there is no key of CSV. */
const struct column phase_columns[] = {
	RECORD(U64, number, "number"),
	RECORD(NAME, name, "phase", .json = "name", .head = head_name, .show = show_name),
	RECORD(NAME, kind, "kind"),
	RECORD(NAME, status, "status", .page = "status"),
	RECORD(REAL, seconds, "seconds", .heading = "seconds", .page = "time", .format = FORMAT_TIME, .show = show_seconds),
	RATE(AU, "au", .heading = "AU", .format = FORMAT_SHARE),
	VALUE("au_min", phase_least_au, false, NOT_SHOWN),
	VALUE("au_max", phase_least_au, true, NOT_SHOWN),
	RECORD(REAL, null_au, "null_au"),
	VALUE("bytes_read", phase_count_of, TALLY_BYTES_READ),
	VALUE("bytes_written", phase_count_of, TALLY_BYTES_WRITTEN),
	VALUE("operations", phase_count_of, TALLY_OPERATIONS),
	VALUE("errors", phase_count_of, TALLY_ERRORS, .heading = "errors", .format = FORMAT_COUNT, .format_of = format_errors, .place = 3),
	VALUE("retries", phase_count_of, TALLY_RETRIES),
	VALUE("samples", phase_role, ROLE_ITEMS, NOT_SHOWN),
	ACCOUNT_LIST(ACCOUNT)
	WORD("latency", phase_latency, NOT_SHOWN, .heading = "latency", .place = 1, .show = show_latency),
	QUANTILE("p50_ns", QUANTILE_P50, NOT_SHOWN, .head = head_median),
	QUANTILE("p95_ns", QUANTILE_P95, NOT_SHOWN),
	QUANTILE("p99_ns", QUANTILE_P99, .json = "rates.p99_ns", .heading = "p99"),
	QUANTILE("p999_ns", QUANTILE_P999, NOT_SHOWN, .heading = "p99.9"),
	QUANTILE("p9999_ns", QUANTILE_P9999, NOT_SHOWN),
	QUANTILE("max_ns", QUANTILES, NOT_SHOWN, .heading = "max"),
	RECORD(U64, run, "run"),
	RECORD(U64, combination, "combination"),
	RECORD(U64, repeat, "repeat"),
	RECORD(YES, warmup, "warmup"),
	RECORD(NAME, sweep, "sweep"),
	VALUE("within", phase_within, 0),
	RECORD(NAME, together, "together", NOT_SHOWN),
	RECORD(U64, alone, "alone", NOT_SHOWN),
	RATE(BYTES, "bytes_per_second", .heading = "GB/s", .page = "bytes per second", .format = FORMAT_GIGA),
	RATE(OPERATIONS, "operations_per_second", .page = "operations per second"),
	RATE(SAMPLES, "samples_per_second", .head = head_items, .page = "samples per second"),
	VALUE("cached_share", phase_role, ROLE_CACHED, .json = "rates.cached_share"),
	RATE(WRITE, "bytes_written_per_second"),
	RATE(READ, "bytes_read_per_second"),
	VALUE("samples_dropped", phase_role, ROLE_ITEMS_DROPPED, NOT_SHOWN),
	RECORD(REAL, wall_seconds, "wall_seconds"),
	VALUE("requests_per_operation", phase_requests, 0, .json = "rates.requests_per_operation", .page = "requests per operation"),
	VALUE("bytes_written_per_second_mlperf", phase_role, ROLE_WRITE_RATE_MLPERF, .json = "rates.bytes_written_per_second_mlperf", .page = "written per second, as MLPerf counts"),
	VALUE("bytes_read_per_second_mlperf", phase_role, ROLE_READ_RATE_MLPERF, .json = "rates.bytes_read_per_second_mlperf", .page = "read per second, as MLPerf counts"),
	{.type = COLUMN_SHOWN, .heading = "memory", .show = show_memory, .place = 2},
	RECORD(NAME, store, NULL, .json = "store"),
	RECORD(NAME, message, NULL, .json = "said"),
	RECORD(NAME, proof, NULL, .json = "samples_known.how", .page = "samples are known"),
	RECORD(NAME, proof_claim, NULL, .json = "samples_known.claim", .page = "each exactly once an epoch"),
	RECORD(NAME, proof_evidence, NULL, .json = "samples_known.evidence"),
	RECORD(NAME, proof_missing, NULL, .json = "samples_known.missing"),
	RECORD(NAME, error, NULL, .json = "error"),
	VALUE(NULL, phase_time, false, .json = "started"),
	VALUE(NULL, phase_time, true, .json = "finished"),
	WORD(NULL, phase_counts, .json = "rates.items"),
	WORD(NULL, phase_judged_by, .json = "rates.main"),
	RECORD(NAME, main_hist, NULL, .json = "rates.latency"),
	VALUE(NULL, phase_role, ROLE_UTILISATION_MLPERF, .json = "au_mlperf"),
	VALUE(NULL, phase_role, ROLE_UTILISATION_WITHOUT_SKEW, .json = "au_without_skew"),
	RECORD(REAL, target_au, NULL, .json = "target_au"),
	COLUMNS_END};
/* clang-format on */

const struct column report_file_columns[] = {COLUMN(TEXT, struct results_file, path, "file", NULL),
					     FIELD(NAME, struct results_file, name),
					     FIELD(NAME, struct results_file, started),
					     FIELD(U64, struct results_file, ranks),
					     FIELD(U64, struct results_file, nodes),
					     COLUMNS_END};
