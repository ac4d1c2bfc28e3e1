/* SPDX-License-Identifier: Apache-2.0 */
/* Scaling table: see scaling.h. */
#include "report/scaling.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json_path.h"
#include "report/phase.h"
#include "report/series.h"

/* What the job, as the file has it, says about the data set and the batch. */
static void scaling_job(struct scaling_row *row, const struct results_file *f,
			const struct phase_record *r)
{
	cJSON *job = f->job_text ? cJSON_Parse(f->job_text) : NULL;
	const cJSON *dataset = json_at(job, "dataset");
	const cJSON *cluster = json_at(job, "cluster");
	const cJSON *options = phase_options(job, r);
	uint64_t tensor = json_whole_at(cluster, "tensor", 0),
		 pipeline = json_whole_at(cluster, "pipeline", 0), group;
	bool grouped = strcmp(json_text_at(options, "readers", "all"), "all") != 0;

	group = grouped ? (tensor ? tensor : 1) * (pipeline ? pipeline : 1) : 1;
	row->global_batch = json_whole_at(options, "batch", 0) * (f->ranks / group);
	row->files = json_whole_at(dataset, "files", 0);
	row->data_bytes = (double)row->files *
			  (double)json_whole_at(dataset, "samples_per_file", 0) *
			  (double)json_whole_at(dataset, "sample_bytes", 0);
	if (row->data_bytes <= 0)
		row->data_bytes = NAN;
	cJSON_Delete(job);
}

static void scaling_free_row(struct scaling_row *row)
{
	free(row->values[0]);
	free(row->values[1]);
}

/* The figures over the repeats so far and more. */
static bool scaling_repeat(struct scaling_row *row, const struct series_line *line, uint32_t before)
{
	static const enum series_figure figures[] = {SERIES_AU, SERIES_BYTES};

	for (int i = 0; i < 2; i++) {
		double *more = realloc(row->values[i], (before + line->repeats) * sizeof(*more));

		if (!more)
			return false;
		row->values[i] = more;
		memcpy(more + before, line->values[figures[i]], line->repeats * sizeof(*more));
	}
	row->repeats = before + line->repeats;
	row->au = stats_possible(stats_of(row->values[0], row->repeats), 1);
	row->bytes = stats_possible(stats_of(row->values[1], row->repeats), INFINITY);
	row->bytes_per_node = row->bytes.mean / (double)row->nodes;
	return true;
}

static bool scaling_same_series(const struct scaling_row *a, const struct scaling_row *b)
{
	return strcmp(a->way, b->way) == 0 && b->job && strcmp(a->job, b->job) == 0 &&
	       strcmp(a->phase, b->phase) == 0 && strcmp(a->sweep, b->sweep) == 0;
}

/* Whether the runs of both differ in nothing: so they are repeats, each in a file of its own. */
static bool scaling_same_row(const struct scaling_row *a, const struct scaling_row *b)
{
	return a->series == b->series && a->nodes == b->nodes && a->ranks == b->ranks &&
	       a->nth == b->nth && a->path != b->path && a->job_text && b->job_text &&
	       strcmp(a->job_text, b->job_text) == 0;
}

static bool scaling_add(struct scaling *s, const struct results_file *f,
			const struct series_line *line)
{
	struct scaling_row row = {.path = f->path,
				  .job = f->name,
				  .job_text = f->job_text,
				  .nodes = f->nodes,
				  .ranks = f->ranks,
				  .nth = line->nth,
				  .series = s->series};
	struct scaling_row *same = NULL;

	snprintf(row.phase, sizeof(row.phase), "%s", line->first->record.name);
	snprintf(row.sweep, sizeof(row.sweep), "%s", line->first->record.sweep);
	way_of(f, &line->first->record, row.way);
	for (uint32_t i = 0; i < s->count && !same; i++) {
		if (!scaling_same_series(&row, &s->rows[i]))
			continue;
		row.series = s->rows[i].series;
		if (scaling_same_row(&row, &s->rows[i]))
			same = &s->rows[i];
	}
	if (same)
		return scaling_repeat(same, line, same->repeats);
	s->series += row.series == s->series;
	row.cached_share = results_role_value(&line->first->merged, 0, ROLE_CACHED);
	scaling_job(&row, f, &line->first->record);
	s->rows[s->count] = row;
	return scaling_repeat(&s->rows[s->count++], line, 0);
}

static bool scaling_has(const struct series_line *line, enum series_figure figure)
{
	return isfinite(line->figures[figure].mean);
}

/* The lines to show: those with a utilisation; where there is none, the last one with a byte
 * rate. */
static bool scaling_shows(const struct series_lines *lines, uint32_t i)
{
	const struct series_line *last = NULL;

	if (!scaling_has(&lines->lines[i], SERIES_BYTES))
		return false;
	for (uint32_t k = 0; k < lines->count; k++) {
		if (!scaling_has(&lines->lines[k], SERIES_BYTES))
			continue;
		if (scaling_has(&lines->lines[k], SERIES_AU))
			return scaling_has(&lines->lines[i], SERIES_AU);
		last = &lines->lines[k];
	}
	return last == &lines->lines[i] || series_same_phase(&lines->lines[i], last);
}

static int scaling_compare(const void *a, const void *b)
{
	const struct scaling_row *x = a, *y = b;

	if (x->series != y->series)
		return x->series < y->series ? -1 : 1;
	if (x->nodes != y->nodes)
		return x->nodes < y->nodes ? -1 : 1;
	return x->ranks < y->ranks ? -1 : x->ranks > y->ranks;
}

