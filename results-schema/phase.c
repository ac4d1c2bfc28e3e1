/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a phase into the results file: see phase.h. */
#include "results-schema/phase.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/measure/quantile.h"
#include "core/utf8.h"
#include "results-schema/curves.h"
#include "results-schema/h5.h"
#include "results-schema/phase_tables.h"
#include "results-schema/rows.h"

static void write_head(struct h5_writer *w, const struct merged *m);
static void write_targets(struct h5_writer *w, const struct merged *m);
static void write_failures(struct h5_writer *w, const struct merged *m);
static void write_timeline(struct h5_writer *w, const struct timeline *t);
static void write_steps(struct h5_writer *w, const struct steps *s);

static void phase_write_client(struct h5_writer *w, const struct merged_client *c);
static void phase_write_hists(struct h5_writer *w, const struct merged *m);

void phase_path(char path[PHASE_PATH_BYTES], const struct phase_record *record)
{
	snprintf(path, PHASE_PATH_BYTES, "/phases/%llu_%s", (unsigned long long)record->number,
		 record->name[0] ? record->name : record->kind);
}

void phase_link(struct h5_writer *w, const char *path, const char *target)
{
	if (H5Lcreate_external(target, path, h5w_at(w), path, H5P_DEFAULT, H5P_DEFAULT) < 0)
		h5w_failed(w, "cannot link %s to %s", path, target);
}

void phase_write(struct h5_writer *w, const struct merged *m, const struct phase_writer *writer,
		 const struct blocks *blocks)
{
	char path[PHASE_PATH_BYTES];

	phase_path(path, &m->phase->record);
	h5w_group(w, path);
	write_head(w, m);
	write_targets(w, m);
	phase_write_tables(w, m);
	phase_write_hists(w, m);
	if (m->timeline)
		write_timeline(w, m->timeline);
	if (m->steps)
		write_steps(w, m->steps);
	if (merged_has_client(m, writer->nodes))
		phase_write_client(w, &m->client);
	write_failures(w, m);
	blocks_create(blocks, w);
	h5w_leave(w);
}

/* Writes each merged measure, and each figure computed from them, as an attribute. "columns" lists
 * their names, "units" their units, "roles" their roles. */
static void write_figures(struct h5_writer *w, const struct merged *m)
{
	const struct columns *c = &m->schema->rank;
	const struct row_shape shape = {NULL, 0, c};
	const char **names = h5w_room(w, rows_words(&shape), sizeof(*names));
	uint32_t n = 0;

	if (!names)
		return;
	for (uint32_t i = 0; i < c->measure_count; i++) {
		h5w_u64(w, c->measures[i].name, m->row[i]);
		names[n++] = c->measures[i].name;
	}
	for (uint32_t i = 0; i < c->figure_count; i++) {
		h5w_real(w, c->figures[i].name, figure_value(&c->figures[i], m->row));
		names[n++] = c->figures[i].name;
	}
	h5w_texts(w, "columns", names, n);
	rows_describe(w, &shape);
}

static double figure_of(const struct merged *m, enum role role)
{
	const struct figure *f = columns_figure(&m->schema->rank, role);

	return f ? figure_value(f, m->row) : NAN;
}

/* The time of what is measured: bytes and operations are of this time, and a reader divides them by
 * it. */
static double measured_s(const struct merged *m, double wall_s)
{
	const struct columns *rank = &m->schema->rank;

	for (uint32_t i = 0; i < rank->measure_count; i++)
		if (rank->measures[i].role == ROLE_RANK_DONE && m->row[i])
			return (double)m->row[i] / 1e9;
	return wall_s;
}

/* Completes the record with what follows from the rest of the phase. */
static void complete_record(const struct merged *m, struct phase_record *r)
{
	const struct results_phase *phase = m->phase;
	const struct figure *f;

	*r = phase->record;
	if (!r->name[0])
		memcpy(r->name, r->kind, sizeof(r->name));
	f = tally_main_figure(m->schema, m->row);
	if (f)
		snprintf(r->main_figure, sizeof(r->main_figure), "%s", f->name);
	if (m->main_hist >= 0)
		snprintf(r->main_hist, sizeof(r->main_hist), "%s",
			 m->hists[m->main_hist].kind->name);
	r->wall_seconds = r->seconds;
	r->seconds = measured_s(m, r->seconds);
	r->null_au = figure_of(m, ROLE_UTILISATION_NULL);
	for (uint32_t i = 0; i < phase->target_count; i++)
		if (strcmp(phase->targets[i].name, "target_au") == 0)
			r->target_au = phase->targets[i].asked;
	for (uint32_t i = 0; i < phase->set_count; i++) {
		size_t n = strlen(r->sweep);

		snprintf(r->sweep + n, sizeof(r->sweep) - n, "%s%.*s", i ? ", " : "",
			 RECORD_SET_BYTES - 1, phase->sets[i]);
	}
}

