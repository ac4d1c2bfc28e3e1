#include "results-schema/phase.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results-schema/h5.h"
#include "results-schema/phase_client.h"
#include "results-schema/phase_endpoints.h"
#include "results-schema/rows.h"

static const char *const rank_keys[] = {"rank", "node"};
static const char *const epoch_keys[] = {"epoch"};

static int write_headline(hid_t phase, const struct merged *m, struct err *err);
static int write_ranks(hid_t phase, const struct merged *m, const struct phase_writer *w,
		       const uint64_t *own_row, struct err *err);
static int write_epochs(hid_t phase, const struct merged *m, const struct phase_writer *w,
			struct err *err);
static int write_hists(hid_t phase, const struct merged *m, const struct phase_writer *w,
		       struct err *err);
static int write_timeline(hid_t phase, const struct merged *m, bool first, struct err *err);
static int write_failures(hid_t phase, const struct merged *m, bool first, struct err *err);
static int write_summary(hid_t file, const struct merged *m, bool first, struct err *err);

int phase_write(hid_t file, const struct merged *m, const struct phase_writer *w,
		const uint64_t *own_row, struct err *err)
{
	char name[80];
	hid_t phase;
	int rc;

	snprintf(name, sizeof(name), "/phases/%u_%s", m->text.number, m->text.kind);
	rc = h5_group(file, name, &phase, err);
	if (rc == 0)
		rc = write_headline(phase, m, err);
	if (rc == 0)
		rc = write_ranks(phase, m, w, own_row, err);
	if (rc == 0)
		rc = write_epochs(phase, m, w, err);
	if (rc == 0)
		rc = write_hists(phase, m, w, err);
	if (rc == 0)
		rc = write_timeline(phase, m, w->first, err);
	if (rc == 0)
		rc = phase_write_client(phase, m, w, err);
	if (rc == 0)
		rc = phase_write_endpoints(phase, m, w, err);
	if (rc == 0)
		rc = write_failures(phase, m, w->first, err);
	if (rc == 0)
		rc = write_summary(file, m, w->first, err);
	if (rc == 0)
		rc = h5_attr_real(file, "seconds", (double)m->text.run_seconds_ns / 1e9, err);
	if (phase >= 0)
		H5Gclose(phase);
	return rc < 0 ? err_wrap(err, rc, "results of %s", name) : 0;
}

/* The merged measures and the figures made of them, each an attribute; "columns" lists their names,
 * "units" their units. */
static int write_figures(hid_t phase, const struct merged *m, struct err *err)
{
	const struct columns *c = &m->schema->rank;
	const char **names = calloc(c->measure_count + c->figure_count, sizeof(*names));
	const char **units = calloc(c->measure_count + c->figure_count, sizeof(*units));
	uint32_t n = 0;
	int rc =
		names && units ? 0 : err_set(err, -ENOMEM, "no memory for the headline of a phase");

	for (uint32_t i = 0; rc == 0 && i < c->measure_count; i++) {
		rc = h5_attr_u64(phase, c->measures[i].name, m->row[i], err);
		names[n] = c->measures[i].name;
		units[n++] = c->measures[i].unit;
	}
	for (uint32_t i = 0; rc == 0 && i < c->figure_count; i++) {
		rc = h5_attr_real(phase, c->figures[i].name, c->figures[i].value(m->row), err);
		names[n] = c->figures[i].name;
		units[n++] = c->figures[i].unit;
	}
	if (rc == 0)
		rc = h5_attr_texts(phase, "columns", names, n, err);
	if (rc == 0)
		rc = h5_attr_texts(phase, "units", units, n, err);
	free(names);
	free(units);
	return rc;
}

/* "train.batch=4, train.loader.workers=2", cut at a character's beginning where size asks for it. */
static void join_sets(const struct merged_text *t, char *out, size_t size)
{
	size_t n = 0;

	out[0] = '\0';
	for (uint32_t i = 0; i < t->set_count && n < size; i++)
		n += (size_t)snprintf(out + n, size - n, "%s%s", i ? ", " : "", t->sets[i]);
	if (n < size)
		return;
	n = size - 1;
	while (n > 0 && ((unsigned char)out[n - 1] & 0xc0) == 0x80)
		n--;
	if (n > 0 && (unsigned char)out[n - 1] >= 0xc0)
		out[n - 1] = '\0';
}

