/* SPDX-License-Identifier: Apache-2.0 */
/* An exported tree as a whole: see mlperf.h. */
#include "report/mlperf/mlperf.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/json.h"
#include "core/units.h"
#include "report/mlperf/leaf.h"

/* The name stands where a submitter's would. */
static const char organisation[] = "haul-no-mlperf-result";

static const char kept_not[] =
	"\n"
	"These files have the names, keys and types that MLPerf Storage's programs read. The figures are\n"
	"those of haul report, by MLPerf's formulas:\n"
	"\n"
	"* AU, samples per second and MB (which are MiB) per second leave out the first step of an epoch, as\n"
	"  DLIO does. MB per second is samples per second times the mean size of a sample.\n"
	"* A checkpoint ends when its last rank does; DLIO itself takes the time of rank 0. GB are GiB.\n"
	"* Bandwidths of key-value caches are all bytes, also those that came after the duration, divided by\n"
	"  the duration; gbps are GiB per second. aggregated_p95_latency_ms is of the requests of all ranks\n"
	"  together.\n"
	"\n"
	"What haul does not keep, and what stands in its place:\n"
	"\n"
	"* RANK_output.json and RANK_per_epoch_stats.json of single ranks: there is one of each, with rows\n"
	"  that are means over the ranks (times of steps) or of the slowest rank (times of epochs). A row may\n"
	"  be several steps, and epochs stand one after the other without a pause.\n"
	"* dlio.log, hydra.yaml and overrides.yaml are there and empty, since no DLIO ran. config.yaml has the\n"
	"  job in DLIO's keys. The figures of a leaf datagen are empty, too.\n"
	"* fs_separation.json, mlpstorage.log, *_timeseries.json, the code image and the system's PDF are not\n"
	"  there. Of the system's description only the clients are known.\n"
	"* Lists of single requests in kvcache_results: haul keeps histograms.\n";

static bool is_empty(const char *path, struct err *err, int *rc)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	bool empty = true;

	if (!folder && errno != ENOENT)
		*rc = err_set(err, -errno, "%s: %s", path, strerror(errno));
	while (folder && (entry = readdir(folder)))
		empty &= strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	if (folder)
		closedir(folder);
	return empty;
}

static bool has_place(const struct mlperf_export *e)
{
	for (uint32_t i = 0; i < e->count; i++) {
		enum purpose purpose = phase_purpose(e->phases[i].phase);

		if (purpose == PURPOSE_TRAINING || purpose == PURPOSE_CHECKPOINTS ||
		    purpose == PURPOSE_CACHE)
			return true;
	}
	return false;
}

/* A client, as far as it is known. */
static cJSON *system_client(const struct results_file *f, uint64_t i)
{
	cJSON *client = json_object(), *part;

	json_add_text(client, "friendly_description", f->hosts[i]);
	json_add_number(client, "quantity", 1);
	part = cJSON_AddObjectToObject(client, "chassis");
	json_add_text(part, "cpu_model", f->machines[i].cpu);
	json_add_number(part, "cpu_cores", (double)f->machines[i].cores);
	json_add_number(part, "memory_capacity", floor((double)f->machines[i].memory_bytes / GiB));
	return client;
}

/* The clients; the rest of a system's description is its owner's. */
static void put_system(const struct tree_folder *org, const struct mlperf_export *e)
{
	struct tree_folder systems = place_below(org, "systems");
	const struct results_file *f = e->phases[0].file;
	cJSON *whole = json_object(), *system = cJSON_AddObjectToObject(whole, "system_under_test");
	cJSON *solution = cJSON_AddObjectToObject(system, "solution");
	cJSON *clients = cJSON_AddArrayToObject(system, "clients");
	char name[128], *text;

	json_add_text(solution, "submission_name", e->system);
	for (uint64_t i = 0; i < f->nodes; i++)
		cJSON_AddItemToArray(clients, system_client(f, i));
	text = json_print(whole);
	snprintf(name, sizeof(name), "%.100s.yaml", e->system);
	place_text(&systems, name, text);
	free(text);
	json_free(whole);
}

/* Where images of mlpstorage's code would be: edition 2.0 has one of each submitter. */
static void put_code(const struct tree_folder *root, const struct tree_folder *org,
		     const struct mlperf_export *e)
{
	bool own = strcmp(e->edition, "2.0") == 0;
	struct tree_folder code = place_below(own ? org : root, own ? "code" : "code-images");

	place_text(&code, "README.md", "mlpstorage did not run, so its code is not here.\n");
	if (!own)
		place_text(&code, ".mlps-image-pool", "");
}

/* An inventory, in YAML's form that is JSON. */
static void put_manifest(const struct tree_folder *org, const struct mlperf_export *e)
{
	cJSON *whole = json_object(), *systems = cJSON_AddArrayToObject(whole, "systems");
	char *text;

	json_add_text(whole, "schema", "mlps-submission-manifest/1");
	json_add_text(whole, "rules_edition", e->edition);
	json_add_text(whole, "organization", organisation);
	cJSON_AddItemToArray(systems, cJSON_CreateString(e->system));
	text = json_print(whole);
	place_text(org, "submission.yaml", text);
	free(text);
	json_free(whole);
}

int mlperf_export(const struct mlperf_export *e, struct err *err)
{
	int rc = has_place(e)
			 ? 0
			 : err_set(err, -EINVAL, "has no training, checkpoint or key-value cache");
	char mark[PLACE_MARK_BYTES];
	struct tree_folder root = {.mark = mark, .rc = &rc, .err = err}, org, system;

	if (rc == 0 && !is_empty(e->root, err, &rc))
		rc = err_set(err, -EEXIST, "%s: has something in it; name another folder", e->root);
	if (rc < 0)
		return rc;
	snprintf(mark, sizeof(mark),
		 "made by haul %.32s: no MLPerf result, not to be submitted or called one",
		 e->phases[0].file->version);
	snprintf(root.path, sizeof(root.path), "%s", e->root);
	if (mkdir(e->root, 0777) < 0 && errno != EEXIST)
		return err_set(err, -errno, "%s: %s", e->root, strerror(errno));
	place_text(&root, "README.md", kept_not);
	org = place_below(&root, "%s/%s", e->division, organisation);
	put_code(&root, &org, e);
	put_manifest(&org, e);
	put_system(&org, e);
	system = place_below(&org, "results/%s", e->system);
	leaf_trainings(&system, e);
	leaf_checkpoints(&system, e);
	leaf_caches(&system, e);
	return rc;
}
