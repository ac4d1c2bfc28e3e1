/* SPDX-License-Identifier: Apache-2.0 */
/* Import of a command line of mlpstorage: see import_mlpstorage.h. A training and a checkpointing
 * become the overrides of a workload of DLIO, and a cache the flags of its benchmark: what their
 * importers know is known here. */
#include "import/mlpstorage/import_mlpstorage.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json_path.h"
#include "core/numbers.h"
#include "core/units.h"
#include "import/kvcache/import_kvcache.h"
#include "import/mlpstorage/command.h"
#include "import/mlpstorage/import_workload.h"
#include "import/vdbbench/import_vdbbench.h"

enum { TEXT_BYTES = 4096, NAME_BYTES = 64, SUBSET = 8, FOLDER_BYTES = 1024 };

/* Overrides or flags for the importer that takes them. */
struct command_lines {
	const char *list[WORDS_MAX + 16];
	cJSON *texts; /* what list points into */
	unsigned count;
	bool failed;
};

__attribute__((format(printf, 2, 3))) static void lines_add(struct command_lines *l,
							    const char *format, ...)
{
	char text[TEXT_BYTES];
	cJSON *item;
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	item = n >= 0 && (size_t)n < sizeof(text) && l->count < COUNT(l->list)
		       ? cJSON_CreateString(text)
		       : NULL;
	if (!item || !cJSON_AddItemToArray(l->texts, item)) {
		cJSON_Delete(item);
		l->failed = true;
		return;
	}
	l->list[l->count++] = item->valuestring;
}

/* A folder with the model's name behind it, unless it ends in one already. */
static void lines_add_folder(struct command_lines *l, const char *key, const char *folder,
			     const char *model)
{
	size_t n = strlen(folder);

	while (n > 1 && folder[n - 1] == '/')
		n--;
	if (n >= strlen(model) && strncmp(folder + n - strlen(model), model, strlen(model)) == 0)
		lines_add(l, "++%s=%.*s", key, (int)n, folder);
	else
		lines_add(l, "++%s=%.*s/%s", key, (int)n, folder, model);
}

/* Keys that flags are, and --params, which count most. */
static int lines_add_flags(struct command_lines *l, const struct command *c, struct err *err)
{
	for (unsigned i = 0; i < c->count; i++) {
		const struct import_key *f = c->flags[i].flag;

		if (f->way == KEY_DLIO)
			lines_add(l, "++%s%s%s", f->to, f->kind == KEY_NONE ? "" : "=",
				  c->flags[i].value);
	}
	for (unsigned i = 0; i < c->count; i++) {
		const char *value = c->flags[i].value;

		if (strncmp(c->flags[i].flag->path, "--param", 7) != 0)
			continue;
		if (!strchr(value, '='))
			return err_set(err, -EINVAL, "--params: \"%.64s\" is no KEY=VALUE", value);
		lines_add(l, c->benchmark == FLAGS_KVCACHE ? "%s" : "++%s",
			  value + strspn(value, "+"));
	}
	return 0;
}

/* Whether a parameter begins with a key. */
static bool command_sets(const struct command *c, const char *key)
{
	for (unsigned i = 0; i < c->count; i++)
		if (strncmp(c->flags[i].flag->path, "--param", 7) == 0 &&
		    strncmp(c->flags[i].value + strspn(c->flags[i].value, "+"), key, strlen(key)) ==
			    0)
			return true;
	return false;
}

static int mlp_add_object(struct command_lines *l, const struct command *c, struct err *err)
{
	if (!c->object)
		return 0;
	if (!command_sets(c, "storage.storage_root="))
		return err_set(err, -EINVAL,
			       "object: the bucket is missing, which mlpstorage takes from the "
			       "environment; give it by --params storage.storage_root=BUCKET");
	lines_add(l, "++storage.storage_type=s3");
	return 0;
}

