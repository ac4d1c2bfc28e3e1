/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of leaves: see leaf.h. */
#include "report/mlperf/leaf.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/json.h"
#include "core/json_path.h"
#include "core/text_writer.h"
#include "core/units.h"
#include "report/shapes.h"

struct tree_folder place_below(const struct tree_folder *p, const char *format, ...)
{
	struct tree_folder below = *p;
	size_t n = strlen(p->path);
	va_list args;

	snprintf(below.path + n, sizeof(below.path) - n, "/");
	n = strlen(below.path);
	va_start(args, format);
	vsnprintf(below.path + n, sizeof(below.path) - n, format, args);
	va_end(args);
	for (char *at = below.path + n; *p->rc == 0; at++) {
		char was = *at;

		if (was && was != '/')
			continue;
		*at = '\0';
		if (mkdir(below.path, 0777) < 0 && errno != EEXIST)
			*p->rc = err_set(p->err, -errno, "%s: %s", below.path, strerror(errno));
		*at = was;
		if (!was)
			break;
	}
	return below;
}

static void place_write(const struct tree_folder *p, const char *name, const char *before,
			const char *text)
{
	char path[PLACE_BYTES + 128];
	struct text_writer *w;

	if (*p->rc < 0)
		return;
	if (!text) {
		*p->rc = err_set(p->err, -ENOMEM, "no memory for %s", name);
		return;
	}
	snprintf(path, sizeof(path), "%s/%s", p->path, name);
	*p->rc = text_writer_open(&w, path, false, p->err);
	if (*p->rc < 0)
		return;
	for (; *before; before = "") {
		text_writer_add(w, "# ", 2);
		text_writer_add(w, before, strlen(before));
		text_writer_add(w, "\n", 1);
	}
	for (size_t left = strlen(text); left;) {
		size_t piece = left < TEXT_WRITER_PIECE ? left : TEXT_WRITER_PIECE;

		text_writer_add(w, text, piece);
		text += piece;
		left -= piece;
	}
	*p->rc = text_writer_close(w, path, p->err);
}

void place_marked_json(const struct tree_folder *p, const char *name, struct cJSON *json)
{
	char *text = json ? json_print(json) : NULL;

	place_write(p, name, "", text);
	free(text);
	json_free(json);
}

void place_json(const struct tree_folder *p, const char *name, struct cJSON *json)
{
	cJSON_AddStringToObject(json, "haul", p->mark);
	place_marked_json(p, name, json);
}

void place_text(const struct tree_folder *p, const char *name, const char *text)
{
	place_write(p, name, p->mark, text);
}

static const double kib = 1024;
enum { LAYOUT_VERSION = 3 };

const char *leaf_model(const struct mlperf_phase *p)
{
	const char *model = json_text_at(p->tree, "dlio.model", "");

	return *model ? model : p->phase->record.name;
}

bool leaf_is_done(const struct mlperf_phase *p)
{
	return strcmp(p->phase->record.status, "done") == 0;
}

void leaf_stamp(char stamp[LEAF_STAMP_BYTES], const struct mlperf_phase *p, uint64_t *last)
{
	uint64_t second = p->phase->record.started_ns / (uint64_t)SECOND_NS;
	struct tm tm;
	time_t t;

	second = second > *last ? second : *last + 1;
	*last = second;
	t = (time_t)second;
	gmtime_r(&t, &tm);
	strftime(stamp, LEAF_STAMP_BYTES, "%Y%m%d_%H%M%S", &tm);
}

void leaf_time(char text[LEAF_STAMP_BYTES], uint64_t utc_ns)
{
	time_t t = (time_t)(utc_ns / (uint64_t)SECOND_NS);
	struct tm tm;
	size_t n;

	gmtime_r(&t, &tm);
	n = strftime(text, LEAF_STAMP_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + n, LEAF_STAMP_BYTES - n, ".%06u",
		 (unsigned)(utc_ns % (uint64_t)SECOND_NS / 1000));
}

double leaf_mean(const struct cJSON *list)
{
	const cJSON *one;
	double sum = 0;

	cJSON_ArrayForEach(one, list)
	{
		sum += one->valuedouble;
	}
	return sum / cJSON_GetArraySize(list);
}