/* Writes the names of the phase's tables, for readers that do not know them. */
static void write_table_names(struct h5_writer *w, const struct merged *m)
{
	const char **names = h5w_room(w, m->schema->table_count, sizeof(*names));
	uint32_t n = 0;

	for (uint32_t i = 0; names && i < m->schema->table_count; i++)
		if (m->tables[i].rows)
			names[n++] = m->tables[i].kind->name;
	if (n)
		h5w_texts(w, "tables", names, n);
}

static void write_head(struct h5_writer *w, const struct merged *m)
{
	struct phase_record r;

	complete_record(m, &r);
	h5w_record(w, phase_record_members, phase_record_member_count, &r);
	if (m->phase->set_count)
		h5w_texts(w, "sets", m->phase->sets, m->phase->set_count);
	write_figures(w, m);
	write_table_names(w, m);
}

static void write_targets(struct h5_writer *w, const struct merged *m)
{
	if (!m->phase->target_count)
		return;
	records_write(w, "targets", &rows_target, m->phase->target_count, m->phase->targets);
	h5w_leave(w);
}

static void write_failures(struct h5_writer *w, const struct merged *m)
{
	if (!m->failure_rows)
		return;
	records_write(w, "errors", &rows_failure, m->failure_rows, m->failures);
	h5w_u64(w, "met", m->failure_count);
	h5w_leave(w);
}

static double second_value(const void *from, uint32_t row, uint32_t column)
{
	const struct timeline *t = from;

	return (double)t->row[row][column] /
	       (column == SECOND_STALLED_NS ? (double)t->interval_ns : 1);
}

static void write_timeline(struct h5_writer *w, const struct timeline *t)
{
	curves_write(w, &(struct curves){.kind = &curves_over_time,
					 .rows = t->rows,
					 .axis_advance = (double)t->interval_ns / 1e9,
					 .value = second_value,
					 .from = t});
}

/* A row in which no rank counted a step is NaN. */
static double step_value(const void *from, uint32_t row, uint32_t column)
{
	const struct steps_row *r = &((const struct steps *)from)->row[row];
	uint32_t which = column / 2;

	if (!r->count)
		return NAN;
	return column % 2 ? (double)r->max_ns[which] : (double)r->sum_ns[which] / (double)r->count;
}

static void write_steps(struct h5_writer *w, const struct steps *s)
{
	curves_write(w, &(struct curves){.kind = &curves_over_steps,
					 .rows = s->rows,
					 .axis_first = 1,
					 .axis_advance = (double)s->steps_per_row,
					 .value = step_value,
					 .from = s});
}

/* The same as report/ shows: the figure of the phase, which knows what time was measured. A kind
 * without one is measured from its start to its end. */
static double summary_bytes_per_s(const struct merged *m, double seconds)
{
	uint64_t bytes = m->row[TALLY_BYTES_READ] + m->row[TALLY_BYTES_WRITTEN];

	return columns_figure(&m->schema->rank, ROLE_BYTE_RATE) ? figure_of(m, ROLE_BYTE_RATE)
	       : bytes ? results_rate((double)bytes, seconds)
		       : NAN;
}

static void summary_fill(struct summary_row *s, const struct merged *m)
{
	const struct hist *h = m->main_hist < 0 ? NULL : m->hists[m->main_hist].whole;
	struct phase_record r;

	complete_record(m, &r);
	memset(s, 0, sizeof(*s));
	snprintf(s->phase, sizeof(s->phase), "%.*s%s",
		 SUMMARY_NAME_BYTES - (r.alone ? (int)sizeof(RESULTS_ALONE) : 1), r.name,
		 r.alone ? RESULTS_ALONE : "");
	utf8_copy(s->kind, sizeof(s->kind), r.kind);
	utf8_copy(s->sweep, sizeof(s->sweep), r.sweep);
	utf8_copy(s->samples, sizeof(s->samples), r.proof);
	s->seconds = r.seconds;
	s->au = figure_of(m, ROLE_UTILISATION);
	s->gb_per_s = summary_bytes_per_s(m, r.seconds) / 1e9;
	s->operations_per_s = figure_of(m, ROLE_OPERATION_RATE);
	for (int q = 0; q < QUANTILES; q++)
		s->quantile_ms[q] = h ? (double)quantile_ns(h, (enum quantile)q) / 1e6 : NAN;
	s->max_ms = h ? (double)h->max_ns / 1e6 : NAN;
	s->errors = m->row[TALLY_ERRORS];
	s->run = (uint32_t)r.run;
	s->repeat = (uint32_t)r.repeat;
	s->warmup = (uint32_t)r.warmup;
}

/* The number of rows so far: one per published phase. Fewer phases may be published than run. */
static hsize_t summary_rows(struct h5_writer *w)
{
	hid_t space;
	hssize_t rows;

	h5w_enter(w, "/summary");
	space = H5Dget_space(h5w_at(w));
	rows = H5Sget_simple_extent_npoints(space);
	h5_close(space);
	h5w_leave(w);
	return rows > 0 ? (hsize_t)rows : 0;
}

