#include "results-schema/file_head.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "results-schema/h5.h"
#include "results-schema/rows.h"

static int create_all(hid_t file, const struct results_head *head, const struct node_row *nodes,
		      const struct rank_row *ranks, struct err *err);

static void utc_text(char text[RESULTS_DATE_BYTES], uint64_t utc_ns)
{
	time_t seconds = (time_t)(utc_ns / 1000000000u);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(text, RESULTS_DATE_BYTES, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

/* A path where no file can be made is refused in plain words, before HDF5 says it in its own. */
static int try_path(const char *path, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0)
		return err_set(err, -errno, "results file %s cannot be made: %s", path,
			       strerror(errno));
	close(fd);
	return 0;
}

int file_head_create(const char *path, const struct results_head *head,
		     const struct node_row *nodes, const struct rank_row *ranks, struct err *err)
{
	hid_t access, creation, file;
	int rc = try_path(path, err);

	if (rc < 0)
		return rc;
	access = h5_file_access();
	creation = h5_group_properties(H5P_FILE_CREATE);
	file = access < 0 || creation < 0 ? H5I_INVALID_HID
					  : H5Fcreate(path, H5F_ACC_TRUNC, creation, access);
	if (file < 0)
		rc = h5_fail(err, "results file %s cannot be made", path);
	if (rc == 0)
		rc = create_all(file, head, nodes, ranks, err);
	if (file >= 0 && H5Fclose(file) < 0 && rc == 0)
		rc = h5_fail(err, "results file %s cannot be written", path);
	if (creation >= 0)
		H5Pclose(creation);
	if (access >= 0)
		H5Pclose(access);
	return rc;
}

static int root_attributes(hid_t file, const struct results_head *head, struct err *err)
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

/* No rows yet; grows. Takes the type of the rows in memory. */
static int make_growing(hid_t file, const char *name, hid_t memory, hsize_t chunk, struct err *err)
{
	hsize_t none = 0, unlimited = H5S_UNLIMITED;
	hid_t type = rows_packed(memory);
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

static int create_all(hid_t file, const struct results_head *head, const struct node_row *nodes,
		      const struct rank_row *ranks, struct err *err)
{
	uint64_t edges[HIST_BUCKETS + 1];
	hid_t phases;
	int rc = root_attributes(file, head, err);

	for (unsigned i = 0; i <= HIST_BUCKETS; i++)
		edges[i] = hist_edge(i);
	if (rc == 0)
		rc = write_job(file, head->job_text ? head->job_text : "", err);
	if (rc == 0)
		rc = make_growing(file, "/summary", rows_summary_type(), 16, err);
	if (rc == 0)
		rc = make_growing(file, "/stores", rows_store_type(), 4, err);
	if (rc == 0)
		rc = write_records(file, "/nodes", rows_node_type(), head->nodes, nodes, err);
	if (rc == 0)
		rc = write_records(file, "/ranks", rows_rank_type(), head->ranks, ranks, err);
	if (rc == 0)
		rc = h5_array(file, "/histogram_edges_ns", H5T_NATIVE_UINT64, HIST_BUCKETS + 1,
			      edges, true, "ns", err);
	if (rc == 0) {
		rc = h5_group(file, "/phases", &phases, err);
		if (phases >= 0)
			H5Gclose(phases);
	}
	return rc;
}

static int write_end(hid_t file, const char *status, const char *sentence, uint64_t started_utc_ns,
		     uint64_t finished_utc_ns, struct err *err)
{
	char finished[RESULTS_DATE_BYTES];
	double seconds = finished_utc_ns > started_utc_ns
				 ? (double)(finished_utc_ns - started_utc_ns) / 1e9
				 : 0;
	int rc = h5_attr_text(file, "status", status, err);

	utc_text(finished, finished_utc_ns);
	if (rc == 0)
		rc = h5_attr_text(file, "error", sentence ? sentence : "", err);
	if (rc == 0)
		rc = h5_attr_text(file, "finished", finished, err);
	if (rc == 0)
		rc = h5_attr_real(file, "seconds", seconds, err);
	return rc;
}

static int rewrite_ranks(hid_t file, const struct rank_row *ranks, uint32_t rank_count,
			 struct err *err)
{
	hid_t dataset = H5Dopen2(file, "/ranks", H5P_DEFAULT), type = rows_rank_type();
	hid_t space = dataset < 0 ? H5I_INVALID_HID : H5Dget_space(dataset);
	int rc = 0;

	if (space < 0 || type < 0 || H5Sget_simple_extent_npoints(space) != (hssize_t)rank_count ||
	    H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, ranks) < 0)
		rc = h5_fail(err, "cannot write /ranks");
	if (space >= 0)
		H5Sclose(space);
	if (type >= 0)
		H5Tclose(type);
	if (dataset >= 0)
		H5Dclose(dataset);
	return rc;
}

int file_head_finish(const char *path, const char *status, const char *sentence,
		     uint64_t started_utc_ns, uint64_t finished_utc_ns,
		     const struct rank_row *ranks, uint32_t rank_count, struct err *err)
{
	hid_t access = h5_file_access();
	hid_t file = access < 0 ? H5I_INVALID_HID : H5Fopen(path, H5F_ACC_RDWR, access);
	int rc = 0;

	if (file < 0)
		rc = h5_fail(err, "results file %s cannot be opened", path);
	if (rc == 0)
		rc = write_end(file, status, sentence, started_utc_ns, finished_utc_ns, err);
	if (rc == 0 && ranks)
		rc = rewrite_ranks(file, ranks, rank_count, err);
	if (file >= 0 && H5Fclose(file) < 0 && rc == 0)
		rc = h5_fail(err, "results file %s cannot be written", path);
	if (access >= 0)
		H5Pclose(access);
	return rc;
}

int file_head_stores(const char *path, const struct store_facts *rows, uint32_t count,
		     struct err *err)
{
	hid_t access = h5_file_access(), type = rows_store_type(), dataset = H5I_INVALID_HID;
	hid_t file = access < 0 ? H5I_INVALID_HID : H5Fopen(path, H5F_ACC_RDWR, access);
	hsize_t size = count;
	int rc = 0;

	if (file >= 0)
		dataset = H5Dopen2(file, "/stores", H5P_DEFAULT);
	if (dataset < 0 || type < 0 || H5Dset_extent(dataset, &size) < 0 ||
	    (count && H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) < 0))
		rc = h5_fail(err, "results file %s: cannot write /stores", path);
	if (dataset >= 0)
		H5Dclose(dataset);
	if (file >= 0 && H5Fclose(file) < 0 && rc == 0)
		rc = h5_fail(err, "results file %s cannot be written", path);
	if (type >= 0)
		H5Tclose(type);
	if (access >= 0)
		H5Pclose(access);
	return rc;
}