static int mlp_check_accelerator(const struct command *c, const char *accelerator, struct err *err)
{
	const char *known[EDITION_WORKLOADS_MAX];
	char list[NAME_BYTES] = "";

	edition_accelerators(command_workload(c), known);
	for (unsigned i = 0; known[i]; i++) {
		if (accelerator && strcmp(known[i], accelerator) == 0)
			return 0;
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "",
			 known[i]);
	}
	if (!accelerator)
		return err_set(err, -EINVAL, "%s: needs --accelerator-type; %s has files for %s",
			       command_name(c), c->model, list);
	return err_set(err, -EINVAL,
		       "--accelerator-type: \"%.32s\" has no numbers for %s, which has %s",
		       accelerator, c->model, list);
}

/* The data set that mlpstorage wants: of so many steps, or so many times the memory. */
static int mlp_add_datasize(struct import *out, const struct command *c,
			    const struct rule_sizes *sizes, struct err *err)
{
	cJSON *data = json_at(out->job, "dataset");
	const cJSON *phases = json_at(out->job, "phases"), *phase, *train = NULL;
	double samples = json_number_at(data, "samples_per_file", 1);
	double bytes = json_number_at(data, "sample_bytes", 0);
	uint64_t hosts = max_u64(command_hosts(c), 1);
	double memory = sizes->memories * (double)hosts * GiB *
			command_number(c, "--client-host-memory-in-gb", 0);
	double batch, steps, files;

	cJSON_ArrayForEach(phase, phases)
	{
		train = train ? train : json_at(phase, "train");
	}
	if (!train || !data || bytes < 1 || samples < 1)
		return err_set(err, -EINVAL, "datasize: the parameters leave nothing to train on");
	batch = json_number_at(train, "batch", 1);
	steps = floor(sizes->steps * (double)command_ranks(c) * batch / samples);
	files = fmax(fmax(steps, floor(memory / (samples * bytes))), 1);
	/* It is of the run that the data are for, which the import with a phase "generate" is not. */
	out->class[0] = '\0';
	cJSON_DeleteItemFromObjectCaseSensitive(data, "files");
	out->failed |= !cJSON_AddNumberToObject(data, "files", files);
	import_found(
		out, IMPORT_CHANGED, "datasize", NULL,
		"the job has the %.0f files that mlpstorage wants: %.0f for %g steps, %.0f for %g times the memory of %" PRIu64
		" %s",
		files, steps, sizes->steps, floor(memory / (samples * bytes)), sizes->memories,
		hosts, hosts == 1 ? "host" : "hosts");
	return 0;
}

static int mlp_import(struct import *out, const struct command *c, const struct command_lines *l,
		      const char *accelerator, bool generates, struct err *err)
{
	const struct import_changes changes = {.accelerator = accelerator,
					       .generates = generates,
					       .overrides = l->list,
					       .count = l->count};

	return l->failed ? err_set(err, -ENOMEM, "no memory for the workload")
			 : import_workload(out, command_workload(c), &changes, err);
}

static int mlp_training(struct import *out, const struct command *c, struct command_lines *l,
			const struct rule_sizes *sizes, struct err *err)
{
	const char *accelerator = command_value(c, "--accelerator-type");
	const char *folder = command_value(c, "--data-dir");
	bool generates = c->does == COMMAND_DATAGEN;
	int rc = generates ? 0 : mlp_check_accelerator(c, accelerator, err);

	if (rc == 0 && c->does != COMMAND_CONFIGVIEW && !command_ranks(c))
		rc = err_set(err, -EINVAL, "%s: needs %s", command_name(c),
			     generates                     ? "--num-processes"
			     : c->does == COMMAND_DATASIZE ? "--max-accelerators"
							   : "--num-accelerators");
	if (rc == 0)
		rc = mlp_add_object(l, c, err);
	if (rc < 0)
		return rc;
	if (folder)
		lines_add_folder(l, "dataset.data_folder", folder, c->model);
	if (command_value(c, "--checkpoint-folder"))
		lines_add(l, "++checkpoint.checkpoint_folder=%s",
			  command_value(c, "--checkpoint-folder"));
	if (c->does == COMMAND_DATASIZE)
		lines_add(l, "++workflow.generate_data=True");
	rc = lines_add_flags(l, c, err);
	if (rc < 0)
		return rc;
	rc = mlp_import(out, c, l, generates ? NULL : accelerator, generates, err);
	return rc == 0 && c->does == COMMAND_DATASIZE ? mlp_add_datasize(out, c, sizes, err) : rc;
}

