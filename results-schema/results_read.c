#include "results-schema/results_read.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "results-schema/file_head.h"
#include "results-schema/h5.h"
#include "results-schema/h5_read.h"
#include "results-schema/rows.h"

static int load_stores(hid_t file, struct results_file *f, struct err *err)
{
	hid_t type;
	int rc;

	if (H5Lexists(file, "stores", H5P_DEFAULT) <= 0)
		return 0;
	type = rows_store_type();
	rc = h5_read_records(file, "stores", type, sizeof(*f->stores), (void **)&f->stores,
			     &f->store_count, err);
	if (type >= 0)
		H5Tclose(type);
	return rc;
}

static int load_head(hid_t file, struct results_file *f, struct err *err);
static int load_phases(hid_t file, struct results_file *f, struct err *err);
static int load_statuses(hid_t group, struct results_phase_read *p, struct err *err)
{
	hid_t dataset = H5Dopen2(group, "statuses", H5P_DEFAULT), space;
	hsize_t dims[2] = {0, 0};
	int rc = 0;

	if (dataset < 0)
		return h5_fail(err, "its statuses cannot be read");
	space = H5Dget_space(dataset);
	if (space < 0 || H5Sget_simple_extent_ndims(space) != 2 ||
	    H5Sget_simple_extent_dims(space, dims, NULL) < 0 || dims[1] != 3 ||
	    dims[0] > (hsize_t)TALLY_STATUSES * (p->endpoints.row_count + 1))
		rc = err_set(err, -EINVAL, "its statuses are none");
	p->statuses = rc == 0 ? calloc(dims[0] + 1, sizeof(*p->statuses)) : NULL;
	if (rc == 0 && !p->statuses)
		rc = err_set(err, -ENOMEM, "no memory for its statuses");
	if (rc == 0 &&
	    H5Dread(dataset, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, p->statuses) < 0)
		rc = h5_fail(err, "its statuses cannot be read");
	if (rc == 0)
		p->status_count = dims[0];
	if (space >= 0)
		H5Sclose(space);
	H5Dclose(dataset);
	return rc;
}

static int load_endpoints(hid_t phase, struct results_phase_read *p, struct err *err)
{
	uint64_t names = 0;
	hid_t group, type;
	int rc;

	if (H5Lexists(phase, "endpoints", H5P_DEFAULT) <= 0)
		return 0;
	group = H5Gopen2(phase, "endpoints", H5P_DEFAULT);
	if (group < 0)
		return h5_fail(err, "its group endpoints cannot be read");
	type = h5_text_type(TALLY_ENDPOINT_NAME_BYTES);
	rc = h5_read_table(group, "rows", &p->endpoints, err);
	if (rc == 0)
		rc = h5_read_records(group, "names", type, TALLY_ENDPOINT_NAME_BYTES,
				     (void **)&p->endpoint_names, &names, err);
	if (rc == 0 && names != p->endpoints.row_count)
		rc = err_set(err, -EINVAL, "its endpoints have not a name each");
	for (uint64_t i = 0; rc == 0 && i < names; i++)
		p->endpoint_names[i][TALLY_ENDPOINT_NAME_BYTES - 1] = '\0';
	if (rc == 0)
		rc = load_statuses(group, p, err);
	H5Tclose(type);
	H5Gclose(group);
	return rc;
}

static int load_phase(hid_t phases, const char *name, struct results_phase_read *p,
		      struct err *err);

static int open_file(const char *path, struct results_file *f, hid_t *file, struct err *err)
{
	hid_t access;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	*file = H5I_INVALID_HID;
	if (fd < 0 || fstat(fd, &st) < 0) {
		int rc = -errno;

		if (fd >= 0)
			close(fd);
		return err_set(err, rc, "%s: %s", path, strerror(-rc));
	}
	close(fd);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "%s: is no results file of haul: not a regular file",
			       path);
	f->file_bytes = (uint64_t)st.st_size;
	h5_quiet();
	access = H5Pcreate(H5P_FILE_ACCESS);
	/* Locks fail on file systems mounted without them, and a published file never changes. */
	if (access >= 0 && H5Pset_file_locking(access, false, true) >= 0)
		*file = H5Fopen(path, H5F_ACC_RDONLY, access);
	if (access >= 0)
		H5Pclose(access);
	H5Eclear2(H5E_DEFAULT);
	return *file < 0 ? err_set(err, -EINVAL,
				   "%s: is no results file of haul: HDF5 cannot open it", path)
			 : 0;
}

