/* Head of the results file: see file_head.h. */
#include "results-schema/file_head.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "results-schema/h5.h"
#include "results-schema/h5_read.h"
#include "results-schema/rows.h"

static int create_all(hid_t file, const struct results_head *head, const char *key,
		      const struct node_row *nodes, const struct rank_row *ranks, struct err *err);

static void utc_text(char text[RESULTS_DATE_BYTES], uint64_t utc_ns)
{
	time_t seconds = (time_t)(utc_ns / 1000000000u);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(text, RESULTS_DATE_BYTES, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

/* Refuses a path where no file can be created with a plain sentence, before HDF5 does it in its own
 * words. */
static int try_path(const char *path, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0)
		return err_set(err, -errno, "results file %s cannot be created: %s", path,
			       strerror(errno));
	close(fd);
	return 0;
}

int file_head_create(const char *path, const struct results_head *head, const char *key,
		     const struct node_row *nodes, const struct rank_row *ranks, struct err *err)
{
	struct h5_file file;
	int rc = try_path(path, err);

	if (rc < 0)
		return rc;
	rc = h5_write_open(&file, path, true, err);
	if (rc == 0)
		rc = create_all(file.id, head, key, nodes, ranks, err);
	return h5_write_close(&file, rc, err);
}

static int make_group(hid_t file, const char *name, struct err *err)
{
	hid_t group;
	int rc = h5_group(file, name, &group, err);

	if (group >= 0)
		H5Gclose(group);
	return rc;
}

int file_head_create_side(const char *part, const char *path, const char *key, struct err *err)
{
	const char *slash = strrchr(path, '/');
	struct h5_file file;
	int rc = try_path(part, err);

	if (rc < 0)
		return rc;
	rc = h5_write_open(&file, part, true, err);
	if (rc == 0)
		rc = h5_attr_u64(file.id, "schema_version", RESULTS_SCHEMA_VERSION, err);
	if (rc == 0)
		rc = h5_attr_text(file.id, "part_of", slash ? slash + 1 : path, err);
	if (rc == 0)
		rc = h5_attr_text(file.id, "series", key, err);
	if (rc == 0)
		rc = make_group(file.id, "/phases", err);
	return h5_write_close(&file, rc, err);
}

uint64_t file_head_series(const char *path, char key[SERIES_KEY_BYTES])
{
	hid_t file = h5_read_open(path), phases = H5I_INVALID_HID;
	H5G_info_t info = {.nlinks = 0};
	struct err ignored = {0};

	if (file < 0 || h5_read_into(file, "series", key, SERIES_KEY_BYTES, &ignored) < 0 ||
	    !series_key_valid(key))
		key[0] = '\0';
	if (file >= 0)
		phases = H5Gopen2(file, "phases", H5P_DEFAULT);
	if (phases >= 0) {
		H5Gget_info(phases, &info);
		H5Gclose(phases);
	}
	if (file >= 0)
		H5Fclose(file);
	H5Eclear2(H5E_DEFAULT);
	return info.nlinks;
}

static int root_attributes(hid_t file, const struct results_head *head, const char *key,
			   struct err *err)
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
	int rc = h5_attr_u64(file, "schema_version", RESULTS_SCHEMA_VERSION, err);

	utc_text(started, head->started_utc_ns);
	for (size_t i = 0; rc == 0 && i < sizeof(texts) / sizeof(*texts); i++)
		rc = h5_attr_text(file, texts[i].name, texts[i].text ? texts[i].text : "", err);
	if (rc == 0)
		rc = h5_attr_real(file, "seconds", 0, err);
	if (rc == 0)
		rc = h5_attr_u64(file, "ranks", head->ranks, err);
	if (rc == 0)
		rc = h5_attr_u64(file, "nodes", head->nodes, err);
	if (rc == 0)
		rc = h5_attr_u64(file, "runs", head->runs ? head->runs : 1, err);
	if (rc == 0 && key[0])
		rc = h5_attr_text(file, "series", key, err);
	return rc;
}

static int write_job(hid_t file, const char *text, struct err *err)
{
	hid_t type = h5_text_type(strlen(text) + 1), space = H5Screate(H5S_SCALAR);
	hid_t dataset = type < 0 || space < 0 ? H5I_INVALID_HID
					      : H5Dcreate2(file, "/job", type, space, H5P_DEFAULT,
							   H5P_DEFAULT, H5P_DEFAULT);
	int rc = 0;

	if (dataset < 0 || H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) < 0)
		rc = h5_fail(err, "cannot write /job");
	if (dataset >= 0)
		H5Dclose(dataset);
	if (space >= 0)
		H5Sclose(space);
	if (type >= 0)
		H5Tclose(type);
	return rc;
}

