/* Reading results.h5: see results_read.h. */
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
#include "results-schema/phase_cache.h"
#include "results-schema/read_phase.h"
#include "results-schema/rows.h"
#include "results-schema/side_phase.h"

static int load_head(hid_t file, struct results_file *f, struct err *err);
static int load_phases(hid_t file, struct results_file *f, bool details, struct err *err);

static int open_file(const char *path, struct results_file *f, hid_t *file, struct err *err)
{
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
		return err_set(err, -EINVAL,
			       "%s: is not a results file of haul: it is not a regular file", path);
	f->file_bytes = (uint64_t)st.st_size;
	h5_quiet();
	*file = h5_read_open(path);
	H5Eclear2(H5E_DEFAULT);
	return *file < 0 ? err_set(err, -EINVAL,
				   "%s: is not a results file of haul: HDF5 cannot open it", path)
			 : 0;
}

/* details: those of each phase are read, and stay as long as there is room. */
static int load_within(struct results_file **out, const char *path, bool details,
		       uint64_t room_bytes, struct err *err)
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
	if (rc == 0) {
		f->cache = phase_cache_new(f, room_bytes);
		rc = f->cache ? load_phases(file, f, details, err)
			      : err_set(err, -ENOMEM, "no memory for its phases");
	}
	if (rc < 0)
		err_wrap(err, rc, "%s: is not a results file of haul", path);
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

int results_load(struct results_file **out, const char *path, struct err *err)
{
	return load_within(out, path, true, RESULTS_ROOM_BYTES, err);
}

int results_load_within(struct results_file **out, const char *path, uint64_t room_bytes,
			struct err *err)
{
	return load_within(out, path, true, room_bytes, err);
}

int results_open(struct results_file **out, const char *path, struct err *err)
{
	return load_within(out, path, false, 0, err);
}

void results_unload(struct results_file *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; f->phases && i < f->phase_count; i++)
		read_phase_free(&f->phases[i]);
	free(f->phases);
	phase_cache_free(f->cache);
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
	hid_t type = rows_record_type(&rows_node);
	struct node_row *rows = NULL;
	uint64_t count;
	const struct h5_extent wanted = {1, RESULTS_NODES_MAX, sizeof(*rows)};
	int rc = h5_read_records(file, "nodes", type, &wanted, (void **)&rows, &count, err);

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

static int load_texts(hid_t file, struct results_file *f, struct err *err)
{
	const struct {
		const char *name;
		char *to; /* of RESULTS_NAME_BYTES; NULL: */
		char **text;
	} texts[] = {
		{"haul_version", f->version, NULL},
		{"name", f->name, NULL},
		{"status", f->status, NULL},
		{"started", f->started, NULL},
		{"finished", f->finished, NULL},
		{"build", NULL, &f->build},
		{"command_line", NULL, &f->command_line},
		{"error", NULL, &f->error},
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(texts) / sizeof(*texts); i++)
		rc = texts[i].to ? h5_read_into(file, texts[i].name, texts[i].to,
						RESULTS_NAME_BYTES, err)
				 : h5_read_text(file, texts[i].name, texts[i].text, err);
	return rc;
}

static int load_stores(hid_t file, struct results_file *f, struct err *err)
{
	const struct h5_extent wanted = {1, RESULTS_STORES_MAX, sizeof(*f->stores)};
	hid_t type;
	int rc;

	if (H5Lexists(file, "stores", H5P_DEFAULT) <= 0)
		return 0;
	type = rows_record_type(&rows_store);
	rc = h5_read_records(file, "stores", type, &wanted, (void **)&f->stores, &f->store_count,
			     err);
	rows_end_texts(&rows_store, f->stores, f->store_count);
	if (type >= 0)
		H5Tclose(type);
	return rc;
}

static int load_head(hid_t file, struct results_file *f, struct err *err)
{
	uint64_t version = 0;
	int rc = h5_read_u64(file, "schema_version", &version, err);

	if (rc == 0 && version != RESULTS_SCHEMA_VERSION)
		return err_set(err, -EINVAL,
			       "its schema is version %llu; this haul reads version %d only",
			       (unsigned long long)version, RESULTS_SCHEMA_VERSION);
	f->schema_version = (uint32_t)version;
	if (rc == 0)
		rc = load_texts(file, f, err);
	if (rc == 0)
		rc = h5_read_real(file, "seconds", &f->seconds, err);
	if (rc == 0)
		rc = h5_read_u64(file, "ranks", &f->ranks, err);
	if (rc == 0)
		rc = h5_read_u64(file, "nodes", &f->nodes, err);
	if (rc == 0 && (f->ranks > RESULTS_RANKS_MAX || f->nodes > RESULTS_NODES_MAX))
		rc = err_set(err, -EINVAL, "it says that there were %llu ranks on %llu nodes",
			     (unsigned long long)f->ranks, (unsigned long long)f->nodes);
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
	const struct phase_record *x = &((const struct results_phase_read *)a)->record;
	const struct phase_record *y = &((const struct results_phase_read *)b)->record;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* The phases of a series are in side files. HDF5 would follow a link to anywhere, so the side file is
 * opened here. */
static int load_phase(hid_t phases, const char *name, struct results_file *f, bool details,
		      struct err *err)
{
	struct results_phase_read *p = &f->phases[f->phase_count++];
	struct side_phase side;
	int rc = side_phase_open(&side, phases, name, f->path, err);

	snprintf(p->member, sizeof(p->member), "%s", name);
	if (rc == 0)
		rc = read_headline(side.phase, p, err);
	if (rc == 0 && details)
		rc = read_details(side.phase, f, p, err);
	if (rc == 0 && details)
		phase_cache_take(f->cache, p);
	if (!details)
		p->cache = f->cache;
	p->side_bytes = side.file_bytes;
	side_phase_close(&side);
	return rc;
}

/* Each side file counts once, however many phases are in it. */
static void add_side_bytes(struct results_file *f)
{
	uint64_t run = 0;

	for (uint32_t i = 0; i < f->phase_count; i++) {
		if (f->phases[i].record.run != run)
			f->file_bytes += f->phases[i].side_bytes;
		run = f->phases[i].record.run;
	}
}

static int load_phases(hid_t file, struct results_file *f, bool details, struct err *err)
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
	if (info.nlinks > RESULTS_PHASES_MAX) {
		rc = err_set(err, -EINVAL,
			     "/phases holds %llu phases; a results file has at most %d",
			     (unsigned long long)info.nlinks, RESULTS_PHASES_MAX);
		goto out_phases;
	}
	f->phases = calloc(info.nlinks + 1, sizeof(*f->phases));
	if (!f->phases) {
		rc = err_set(err, -ENOMEM, "no memory for the phases");
		goto out_phases;
	}
	for (hsize_t i = 0; rc == 0 && i < info.nlinks; i++) {
		char name[RESULTS_MEMBER_BYTES] = "";

		if (H5Lget_name_by_idx(phases, ".", H5_INDEX_NAME, H5_ITER_INC, i, name,
				       sizeof(name), H5P_DEFAULT) < 0) {
			rc = h5_fail(err, "/phases cannot be read");
			break;
		}
		rc = load_phase(phases, name, f, details, err);
		if (rc < 0)
			err_wrap(err, rc, "/phases/%s", name);
	}
	if (rc == 0) {
		qsort(f->phases, f->phase_count, sizeof(*f->phases), by_number);
		add_side_bytes(f);
	}
out_phases:
	H5Gclose(phases);
	return rc;
}