/* Ranks of one data-parallel replica, and of the whole mesh of a closed submission. */
static void mlp_mesh(const struct edition_workload *w, unsigned *replica, unsigned *whole)
{
	const cJSON *parallel = json_at(edition_member(w, "parameters"), "model.parallelism");

	*replica = (unsigned)(json_whole_at(parallel, "tensor", 1) *
			      json_whole_at(parallel, "pipeline", 1));
	*replica = *replica ? *replica : 1;
	*whole = (unsigned)json_whole_at(edition_member(w, "processes"), "", 1);
}

static int mlp_checkpointing(struct import *out, const struct command *c, struct command_lines *l,
			     struct err *err)
{
	const char *folder = command_value(c, "--checkpoint-folder");
	uint64_t ranks = command_ranks(c);
	unsigned replica, whole;
	bool subset;
	int rc = mlp_add_object(l, c, err);

	if (rc < 0)
		return rc;
	mlp_mesh(command_workload(c), &replica, &whole);
	if (!ranks)
		return err_set(err, -EINVAL, "%s: needs --num-processes", command_name(c));
	subset = ranks < whole;
	if (ranks % replica && ranks != SUBSET)
		return err_set(
			err, -EINVAL,
			"--num-processes: %s takes a multiple of %u, or %d for a subset, is %" PRIu64,
			c->model, replica, SUBSET, ranks);
	if (subset) {
		lines_add(l, "++checkpoint.mode=subset");
		lines_add(l, "++model.parallelism.data=%u", whole / replica);
	}
	if (folder)
		lines_add_folder(l, "checkpoint.checkpoint_folder", folder, c->model);
	rc = lines_add_flags(l, c, err);
	if (rc < 0)
		return rc;
	rc = mlp_import(out, c, l, NULL, false, err);
	if (rc == 0 && subset)
		import_found(
			out, IMPORT_CHANGED, "--num-processes", NULL,
			"%" PRIu64
			" of the %u ranks of the mesh: each writes its own part, as a subset does",
			ranks, whole);
	return rc;
}

static int mlp_closed_kvcache(struct import *out, const struct command *c, struct err *err)
{
	for (unsigned i = 0; i < c->count; i++)
		if (strcmp(c->flags[i].flag->path, "--params") == 0 ||
		    (c->flags[i].flag->way == KEY_OTHERS &&
		     strcmp(c->flags[i].flag->path, "--cache-dir") != 0))
			return err_set(
				err, -EINVAL,
				"%s: is fixed in a closed submission; open or whatif take it",
				c->flags[i].flag->path);
	if (c->model)
		return err_set(err, -EINVAL,
			       "--model: is fixed in a closed submission; open or whatif take it");
	return import_cache_options(out, edition_latest(c->editions, "kvcache", ""),
				    command_value(c, "--cache-dir"), err);
}

/* Flags that another importer knows. */
static void lines_add_others(struct command_lines *l, const struct command *c)
{
	for (unsigned i = 0; i < c->count; i++) {
		const struct import_key *f = c->flags[i].flag;

		if (f->way == KEY_OTHERS)
			lines_add(l, "%s%s%s", *f->to ? f->to : f->path + 2,
				  *c->flags[i].value ? "=" : "", c->flags[i].value);
	}
}

static int mlp_kvcache(struct import *out, const struct command *c, struct command_lines *l,
		       struct err *err)
{
	int rc;