double leaf_stdev(const struct cJSON *list)
{
	double mean = leaf_mean(list), sum = 0;
	const cJSON *one;

	cJSON_ArrayForEach(one, list)
	{
		sum += (one->valuedouble - mean) * (one->valuedouble - mean);
	}
	return sqrt(sum / cJSON_GetArraySize(list));
}

static double leaf_dataset_bytes(const struct mlperf_phase *p)
{
	return json_number_at(p->tree, "dataset.files", 0) *
	       json_number_at(p->tree, "dataset.samples_per_file", 0) *
	       json_number_at(p->tree, "dataset.sample_bytes", 0);
}

/* What is known of the hosts. */
static void leaf_hosts(cJSON *to, const struct mlperf_phase *p)
{
	const struct results_file *f = p->file;
	cJSON *cores = cJSON_AddArrayToObject(to, "host_cpu_count"), *cached, *memory, *info;
	double share = leaf_dataset_bytes(p) / GiB / json_number_at(p->tree, "nodes", 0);
	char text[64];

	cJSON_AddStringToObject(to, "host_processor_name", f->nodes ? f->machines[0].cpu : "");
	cached = cJSON_AddArrayToObject(to, "potential_caching");
	info = cJSON_AddObjectToObject(to, "host_cpuinfo");
	cJSON_AddStringToObject(info, "model name", f->nodes ? f->machines[0].cpu : "");
	info = cJSON_AddObjectToObject(to, "host_meminfo");
	snprintf(text, sizeof(text), "%.0f kB",
		 f->nodes ? (double)f->machines[0].memory_bytes / kib : 0);
	cJSON_AddStringToObject(info, "MemTotal", text);
	memory = cJSON_AddArrayToObject(to, "host_memory_GB");
	for (uint64_t i = 0; i < f->nodes; i++) {
		double gib = (double)f->machines[i].memory_bytes / GiB;

		cJSON_AddItemToArray(cores, cJSON_CreateNumber((double)f->machines[i].cores));
		cJSON_AddItemToArray(cached, cJSON_CreateNumber(gib > share));
		cJSON_AddItemToArray(memory, cJSON_CreateNumber(gib));
	}
	json_add_number(to, "data_size_per_host_GB", share);
}

void leaf_hostname(struct cJSON *to, const struct mlperf_phase *p)
{
	json_add_text(to, "hostname", p->file->nodes ? p->file->hosts[0] : "");
}

struct cJSON *leaf_summary(const struct mlperf_phase *p)
{
	const struct phase_record *record = &p->phase->record;
	char text[LEAF_STAMP_BYTES];
	cJSON *to = json_object();

	leaf_time(text, record->started_ns);
	json_add_text(to, "start", text);
	json_add_number(to, "num_accelerators", json_number_at(p->tree, "ranks", 0));
	json_add_number(to, "num_hosts", json_number_at(p->tree, "nodes", 0));
	leaf_hostname(to, p);
	cJSON_AddObjectToObject(to, "metric");
	json_add_number(to, "num_files_train", json_number_at(p->tree, "dataset.files", 0));
	json_add_number(to, "num_files_eval", 0);
	json_add_number(to, "num_samples_per_file",
			json_number_at(p->tree, "dataset.samples_per_file", 0));
	leaf_hosts(to, p);
	json_add_number(to, "epochs", json_number_at(p->tree, "job.epochs", 0));
	leaf_time(text, record->finished_ns);
	json_add_text(to, "end", text);
	return to;
}

/* Where the data are, as mlpstorage names it: a path, or the URI of an object store. */
static const char *leaf_folder(const struct mlperf_phase *p)
{
	const char *uri = json_text_at(p->tree, "store.uri", ""), *path = strstr(uri, ":///");

	return path ? path + 3 : uri;
}