/* Where the phase stands in a series of runs. */
static int write_run(hid_t phase, const struct merged_text *t, struct err *err)
{
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{"run", t->run},
		{"combination", t->combination},
		{"repeat", t->repeat},
		{"warmup", t->warmup},
	};
	char sweep[MERGED_SETS_MAX * MERGED_SET_BYTES];
	const char *sets[MERGED_SETS_MAX];
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(numbers) / sizeof(*numbers); i++)
		rc = h5_attr_u64(phase, numbers[i].name, numbers[i].value, err);
	join_sets(t, sweep, sizeof(sweep));
	for (uint32_t i = 0; i < t->set_count; i++)
		sets[i] = t->sets[i];
	if (rc == 0)
		rc = h5_attr_text(phase, "sweep", sweep, err);
	if (rc == 0 && t->set_count)
		rc = h5_attr_texts(phase, "sets", sets, t->set_count, err);
	return rc;
}

static int write_headline(hid_t phase, const struct merged *m, struct err *err)
{
	const struct merged_text *t = &m->text;
	const struct {
		const char *name, *text;
	} texts[] = {
		{"kind", t->kind},
		{"name", t->name},
		{"store", t->store},
		{"status", t->status},
		{"said", t->message},
		{"error", t->error},
		{"main_histogram", m->main_hist < 0 ? "" : m->hists[m->main_hist].kind->name},
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(texts) / sizeof(*texts); i++)
		rc = h5_attr_text(phase, texts[i].name, texts[i].text, err);
	if (rc == 0)
		rc = h5_attr_u64(phase, "number", t->number, err);
	if (rc == 0)
		rc = h5_attr_real(phase, "seconds", (double)t->seconds_ns / 1e9, err);
	if (rc == 0)
		rc = h5_attr_real(phase, "null_au", t->null_au, err);
	if (rc == 0)
		rc = h5_attr_real(phase, "target_au", t->target_au, err);
	if (rc == 0)
		rc = write_run(phase, t, err);
	return rc < 0 ? rc : write_figures(phase, m, err);
}

static int write_ranks(hid_t phase, const struct merged *m, const struct phase_writer *w,
		       const uint64_t *own_row, struct err *err)
{
	struct row_shape shape = {rank_keys, 2, &m->schema->rank};
	uint64_t keys[] = {w->rank, w->node};
	uint64_t *row = calloc(rows_words(&shape), sizeof(*row));
	hsize_t dims = w->ranks, start = w->rank, one = 1;
	hid_t type = rows_type(&shape), dataset = H5I_INVALID_HID;
	int rc = row ? 0 : err_set(err, -ENOMEM, "no memory for a row of results");

	if (rc == 0)
		rc = h5_dataset(phase, "ranks", type, 1, &dims, &dataset, err);
	if (rc == 0)
		rc = rows_units(dataset, &shape, err);
	if (rc == 0) {
		rows_fill(&shape, keys, own_row, row);
		rc = h5_write_rows(dataset, type, 1, &start, &one, row, err);
	}
	if (dataset >= 0)
		H5Dclose(dataset);
	if (type >= 0)
		H5Tclose(type);
	free(row);
	return rc;
}

/* Rows of all epochs, numbered from 1, from measures [epochs][measure_count]. The caller frees. */
static uint64_t *epoch_table(const struct row_shape *shape, uint32_t epochs,
			     const uint64_t *measures)
{
	size_t words = rows_words(shape);
	uint64_t *rows = calloc(epochs * words, sizeof(*rows));

	for (uint64_t e = 1; rows && e <= epochs; e++)
		rows_fill(shape, &e, measures + (e - 1) * shape->columns->measure_count,
			  rows + (e - 1) * words);
	return rows;
}

/* Whether the columns tell the epoch's number themselves. */
static bool has_epoch(const struct columns *c)
{
	for (uint32_t i = 0; i < c->measure_count; i++)
		if (strcmp(c->measures[i].name, epoch_keys[0]) == 0)
			return true;
	return false;
}

