/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of runs: see run_folder.h. */
#include "cli/run_folder.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/file_read.h"
#include "core/json.h"
#include "core/json_path.h"
#include "import/dlio/import_dlio.h"
#include "plan/plan.h"

enum { SUMMARY_BYTES = 4 << 20, SUMMARY_DEPTH = 16, SUMMARY_VALUES = 1 << 17, DEPTH_MAX = 12 };
static const double folder_gib = 1073741824;

bool run_folder_is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool run_folder_is(const char *path)
{
	size_t n = strlen(path);

	return run_folder_is_folder(path) || (n > 5 && strcmp(path + n - 5, ".yaml") == 0) ||
	       (n > 4 && strcmp(path + n - 4, ".yml") == 0);
}

/* What the run was: summary.json lies beside the folder of its configuration. */
static void folder_read_summary(struct run_folder *r)
{
	char path[RUN_FOLDER_BYTES + 32], *text = NULL;
	const char *slash = strstr(r->config, "/dlio_config/");
	cJSON *summary = NULL;
	size_t length = 0;

	if (!slash)
		return;
	snprintf(path, sizeof(path), "%.*s/summary.json", (int)(slash - r->config), r->config);
	if (file_read(path, SUMMARY_BYTES, &text, &length, NULL) == 0 &&
	    json_parse(&summary, text, length, SUMMARY_DEPTH, SUMMARY_VALUES, NULL) == 0) {
		r->ranks = (uint32_t)json_whole_at(summary, "num_accelerators", 0);
		r->nodes = (uint32_t)json_whole_at(summary, "num_hosts", 0);
		r->memory = folder_gib * json_number_at(summary, "host_memory_GB.0", 0);
	}
	json_free(summary);
	free(text);
}

static int folders_add(struct run_folders *all, const char *config, struct err *err)
{
	struct run_folder *r = &all->list[all->count];

	if (all->count == RUN_FOLDERS_MAX)
		return err_set(err, -EINVAL, "has more than %d runs", RUN_FOLDERS_MAX);
	memset(r, 0, sizeof(*r));
	if ((size_t)snprintf(r->config, sizeof(r->config), "%s", config) >= sizeof(r->config))
		return err_set(err, -ENAMETOOLONG, "%.64s…: the path is too long", config);
	folder_read_summary(r);
	all->count++;
	return 0;
}

static int folders_walk(struct run_folders *all, const char *path, unsigned depth, struct err *err)
{
	char below[RUN_FOLDER_BYTES + 256];
	struct dirent **entries;
	struct stat st;
	int n, rc = 0;

	snprintf(below, sizeof(below), "%s/dlio_config/config.yaml", path);
	if (stat(below, &st) == 0)
		return folders_add(all, below, err);
	n = scandir(path, &entries, NULL, alphasort);
	if (n < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	for (int i = 0; i < n; i++) {
		snprintf(below, sizeof(below), "%.1000s/%.255s", path, entries[i]->d_name);
		if (rc == 0 && entries[i]->d_name[0] != '.' && depth < DEPTH_MAX &&
		    lstat(below, &st) == 0 && S_ISDIR(st.st_mode))
			rc = folders_walk(all, below, depth + 1, err);
		free(entries[i]);
	}
	free(entries);
	return rc;
}

/* A data set is made for the runs beside it. */
static void folders_leave_generation(struct run_folders *all)
{
	uint32_t kept = 0, others = 0;

	for (uint32_t i = 0; i < all->count; i++)
		others += !strstr(all->list[i].config, "/datagen/");
	for (uint32_t i = 0; i < all->count && others; i++)
		if (!strstr(all->list[i].config, "/datagen/"))
			all->list[kept++] = all->list[i];
	all->count = others ? kept : all->count;
}

int run_folders_find(struct run_folders **out, const char *path, struct err *err)
{
	struct run_folders *all = *out = calloc(1, sizeof(*all));
	char folder[RUN_FOLDER_BYTES], config[RUN_FOLDER_BYTES + 16];
	size_t n = strlen(path);
	struct stat st;
	int rc;

	if (!all)
		return err_set(err, -ENOMEM, "no memory for the runs");
	if (!run_folder_is_folder(path))
		return folders_add(all, path, err);
	while (n > 1 && path[n - 1] == '/')
		n--;
	if (n >= sizeof(folder))
		return err_set(err, -ENAMETOOLONG, "%.64s…: the path is too long", path);
	snprintf(folder, sizeof(folder), "%.*s", (int)n, path);
	/* The folder of a run's configuration itself. */
	snprintf(config, sizeof(config), "%s/config.yaml", folder);
	rc = stat(config, &st) == 0 ? folders_add(all, config, err)
				    : folders_walk(all, folder, 0, err);
	folders_leave_generation(all);
	if (rc == 0 && !all->count)
		rc = err_set(err, -ENOENT,
			     "%s: has no run of DLIO or mlpstorage, which is a folder with "
			     "dlio_config/config.yaml",
			     folder);
	return rc;
}

int run_folder_job(struct job *job, const struct run_folder *r, const struct editions *editions,
		   const char *const *sets, unsigned set_count, struct err *err)
{
	const struct import_given given = {.as = IMPORT_AS_MEANT, .editions = editions};
	struct import made = {0};
	char *text = NULL;
	size_t length = 0;
	int rc = job_read_file(r->config, &text, &length, err);

	if (rc == 0) {
		rc = import_dlio(&made, "run", text, length, &given, err);
		if (rc < 0)
			err_wrap(err, rc, "%s", r->config);
	}
	free(text);
	text = rc == 0 ? json_print(made.job) : NULL;
	import_free(&made);
	if (rc == 0)
		rc = text ? job_parse(job, plan_schema(), r->config, text, strlen(text), sets,
				      set_count, err)
			  : err_set(err, -ENOMEM, "no memory for the job");
	free(text);
	return rc;
}
