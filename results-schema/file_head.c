/* SPDX-License-Identifier: Apache-2.0 */
/* Head of the results file: see file_head.h. */
#include "results-schema/file_head.h"

#include <string.h>
#include <time.h>

#include "results-schema/h5.h"
#include "results-schema/h5_reader.h"
#include "results-schema/rows.h"
#include "results-schema/staging.h"

static void utc_text(char text[RESULTS_DATE_BYTES], uint64_t utc_ns)
{
	time_t seconds = (time_t)(utc_ns / 1000000000u);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(text, RESULTS_DATE_BYTES, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

int file_head_create(const char *path, const struct results_head *head, const char *key,
		     const struct node_row *nodes, const struct rank_row *ranks, struct err *err)
{
	struct h5_writer w;
	int rc = staging_make(path, err);

	if (rc < 0)
		return rc;
	h5w_open(&w, path, true, err);
	file_head_fill(&w, head, key, nodes, ranks);
	return h5w_finish(&w);
}

int file_head_create_side(const char *part, const char *path, const char *key, struct err *err)
{
	const char *slash = strrchr(path, '/');
	struct h5_writer w;
	int rc = staging_make(part, err);

	if (rc < 0)
		return rc;
	h5w_open(&w, part, true, err);
	h5w_u64(&w, "schema_version", RESULTS_SCHEMA_VERSION);
	h5w_text(&w, "part_of", slash ? slash + 1 : path);
	h5w_text(&w, "series", key);
	h5w_group(&w, "/phases");
	return h5w_finish(&w);
}

/* Reads the key that an attribute holds. Returns the number of phases. */
static uint64_t read_key(const char *path, const char *attribute, char key[SERIES_KEY_BYTES])
{
	struct err ignored = {0};
	struct h5_reader r;
	uint64_t phases = 0;

	h5r_begin(&r, h5r_file(path), &ignored);
	if (h5r_has(&r, "phases")) {
		h5r_enter(&r, "phases");
		phases = h5r_members(&r, UINT64_MAX);
		h5r_leave(&r);
	}
	h5r_text_into(&r, attribute, key, SERIES_KEY_BYTES);
	if (!series_key_valid(key))
		key[0] = '\0';
	h5r_finish(&r);
	return phases;
}

uint64_t file_head_series(const char *path, char key[SERIES_KEY_BYTES])
{
	return read_key(path, "series", key);
}

void file_head_joined(const char *path, char key[SERIES_KEY_BYTES])
{
	read_key(path, "joined", key);
}

static void root_attributes(struct h5_writer *w, const struct results_head *head, const char *key)
{
	char started[RESULTS_DATE_BYTES];
	const struct {
		const char *name, *text;
	} texts[] = {
		{"haul_version", head->version},
		{"build", head->build},
		{"name", head->job_name},
		{"command_line", head->command_line},
		{"started", started},
		{"finished", ""},
		{"status", "interrupted"},
		{"error", ""},
	};

	utc_text(started, head->started_utc_ns);
	h5w_u64(w, "schema_version", RESULTS_SCHEMA_VERSION);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		h5w_text(w, texts[i].name, texts[i].text ? texts[i].text : "");
	h5w_real(w, "seconds", 0);
	h5w_u64(w, "ranks", head->ranks);
	h5w_u64(w, "nodes", head->nodes);
	h5w_u64(w, "runs", head->runs ? head->runs : 1);
	if (key[0])
		h5w_text(w, "series", key);
	if (head->simulated)
		h5w_text(w, "simulated", head->simulated);
}

static void write_job(struct h5_writer *w, const char *text)
{
	hid_t type = h5_text_type(strlen(text) + 1), space = H5Screate(H5S_SCALAR);
	hid_t list = H5Pcreate(H5P_DATASET_CREATE), job = H5I_INVALID_HID;

	if (H5Pset_obj_track_times(list, false) >= 0)
		job = H5Dcreate2(h5w_at(w), "/job", type, space, H5P_DEFAULT, list, H5P_DEFAULT);
	if (H5Dwrite(job, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) < 0)
		h5w_failed(w, "cannot write /job");
	h5_close(job);
	h5_close(list);
	h5_close(space);
	h5_close(type);
}

void file_head_fill(struct h5_writer *w, const struct results_head *head, const char *key,
		    const struct node_row *nodes, const struct rank_row *ranks)
{
	uint64_t edges[HIST_BUCKETS + 1];

	for (unsigned i = 0; i <= HIST_BUCKETS; i++)
		edges[i] = hist_edge(i);
	root_attributes(w, head, key);
	write_job(w, head->job_text ? head->job_text : "");
	rows_make_summary(w, head->name_bytes, head->sweep_bytes);
	records_make_growing(w, "/stores", &rows_store, 4);
	records_write(w, "/nodes", &rows_node, head->nodes, nodes);
	h5w_leave(w);
	records_write(w, "/ranks", &rows_rank, head->ranks, ranks);
	h5w_leave(w);
	h5w_array(w, "/histogram_edges_ns", H5T_NATIVE_UINT64, HIST_BUCKETS + 1, edges, "ns");
	h5w_group(w, "/phases");
	h5w_leave(w);
	if (head->answer) {
		h5w_group(w, answer_kinds[head->answer].name);
		records_make_growing(w, answer_kinds[head->answer].rows_name,
				     &answer_kinds[head->answer].rows, 16);
		h5w_leave(w);
	}
}

void file_head_finish(struct h5_writer *w, const struct file_end *end)
{
	char finished[RESULTS_DATE_BYTES];
	hid_t type;

	utc_text(finished, end->finished_utc_ns);
	h5w_text(w, "status", end->status);
	h5w_text(w, "error", end->sentence ? end->sentence : "");
	h5w_text(w, "finished", finished);
	file_head_seconds(w, end->seconds);
	if (!end->ranks)
		return;
	type = rows_record_type(&rows_rank);
	h5w_enter(w, "/ranks");
	h5w_data(w, type, end->ranks);
	h5w_leave(w);
	h5_close(type);
}

void file_head_stores(struct h5_writer *w, const struct store_facts *rows, uint32_t count)
{
	records_grow(w, "/stores", &rows_store, 0, count, rows);
}

void file_head_answer(struct h5_writer *w, const struct answered *a, uint32_t runs)
{
	const struct answer_kind *kind = &answer_kinds[a->type];

	h5w_u64(w, "runs", runs);
	h5w_enter(w, kind->name);
	h5w_record(w, kind->head.members, (unsigned)kind->head.count, a->head);
	records_grow(w, kind->rows_name, &kind->rows, 0, a->count, a->rows);
	h5w_leave(w);
}

void file_head_seconds(struct h5_writer *w, double seconds)
{
	h5w_real(w, "seconds", seconds);
}
