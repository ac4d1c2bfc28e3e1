/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a phase of a results file: see read_phase.h. */
#include "results-schema/read_phase.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "results-schema/curves.h"
#include "results-schema/h5.h"
#include "results-schema/read_table.h"
#include "results-schema/rows.h"

static void drop_absent(struct results_table *t);
static void load_timeline(struct h5_reader *r, struct results_phase_read *p);
static void load_steps(struct h5_reader *r, struct results_phase_read *p);
static void load_client(struct h5_reader *r, struct results_phase_read *p);
static void load_hists(struct h5_reader *r, struct results_phase_read *p);
static void load_failures(struct h5_reader *r, struct results_phase_read *p);

/* Whether reports use the column of the ranks' rows: all that have a role, what tells the ranks
 * apart, and the number of operations. The rows of many ranks have many columns that nobody looks
 * at. */
static bool rank_column_is_used(const struct results_column *c)
{
	const char *const used[] = {"rank", "node", PHASE_PRESENT,
				    tally_common_columns.measures[TALLY_OPERATIONS].name,
				    tally_common_columns.measures[TALLY_STORE_REQUESTS].name};

	for (size_t i = 0; i < sizeof(used) / sizeof(*used); i++)
		if (strcmp(c->name, used[i]) == 0)
			return true;
	return c->role != ROLE_NONE;
}

/* Reads a list of records, with a zero byte at the end of each text. */
static void *load_records(struct h5_reader *r, const char *name, const struct record_shape *shape,
			  uint64_t rows_max, uint32_t *count)
{
	hid_t type = rows_record_type(shape);
	uint64_t rows;
	void *records = h5r_list(r, name, type, rows_max, shape->size, &rows);

	rows_end_texts(shape, records, rows);
	*count = (uint32_t)rows;
	h5_close(type);
	return records;
}

void read_headline(struct h5_reader *r, struct results_phase_read *p)
{
	phase_record_init(&p->record);
	h5r_record(r, phase_record_members, phase_record_member_count, &p->record);
	if (h5r_has_attribute(r, "sets"))
		p->sets = (void *)h5r_texts(r, "sets", RECORD_SET_BYTES, &p->set_count);
	read_headline_row(r, &p->merged);
	if (h5r_has(r, "targets"))
		p->targets =
			load_records(r, "targets", &rows_target, TARGETS_MAX, &p->target_count);
}

void read_details(struct h5_reader *r, const struct results_file *f, struct results_phase_read *p)
{
	read_table(r, "ranks", f->ranks, rank_column_is_used, &p->ranks);
	drop_absent(&p->ranks);
	load_timeline(r, p);
	load_steps(r, p);
	load_client(r, p);
	load_hists(r, p);
	read_tables(r, p);
	load_failures(r, p);
	read_latencies(r, f, p);
	read_epoch_spread(r, f, p);
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

void read_details_free(struct results_phase_read *p)
{
	read_table_free(&p->ranks);
	read_table_free(&p->client);
	read_tables_free(p);
	curves_free(&curves_over_time, &p->timeline);
	p->timeline = (struct results_timeline){.rows = 0};
	curves_free(&curves_over_steps, &p->steps);
	free(p->steps.step);
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

uint64_t read_details_bytes(const struct results_phase_read *p)
{
	uint64_t bytes = read_table_bytes(&p->ranks) + read_table_bytes(&p->client);

	bytes += read_tables_bytes(p);
	bytes += p->timeline.rows * SECOND_WORDS * sizeof(double);
	bytes += p->steps.rows * (1 + 2 * STEP_PARTS) * sizeof(double);
	bytes += p->hist_count * sizeof(*p->hists) + p->latencies.rows * sizeof(*p->latencies.row);
	return bytes + p->failure_rows * sizeof(*p->failures);
}

/* The last interval ends with the phase. What is a share of an interval is a share of its own. */
static void cut_timeline(struct results_timeline *t, double seconds)
{
	double last_s = seconds - (double)(t->rows - 1) * t->interval_s;
	double *stalled = t->column[SECOND_STALLED_NS];

	if (!t->rows || !(last_s > 0) || !(last_s < t->interval_s))
		return;
	t->last_s = last_s;
	if (stalled)
		stalled[t->rows - 1] *= t->interval_s / last_s;
}

static void load_timeline(struct h5_reader *r, struct results_phase_read *p)
{
	struct results_timeline *t = &p->timeline;

	t->rows = curves_read(r, &curves_over_time, t, NULL, &t->interval_s);
	cut_timeline(t, results_measured_s(p));
}

static void load_steps(struct h5_reader *r, struct results_phase_read *p)
{
	struct results_steps *s = &p->steps;
	double per_row = 0;

	s->rows = curves_read(r, &curves_over_steps, s, &s->step, &per_row);
	s->steps_per_row = per_row < 0x1p63 ? (uint64_t)per_row : 0;
}

static void load_client(struct h5_reader *r, struct results_phase_read *p)
{
	if (!h5r_has(r, "client"))
		return;
	h5r_enter(r, "client");
	h5r_real(r, "interval_s", &p->client_interval_s);
	read_table(r, "rows", RESULTS_ROWS_MAX, NULL, &p->client);
	h5r_leave(r);
}

static void load_hist(struct h5_reader *r, struct results_hist *one)
{
	struct hist *h = &one->hist;
	uint64_t first = 0, count = 0, *buckets;
	char role[RESULTS_NAME_BYTES];

	h5r_enter(r, one->name);
	h5r_text_into(r, "role", role, sizeof(role));
	one->role = role_of(role);
	h5r_u64(r, "first_bucket", &first);
	h5r_u64(r, "sum_ns", &h->sum_ns);
	h5r_u64(r, "clipped", &h->clipped);
	h5r_u64(r, "max_ns", &h->max_ns);
	h5r_u64(r, "min_ns", &h->min_not_ns);
	h->min_not_ns = ~h->min_not_ns;
	buckets = h5r_list(r, "counts", H5T_NATIVE_UINT64, HIST_BUCKETS, sizeof(*buckets), &count);
	if (first > HIST_BUCKETS || count > HIST_BUCKETS - first)
		h5r_error(r, -EINVAL, "counts do not fit a histogram");
	else if (buckets)
		memcpy(h->bucket + first, buckets, count * sizeof(*buckets));
	free(buckets);
	h5r_leave(r);
}

static void load_hists(struct h5_reader *r, struct results_phase_read *p)
{
	uint64_t count;

	h5r_enter(r, "histograms");
	count = h5r_members(r, RESULTS_HISTS_MAX);
	p->hists = h5r_room(r, count, sizeof(*p->hists));
	for (uint64_t i = 0; r->rc == 0 && i < count; i++) {
		struct results_hist *h = &p->hists[p->hist_count++];

		h5r_member(r, i, h->name, sizeof(h->name));
		load_hist(r, h);
	}
	h5r_leave(r);
}

static void load_failures(struct h5_reader *r, struct results_phase_read *p)
{
	if (!h5r_has(r, "errors"))
		return;
	p->failures = load_records(r, "errors", &rows_failure, RESULTS_ROWS_MAX, &p->failure_rows);
	h5r_enter(r, "errors");
	h5r_u64(r, "met", &p->failure_count);
	h5r_leave(r);
}
