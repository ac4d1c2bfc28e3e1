/* SPDX-License-Identifier: Apache-2.0 */
/* Made-up results files: see made_file.h. */
#include "tests/report/html/made_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define MADE_LIST(X) \
	X(RANK, "rank", "", NONE, false) \
	X(NODE, "node", "", NONE, false) \
	X(BYTES_READ, "bytes_read", "bytes", NONE, false) \
	X(BYTES_WRITTEN, "bytes_written", "bytes", NONE, false) \
	X(OPERATIONS, "operations", "", NONE, false) \
	X(ERRORS, "errors", "", NONE, false) \
	X(RETRIES, "retries", "", NONE, false) \
	X(SAMPLES, "samples", "", ITEMS, false) \
	X(COMPUTE, "compute_ns", "ns", ACCOUNT_COMPUTE, false) \
	X(TRANSFER, "transfer_ns", "ns", ACCOUNT_STORAGE, false) \
	X(RANKS, "ranks_ns", "ns", ACCOUNT_OTHER, false) \
	X(AU, "au", "fraction", UTILISATION, true) \
	X(RATE, "bytes_per_second", "B/s", BYTE_RATE, true) \
	X(CACHED, "cached_share", "fraction", CACHED, true)
#define MADE_EPOCH_LIST(X) \
	X(EPOCH, "epoch", "", NONE, false) \
	X(WALL, "wall_ns", "ns", NONE, false) \
	X(EPOCH_AU, "au", "fraction", UTILISATION, true)
/* clang-format on */

