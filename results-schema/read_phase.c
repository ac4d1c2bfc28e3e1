/* Reading a phase of a results file: see read_phase.h. */
#include "results-schema/read_phase.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results-schema/h5.h"
#include "results-schema/h5_read.h"
#include "results-schema/h5_record.h"
#include "results-schema/rows.h"

static int load_record(hid_t phase, struct results_phase_read *p, struct err *err);
static int load_targets(hid_t phase, struct results_phase_read *p, struct err *err);
static int load_timeline(hid_t phase, struct results_phase_read *p, struct err *err);
static int load_steps(hid_t phase, struct results_phase_read *p, struct err *err);
static void drop_absent(struct results_table *t);
static int load_client(hid_t phase, struct results_phase_read *p, struct err *err);
static int load_hists(hid_t phase, struct results_phase_read *p, struct err *err);
static int load_failures(hid_t phase, struct results_phase_read *p, struct err *err);

/* Whether reports use the column of the ranks' rows: all that have a role, what tells the ranks apart, and the number of
 * operations. The rows of many ranks have many columns that nobody looks at. */
static bool rank_column_is_used(const struct results_column *c)
{
	const char *const used[] = {"rank", "node", PHASE_PRESENT,
				    tally_common_columns.measures[TALLY_OPERATIONS].name};

	for (size_t i = 0; i < sizeof(used) / sizeof(*used); i++)
		if (strcmp(c->name, used[i]) == 0)
			return true;
	return c->role != ROLE_NONE;
}

static int read_ranks(hid_t phase, const struct results_file *f, struct results_table *ranks,
		      struct err *err)
{
	int rc = h5_read_columns(phase, "ranks", f->ranks, rank_column_is_used, ranks, err);

	if (rc == 0)
		drop_absent(ranks);
	return rc;
}

int read_headline(hid_t phase, struct results_phase_read *p, struct err *err)
{
	int rc = load_record(phase, p, err);

	return rc < 0 ? rc : load_targets(phase, p, err);
}

int read_details(hid_t phase, const struct results_file *f, struct results_phase_read *p,
		 struct err *err)
{
	static int (*const parts[])(hid_t, struct results_phase_read *, struct err *) = {
		load_timeline, load_steps, load_client, load_hists, read_tables, load_failures,
	};
	int rc = read_ranks(phase, f, &p->ranks, err);

	for (size_t i = 0; rc == 0 && i < sizeof(parts) / sizeof(*parts); i++)
		rc = parts[i](phase, p, err);
	if (rc == 0)
		rc = read_latencies(phase, f, p, err);
	return rc < 0 ? rc : read_epoch_spread(phase, f, p, err);
}

/* Rows of ranks that took no part in the phase. */
static void drop_absent(struct results_table *t)
{
	int column = results_column(t, PHASE_PRESENT);
	uint64_t kept = 0;

	for (uint64_t i = 0; column >= 0 && i < t->row_count; i++) {
		union results_cell *row = t->cells + i * t->column_count;

		if (!row[column].count)
			continue;
		memmove(t->cells + kept++ * t->column_count, row, t->column_count * sizeof(*row));
	}
	if (column >= 0)
		t->row_count = kept;
}

static void read_table_free(struct results_table *t)
{
	free(t->columns);
	free(t->cells);
	*t = (struct results_table){.column_count = 0};
}

void read_details_free(struct results_phase_read *p)
{
	read_table_free(&p->ranks);
	read_table_free(&p->client);
	read_tables_free(p);
	for (int i = 0; i < SECOND_WORDS; i++)
		free(p->timeline.column[i]);
	p->timeline = (struct results_timeline){.rows = 0};
	free(p->steps.step);
	for (int i = 0; i < STEP_PARTS; i++) {
		free(p->steps.mean_ns[i]);
		free(p->steps.max_ns[i]);
	}
	p->steps = (struct results_steps){.rows = 0};
	free(p->hists);
	p->hists = NULL;
	p->hist_count = 0;
	free(p->latencies.row);
	p->latencies = (struct results_latencies){.rows = 0};
	free(p->failures);
	p->failures = NULL;
	p->failure_rows = 0;
}

void read_phase_free(struct results_phase_read *p)
{
	free(p->sets);
	free(p->targets);
	read_table_free(&p->merged);
	read_details_free(p);
}

static uint64_t read_table_bytes(const struct results_table *t)
{
	return t->column_count * sizeof(*t->columns) +
	       t->row_count * t->column_count * sizeof(*t->cells);
}

static uint64_t read_rows_bytes(const struct results_rows *t)
{
	uint64_t bytes = sizeof(*t) + read_table_bytes(&t->table);

	if (t->names)
		bytes += t->table.row_count * sizeof(*t->names);
	if (t->spread)
		bytes += t->table.row_count * sizeof(*t->spread);
	for (uint32_t h = 0; h < t->hist_count; h++)
		bytes += sizeof(*t->hists) +
			 (t->table.row_count + 1) * t->hists[h].bucket_count * sizeof(uint64_t);
	return bytes + t->code_count * sizeof(*t->codes);
}