int results_load(struct results_file **out, const char *path, struct err *err)
{
	struct results_file *f = calloc(1, sizeof(*f));
	hid_t file = H5I_INVALID_HID;
	int rc;

	*out = NULL;
	if (f)
		f->path = strdup(path);
	if (!f || !f->path) {
		rc = err_set(err, -ENOMEM, "no memory for a results file");
		goto out_free;
	}
	rc = open_file(path, f, &file, err);
	if (rc < 0)
		goto out_free;
	rc = load_head(file, f, err);
	if (rc == 0)
		rc = load_phases(file, f, err);
	if (rc < 0)
		err_wrap(err, rc, "%s: is no results file of haul", path);
	H5Fclose(file);
	H5Eclear2(H5E_DEFAULT);
	if (rc == 0) {
		*out = f;
		return 0;
	}
out_free:
	results_unload(f);
	return rc;
}

static void table_free(struct results_table *t)
{
	free(t->columns);
	free(t->cells);
}

void results_unload(struct results_file *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; f->phases && i < f->phase_count; i++) {
		struct results_phase_read *p = &f->phases[i];

		free(p->message);
		free(p->sweep);
		free(p->sets);
		free(p->error);
		table_free(&p->merged);
		table_free(&p->ranks);
		table_free(&p->epochs);
		table_free(&p->endpoints);
		free(p->endpoint_names);
		free(p->statuses);
		table_free(&p->client);
		free(p->ranks_stalled);
		free(p->hists);
		free(p->failures);
	}
	free(f->phases);
	free(f->path);
	free(f->build);
	free(f->command_line);
	free(f->error);
	free(f->job_text);
	free(f->hosts);
	free(f->stores);
	free(f->links);
	free(f);
}

static int load_nodes(hid_t file, struct results_file *f, struct err *err)
{
	hid_t type = rows_node_type();
	struct node_row *rows = NULL;
	uint64_t count;
	int rc = h5_read_records(file, "nodes", type, sizeof(*rows), (void **)&rows, &count, err);

	if (type >= 0)
		H5Tclose(type);
	if (rc < 0)
		return rc;
	f->hosts = calloc(count + 1, sizeof(*f->hosts));
	f->links = calloc(count + 1, sizeof(*f->links));
	if (!f->hosts || !f->links || count != f->nodes) {
		rc = f->hosts && f->links ? err_set(err, -EINVAL, "/nodes has %llu rows",
						    (unsigned long long)count)
					  : -ENOMEM;
		goto out_rows;
	}
	for (uint64_t i = 0; i < count; i++) {
		snprintf(f->hosts[i], sizeof(f->hosts[i]), "%.*s", (int)sizeof(rows[i].host) - 1,
			 rows[i].host);
		f->links[i] =
			(struct results_links){rows[i].nic_bytes_per_s, rows[i].rdma_bytes_per_s};
	}
out_rows:
	free(rows);
	return rc;
}

static int load_head(hid_t file, struct results_file *f, struct err *err)
{
	uint64_t version = 0;
	int rc = h5_read_u64(file, "schema_version", &version, err);

	if (rc == 0 && version != RESULTS_SCHEMA_VERSION)
		return err_set(err, -EINVAL,
			       "its schema is version %llu, this haul reads version %d",
			       (unsigned long long)version, RESULTS_SCHEMA_VERSION);
	f->schema_version = (uint32_t)version;
	if (rc == 0)
		rc = h5_read_into(file, "haul_version", f->version, sizeof(f->version), err);
	if (rc == 0)
		rc = h5_read_into(file, "name", f->name, sizeof(f->name), err);
	if (rc == 0)
		rc = h5_read_into(file, "status", f->status, sizeof(f->status), err);
	if (rc == 0)
		rc = h5_read_into(file, "started", f->started, sizeof(f->started), err);
	if (rc == 0)
		rc = h5_read_into(file, "finished", f->finished, sizeof(f->finished), err);
	if (rc == 0)
		rc = h5_read_text(file, "build", &f->build, err);
	if (rc == 0)
		rc = h5_read_text(file, "command_line", &f->command_line, err);
	if (rc == 0)
		rc = h5_read_text(file, "error", &f->error, err);
	if (rc == 0)
		rc = h5_read_real(file, "seconds", &f->seconds, err);
	if (rc == 0)
		rc = h5_read_u64(file, "ranks", &f->ranks, err);
	if (rc == 0)
		rc = h5_read_u64(file, "nodes", &f->nodes, err);
	f->runs = 1;
	if (rc == 0 && H5Aexists(file, "runs") > 0)
		rc = h5_read_u64(file, "runs", &f->runs, err);
	if (rc == 0)
		rc = h5_read_text_dataset(file, "job", &f->job_text, err);
	if (rc == 0)
		rc = load_nodes(file, f, err);
	return rc < 0 ? rc : load_stores(file, f, err);
}

