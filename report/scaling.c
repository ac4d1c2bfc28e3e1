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

static const char *way_text(const cJSON *object, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsString(value) && value->valuestring[0] ? value->valuestring : NULL;
}

/* The name of the phase's store: its own, else that of the data set; NULL: not told. */
static const char *way_store(const cJSON *job, const struct phase_record *r)
{
	const char *named = way_text(phase_options(job, r), "store");

	return named ? named : way_text(cJSON_GetObjectItemCaseSensitive(job, "dataset"), "store");
}

static const char *way_of_files(const struct store_facts *s)
{
	static const char *const libraries[] = {"pil4dfs", "ioil"};

	for (int i = 0; i < 2; i++)
		if (strstr(s->engine, libraries[i]))
			return libraries[i];
	return strcmp(s->file_system, "fuse.daos") == 0 ? "dfuse"
	       : s->file_system[0]                      ? s->file_system
							: "file";
}

static void way_of_store(const struct store_facts *s, char way[WAY_BYTES])
{
	size_t scheme = strcspn(s->uri, ":");
	bool files = strncmp(s->uri, "file:", 5) == 0 || strncmp(s->uri, "direct:", 7) == 0;

	if (files)
		snprintf(way, WAY_BYTES, "%s%s", way_of_files(s), s->direct ? " direct" : "");
	else if (strncmp(s->uri, "daos:", 5) == 0)
		snprintf(way, WAY_BYTES, "dfs");
	else
		snprintf(way, WAY_BYTES, "%.*s", (int)scheme, s->uri);
}

void way_of(const struct results_file *f, const struct phase_record *r, char way[WAY_BYTES])
{
	cJSON *job = f->job_text ? cJSON_Parse(f->job_text) : NULL;
	const char *called = way_text(job, "way"), *store = way_store(job, r);
	static const char simulated[] = RESULTS_SIMULATED " ";

	way[0] = '\0';
	for (uint64_t i = 0; !called && i < f->store_count; i++)
		if (!store || strcmp(f->stores[i].name, store) == 0) {
			way_of_store(&f->stores[i], way);
			break;
		}
	if (called)
		snprintf(way, WAY_BYTES, "%s", called);
	cJSON_Delete(job);
	/* No curve of a simulation passes for one that was measured. */
	if (f->simulated) {
		memmove(way + sizeof(simulated) - 1, way, WAY_BYTES - sizeof(simulated) + 1);
		memcpy(way, simulated, sizeof(simulated) - 1);
		way[WAY_BYTES - 1] = '\0';
	}
}

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

enum { SVG_WIDTH = 960, SVG_HEIGHT = 420, PANEL_WIDTH = 380, PANEL_HEIGHT = 260, PANEL_TOP = 50 };
enum { PANELS = 2, COLORS = 6, LEGEND_STEP = 150, LEGEND_PER_LINE = 6, MARKS = 4 };

static const char *const colors[COLORS] = {"#0072b2", "#d55e00", "#007a59",
					   "#a8467e", "#1a1c1e", "#8a6d00"};
static const char *const titles[PANELS] = {"AU (%)", "GB/s per node"};

struct panel {
	FILE *out;
	int which, left;
	double least, most; /* of the numbers of nodes */
	double top;         /* of the values */
};

/* A value of the row: 0: its mean, 1 and 2: the ends of its interval. */
static double svg_value(const struct scaling_row *r, int which, int part)
{
	const struct stats *s = which == 0 ? &r->au : &r->bytes;
	double value = part == 0 ? s->mean : part == 1 ? s->low : s->high;

	return which == 0 ? 100 * value : value / (double)r->nodes / 1e9;
}

static double svg_x(const struct panel *p, double nodes)
{
	double span = log2(p->most) - log2(p->least);

	return p->left + (span > 0 ? (log2(nodes) - log2(p->least)) / span : 0.5) * PANEL_WIDTH;
}

static double svg_y(const struct panel *p, double value)
{
	return PANEL_TOP + (1 - value / p->top) * PANEL_HEIGHT;
}

static void svg_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '<' || *text == '&')
			fprintf(out, "&#%d;", *text);
		else if ((unsigned char)*text >= ' ')
			fputc(*text, out);
	}
}

static void svg_axes(const struct panel *p, const struct scaling *s)
{
	fprintf(p->out, "<text x=\"%d\" y=\"%d\" class=\"t\">%s</text>\n", p->left, PANEL_TOP - 16,
		titles[p->which]);
	for (int i = 0; i <= MARKS; i++) {
		double value = p->top * i / MARKS, y = svg_y(p, value);

		fprintf(p->out,
			"<path d=\"M%d %.1fh%d\" stroke=\"#ccc\"/><text x=\"%d\" y=\"%.1f\" "
			"text-anchor=\"end\">%.3g</text>\n",
			p->left, y, PANEL_WIDTH, p->left - 6, y + 4, value);
	}
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t k = 0;

		while (s->rows[k].nodes != s->rows[i].nodes)
			k++;
		if (k == i)
			fprintf(p->out,
				"<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%llu</text>\n",
				svg_x(p, (double)s->rows[i].nodes), PANEL_TOP + PANEL_HEIGHT + 18,
				(unsigned long long)s->rows[i].nodes);
	}
	fprintf(p->out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">nodes</text>\n",
		p->left + PANEL_WIDTH / 2, PANEL_TOP + PANEL_HEIGHT + 38);
}

