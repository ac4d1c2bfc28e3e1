/* Scaling table: see scaling.h. */
#include "report/scaling.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/series.h"

/* A whole number of a job's object; 0: it has none. */
static uint64_t scaling_number(const cJSON *object, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(value) && value->valuedouble > 0 ? (uint64_t)value->valuedouble : 0;
}

/* The options of the phase in the job: those of the first phase with its name, or of its kind. */
static const cJSON *scaling_options(const cJSON *job, const struct phase_record *r)
{
	const cJSON *phase, *name, *options;

	cJSON_ArrayForEach(phase, cJSON_GetObjectItemCaseSensitive(job, "phases"))
	{
		options = cJSON_GetObjectItemCaseSensitive(phase, r->kind);
		name = cJSON_GetObjectItemCaseSensitive(options, "name");
		if (options && (!cJSON_IsString(name) || !name->valuestring[0] ||
				strcmp(name->valuestring, r->name) == 0))
			return options;
	}
	return NULL;
}

/* What the job, as the file has it, says about the data set and the batch. */
static void scaling_job(struct scaling_row *row, const struct results_file *f,
			const struct phase_record *r)
{
	cJSON *job = f->job_text ? cJSON_Parse(f->job_text) : NULL;
	const cJSON *dataset = cJSON_GetObjectItemCaseSensitive(job, "dataset");
	const cJSON *cluster = cJSON_GetObjectItemCaseSensitive(job, "cluster");
	const cJSON *options = scaling_options(job, r);
	const cJSON *readers = cJSON_GetObjectItemCaseSensitive(options, "readers");
	uint64_t tensor = scaling_number(cluster, "tensor"),
		 pipeline = scaling_number(cluster, "pipeline"), group;
	bool grouped = cJSON_IsString(readers) && strcmp(readers->valuestring, "all") != 0;

	group = grouped ? (tensor ? tensor : 1) * (pipeline ? pipeline : 1) : 1;
	row->global_batch = scaling_number(options, "batch") * (f->ranks / group);
	row->files = scaling_number(dataset, "files");
	row->data_bytes = (double)row->files * (double)scaling_number(dataset, "samples_per_file") *
			  (double)scaling_number(dataset, "sample_bytes");
	if (row->data_bytes <= 0)
		row->data_bytes = NAN;
	cJSON_Delete(job);
}

static void scaling_add(struct scaling *s, const struct results_file *f,
			const struct series_line *line)
{
	struct scaling_row *row = &s->rows[s->count++];

	*row = (struct scaling_row){.path = f->path, .nodes = f->nodes, .ranks = f->ranks};
	snprintf(row->phase, sizeof(row->phase), "%s", line->first->record.name);
	snprintf(row->sweep, sizeof(row->sweep), "%s", line->first->record.sweep);
	row->au = line->figures[SERIES_AU];
	row->bytes = line->figures[SERIES_BYTES];
	row->bytes_per_node = row->bytes.mean / (double)row->nodes;
	row->cached_share = results_role_value(&line->first->merged, 0, ROLE_CACHED);
	scaling_job(row, f, &line->first->record);
}

/* The line to show: the last one with a utilisation, else the last one with a byte rate. */
static const struct series_line *scaling_line(const struct series_lines *lines)
{
	const struct series_line *found = NULL;

	for (uint32_t i = 0; i < lines->count; i++)
		if (isfinite(lines->lines[i].figures[SERIES_BYTES].mean) &&
		    (!found || isfinite(lines->lines[i].figures[SERIES_AU].mean) ||
		     !isfinite(found->figures[SERIES_AU].mean)))
			found = &lines->lines[i];
	return found;
}

static int scaling_compare(const void *a, const void *b)
{
	const struct scaling_row *x = a, *y = b;

	if (x->nodes != y->nodes)
		return x->nodes < y->nodes ? -1 : 1;
	return x->ranks < y->ranks ? -1 : x->ranks > y->ranks;
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
		const struct series_line *shown;

		made = series_make(&lines, files[i]);
		shown = made ? scaling_line(&lines) : NULL;
		for (uint32_t k = 0; shown && k < lines.count; k++)
			if (&lines.lines[k] == shown || series_same_phase(&lines.lines[k], shown))
				scaling_add(s, files[i], &lines.lines[k]);
		series_free_lines(&lines);
	}
	if (!s->rows || !made)
		return false;
	qsort(s->rows, s->count, sizeof(*s->rows), scaling_compare);
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t base = 0;

		while (base < i && strcmp(s->rows[base].sweep, s->rows[i].sweep) != 0)
			base++;
		scaling_efficiency(&s->rows[i], &s->rows[base]);
	}
	return true;
}

void scaling_free(struct scaling *s)
{
	free(s->rows);
}

static const struct column scaling_columns[] = {
	COLUMN(TEXT, struct scaling_row, path, "file", NULL),
	COLUMN(NAME, struct scaling_row, phase, "phase", NULL),
	COLUMN(NAME, struct scaling_row, sweep, "sweep", NULL),
	COLUMN(U64, struct scaling_row, nodes, "nodes", "nodes", .format = FORMAT_SOME),
	COLUMN(U64, struct scaling_row, ranks, "ranks", "ranks", .format = FORMAT_SOME),
	COLUMN(U64, struct scaling_row, global_batch, "global_batch", "batch",
	       .format = FORMAT_SOME),
	COLUMN(U64, struct scaling_row, files, "files", "files", .format = FORMAT_SOME),
	COLUMN(REAL, struct scaling_row, data_bytes, "data_bytes", "data set",
	       .format = FORMAT_BYTES),
	COLUMN(U32, struct scaling_row, bytes.n, "repeats", NULL),
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
