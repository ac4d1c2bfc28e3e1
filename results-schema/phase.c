/* Writing a phase into the results file: see phase.h. */
#include "results-schema/phase.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"
#include "results-schema/h5.h"
#include "results-schema/h5_record.h"
#include "results-schema/phase_tables.h"

static int write_head(hid_t phase, const struct merged *m, struct err *err);
static int write_targets(hid_t phase, const struct merged *m, struct err *err);
static int write_failures(hid_t phase, const struct merged *m, struct err *err);

void phase_path(char path[PHASE_PATH_BYTES], const struct phase_record *record)
{
	snprintf(path, PHASE_PATH_BYTES, "/phases/%llu_%s", (unsigned long long)record->number,
		 record->kind);
}

int phase_link(hid_t file, const char *path, const char *target, struct err *err)
{
	if (H5Lcreate_external(target, path, file, path, H5P_DEFAULT, H5P_DEFAULT) < 0)
		return h5_fail(err, "cannot link %s to %s", path, target);
	return 0;
}

int phase_write(hid_t file, const struct merged *m, const struct phase_writer *w,
		const struct blocks *blocks, struct err *err)
{
	char path[PHASE_PATH_BYTES];
	hid_t phase;
	int rc;

	phase_path(path, &m->phase->record);
	rc = h5_group(file, path, &phase, err);
	if (rc == 0)
		rc = write_head(phase, m, err);
	if (rc == 0)
		rc = write_targets(phase, m, err);
	if (rc == 0)
		rc = phase_write_tables(phase, m, err);
	if (rc == 0)
		rc = phase_write_hists(phase, m, err);
	if (rc == 0)
		rc = phase_write_timeline(phase, m, err);
	if (rc == 0)
		rc = phase_write_steps(phase, m, err);
	if (rc == 0)
		rc = phase_write_client(phase, m, w, err);
	if (rc == 0)
		rc = write_failures(phase, m, err);
	if (rc == 0)
		rc = blocks_create(blocks, phase, err);
	if (phase >= 0)
		H5Gclose(phase);
	return rc < 0 ? err_wrap(err, rc, "results of %s", path) : 0;
}

/* Writes each merged measure, and each figure computed from them, as an attribute. "columns" lists
 * their names, "units" their units, "roles" their roles. */
static int write_figures(hid_t phase, const struct merged *m, struct err *err)
{
	const struct columns *c = &m->schema->rank;
	const struct row_shape shape = {NULL, 0, c};
	const char **names = calloc(rows_words(&shape) + 1, sizeof(*names));
	uint32_t n = 0;
	int rc = names ? 0 : err_set(err, -ENOMEM, "no memory for the headline of a phase");

	for (uint32_t i = 0; rc == 0 && i < c->measure_count; i++) {
		rc = h5_attr_u64(phase, c->measures[i].name, m->row[i], err);
		names[n++] = c->measures[i].name;
	}
	for (uint32_t i = 0; rc == 0 && i < c->figure_count; i++) {
		rc = h5_attr_real(phase, c->figures[i].name, c->figures[i].value(m->row), err);
		names[n++] = c->figures[i].name;
	}
	if (rc == 0)
		rc = h5_attr_texts(phase, "columns", names, n, err);
	if (rc == 0)
		rc = rows_describe(phase, &shape, err);
	free(names);
	return rc;
}

static double figure_of(const struct merged *m, enum role role)
{
	const struct figure *f = columns_figure(&m->schema->rank, role);

	return f ? f->value(m->row) : NAN;
}