static int write_epochs(hid_t phase, const struct merged *m, const struct phase_writer *w,
			struct err *err)
{
	struct row_shape shape = {epoch_keys, has_epoch(&m->schema->epoch) ? 0 : 1,
				  &m->schema->epoch};
	hsize_t dims[2] = {m->epochs, w->ranks}, start[2] = {0, w->rank}, count[2] = {m->epochs, 1};
	hid_t type, merged = H5I_INVALID_HID, own = H5I_INVALID_HID;
	uint64_t *merged_rows, *own_rows;
	int rc = 0;

	if (!m->epochs)
		return 0;
	type = rows_type(&shape);
	merged_rows = epoch_table(&shape, m->epochs, m->epoch_rows);
	own_rows = epoch_table(&shape, m->epochs, m->own_epochs);
	if (!merged_rows || !own_rows)
		rc = err_set(err, -ENOMEM, "no memory for the epochs of a phase");
	if (rc == 0)
		rc = h5_dataset(phase, "epochs", type, 1, dims, &merged, err);
	if (rc == 0)
		rc = rows_units(merged, &shape, err);
	if (rc == 0 && w->first)
		rc = h5_write(merged, type, merged_rows, err);
	if (rc == 0)
		rc = h5_dataset(phase, "epoch_ranks", type, 2, dims, &own, err);
	if (rc == 0)
		rc = rows_units(own, &shape, err);
	if (rc == 0)
		rc = h5_write_rows(own, type, 2, start, count, own_rows, err);
	if (merged >= 0)
		H5Dclose(merged);
	if (own >= 0)
		H5Dclose(own);
	if (type >= 0)
		H5Tclose(type);
	free(merged_rows);
	free(own_rows);
	return rc;
}

int phase_nxdata(hid_t group, const char *title, const char *signal, const char *const *axes,
		 size_t axis_count, struct err *err)
{
	int rc = h5_attr_text(group, "NX_class", "NXdata", err);

	if (rc == 0)
		rc = h5_attr_text(group, "signal", signal, err);
	if (rc == 0)
		rc = h5_attr_texts(group, "axes", axes, axis_count, err);
	if (rc == 0)
		rc = h5_attr_text(group, "title", title, err);
	return rc;
}

static int nxdata(hid_t group, const char *title, const char *signal, const char *axis,
		  struct err *err)
{
	return phase_nxdata(group, title, signal, &axis, 1, err);
}

static int hist_facts(hid_t group, const struct merged_hist *h, struct err *err)
{
	static const char *const names[FACTS] = {
		[FACT_COUNT] = "count",    [FACT_SUM] = "sum_ns", [FACT_CLIPPED] = "clipped",
		[FACT_MAX] = "max_ns",     [FACT_MIN] = "min_ns", [FACT_P50] = "p50_ns",
		[FACT_P95] = "p95_ns",     [FACT_P99] = "p99_ns", [FACT_P999] = "p999_ns",
		[FACT_P9999] = "p9999_ns",
	};
	int rc = h5_attr_u64(group, "first_bucket", h->first, err);

	for (int i = 0; rc == 0 && i < FACTS; i++)
		rc = h5_attr_u64(group, names[i], h->fact[i], err);
	return rc;
}

static int write_hist_rows(hid_t group, const struct merged_hist *h, const struct phase_writer *w,
			   struct err *err)
{
	bool writes = w->row < w->rows;
	hsize_t dims[2] = {w->rows, h->count}, start[2] = {writes ? w->row : 0, 0};
	hsize_t count[2] = {writes ? 1 : 0, h->count};
	hid_t dataset;
	int rc = h5_dataset(group, w->by_node ? "by_node" : "by_rank", H5T_NATIVE_UINT32, 2, dims,
			    &dataset, err);

	if (rc == 0)
		rc = h5_write_rows(dataset, H5T_NATIVE_UINT32, 2, start, count, h->row, err);
	if (dataset >= 0)
		H5Dclose(dataset);
	return rc;
}