/* What is the same in all rows needs no column. */
static void scaling_show(struct scaling *s)
{
	bool jobs = false, phases = false;

	for (uint32_t i = 1; i < s->count; i++) {
		jobs = jobs || strcmp(s->rows[i].job, s->rows[0].job) != 0;
		phases = phases || strcmp(s->rows[i].phase, s->rows[0].phase) != 0;
	}
	for (uint32_t i = 0; i < s->count; i++) {
		s->rows[i].job_shown = jobs ? s->rows[i].job : "";
		s->rows[i].phase_shown = phases ? s->rows[i].phase : "";
	}
}

/* The interval of a quotient: relative errors of both are independent. */
static void scaling_efficiency(struct scaling_row *row, const struct scaling_row *base)
{
	double mean = row->bytes_per_node / base->bytes_per_node;
	double own = (row->bytes.high - row->bytes.low) / 2 / row->bytes.mean;
	double other =
		row == base ? 0 : (base->bytes.high - base->bytes.low) / 2 / base->bytes.mean;
	double half = mean * sqrt(own * own + other * other);

	if (row == base)
		half = NAN;
	row->efficiency = (struct stats){.n = row->bytes.n,
					 .mean = mean,
					 .stdev = NAN,
					 .low = mean - half,
					 .high = mean + half,
					 .cv = NAN,
					 .min = NAN,
					 .max = NAN};
}

/* Row i is the only one of its series with the fewest nodes: what the others are compared with. */
static bool scaling_is_base(const struct scaling *s, uint32_t i)
{
	const struct scaling_row *row = &s->rows[i];

	return i + 1 == s->count || row[1].series != row->series || row[1].nodes != row->nodes;
}

bool scaling_make(struct scaling *s, const struct results_file *const *files, unsigned count)
{
	struct series_lines lines;
	bool made = true;
	uint32_t room = 0;

	*s = (struct scaling){0};
	for (unsigned i = 0; i < count; i++)
		room += files[i]->phase_count;
	s->rows = calloc(room + 1, sizeof(*s->rows));
	for (unsigned i = 0; s->rows && made && i < count; i++) {
		made = series_make(&lines, files[i]);
		for (uint32_t k = 0; made && k < lines.count; k++)
			if (scaling_shows(&lines, k))
				made = scaling_add(s, files[i], &lines.lines[k]);
		series_free_lines(&lines);
	}
	if (!s->rows || !made)
		return false;
	qsort(s->rows, s->count, sizeof(*s->rows), scaling_compare);
	for (uint32_t i = 0, base = 0; i < s->count; i++) {
		if (s->rows[i].series != s->rows[base].series)
			base = i;
		if (scaling_is_base(s, base))
			scaling_efficiency(&s->rows[i], &s->rows[base]);
		else
			s->rows[i].efficiency = stats_of(NULL, 0);
	}
	scaling_show(s);
	return true;
}

void scaling_free(struct scaling *s)
{
	for (uint32_t i = 0; s->rows && i < s->count; i++)
		scaling_free_row(&s->rows[i]);
	free(s->rows);
}

static const struct column scaling_columns[] = {
	COLUMN(TEXT, struct scaling_row, path, "file", NULL),
	COLUMN(TEXT, struct scaling_row, job, "job", NULL),
	COLUMN(NAME, struct scaling_row, way, "way", "way", .width = 24),
	COLUMN(TEXT, struct scaling_row, job_shown, NULL, "job", .width = 16),
	COLUMN(NAME, struct scaling_row, phase, "phase", NULL),
	COLUMN(TEXT, struct scaling_row, phase_shown, NULL, "phase", .width = 12),
	COLUMN(NAME, struct scaling_row, sweep, "sweep", NULL),
	COLUMN(U64, struct scaling_row, nodes, "nodes", "nodes", .format = FORMAT_SOME),
	COLUMN(U64, struct scaling_row, ranks, "ranks", "ranks", .format = FORMAT_SOME),
	COLUMN(U64, struct scaling_row, global_batch, "global_batch", "batch",
	       .format = FORMAT_SOME),
	COLUMN(U64, struct scaling_row, files, "files", "files", .format = FORMAT_SOME),
	COLUMN(REAL, struct scaling_row, data_bytes, "data_bytes", "data set",
	       .format = FORMAT_BYTES),
	COLUMN(U32, struct scaling_row, repeats, "repeats", NULL),
	COLUMN(U32, struct scaling_row, series, "series", NULL),
	COLUMN(STATS, struct scaling_row, au, "au", "AU", .format = FORMAT_SHARE),
	COLUMN(STATS, struct scaling_row, bytes, "bytes_per_second", "GB/s", .format = FORMAT_GIGA),
	COLUMN(REAL, struct scaling_row, bytes_per_node, "bytes_per_second_per_node", "per node",
	       .format = FORMAT_GIGA),
	COLUMN(STATS, struct scaling_row, efficiency, "efficiency", "efficiency",
	       .format = FORMAT_SHARE),
	COLUMN(REAL, struct scaling_row, cached_share, "cached_share", "cached",
	       .format = FORMAT_SHARE),
	COLUMN(NAME, struct scaling_row, sweep, NULL, "sweep"),
	COLUMNS_END};

bool scaling_write(struct document *d, const void *about)
{
	const struct scaling *s = about;
	const struct report_table table = {.key = "scaling",
					   .flat = true,
					   .columns = scaling_columns,
					   TABLE_ROWS(s->rows, s->count)};

	document_table(d, &table);
	if (!s->count)
		document_say(d, "no finished phase has a rate of bytes\n");
	return true;
}