/* DLIO's keys, with those of the data set that the class does not count. */
static cJSON *leaf_parameters(const struct mlperf_phase *p)
{
	cJSON *to = cJSON_Duplicate(json_at(p->tree, "dlio.parameters"), true), *dataset;

	if (!to)
		to = json_object();
	dataset = cJSON_GetObjectItemCaseSensitive(to, "dataset");
	if (!json_at(p->tree, "dataset"))
		return to;
	if (!dataset)
		dataset = cJSON_AddObjectToObject(to, "dataset");
	cJSON_DeleteItemFromObjectCaseSensitive(dataset, "data_folder");
	cJSON_DeleteItemFromObjectCaseSensitive(dataset, "num_files_train");
	json_add_text(dataset, "data_folder", leaf_folder(p));
	json_add_number(dataset, "num_files_train", json_number_at(p->tree, "dataset.files", 0));
	json_add_number(dataset, "num_subfolders_train",
			json_number_at(p->tree, "dataset.subfolders", 0));
	json_add_number(dataset, "total_disk_bytes", leaf_dataset_bytes(p));
	return to;
}

static void leaf_system(cJSON *to, const struct mlperf_phase *p)
{
	const struct results_file *f = p->file;
	cJSON *system = cJSON_AddObjectToObject(to, "system_info"), *hosts;
	double cores = 0, memory = 0, least = INFINITY, most = 0;

	for (uint64_t i = 0; i < f->nodes; i++) {
		double bytes = (double)f->machines[i].memory_bytes;

		cores += (double)f->machines[i].cores;
		memory += bytes;
		least = fmin(least, bytes);
		most = fmax(most, bytes);
	}
	json_add_number(system, "total_memory_bytes", memory);
	json_add_number(system, "total_cores", cores);
	json_add_number(system, "num_hosts", (double)f->nodes);
	json_add_number(system, "min_memory_bytes", least);
	json_add_number(system, "max_memory_bytes", most);
	json_add_text(system, "collection_method", "haul");
	json_add_text(system, "collection_timestamp", f->started);
	hosts = cJSON_AddArrayToObject(system, "hosts");
	for (uint64_t i = 0; i < f->nodes; i++) {
		cJSON *host = json_object(), *part;

		json_add_text(host, "hostname", f->hosts[i]);
		part = cJSON_AddObjectToObject(host, "memory");
		json_add_number(part, "total", (double)f->machines[i].memory_bytes);
		part = cJSON_AddObjectToObject(host, "cpu");
		json_add_number(part, "num_logical_cores", (double)f->machines[i].cores);
		json_add_text(part, "model", f->machines[i].cpu);
		cJSON_AddItemToArray(hosts, host);
	}
}

/* The flags that mlpstorage would have had. */
static void leaf_args(cJSON *args, const struct mlperf_export *e, const struct mlperf_phase *p,
		      const char *accelerator)
{
	bool saves = phase_purpose(p->phase) == PURPOSE_CHECKPOINTS;

	json_add_text(args, "model", leaf_model(p));
	json_add_text(args, "accelerator_type", accelerator);
	json_add_number(args, "num_processes", json_number_at(p->tree, "ranks", 0));
	json_add_number(args, "max_accelerators", json_number_at(p->tree, "ranks", 0));
	json_add_number(args, "client_host_memory_in_gb", p->file->node_memory_bytes / GiB);
	json_add_text(args, saves ? "checkpoint_folder" : "data_dir", leaf_folder(p));
	json_add_text(args, "results_dir", e->root);
}

void leaf_metadata(const struct tree_folder *leaf, const struct mlperf_export *e,
		   const struct mlperf_phase *p, const char *benchmark, const char *command,
		   const char *stamp)
{
	cJSON *to = json_object();
	char name[128];
	const char *accelerator = json_text_at(p->tree, "dlio.accelerator", "");

	accelerator = *accelerator ? accelerator : "unknown";
	json_add_text(to, "benchmark_type", benchmark);
	json_add_text(to, "model", leaf_model(p));
	json_add_text(to, "command", command);
	json_add_text(to, "run_datetime", stamp);
	json_add_number(to, "num_processes", json_number_at(p->tree, "ranks", 0));
	json_add_text(to, "accelerator", accelerator);
	json_add_text(to, "result_dir", leaf->path);
	cJSON_AddItemToObject(to, "parameters", leaf_parameters(p));
	cJSON_AddObjectToObject(to, "override_parameters");
	leaf_system(to, p);
	leaf_args(cJSON_AddObjectToObject(to, "args"), e, p, accelerator);
	json_add_text(to, "provenance_file", "provenance.json");
	snprintf(name, sizeof(name), "%s_%s_metadata.json", benchmark, stamp);
	place_json(leaf, name, to);
}