/* edges_ns has one value more than counts: bin i is [edges_ns[i], edges_ns[i + 1]). */
static int write_hist(hid_t at, const struct merged_hist *h, const struct phase_writer *w,
		      struct err *err)
{
	uint64_t edges[HIST_BUCKETS + 1];
	hid_t group;
	int rc = h5_group(at, h->kind->name, &group, err);

	for (unsigned i = 0; i <= h->count; i++)
		edges[i] = hist_edge(h->first + i);
	if (rc == 0)
		rc = nxdata(group, h->kind->help, "counts", "edges_ns", err);
	if (rc == 0)
		rc = hist_facts(group, h, err);
	if (rc == 0)
		rc = h5_array(group, "counts", H5T_NATIVE_UINT64, h->count, h->buckets, w->first,
			      NULL, err);
	if (rc == 0)
		rc = h5_array(group, "edges_ns", H5T_NATIVE_UINT64, h->count + 1, edges, w->first,
			      "ns", err);
	if (rc == 0)
		rc = write_hist_rows(group, h, w, err);
	if (group >= 0)
		H5Gclose(group);
	return rc;
}

static int write_hists(hid_t phase, const struct merged *m, const struct phase_writer *w,
		       struct err *err)
{
	hid_t group;
	int rc = h5_group(phase, "histograms", &group, err);

	for (uint32_t i = 0; rc == 0 && i < m->hist_count; i++)
		rc = write_hist(group, &m->hists[i], w, err);
	if (group >= 0)
		H5Gclose(group);
	return rc;
}

static int timeline_columns(hid_t group, const struct merged *m, bool first, struct err *err)
{
	static const struct {
		const char *name, *units;
	} columns[SECOND_WORDS] = {
		[SECOND_BYTES_READ] = {"bytes_read", "bytes"},
		[SECOND_BYTES_WRITTEN] = {"bytes_written", "bytes"},
		[SECOND_OPERATIONS] = {"operations", ""},
		[SECOND_STALLED_NS] = {"ranks_stalled", ""},
	};
	double *values = calloc(m->seconds, sizeof(*values));
	int rc = values ? 0 : err_set(err, -ENOMEM, "no memory for a timeline");

	for (uint32_t i = 0; rc == 0 && i < m->seconds; i++)
		values[i] = (double)i * (double)m->interval_ns / 1e9;
	if (rc == 0)
		rc = h5_array(group, "time_s", H5T_NATIVE_DOUBLE, m->seconds, values, first, "s",
			      err);
	for (int c = 0; rc == 0 && c < SECOND_WORDS; c++) {
		for (uint32_t i = 0; i < m->seconds; i++)
			values[i] = (double)m->timeline[(size_t)i * SECOND_WORDS + (size_t)c] /
				    (c == SECOND_STALLED_NS ? (double)m->interval_ns : 1);
		rc = h5_array(group, columns[c].name, H5T_NATIVE_DOUBLE, m->seconds, values, first,
			      columns[c].units, err);
	}
	free(values);
	return rc;
}

static int write_timeline(hid_t phase, const struct merged *m, bool first, struct err *err)
{
	static const char *const more[] = {"bytes_written", "operations", "ranks_stalled"};
	hid_t group;
	int rc;

	if (!m->seconds)
		return 0;
	rc = h5_group(phase, "timeline", &group, err);
	if (rc == 0)
		rc = nxdata(group, "what all ranks did in each interval", "bytes_read", "time_s",
			    err);
	if (rc == 0)
		rc = h5_attr_texts(group, "auxiliary_signals", more, 3, err);
	if (rc == 0)
		rc = h5_attr_real(group, "interval_s", (double)m->interval_ns / 1e9, err);
	if (rc == 0)
		rc = timeline_columns(group, m, first, err);
	if (group >= 0)
		H5Gclose(group);
	return rc;
}