static int by_number(const void *a, const void *b)
{
	const struct results_phase_read *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static int load_phases(hid_t file, struct results_file *f, struct err *err)
{
	hid_t phases = H5Gopen2(file, "phases", H5P_DEFAULT);
	H5G_info_t info;
	int rc = 0;

	if (phases < 0)
		return h5_fail(err, "there is no /phases");
	if (H5Gget_info(phases, &info) < 0) {
		rc = h5_fail(err, "/phases cannot be read");
		goto out_phases;
	}
	f->phases = calloc(info.nlinks + 1, sizeof(*f->phases));
	if (!f->phases) {
		rc = err_set(err, -ENOMEM, "no memory for the phases");
		goto out_phases;
	}
	for (hsize_t i = 0; rc == 0 && i < info.nlinks; i++) {
		char name[128] = "";

		if (H5Lget_name_by_idx(phases, ".", H5_INDEX_NAME, H5_ITER_INC, i, name,
				       sizeof(name), H5P_DEFAULT) < 0) {
			rc = h5_fail(err, "/phases cannot be read");
			break;
		}
		rc = load_phase(phases, name, &f->phases[f->phase_count++], err);
		if (rc < 0)
			err_wrap(err, rc, "/phases/%s", name);
	}
	if (rc == 0)
		qsort(f->phases, f->phase_count, sizeof(*f->phases), by_number);
out_phases:
	H5Gclose(phases);
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
	uint64_t first = 0, count = 0, *buckets = NULL;
	int rc = h5_read_u64(group, "first_bucket", &first, err);

	for (size_t i = 0; rc == 0 && i < sizeof(facts) / sizeof(*facts); i++)
		rc = h5_read_u64(group, facts[i].name,
				 (uint64_t *)(void *)((char *)h + facts[i].offset), err);
	h->min_not_ns = ~h->min_not_ns;
	if (rc == 0)
		rc = h5_read_records(group, "counts", H5T_NATIVE_UINT64, sizeof(*buckets),
				     (void **)&buckets, &count, err);
	if (rc == 0 && (first > HIST_BUCKETS || count > HIST_BUCKETS - first))
		rc = err_set(err, -EINVAL, "counts do not fit a histogram");
	if (rc == 0)
		memcpy(h->bucket + first, buckets, count * sizeof(*buckets));
	free(buckets);
	return rc;
}

static int load_hists(hid_t phase, struct results_phase_read *p, struct err *err)
{
	hid_t group = H5Gopen2(phase, "histograms", H5P_DEFAULT), one;
	H5G_info_t info = {0};
	int rc = 0;

	if (group < 0 || H5Gget_info(group, &info) < 0)
		rc = h5_fail(err, "its histograms cannot be read");
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
	hid_t dataset, type;
	uint64_t rows = 0;
	int rc;

	if (H5Lexists(phase, "errors", H5P_DEFAULT) <= 0)
		return 0;
	type = rows_failure_type();
	rc = h5_read_records(phase, "errors", type, sizeof(*p->failures), (void **)&p->failures,
			     &rows, err);
	if (type >= 0)
		H5Tclose(type);
	if (rc < 0)
		return rc;
	p->failure_rows = (uint32_t)rows;
	dataset = H5Dopen2(phase, "errors", H5P_DEFAULT);
	rc = dataset < 0 ? h5_fail(err, "its errors cannot be read")
			 : h5_read_u64(dataset, "met", &p->failure_count, err);
	if (dataset >= 0)
		H5Dclose(dataset);
	return rc;
}

/* Files older than series of runs have none of these. */
static int load_run(hid_t phase, struct results_phase_read *p, struct err *err)
{
	uint64_t warmup = 0;
	int rc;

	p->run = p->combination = p->repeat = 1;
	if (H5Aexists(phase, "run") <= 0) {
		p->sweep = calloc(1, 1);
		return p->sweep ? 0 : err_set(err, -ENOMEM, "no memory for a phase");
	}
	rc = h5_read_u64(phase, "run", &p->run, err);
	if (rc == 0)
		rc = h5_read_u64(phase, "combination", &p->combination, err);
	if (rc == 0)
		rc = h5_read_u64(phase, "repeat", &p->repeat, err);
	if (rc == 0)
		rc = h5_read_u64(phase, "warmup", &warmup, err);
	p->warmup = warmup != 0;
	if (rc == 0)
		rc = h5_read_text(phase, "sweep", &p->sweep, err);
	if (rc == 0 && H5Aexists(phase, "sets") > 0)
		rc = h5_read_texts(phase, "sets", RESULTS_SET_BYTES, (char **)&p->sets,
				   &p->set_count, err);
	return rc;
}

static int load_phase_head(hid_t phase, struct results_phase_read *p, struct err *err)
{
	uint64_t number = 0;
	int rc = h5_read_u64(phase, "number", &number, err);

	p->number = (uint32_t)number;
	if (rc == 0)
		rc = h5_read_into(phase, "kind", p->kind, sizeof(p->kind), err);
	if (rc == 0)
		rc = h5_read_into(phase, "name", p->name, sizeof(p->name), err);
	if (rc == 0 && H5Aexists(phase, "store") > 0)
		rc = h5_read_into(phase, "store", p->store, sizeof(p->store), err);
	if (rc == 0)
		rc = h5_read_into(phase, "status", p->status, sizeof(p->status), err);
	if (rc == 0)
		rc = h5_read_into(phase, "main_histogram", p->main_hist, sizeof(p->main_hist), err);
	if (rc == 0)
		rc = h5_read_text(phase, "said", &p->message, err);
	if (rc == 0)
		rc = h5_read_text(phase, "error", &p->error, err);
	if (rc == 0)
		rc = h5_read_real(phase, "seconds", &p->seconds, err);
	if (rc == 0)
		rc = h5_read_real(phase, "null_au", &p->null_au, err);
	if (rc == 0)
		rc = h5_read_real(phase, "target_au", &p->target_au, err);
	if (rc == 0)
		rc = load_run(phase, p, err);
	return rc < 0 ? rc : h5_read_headline(phase, &p->merged, err);
}

static int load_timeline(hid_t phase, struct results_phase_read *p, struct err *err)
{
	hid_t group;
	int rc;

	if (H5Lexists(phase, "timeline", H5P_DEFAULT) <= 0)
		return 0;
	group = H5Gopen2(phase, "timeline", H5P_DEFAULT);
	rc = group < 0 ? h5_fail(err, "its timeline cannot be read")
		       : h5_read_real(group, "interval_s", &p->stalled_interval_s, err);
	if (rc == 0)
		rc = h5_read_records(group, "ranks_stalled", H5T_NATIVE_DOUBLE, sizeof(double),
				     (void **)&p->ranks_stalled, &p->stalled_rows, err);
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
		rc = h5_read_table(group, "rows", &p->client, err);
	if (group >= 0)
		H5Gclose(group);
	return rc;
}

static int load_phase(hid_t phases, const char *name, struct results_phase_read *p, struct err *err)
{
	hid_t phase = H5Gopen2(phases, name, H5P_DEFAULT);
	int rc;

	if (phase < 0)
		return h5_fail(err, "it cannot be opened");
	rc = load_phase_head(phase, p, err);
	if (rc == 0)
		rc = h5_read_table(phase, "ranks", &p->ranks, err);
	if (rc == 0 && H5Lexists(phase, "epochs", H5P_DEFAULT) > 0)
		rc = h5_read_table(phase, "epochs", &p->epochs, err);
	if (rc == 0)
		rc = load_timeline(phase, p, err);
	if (rc == 0)
		rc = load_client(phase, p, err);
	if (rc == 0)
		rc = load_hists(phase, p, err);
	if (rc == 0)
		rc = load_endpoints(phase, p, err);
	if (rc == 0)
		rc = load_failures(phase, p, err);
	H5Gclose(phase);
	return rc;
}

int results_column(const struct results_table *table, const char *name)
{
	for (uint32_t i = 0; i < table->column_count; i++)
		if (strcmp(table->columns[i].name, name) == 0)
			return (int)i;
	return -1;
}

double results_value(const struct results_table *table, uint64_t row, const char *name)
{
	int column = results_column(table, name);
	const union results_cell *cell;

	if (column < 0 || row >= table->row_count)
		return NAN;
	cell = &table->cells[row * table->column_count + (uint32_t)column];
	return table->columns[column].real ? cell->real : (double)cell->count;
}

const struct hist *results_find_hist(const struct results_phase_read *phase, const char *name)
{
	for (uint32_t i = 0; i < phase->hist_count; i++)
		if (strcmp(phase->hists[i].name, name) == 0)
			return &phase->hists[i].hist;
	return NULL;
}