/* Completes the record with what follows from the rest of the phase. */
static void complete_record(const struct merged *m, struct phase_record *r)
{
	const struct results_phase *phase = m->phase;

	*r = phase->record;
	if (!r->name[0])
		memcpy(r->name, r->kind, sizeof(r->name));
	if (m->main_hist >= 0)
		snprintf(r->main_hist, sizeof(r->main_hist), "%s",
			 m->hists[m->main_hist].kind->name);
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
static int write_table_names(hid_t phase, const struct merged *m, struct err *err)
{
	const char **names = calloc(m->schema->table_count + 1, sizeof(*names));
	uint32_t n = 0;
	int rc = names ? 0 : err_set(err, -ENOMEM, "no memory for the tables of a phase");

	for (uint32_t i = 0; rc == 0 && i < m->schema->table_count; i++)
		if (m->tables[i].rows)
			names[n++] = m->tables[i].kind->name;
	if (rc == 0 && n)
		rc = h5_attr_texts(phase, "tables", names, n, err);
	free(names);
	return rc;
}

static int write_head(hid_t phase, const struct merged *m, struct err *err)
{
	struct phase_record r;
	int rc;

	complete_record(m, &r);
	rc = h5_write_record(phase, phase_record_members, phase_record_member_count, &r, err);
	if (rc == 0 && m->phase->set_count)
		rc = h5_attr_texts(phase, "sets", m->phase->sets, m->phase->set_count, err);
	if (rc == 0)
		rc = write_figures(phase, m, err);
	return rc < 0 ? rc : write_table_names(phase, m, err);
}

static int write_records(hid_t phase, const char *name, hid_t memory, hsize_t rows,
			 const void *data, hid_t *dataset, struct err *err)
{
	hid_t type = rows_packed(memory);
	int rc = h5_dataset(phase, name, type, 1, &rows, dataset, err);

	if (rc == 0)
		rc = h5_write(*dataset, memory, data, err);
	if (type >= 0)
		H5Tclose(type);
	if (memory >= 0)
		H5Tclose(memory);
	return rc;
}

static int write_targets(hid_t phase, const struct merged *m, struct err *err)
{
	hid_t dataset = H5I_INVALID_HID;
	int rc;

	if (!m->phase->target_count)
		return 0;
	rc = write_records(phase, "targets", rows_record_type(&rows_target), m->phase->target_count,
			   m->phase->targets, &dataset, err);
	if (dataset >= 0)
		H5Dclose(dataset);
	return rc;
}

static int write_failures(hid_t phase, const struct merged *m, struct err *err)
{
	hid_t dataset = H5I_INVALID_HID;
	int rc;

	if (!m->failure_rows)
		return 0;
	rc = write_records(phase, "errors", rows_record_type(&rows_failure), m->failure_rows,
			   m->failures, &dataset, err);
	if (rc == 0)
		rc = h5_attr_u64(dataset, "met", m->failure_count, err);
	if (dataset >= 0)
		H5Dclose(dataset);
	return rc;
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
	s->seconds = r.seconds;
	s->au = figure_of(m, ROLE_UTILISATION);
	s->gb_per_s =
		(double)(m->row[TALLY_BYTES_READ] + m->row[TALLY_BYTES_WRITTEN]) / r.seconds / 1e9;
	s->operations_per_s = (double)m->row[TALLY_OPERATIONS] / r.seconds;
	for (int q = 0; q < QUANTILES; q++)
		s->quantile_ms[q] =
			h ? (double)hist_quantile_ns(h, quantile_kinds[q].share) / 1e6 : NAN;
	s->max_ms = h ? (double)h->max_ns / 1e6 : NAN;
	s->errors = m->row[TALLY_ERRORS];
	s->run = (uint32_t)r.run;
	s->repeat = (uint32_t)r.repeat;
	s->warmup = (uint32_t)r.warmup;
}

/* The number of rows so far: one per published phase. Fewer phases may be published than run. */
static hsize_t summary_rows(hid_t dataset)
{
	hid_t space = dataset < 0 ? dataset : H5Dget_space(dataset);
	hssize_t rows = space < 0 ? 0 : H5Sget_simple_extent_npoints(space);

	if (space >= 0)
		H5Sclose(space);
	return rows > 0 ? (hsize_t)rows : 0;
}

int phase_write_summary(hid_t file, const struct merged *m, struct err *err)
{
	hid_t dataset = H5Dopen2(file, "/summary", H5P_DEFAULT),
	      memory = rows_record_type(&rows_summary);
	hid_t space = H5I_INVALID_HID, row_space = H5I_INVALID_HID;
	hid_t transfer = h5_transfer(dataset, memory, 1);
	hsize_t start = summary_rows(dataset), one = 1, rows = start + 1;
	struct summary_row row;
	int rc = 0;

	summary_fill(&row, m);
	if (dataset < 0 || memory < 0 || H5Dset_extent(dataset, &rows) < 0)
		rc = h5_fail(err, "cannot extend /summary");
	if (rc == 0) {
		space = H5Dget_space(dataset);
		row_space = H5Screate_simple(1, &one, NULL);
		if (space < 0 || row_space < 0 || transfer < 0 ||
		    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &one, NULL) < 0 ||
		    H5Dwrite(dataset, memory, row_space, space, transfer, &row) < 0)
			rc = h5_fail(err, "cannot write /summary");
	}
	if (transfer >= 0)
		H5Pclose(transfer);
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