/* No rows yet; grows. Takes the type of the rows in the file. */
static int make_growing(hid_t file, const char *name, hid_t type, hsize_t chunk, struct err *err)
{
	hsize_t none = 0, unlimited = H5S_UNLIMITED;
	hid_t list = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, &none, &unlimited);
	hid_t dataset = H5I_INVALID_HID;
	int rc;

	if (type >= 0 && list >= 0 && space >= 0 && H5Pset_chunk(list, 1, &chunk) >= 0 &&
	    H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY) >= 0 &&
	    H5Pset_fill_time(list, H5D_FILL_TIME_NEVER) >= 0)
		dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
	rc = dataset < 0 ? h5_fail(err, "cannot make %s", name) : 0;
	if (dataset >= 0)
		H5Dclose(dataset);
	if (space >= 0)
		H5Sclose(space);
	if (list >= 0)
		H5Pclose(list);
	if (type >= 0)
		H5Tclose(type);
	return rc;
}

static int make_stores(hid_t file, struct err *err)
{
	hid_t memory = rows_record_type(&rows_store);
	int rc = make_growing(file, "/stores", rows_packed(memory), 4, err);

	if (memory >= 0)
		H5Tclose(memory);
	return rc;
}

static int write_records(hid_t file, const char *name, hid_t memory, hsize_t rows, const void *data,
			 struct err *err)
{
	hid_t type = rows_packed(memory), dataset;
	int rc = h5_dataset(file, name, type, 1, &rows, &dataset, err);

	if (rc == 0 && rows)
		rc = h5_write(dataset, memory, data, err);
	if (dataset >= 0)
		H5Dclose(dataset);
	if (type >= 0)
		H5Tclose(type);
	if (memory >= 0)
		H5Tclose(memory);
	return rc < 0 ? err_wrap(err, rc, "%s", name) : 0;
}

static int create_all(hid_t file, const struct results_head *head, const char *key,
		      const struct node_row *nodes, const struct rank_row *ranks, struct err *err)
{
	uint64_t edges[HIST_BUCKETS + 1];
	int rc = root_attributes(file, head, key, err);

	for (unsigned i = 0; i <= HIST_BUCKETS; i++)
		edges[i] = hist_edge(i);
	if (rc == 0)
		rc = write_job(file, head->job_text ? head->job_text : "", err);
	if (rc == 0)
		rc = make_growing(file, "/summary",
				  rows_summary_type(head->name_bytes, head->sweep_bytes), 16, err);
	if (rc == 0)
		rc = make_stores(file, err);
	if (rc == 0)
		rc = write_records(file, "/nodes", rows_record_type(&rows_node), head->nodes, nodes,
				   err);
	if (rc == 0)
		rc = write_records(file, "/ranks", rows_record_type(&rows_rank), head->ranks, ranks,
				   err);
	if (rc == 0)
		rc = h5_array(file, "/histogram_edges_ns", H5T_NATIVE_UINT64, HIST_BUCKETS + 1,
			      edges, "ns", err);
	return rc < 0 ? rc : make_group(file, "/phases", err);
}

static int write_end(hid_t file, const struct file_end *end, struct err *err)
{
	char finished[RESULTS_DATE_BYTES];
	int rc = h5_attr_text(file, "status", end->status, err);

	utc_text(finished, end->finished_utc_ns);
	if (rc == 0)
		rc = h5_attr_text(file, "error", end->sentence ? end->sentence : "", err);
	if (rc == 0)
		rc = h5_attr_text(file, "finished", finished, err);
	return rc < 0 ? rc : file_head_seconds(file, end->seconds, err);
}

static int rewrite_ranks(hid_t file, const struct rank_row *ranks, uint32_t rank_count,
			 struct err *err)
{
	hid_t dataset = H5Dopen2(file, "/ranks", H5P_DEFAULT), type = rows_record_type(&rows_rank);
	hid_t space = dataset < 0 ? H5I_INVALID_HID : H5Dget_space(dataset);
	int rc = 0;

	if (space < 0 || type < 0 || H5Sget_simple_extent_npoints(space) != (hssize_t)rank_count)
		rc = h5_fail(err, "cannot write /ranks");
	else if (h5_write(dataset, type, ranks, err) < 0)
		rc = err_wrap(err, err->code, "/ranks");
	if (space >= 0)
		H5Sclose(space);
	if (type >= 0)
		H5Tclose(type);
	if (dataset >= 0)
		H5Dclose(dataset);
	return rc;
}

int file_head_finish(hid_t file, const struct file_end *end, struct err *err)
{
	int rc = write_end(file, end, err);

	if (rc == 0 && end->ranks)
		rc = rewrite_ranks(file, end->ranks, end->rank_count, err);
	return rc;
}

int file_head_stores(hid_t file, const struct store_facts *rows, uint32_t count, struct err *err)
{
	hid_t dataset = H5Dopen2(file, "/stores", H5P_DEFAULT),
	      type = rows_record_type(&rows_store);
	hsize_t size = count;
	int rc = 0;

	if (dataset < 0 || type < 0 || H5Dset_extent(dataset, &size) < 0)
		rc = h5_fail(err, "cannot write /stores");
	else if (count && h5_write(dataset, type, rows, err) < 0)
		rc = err_wrap(err, err->code, "/stores");
	if (dataset >= 0)
		H5Dclose(dataset);
	if (type >= 0)
		H5Tclose(type);
	return rc;
}

int file_head_seconds(hid_t file, double seconds, struct err *err)
{
	return h5_attr_real(file, "seconds", seconds, err);
}