	if (strcmp(c->mode, "closed") == 0 || command_value(c, "--closed"))
		return mlp_closed_kvcache(out, c, err);
	lines_add(l, "model=%s", c->model ? c->model : "tiny-1b");
	lines_add_others(l, c);
	rc = lines_add_flags(l, c, err);
	if (rc == 0 && l->failed)
		rc = err_set(err, -ENOMEM, "no memory for the flags");
	return rc < 0 ? rc : import_kvcache(out, "kvcache", "", 0, l->list, l->count, err);
}

/* Where the index lies: a folder, or a bucket. */
static int mlp_set_store(struct import *out, const struct command *c, struct err *err)
{
	const char *root = command_value(c, "--storage-root");
	const char *type = command_value(c, "--storage-type");
	bool object = c->object || (type && strcmp(type, "s3") == 0);
	cJSON *stores = json_at(out->job, "stores");
	cJSON *store = json_at(stores, "data");
	char uri[FOLDER_BYTES];

	if (object && !root)
		return err_set(
			err, -EINVAL,
			"object: the bucket is missing, which the database knows; give it by --storage-root BUCKET");
	if (!root)
		return 0;
	snprintf(uri, sizeof(uri), "%s://%s%.900s", object ? "s3" : "file",
		 object || root[0] == '/' ? "" : "./", root);
	cJSON_DeleteItemFromObjectCaseSensitive(store, "uri");
	out->failed |= !cJSON_AddStringToObject(store, "uri", uri);
	if (object) {
		cJSON_DeleteItemFromObjectCaseSensitive(store, "engine");
		cJSON_DeleteItemFromObjectCaseSensitive(store, "direct");
	}
	return 0;
}

/* Their loader and their runs: a build, searches, or both. */
static int mlp_vectordb(struct import *out, const struct command *c, struct command_lines *l,
			struct err *err)
{
	const struct edition_workload *benchmark = edition_latest(c->editions, "vectordb", "");
	const cJSON *usual = cJSON_GetArrayItem(edition_member(benchmark, "indexes"), 0);
	uint64_t ranks = max_u64(command_ranks(c), 1), queries = command_whole(c, "--queries", 0);
	bool searches = c->does != COMMAND_DATAGEN;
	int rc;

	lines_add(l, "index-type=%s", c->model ? c->model : json_text_at(usual, "", ""));
	lines_add(l, "mode=%s", !searches ? "load" : c->does == COMMAND_RUN ? "search" : "both");
	lines_add_others(l, c);
	if (searches && queries)
		lines_add(l, "queries=%" PRIu64, (queries + ranks - 1) / ranks);
	if (searches && command_value(c, "--batch-size"))
		lines_add(l, "batch-size=%s", command_value(c, "--batch-size"));
	rc = l->failed ? err_set(err, -ENOMEM, "no memory for the flags")
		       : import_vdbbench(out, "vectordb", "", 0, l->list, l->count, err);
	return rc < 0 ? rc : mlp_set_store(out, c, err);
}

/* Drops what is told of keys of the workload's own file, which nobody has typed. */
static void mlp_forget(struct import *out, const struct command *c)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < out->count; i++)
		if (out->findings[i].fate != IMPORT_LEFT || command_sets(c, out->findings[i].key))
			out->findings[kept++] = out->findings[i];
	out->count = kept;
}

/* Whether a flag says only where the ranks run, and not what they do. */
static bool mlp_is_launchers(const struct command *c, const char *name)
{
	if (strcmp(name, "--hosts") == 0)
		return true;
	return c->does != COMMAND_DATASIZE && (strcmp(name, "--num-client-hosts") == 0 ||
					       strcmp(name, "--client-host-memory-in-gb") == 0);
}

/* What becomes of flags that are not keys of the job. */
static void mlp_add_findings(struct import *out, const struct command *c)
{
	out->keys = c->count;
	if (c->benchmark != FLAGS_VECTORDB)
		mlp_forget(out, c);
	for (unsigned i = 0; i < c->count; i++) {
		const struct command_flag *f = &c->flags[i];
		cJSON *value = *f->value ? cJSON_CreateString(f->value) : NULL;

		if (f->flag->way == KEY_LEFT || mlp_is_launchers(c, f->flag->path))
			import_found(out, IMPORT_LEFT, f->flag->path, value, "%s", f->flag->why);
		cJSON_Delete(value);
	}
	if (c->mode[0])
		import_found(
			out, IMPORT_LEFT, c->mode, NULL,
			"a job is the same for all three; haul check says what it is by the rules");
}