static int write_failures(hid_t phase, const struct merged *m, bool first, struct err *err)
{
	hid_t memory, type, dataset = H5I_INVALID_HID;
	hsize_t rows = m->failure_rows;
	int rc;

	if (!rows)
		return 0;
	memory = rows_failure_type();
	type = rows_packed(memory);
	rc = h5_dataset(phase, "errors", type, 1, &rows, &dataset, err);
	if (rc == 0)
		rc = h5_attr_u64(dataset, "met", m->failure_count, err);
	if (rc == 0 && first)
		rc = h5_write(dataset, memory, m->failures, err);
	if (dataset >= 0)
		H5Dclose(dataset);
	if (type >= 0)
		H5Tclose(type);
	if (memory >= 0)
		H5Tclose(memory);
	return rc;
}

static double figure_of(const struct merged *m, const char *name)
{
	const struct columns *c = &m->schema->rank;

	for (uint32_t i = 0; i < c->figure_count; i++)
		if (strcmp(c->figures[i].name, name) == 0)
			return c->figures[i].value(m->row);
	return NAN;
}

static void summary_fill(struct summary_row *s, const struct merged *m)
{
	const struct merged_hist *h = m->main_hist < 0 ? NULL : &m->hists[m->main_hist];
	double seconds = (double)m->text.seconds_ns / 1e9;

	memset(s, 0, sizeof(*s));
	snprintf(s->phase, sizeof(s->phase), "%s", m->text.name);
	snprintf(s->kind, sizeof(s->kind), "%s", m->text.kind);
	s->seconds = seconds;
	s->au = figure_of(m, "au");
	s->gb_per_s =
		(double)(m->row[TALLY_BYTES_READ] + m->row[TALLY_BYTES_WRITTEN]) / seconds / 1e9;
	s->operations_per_s = (double)m->row[TALLY_OPERATIONS] / seconds;
	s->p50_ms = h ? (double)h->fact[FACT_P50] / 1e6 : NAN;
	s->p95_ms = h ? (double)h->fact[FACT_P95] / 1e6 : NAN;
	s->p99_ms = h ? (double)h->fact[FACT_P99] / 1e6 : NAN;
	s->p999_ms = h ? (double)h->fact[FACT_P999] / 1e6 : NAN;
	s->p9999_ms = h ? (double)h->fact[FACT_P9999] / 1e6 : NAN;
	s->max_ms = h ? (double)h->fact[FACT_MAX] / 1e6 : NAN;
	s->errors = m->row[TALLY_ERRORS];
	s->run = m->text.run;
	s->repeat = m->text.repeat;
	s->warmup = m->text.warmup;
	join_sets(&m->text, s->sweep, sizeof(s->sweep));
}

/* Rows so far: one a published phase, which may be fewer than phases were run. */
static hsize_t summary_rows(hid_t dataset)
{
	hid_t space = dataset < 0 ? dataset : H5Dget_space(dataset);
	hssize_t rows = space < 0 ? 0 : H5Sget_simple_extent_npoints(space);

	if (space >= 0)
		H5Sclose(space);
	return rows > 0 ? (hsize_t)rows : 0;
}

static int write_summary(hid_t file, const struct merged *m, bool first, struct err *err)
{
	hid_t dataset = H5Dopen2(file, "/summary", H5P_DEFAULT), memory = rows_summary_type();
	hid_t space = H5I_INVALID_HID, row_space = H5I_INVALID_HID;
	hsize_t start = summary_rows(dataset), one = 1, rows = start + 1;
	struct summary_row row;
	int rc = 0;

	summary_fill(&row, m);
	if (dataset < 0 || memory < 0 || H5Dset_extent(dataset, &rows) < 0)
		rc = h5_fail(err, "cannot extend /summary");
	if (rc == 0 && first) {
		space = H5Dget_space(dataset);
		row_space = H5Screate_simple(1, &one, NULL);
		if (space < 0 || row_space < 0 ||
		    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &one, NULL) < 0 ||
		    H5Dwrite(dataset, memory, row_space, space, H5P_DEFAULT, &row) < 0)
			rc = h5_fail(err, "cannot write /summary");
	}
	if (row_space >= 0)
		H5Sclose(row_space);
	if (space >= 0)
		H5Sclose(space);
	if (memory >= 0)
		H5Tclose(memory);
	if (dataset >= 0)
		H5Dclose(dataset);
	return rc;
}