#define MADE_ENUM(id, column, units, what, is_real) MADE_##id,
enum { MADE_LIST(MADE_ENUM) MADE_COLUMNS };
enum { MADE_EPOCH_LIST(MADE_ENUM) MADE_EPOCH_COLUMNS };
#undef MADE_ENUM
#define MADE_COLUMN(id, column, units, what, is_real) \
	[MADE_##id] = {.name = column, .unit = units, .role = ROLE_##what, .real = (is_real)},
static const struct results_column made_columns[] = {MADE_LIST(MADE_COLUMN)};
static const struct results_column made_epoch_columns[] = {MADE_EPOCH_LIST(MADE_COLUMN)};
#undef MADE_COLUMN

static const char made_job[] = "{\"name\": \"made\", \"phases\": [{\"train\": {\"batch\": 4}}]}";

double made_wait_s(uint64_t rank)
{
	return rank == MADE_SLOW_RANK ? 5 : (double)(rank + 1) / 1000;
}

static struct results_table made_table(const struct results_column *columns, uint32_t count,
				       uint64_t rows)
{
	struct results_table t = {.column_count = count,
				  .row_count = rows,
				  .columns = malloc(count * sizeof(*columns)),
				  .cells = calloc(rows * count, sizeof(*t.cells))};

	memcpy(t.columns, columns, count * sizeof(*columns));
	return t;
}

static void made_rank(union results_cell *row, const struct made_shape *s, uint64_t rank)
{
	double left = MADE_SECONDS - made_wait_s(rank);

	row[MADE_RANK].count = rank;
	row[MADE_NODE].count = rank * s->nodes / s->ranks;
	row[MADE_BYTES_READ].count = 1000000000 + rank;
	row[MADE_OPERATIONS].count = 1000;
	row[MADE_SAMPLES].count = 100;
	row[MADE_COMPUTE].count = (uint64_t)(left / 2 * 1e9);
	row[MADE_TRANSFER].count = (uint64_t)(made_wait_s(rank) * 1e9);
	row[MADE_RANKS].count = (uint64_t)(left / 2 * 1e9);
	row[MADE_AU].real = s->nothing ? NAN : left / 2 / MADE_SECONDS;
	row[MADE_RATE].real = s->nothing ? NAN : (double)row[MADE_BYTES_READ].count / MADE_SECONDS;
	row[MADE_CACHED].real = s->nothing ? NAN : 0.25;
}

/* What the rows of the ranks come to: sums, and means of the figures. */
static void made_merge(struct results_table *merged, const struct results_table *ranks,
		       bool nothing)
{
	for (uint64_t i = 0; i < ranks->row_count; i++)
		for (uint32_t c = 0; c < ranks->column_count; c++) {
			const union results_cell *from = &ranks->cells[i * ranks->column_count + c];

			if (!made_columns[c].real)
				merged->cells[c].count += from->count;
			else if (c == MADE_RATE)
				merged->cells[c].real += from->real;
			else
				merged->cells[c].real += from->real / (double)ranks->row_count;
		}
	for (uint32_t c = 0; nothing && c < ranks->column_count; c++)
		if (made_columns[c].real)
			merged->cells[c].real = NAN;
}

static double *made_values(unsigned rows, double first, double step, bool nothing)
{
	double *values = calloc(rows + 1, sizeof(*values));

	for (unsigned i = 0; i < rows; i++)
		values[i] = nothing ? NAN : first + step * i;
	return values;
}

static void made_series(struct results_phase_read *p, const struct made_shape *s, unsigned run)
{
	p->steps.steps_per_row = 1;
	p->steps.rows = s->rows;
	p->steps.step = made_values(s->rows, 1, 1, false);
	for (int k = 0; k < STEP_PARTS; k++) {
		p->steps.mean_ns[k] = made_values(s->rows, 1e6 * (k + 1), 1e3 * run, s->nothing);
		p->steps.max_ns[k] = made_values(s->rows, 2e6 * (k + 1), 1e3 * run, s->nothing);
	}
	p->timeline.rows = s->rows;
	p->timeline.interval_s = 1;
	for (int c = 0; c < SECOND_WORDS; c++)
		p->timeline.column[c] = made_values(s->rows, 1e9, 1e6 * (c + 1), s->nothing);
}

static void made_epochs(struct results_phase_read *p, const struct made_shape *s)
{
	struct results_table t = made_table(made_epoch_columns, MADE_EPOCH_COLUMNS, s->epochs);

	for (unsigned i = 0; i < s->epochs; i++) {
		union results_cell *row = &t.cells[i * MADE_EPOCH_COLUMNS];

		row[MADE_EPOCH].count = i + 1;
		row[MADE_WALL].count = 1000000000ull * (i + 1);
		row[MADE_EPOCH_AU].real = s->nothing ? NAN : 0.5 + 0.4 / (i + 1);
	}
	strcpy(p->tables[0].name, "epochs");
	p->tables[0].table = t;
	p->tables[0].spread = calloc(s->epochs, sizeof(*p->tables[0].spread));
	for (unsigned i = 0; !s->nothing && i < s->epochs; i++) {
		double au = t.cells[i * MADE_EPOCH_COLUMNS + MADE_EPOCH_AU].real;

		p->tables[0].spread[i] = (struct results_spread){au / 2, au + 0.05, MADE_SLOW_RANK};
	}
	for (unsigned i = 0; s->nothing && i < s->epochs; i++)
		p->tables[0].spread[i] = (struct results_spread){NAN, NAN, NAN};
}

/* Both checkpoints were written, the first at once, and only the second was read. */
static void made_checkpoints(struct results_phase_read *p)
{
	static const struct results_column columns[] = {
		{.name = "checkpoint"},
		{.name = "read_ns", .unit = "ns", .counted_by = "bytes_read"},
		{.name = "write_start_ns", .unit = "ns", .counted_by = "checkpoint"},
		{.name = "bytes_read", .unit = "bytes"}};
	enum { CHECKPOINT, READ, START, BYTES, COLUMNS };
	struct results_table t = made_table(columns, COLUMNS, 2);

	t.cells[CHECKPOINT].count = 1;
	t.cells[COLUMNS + CHECKPOINT].count = 2;
	t.cells[COLUMNS + READ].count = 1000000000;
	t.cells[COLUMNS + START].count = 5000000000;
	t.cells[COLUMNS + BYTES].count = 5;
	strcpy(p->tables[1].name, "checkpoints");
	p->tables[1].table = t;
}

/* Reads of 1 us to 1 s, on a logarithmic scale. */
static void made_hists(struct results_phase_read *p)
{
	p->hists = calloc(1, sizeof(*p->hists));
	p->hist_count = 1;
	strcpy(p->hists[0].name, "read");
	p->hists[0].role = ROLE_READ_LATENCY;
	for (int i = 0; i < 6000; i++)
		hist_record(&p->hists[0].hist, (uint64_t)(1000 * pow(10, i / 1000.0)));
}

static void made_failures(struct results_phase_read *p)
{
	enum { ROWS = 100 };

	p->failures = calloc(ROWS, sizeof(*p->failures));
	p->failure_rows = ROWS;
	p->failure_count = 2 * ROWS;
	for (int i = 0; i < ROWS; i++) {
		p->failures[i] = (struct failure){.rank = (uint32_t)i, .error = -5, .attempts = 3};
		strcpy(p->failures[i].operation, "read");
		strcpy(p->failures[i].object, "</script><b>img_7.npz");
		strcpy(p->failures[i].text, "Input/output error");
	}
}

static void made_record(struct phase_record *r, const struct made_shape *s, const char *name,
			unsigned run, uint64_t number)
{
	unsigned combinations = s->combinations ? s->combinations : 1;

	phase_record_init(r);
	strcpy(r->kind, name);
	strcpy(r->name, name);
	strcpy(r->store, "data");
	strcpy(r->status, "done");
	strcpy(r->main_hist, "read");
	r->number = number;
	r->run = run + 1;
	r->combination = run % combinations + 1;
	r->repeat = run / combinations + 1;
	if (combinations > 1)
		snprintf(r->sweep, sizeof(r->sweep), "train.batch=%u", 1u << run % combinations);
	r->seconds = s->nothing ? NAN : MADE_SECONDS + 0.01 * run;
}

static void made_train(struct results_phase_read *p, const struct made_shape *s, unsigned run)
{
	p->ranks = made_table(made_columns, MADE_COLUMNS, s->ranks);
	p->merged = made_table(made_columns, MADE_COLUMNS, 1);
	for (uint64_t r = 0; r < s->ranks; r++)
		made_rank(&p->ranks.cells[r * MADE_COLUMNS], s, r);
	made_merge(&p->merged, &p->ranks, s->nothing);
	made_series(p, s, run);
	p->tables = calloc(2, sizeof(*p->tables));
	p->table_count = 2;
	made_epochs(p, s);
	made_checkpoints(p);
	if (s->hists)
		made_hists(p);
	if (s->failures)
		made_failures(p);
}

struct results_file *made_file(const struct made_shape *s)
{
	struct results_file *f = calloc(1, sizeof(*f));

	f->path = strdup(s->name);
	snprintf(f->name, sizeof(f->name), "%s", s->name);
	f->schema_version = 2;
	strcpy(f->version, "0.1.0");
	strcpy(f->status, "done");
	strcpy(f->started, "2026-01-02T03:04:05Z");
	f->build = strdup("made");
	f->command_line = strdup("haul run made");
	f->error = strdup("");
	f->job_text = strdup(made_job);
	f->seconds = s->nothing ? NAN : 60;
	f->ranks = s->ranks;
	f->nodes = s->nodes;
	f->runs = s->runs;
	f->hosts = calloc(s->nodes, sizeof(*f->hosts));
	for (uint64_t n = 0; n < s->nodes; n++)
		snprintf(f->hosts[n], sizeof(f->hosts[n]), "nid%05llu", (unsigned long long)n);
	f->phase_count = (s->train_alone ? 1 : 2) * s->runs;
	f->phases = calloc(f->phase_count, sizeof(*f->phases));
	for (uint32_t number = 0; number < f->phase_count; number++) {
		struct results_phase_read *p = &f->phases[number];
		bool train = s->train_alone || number % 2;
		unsigned run = s->train_alone ? number : number / 2;

		made_record(&p->record, s, train ? "train" : "generate", run, number);
		if (train) {
			made_train(p, s, run);
			continue;
		}
		p->merged = made_table(made_columns, MADE_SAMPLES, 1);
		p->ranks = made_table(made_columns, MADE_SAMPLES, 0);
	}
	return f;
}

static void made_table_free(struct results_table *t)
{
	free(t->columns);
	free(t->cells);
}

void made_file_free(struct results_file *f)
{
	for (uint32_t i = 0; i < f->phase_count; i++) {
		struct results_phase_read *p = &f->phases[i];

		made_table_free(&p->merged);
		made_table_free(&p->ranks);
		free(p->steps.step);
		for (int k = 0; k < STEP_PARTS; k++) {
			free(p->steps.mean_ns[k]);
			free(p->steps.max_ns[k]);
		}
		for (int c = 0; c < SECOND_WORDS; c++)
			free(p->timeline.column[c]);
		for (uint32_t k = 0; k < p->table_count; k++) {
			made_table_free(&p->tables[k].table);
			free(p->tables[k].spread);
		}
		free(p->tables);
		free(p->hists);
		free(p->failures);
	}
	free(f->phases);
	free(f->hosts);
	free(f->job_text);
	free(f->error);
	free(f->command_line);
	free(f->build);
	free(f->path);
	free(f);
}