static void svg_line(const struct panel *p, const struct scaling *s, uint32_t series)
{
	const char *color = colors[series % COLORS];
	char move = 'M';

	fprintf(p->out, "<g stroke=\"%s\" fill=\"%s\"><path fill=\"none\" stroke-width=\"2\" d=\"",
		color, color);
	for (uint32_t i = 0; i < s->count; i++) {
		double value = svg_value(&s->rows[i], p->which, 0);

		if (s->rows[i].series != series || !isfinite(value))
			continue;
		fprintf(p->out, "%c%.1f %.1f", move, svg_x(p, (double)s->rows[i].nodes),
			svg_y(p, value));
		move = 'L';
	}
	fprintf(p->out, "\"/>");
	for (uint32_t i = 0; i < s->count; i++) {
		const struct scaling_row *r = &s->rows[i];
		double x = svg_x(p, (double)r->nodes), value = svg_value(r, p->which, 0);
		double low = svg_value(r, p->which, 1), high = svg_value(r, p->which, 2);

		if (r->series != series || !isfinite(value))
			continue;
		fprintf(p->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>", x, svg_y(p, value));
		if (isfinite(low) && isfinite(high))
			fprintf(p->out, "<path d=\"M%.1f %.1fV%.1fm-4 0h8M%.1f %.1fh8\"/>", x,
				svg_y(p, low), svg_y(p, high), x - 4, svg_y(p, low));
	}
	fprintf(p->out, "</g>\n");
}

static void svg_panel(FILE *out, const struct scaling *s, int which)
{
	struct panel p = {.out = out,
			  .which = which,
			  .left = which == 0 ? 60 : 540,
			  .least = INFINITY,
			  .most = 1};

	for (uint32_t i = 0; i < s->count; i++) {
		double high = svg_value(&s->rows[i], which, 2),
		       mean = svg_value(&s->rows[i], which, 0);

		p.least = fmin(p.least, (double)s->rows[i].nodes);
		p.most = fmax(p.most, (double)s->rows[i].nodes);
		p.top = fmax(p.top, isfinite(high) ? high : isfinite(mean) ? mean : 0);
	}
	p.top = which == 0 ? 100 : p.top > 0 ? 1.05 * p.top : 1;
	svg_axes(&p, s);
	for (uint32_t i = 0; i < s->series; i++)
		svg_line(&p, s, i);
	/* Every node as fast as on the fewest is a level line. */
	for (uint32_t i = 0; i < s->count; i++)
		if ((i == 0 || s->rows[i].series != s->rows[i - 1].series) && which == 1 &&
		    isfinite(svg_value(&s->rows[i], 1, 0)))
			fprintf(out,
				"<path d=\"M%.1f %.1fH%d\" stroke=\"%s\" stroke-dasharray=\"4 4\"/>\n",
				svg_x(&p, (double)s->rows[i].nodes),
				svg_y(&p, svg_value(&s->rows[i], 1, 0)), p.left + PANEL_WIDTH,
				colors[s->rows[i].series % COLORS]);
}

static void svg_legend(FILE *out, const struct scaling *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		const struct scaling_row *r = &s->rows[i];
		int x = 60 + (int)(r->series % LEGEND_PER_LINE) * LEGEND_STEP,
		    y = SVG_HEIGHT - 36 + (int)(r->series / LEGEND_PER_LINE) * 18;

		if (i > 0 && r->series == s->rows[i - 1].series)
			continue;
		fprintf(out,
			"<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%d\" y=\"%d\">",
			x, y - 10, colors[r->series % COLORS], x + 18, y);
		svg_text(out, r->way);
		for (int k = 0; k < 3; k++) {
			const char *more = k == 0   ? r->job_shown
					   : k == 1 ? r->phase_shown
						    : r->sweep;

			fputs(*more ? " " : "", out);
			svg_text(out, more);
		}
		fputs("</text>\n", out);
	}
}

char *scaling_svg(const struct scaling *s)
{
	int height = SVG_HEIGHT + (int)(s->series / LEGEND_PER_LINE) * 18;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\">\n"
		"<!-- Made by haul: scaling -->\n"
		"<style>text{font:13px sans-serif;fill:#222}.t{font-weight:bold}</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
		SVG_WIDTH, height);
	for (int which = 0; which < PANELS; which++)
		svg_panel(out, s, which);
	svg_legend(out, s);
	fputs("</svg>\n", out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