/* The schema takes no key of haul's own: the mark is its notes. */
static cJSON *leaf_provenance(const struct tree_folder *leaf, const struct mlperf_export *e,
			      const struct mlperf_phase *p)
{
	static const char *const tags[][2] = {{"rules_edition", "tool-constant"},
					      {"layout_version", "tool-constant"},
					      {"tool", "runtime"},
					      {"dlio", "n/a"},
					      {"storage_library", "n/a"},
					      {"core_config", "inferred"}};
	const cJSON *keys = json_at(p->tree, "dlio.keys");
	const char *hash = json_text_at(p->tree, "dlio.class", "");
	cJSON *to = json_object(), *part;
	char by[128];

	snprintf(by, sizeof(by), "haul %s", p->file->version);
	json_add_text(to, "schema", "mlps-run-provenance/1");
	json_add_text(to, "rules_edition", e->edition);
	json_add_number(to, "layout_version", LAYOUT_VERSION);
	part = cJSON_AddObjectToObject(to, "tool");
	json_add_text(part, "name", "haul");
	json_add_text(part, "version", p->file->version);
	json_add_text(part, "git_sha", *p->file->build ? p->file->build : "unknown");
	json_add_text(part, "code_image", "unknown");
	part = cJSON_AddObjectToObject(to, "dlio");
	json_add_text(part, "version", "unknown");
	json_add_text(part, "source", "unknown");
	json_add_text(part, "commit", "unknown");
	part = cJSON_AddObjectToObject(to, "storage_library");
	json_add_text(part, "name", "none");
	part = cJSON_AddObjectToObject(to, "core_config");
	json_add_text(part, "algorithm", "core-config-v1");
	json_add_text(part, "allowlist",
		      !keys                                         ? "unknown"
		      : phase_purpose(p->phase) == PURPOSE_TRAINING ? "training@1"
								    : "checkpointing@1");
	json_add_text(part, "hash", *hash ? hash : "unknown");
	cJSON_AddItemToObject(part, "keys",
			      keys ? cJSON_Duplicate(keys, true) : cJSON_CreateArray());
	json_add_text(to, "stamped_at", p->file->finished);
	json_add_text(to, "stamped_by", by);
	part = cJSON_AddObjectToObject(to, "provenance");
	for (size_t i = 0; i < sizeof(tags) / sizeof(*tags); i++)
		json_add_text(part, tags[i][0], tags[i][1]);
	json_add_text(to, "notes", leaf->mark);
	return to;
}

/* JSON is YAML, too. */
static void leaf_config(const struct tree_folder *leaf, const struct mlperf_phase *p)
{
	struct tree_folder config = place_below(leaf, "dlio_config");
	cJSON *parameters = leaf_parameters(p), *whole = json_object();
	char *text;

	cJSON_AddItemToObject(whole, "workload", parameters);
	text = json_print(whole);
	place_text(&config, "config.yaml", text);
	place_text(&config, "hydra.yaml", "{}\n");
	place_text(&config, "overrides.yaml", "[]\n");
	free(text);
	json_free(whole);
}

void leaf_files(const struct tree_folder *leaf, const struct mlperf_export *e,
		const struct mlperf_phase *p, const char *benchmark, const char *command,
		const char *stamp)
{
	static const struct report_options plain = {.color = false};
	char name[128], *text = report_text(p->file, &plain);

	snprintf(name, sizeof(name), "%s_%s.stdout.log", benchmark, command);
	place_text(leaf, name, text);
	free(text);
	snprintf(name, sizeof(name), "%s_%s.stderr.log", benchmark, command);
	place_text(leaf, name, p->phase->record.error);
	place_text(leaf, "dlio.log", "");
	leaf_config(leaf, p);
	leaf_metadata(leaf, e, p, benchmark, command, stamp);
	place_marked_json(leaf, "provenance.json", leaf_provenance(leaf, e, p));
}

bool leaf_is_first(const struct mlperf_export *e, uint32_t i, enum purpose purpose)
{
	for (uint32_t k = 0; k < i; k++)
		if (phase_purpose(e->phases[k].phase) == purpose &&
		    strcmp(leaf_model(&e->phases[k]), leaf_model(&e->phases[i])) == 0)
			return false;
	return phase_purpose(e->phases[i].phase) == purpose;
}