uint64_t read_details_bytes(const struct results_phase_read *p)
{
	uint64_t bytes = read_table_bytes(&p->ranks) + read_table_bytes(&p->client);

	for (uint32_t i = 0; i < p->table_count; i++)
		bytes += read_rows_bytes(&p->tables[i]);
	bytes += p->timeline.rows * SECOND_WORDS * sizeof(double);
	bytes += p->steps.rows * (1 + 2 * STEP_PARTS) * sizeof(double);
	bytes += p->hist_count * sizeof(*p->hists) + p->latencies.rows * sizeof(*p->latencies.row);
	return bytes + p->failure_rows * sizeof(*p->failures);
}

static int load_record(hid_t phase, struct results_phase_read *p, struct err *err)
{
	int rc;

	phase_record_init(&p->record);
	rc = h5_read_record(phase, phase_record_members, phase_record_member_count, &p->record,
			    err);
	if (rc == 0 && H5Aexists(phase, "sets") > 0)
		rc = h5_read_texts(phase, "sets", RECORD_SET_BYTES, (char **)&p->sets,
				   &p->set_count, err);
	return rc < 0 ? rc : h5_read_headline(phase, &p->merged, err);
}

static int load_targets(hid_t phase, struct results_phase_read *p, struct err *err)
{
	const struct h5_extent wanted = {1, TARGETS_MAX, sizeof(*p->targets)};
	uint64_t rows = 0;
	hid_t type;
	int rc;

	if (H5Lexists(phase, "targets", H5P_DEFAULT) <= 0)
		return 0;
	type = rows_record_type(&rows_target);
	rc = h5_read_records(phase, "targets", type, &wanted, (void **)&p->targets, &rows, err);
	if (type >= 0)
		H5Tclose(type);
	p->target_count = (uint32_t)rows;
	rows_end_texts(&rows_target, p->targets, rows);
	return rc;
}

/* Reads one column over time, if the file has it. All must be as long as the first one, *first. */
static int load_timeline_column(hid_t group, int c, struct results_timeline *t, bool *first,
				struct err *err)
{
	const struct h5_extent wanted = {1, RESULTS_ROWS_MAX, sizeof(double)};
	const char *name = second_kinds[c].name;
	uint64_t rows;
	int rc;

	if (H5Lexists(group, name, H5P_DEFAULT) <= 0)
		return 0;
	rc = h5_read_records(group, name, H5T_NATIVE_DOUBLE, &wanted, (void **)&t->column[c], &rows,
			     err);
	if (rc == 0 && !*first && rows != t->rows)
		rc = err_set(err, -EINVAL, "its timeline has columns of different lengths");
	if (rc == 0)
		t->rows = rows;
	*first = false;
	return rc;
}

static int load_timeline(hid_t phase, struct results_phase_read *p, struct err *err)
{
	struct results_timeline *t = &p->timeline;
	bool first = true;
	hid_t group;
	int rc;

	if (H5Lexists(phase, "timeline", H5P_DEFAULT) <= 0)
		return 0;
	group = H5Gopen2(phase, "timeline", H5P_DEFAULT);
	rc = group < 0 ? h5_fail(err, "its timeline cannot be read")
		       : h5_read_real(group, "interval_s", &t->interval_s, err);
	for (int i = 0; rc == 0 && i < SECOND_WORDS; i++)
		rc = load_timeline_column(group, i, t, &first, err);
	if (group >= 0)
		H5Gclose(group);
	return rc;
}

static int load_client(hid_t phase, struct results_phase_read *p, struct err *err)
{
	hid_t group;
	int rc;

	if (H5Lexists(phase, "client", H5P_DEFAULT) <= 0)
		return 0;
	group = H5Gopen2(phase, "client", H5P_DEFAULT);
	rc = group < 0 ? h5_fail(err, "its group client cannot be read")
		       : h5_read_real(group, "interval_s", &p->client_interval_s, err);
	if (rc == 0)
		rc = h5_read_table(group, "rows", RESULTS_ROWS_MAX, &p->client, err);
	if (group >= 0)
		H5Gclose(group);
	return rc;
}

/* Reads one column of steps. All must be as long as the first. */
static int load_step_column(hid_t group, const char *name, struct results_steps *s, double **to,
			    struct err *err)
{
	const struct h5_extent wanted = {1, RESULTS_ROWS_MAX, sizeof(double)};
	uint64_t rows;
	int rc = h5_read_records(group, name, H5T_NATIVE_DOUBLE, &wanted, (void **)to, &rows, err);

	if (rc == 0 && to != &s->step && rows != s->rows)
		rc = err_set(err, -EINVAL, "its steps have columns of different lengths");
	s->rows = rows;
	return rc;
}