/* Measured runs of a closed submission of vector databases. */
static uint64_t mlp_runs(const struct command *c)
{
	return json_whole_at(edition_member(edition_latest(c->editions, "vectordb", ""), "runs"),
			     "", 1);
}

/* How the job is used as the command would be. */
static void mlp_add_then(struct import *out, const struct command *c)
{
	uint64_t ranks = max_u64(command_ranks(c), 1), hosts = max_u64(command_hosts(c), 1);
	double memory = command_number(c, "--client-host-memory-in-gb", 0);
	uint64_t repeat = max_u64(command_whole(c, "--loops", 1), command_whole(c, "--trials", 1));
	char *to = out->then;
	size_t bytes = sizeof(out->then);
	int n;

	if (c->does == COMMAND_DATASIZE || c->does == COMMAND_CONFIGVIEW) {
		n = snprintf(to, bytes,
			     "haul plan JOB --nodes %" PRIu64 " --ranks-per-node %" PRIu64, hosts,
			     (ranks + hosts - 1) / hosts);
		if (memory > 0)
			snprintf(to + n, bytes - (size_t)n, " --memory \"%g GiB\"", memory);
		return;
	}
	if (c->benchmark == FLAGS_VECTORDB && c->does == COMMAND_RUN &&
	    strcmp(c->mode, "closed") == 0)
		repeat = max_u64(repeat, mlp_runs(c));
	n = snprintf(to, bytes, "mpiexec -n %" PRIu64 " haul %s JOB", ranks,
		     c->does == COMMAND_DATAGEN && c->benchmark == FLAGS_TRAINING ? "generate"
										  : "run");
	if (repeat > 1)
		n += snprintf(to + n, bytes - (size_t)n, " --repeat %" PRIu64, repeat);
	if (command_value(c, "--results-dir"))
		snprintf(to + n, bytes - (size_t)n, " --results %.120s/%.32s.h5",
			 command_value(c, "--results-dir"),
			 c->benchmark == FLAGS_VECTORDB ? "vectordb"
			 : c->model                     ? c->model
							: "kvcache");
}

int import_mlpstorage(struct import *out, const char *const *words, unsigned count,
		      const struct import_edition *edition, struct err *err)
{
	struct words *w = malloc(sizeof(*w));
	struct command *c = malloc(sizeof(*c));
	struct command_lines *l = calloc(1, sizeof(*l));
	int rc = -ENOMEM;

	*out = (struct import){0};
	if (l)
		l->texts = cJSON_CreateArray();
	if (w && c && l && l->texts) {
		rc = words_read(w, words, count, err);
		rc = rc < 0 ? rc : command_read(c, w, edition->editions, err);
		if (rc == 0 && c->benchmark == FLAGS_TRAINING)
			rc = mlp_training(out, c, l, &edition->sizes, err);
		else if (rc == 0 && c->benchmark == FLAGS_CHECKPOINTING)
			rc = mlp_checkpointing(out, c, l, err);
		else if (rc == 0 && c->benchmark == FLAGS_VECTORDB)
			rc = mlp_vectordb(out, c, l, err);
		else if (rc == 0)
			rc = mlp_kvcache(out, c, l, err);
		if (rc == 0) {
			mlp_add_findings(out, c);
			mlp_add_then(out, c);
		}
		if (rc == 0 && out->failed)
			rc = err_set(err, -ENOMEM, "no memory for the job");
		words_free(w);
	} else {
		err_set(err, rc, "no memory for the words");
	}
	if (l)
		cJSON_Delete(l->texts);
	free(l);
	free(c);
	free(w);
	return rc;
}

char *import_mlpstorage_flags(void)
{
	return flags_print();
}