void phase_write_summary(struct h5_writer *w, const struct merged *m)
{
	struct summary_row row;

	summary_fill(&row, m);
	records_grow(w, "/summary", &rows_summary, summary_rows(w), 1, &row);
}

static void write_axes(struct h5_writer *w, const struct merged_client *c)
{
	double *values = h5w_room(w, c->rows > c->nodes ? c->rows : c->nodes, sizeof(*values));

	if (!values)
		return;
	for (uint32_t i = 0; i < c->nodes; i++)
		values[i] = i;
	h5w_array(w, "node", H5T_NATIVE_DOUBLE, c->nodes, values, NULL);
	for (uint32_t i = 0; i < c->rows; i++)
		values[i] = (double)i * (double)c->interval_ns / 1e9;
	h5w_array(w, "time_s", H5T_NATIVE_DOUBLE, c->rows, values, "s");
}

static const char *const over_keys[] = {"time_ns", "nodes"};

static void write_stat(struct h5_writer *w, const struct client_over *over, enum client_stat stat)
{
	const struct row_shape shape = {over_keys, 2, &client_columns};
	size_t words = rows_words(&shape);
	uint64_t *rows = h5w_room(w, over->rows, words * sizeof(*rows));

	for (uint32_t i = 0; rows && i < over->rows; i++) {
		const uint64_t keys[] = {i * over->interval_ns, over->nodes[i]};

		rows_fill(&shape, keys, over->row[stat][i], rows + i * words);
	}
	rows_write(w, client_stat_names[stat], &shape, over->rows, rows);
	h5w_leave(w);
}

static void write_over(struct h5_writer *w, const struct client_over *over)
{
	h5w_group(w, "over_nodes");
	h5w_real(w, "interval_s", (double)over->interval_ns / 1e9);
	for (int i = 0; i < CLIENT_STATS; i++)
		write_stat(w, over, (enum client_stat)i);
	h5w_leave(w);
}

static void phase_write_client(struct h5_writer *w, const struct merged_client *c)
{
	static const char *const axes[] = {"node", "time_s"};

	h5w_group(w, "client");
	h5w_nexus(w, &(struct nexus){.title = "how busy the cores of the ranks were",
				     .signal = "cores_busy",
				     .axes = axes,
				     .axis_count = 2});
	h5w_real(w, "interval_s", (double)c->interval_ns / 1e9);
	write_axes(w, c);
	if (c->over)
		write_over(w, c->over);
	h5w_leave(w);
}

static void write_facts(struct h5_writer *w, const struct merged_hist *h)
{
	h5w_text(w, "role", role_name(h->kind->role));
	h5w_u64(w, "first_bucket", h->first);
	h5w_u64(w, "count", hist_count(h->whole));
	h5w_u64(w, "sum_ns", h->whole->sum_ns);
	h5w_u64(w, "clipped", h->whole->clipped);
	h5w_u64(w, "max_ns", h->whole->max_ns);
	h5w_u64(w, "min_ns", ~h->whole->min_not_ns);
	for (int q = 0; q < QUANTILES; q++) {
		char name[32];

		snprintf(name, sizeof(name), "%s_ns", quantile_kinds[q].name);
		h5w_u64(w, name, quantile_ns(h->whole, (enum quantile)q));
	}
}

/* edges_ns has one value more than counts: bin i is [edges_ns[i], edges_ns[i + 1]). */
static void write_phase_hist(struct h5_writer *w, const struct merged_hist *h, bool rows)
{
	static const char *const axes[] = {"edges_ns"};
	uint64_t edges[HIST_BUCKETS + 1];
	hsize_t n = h->count;

	for (unsigned i = 0; i <= h->count; i++)
		edges[i] = hist_edge(h->first + i);
	h5w_group(w, h->kind->name);
	h5w_nexus(w, &(struct nexus){.title = h->kind->help,
				     .signal = "counts",
				     .axes = axes,
				     .axis_count = 1});
	write_facts(w, h);
	h5w_packed(w, "counts", H5T_NATIVE_UINT64, 1, &n, h->whole->bucket + h->first, NULL);
	n = h->count + 1;
	h5w_packed(w, "edges_ns", H5T_NATIVE_UINT64, 1, &n, edges, "ns");
	n = HIST_ROW_BUCKETS + 1;
	for (unsigned i = 0; i <= HIST_ROW_BUCKETS; i++)
		edges[i] = hist_edge(i * HIST_ROW_MERGES);
	if (rows)
		h5w_packed(w, "row_edges_ns", H5T_NATIVE_UINT64, 1, &n, edges, "ns");
	h5w_leave(w);
}

/* The parts of phase_write, each in a file of its own. */
static void phase_write_hists(struct h5_writer *w, const struct merged *m)
{
	h5w_group(w, "histograms");
	for (uint32_t i = 0; i < m->hist_count; i++)
		write_phase_hist(w, &m->hists[i],
				 (int32_t)i == m->rank_hist && !m->phase->rank_rows);
	h5w_leave(w);
}