static int load_steps(hid_t phase, struct results_phase_read *p, struct err *err)
{
	struct results_steps *s = &p->steps;
	char name[RESULTS_NAME_BYTES];
	hid_t group;
	int rc;

	if (H5Lexists(phase, "steps", H5P_DEFAULT) <= 0)
		return 0;
	group = H5Gopen2(phase, "steps", H5P_DEFAULT);
	rc = group < 0 ? h5_fail(err, "its steps cannot be read")
		       : h5_read_u64(group, "steps_per_row", &s->steps_per_row, err);
	if (rc == 0)
		rc = load_step_column(group, "step", s, &s->step, err);
	for (int i = 0; rc == 0 && i < STEP_PARTS; i++) {
		snprintf(name, sizeof(name), "%s_ns", step_part_kinds[i].name);
		rc = load_step_column(group, name, s, &s->mean_ns[i], err);
		snprintf(name, sizeof(name), "%s_max_ns", step_part_kinds[i].name);
		if (rc == 0)
			rc = load_step_column(group, name, s, &s->max_ns[i], err);
	}
	if (group >= 0)
		H5Gclose(group);
	return rc;
}

static int load_hist(hid_t group, struct hist *h, struct err *err)
{
	static const struct {
		const char *name;
		size_t offset;
	} facts[] = {
		{"sum_ns", offsetof(struct hist, sum_ns)},
		{"clipped", offsetof(struct hist, clipped)},
		{"max_ns", offsetof(struct hist, max_ns)},
		{"min_ns", offsetof(struct hist, min_not_ns)},
	};
	const struct h5_extent wanted = {1, HIST_BUCKETS, sizeof(uint64_t)};
	uint64_t first = 0, count = 0, *buckets = NULL;
	int rc = h5_read_u64(group, "first_bucket", &first, err);

	for (size_t i = 0; rc == 0 && i < sizeof(facts) / sizeof(*facts); i++)
		rc = h5_read_u64(group, facts[i].name,
				 (uint64_t *)(void *)((char *)h + facts[i].offset), err);
	h->min_not_ns = ~h->min_not_ns;
	if (rc == 0)
		rc = h5_read_records(group, "counts", H5T_NATIVE_UINT64, &wanted, (void **)&buckets,
				     &count, err);
	if (rc == 0 && (first > HIST_BUCKETS || count > HIST_BUCKETS - first))
		rc = err_set(err, -EINVAL, "counts do not fit a histogram");
	if (rc == 0)
		memcpy(h->bucket + first, buckets, count * sizeof(*buckets));
	free(buckets);
	return rc;
}

static int load_hist_role(hid_t group, struct results_hist *h, struct err *err)
{
	char role[RESULTS_NAME_BYTES];
	int rc;

	if (H5Aexists(group, "role") <= 0)
		return 0;
	rc = h5_read_into(group, "role", role, sizeof(role), err);
	if (rc == 0)
		h->role = role_of(role);
	return rc;
}

static int load_hists(hid_t phase, struct results_phase_read *p, struct err *err)
{
	hid_t group = H5Gopen2(phase, "histograms", H5P_DEFAULT), one;
	H5G_info_t info = {0};
	int rc = 0;

	if (group < 0 || H5Gget_info(group, &info) < 0)
		rc = h5_fail(err, "its histograms cannot be read");
	if (rc == 0 && info.nlinks > RESULTS_HISTS_MAX)
		rc = err_set(err, -EINVAL, "it has %llu histograms",
			     (unsigned long long)info.nlinks);
	if (rc == 0) {
		p->hists = calloc(info.nlinks + 1, sizeof(*p->hists));
		rc = p->hists ? 0 : err_set(err, -ENOMEM, "no memory for its histograms");
	}
	for (hsize_t i = 0; rc == 0 && i < info.nlinks; i++) {
		struct results_hist *h = &p->hists[p->hist_count];

		one = H5I_INVALID_HID;
		if (H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, h->name,
				       sizeof(h->name), H5P_DEFAULT) >= 0)
			one = H5Gopen2(group, h->name, H5P_DEFAULT);
		rc = one < 0 ? h5_fail(err, "its histograms cannot be read")
			     : load_hist(one, &h->hist, err);
		if (rc == 0)
			rc = load_hist_role(one, h, err);
		if (one >= 0)
			H5Gclose(one);
		p->hist_count++;
	}
	if (group >= 0)
		H5Gclose(group);
	return rc;
}

static int load_failures(hid_t phase, struct results_phase_read *p, struct err *err)
{
	const struct h5_extent wanted = {1, RESULTS_ROWS_MAX, sizeof(*p->failures)};
	hid_t dataset, type;
	uint64_t rows = 0;
	int rc;

	if (H5Lexists(phase, "errors", H5P_DEFAULT) <= 0)
		return 0;
	type = rows_record_type(&rows_failure);
	rc = h5_read_records(phase, "errors", type, &wanted, (void **)&p->failures, &rows, err);
	if (type >= 0)
		H5Tclose(type);
	if (rc < 0)
		return rc;
	p->failure_rows = (uint32_t)rows;
	rows_end_texts(&rows_failure, p->failures, rows);
	dataset = H5Dopen2(phase, "errors", H5P_DEFAULT);
	rc = dataset < 0 ? h5_fail(err, "its errors cannot be read")
			 : h5_read_u64(dataset, "met", &p->failure_count, err);
	if (dataset >= 0)
		H5Dclose(dataset);
	return rc;
}
