/* SPDX-License-Identifier: Apache-2.0 */
/* Editions of MLPerf Storage: see editions.h. */
#include "mlperf/editions.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file_read.h"
#include "core/json.h"
#include "core/json_path.h"
#include "core/numbers.h"

enum {
	FILE_BYTES_MAX = 1 << 20,
	FILE_DEPTH = 12,
	FILE_VALUES = 1 << 14,
	PATH_BYTES = 4096,
	PART_BYTES = 64,
	HOPS_MAX = 4
};

struct editions {
	struct edition_workload workloads[EDITION_WORKLOADS_MAX];
	unsigned count;
	const char *only; /* while they are read: the benchmark; NULL: all */
};

static int editions_add(struct editions *e, const char *path, const char *edition,
			const char *benchmark, const char *name, struct err *err)
{
	struct edition_workload *w = &e->workloads[e->count];
	char *text = NULL;
	size_t length = 0;
	int rc;

	if (e->count == EDITION_WORKLOADS_MAX)
		return err_set(err, -EINVAL, "%s: is one file more than %d", path, e->count);
	rc = file_read(path, FILE_BYTES_MAX, &text, &length, err);
	if (rc == 0)
		rc = json_parse(&w->file, text, length, FILE_DEPTH, FILE_VALUES, err);
	free(text);
	if (rc == 0 && !cJSON_IsObject(w->file))
		rc = err_set(err, -EINVAL, "is not an object");
	if (rc < 0)
		return err_wrap(err, rc, "%s", path);
	snprintf(w->edition, sizeof(w->edition), "%s", edition);
	snprintf(w->benchmark, sizeof(w->benchmark), "%s", benchmark);
	snprintf(w->name, sizeof(w->name), "%s", name);
	w->of = e;
	e->count++;
	return 0;
}

static int editions_is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && strlen(entry->d_name) < EDITION_NAME_BYTES + 4;
}

/* The name without ".json"; false: it has another end. */
static bool editions_is_file(const char *file, char name[EDITION_NAME_BYTES])
{
	size_t n = strlen(file);

	if (n < 6 || n - 5 >= EDITION_NAME_BYTES || strcmp(file + n - 5, ".json") != 0)
		return false;
	memcpy(name, file, n - 5);
	name[n - 5] = '\0';
	return true;
}

/* Reads a folder: that of all editions (edition NULL), of an edition (benchmark NULL), or of a
 * benchmark. Files beside the folders of editions are their rules, which are read elsewhere. */
static int editions_read_folder(struct editions *e, const char *folder, const char *edition,
				const char *benchmark, struct err *err)
{
	struct dirent **entries;
	int n = scandir(folder, &entries, editions_is_shown, alphasort), rc = 0;

	if (n < 0)
		return err_set(err, -errno, "%s: %s", folder, strerror(errno));
	for (int i = 0; i < n; i++) {
		const char *file = entries[i]->d_name;
		char path[PATH_BYTES], name[EDITION_NAME_BYTES];
		bool is_file = editions_is_file(file, name);
		bool other = edition && !benchmark && e->only &&
			     strcmp(is_file ? name : file, e->only) != 0;

		snprintf(path, sizeof(path), "%s/%s", folder, file);
		if (rc == 0 && is_file && edition && !other)
			rc = editions_add(e, path, edition, benchmark ? benchmark : name,
					  benchmark ? name : "", err);
		else if (rc == 0 && !is_file && !benchmark && !other)
			rc = editions_read_folder(e, path, edition ? edition : file,
						  edition ? file : NULL, err);
		free(entries[i]);
	}
	free(entries);
	return rc;
}

const char *edition_benchmark_of(enum purpose purpose)
{
	static const char *const names[] = {[PURPOSE_TRAINING] = "training",
					    [PURPOSE_CHECKPOINTS] = "checkpointing",
					    [PURPOSE_CACHE] = "kvcache"};

	return purpose < COUNT(names) ? names[purpose] : NULL;
}

int editions_read(struct editions **out, const char *folder, const char *benchmark, struct err *err)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return err_set(err, -ENOMEM, "no memory for the editions");
	(*out)->only = benchmark;
	return editions_read_folder(*out, folder, NULL, NULL, err);
}

void editions_free(struct editions *e)
{
	for (unsigned i = 0; e && i < e->count; i++)
		cJSON_Delete(e->workloads[i].file);
	free(e);
}

static bool editions_is(const struct edition_workload *w, const char *edition,
			const char *benchmark)
{
	return strcmp(w->edition, edition) == 0 && strcmp(w->benchmark, benchmark) == 0;
}

const struct edition_workload *edition_find(const struct editions *e, const char *edition,
					    const char *benchmark, const char *name)
{
	for (unsigned i = 0; i < e->count; i++)
		if (editions_is(&e->workloads[i], edition, benchmark) &&
		    strcmp(e->workloads[i].name, name) == 0)
			return &e->workloads[i];
	return NULL;
}

const struct edition_workload *edition_latest(const struct editions *e, const char *benchmark,
					      const char *name)
{
	const struct edition_workload *found = NULL;

	for (unsigned i = 0; e && i < e->count; i++)
		if (strcmp(e->workloads[i].benchmark, benchmark) == 0 &&
		    strcmp(e->workloads[i].name, name) == 0)
			found = &e->workloads[i];
	return found;
}

const struct edition_workload *edition_workload(const struct editions *e, const char *edition,
						const char *benchmark, unsigned at)
{
	for (unsigned i = 0; i < e->count; i++)
		if (editions_is(&e->workloads[i], edition, benchmark) && *e->workloads[i].name &&
		    at-- == 0)
			return &e->workloads[i];
	return NULL;
}

/* A member of a file, else of that of its base. Bases that name each other end, too. */
static const cJSON *edition_own(const struct edition_workload *w, const char *key)
{
	for (unsigned hops = 0; w && hops < HOPS_MAX; hops++) {
		const cJSON *own = cJSON_GetObjectItemCaseSensitive(w->file, key);
		const cJSON *base = cJSON_GetObjectItemCaseSensitive(w->file, "base");

		if (own)
			return own;
		w = cJSON_IsString(base)
			    ? edition_find(w->of, base->valuestring, w->benchmark, w->name)
			    : NULL;
	}
	return NULL;
}

static const struct edition_workload *edition_benchmark(const struct edition_workload *w)
{
	return edition_find(w->of, w->edition, w->benchmark, "");
}

const struct cJSON *edition_member(const struct edition_workload *w, const char *key)
{
	const cJSON *own = edition_own(w, key);
	const struct edition_workload *benchmark = own ? NULL : edition_benchmark(w);

	return benchmark ? edition_own(benchmark, key) : own;
}

void edition_names(const struct editions *e, const char *edition, const char *benchmark,
		   const char *names[EDITION_WORKLOADS_MAX])
{
	const struct edition_workload *w;
	unsigned n = 0;

	while (n + 1 < EDITION_WORKLOADS_MAX && (w = edition_workload(e, edition, benchmark, n)))
		names[n++] = w->name;
	names[n] = NULL;
}

void edition_accelerators(const struct edition_workload *w,
			  const char *names[EDITION_WORKLOADS_MAX])
{
	const cJSON *one;
	unsigned n = 0;

	cJSON_ArrayForEach(one, edition_own(w, "accelerators"))
	{
		if (n + 1 < EDITION_WORKLOADS_MAX)
			names[n++] = one->string;
	}
	names[n] = NULL;
}

bool edition_is_whatif(const struct edition_workload *w, const char *accelerator)
{
	const cJSON *one;

	cJSON_ArrayForEach(one, edition_own(w, "whatif"))
	{
		if (accelerator && cJSON_IsString(one) &&
		    strcmp(one->valuestring, accelerator) == 0)
			return true;
	}
	return false;
}

void edition_set(struct cJSON *tree, const char *path, struct cJSON *value)
{
	size_t n = strcspn(path, ".");
	char part[PART_BYTES];
	cJSON *below;

	snprintf(part, sizeof(part), "%.*s", (int)n, path);
	if (path[n]) {
		below = cJSON_GetObjectItemCaseSensitive(tree, part);
		below = below ? below : cJSON_AddObjectToObject(tree, part);
		edition_set(below, path + n + 1, value);
		return;
	}
	cJSON_DeleteItemFromObjectCaseSensitive(tree, part);
	cJSON_AddItemToObject(tree, part, value);
}

static void edition_change(cJSON *tree, const cJSON *changes)
{
	const cJSON *one;

	cJSON_ArrayForEach(one, changes)
	{
		edition_set(tree, one->string, cJSON_Duplicate(one, true));
	}
}

struct cJSON *edition_parameters(const struct edition_workload *w, const char *accelerator,
				 bool generates)
{
	cJSON *tree = cJSON_Duplicate(edition_own(w, "parameters"), true);
	const cJSON *on = accelerator ? cJSON_GetObjectItemCaseSensitive(
						edition_own(w, "accelerators"), accelerator)
				      : NULL;

	edition_change(tree, cJSON_GetObjectItemCaseSensitive(on, "changes"));
	if (generates && edition_benchmark(w)) {
		const struct edition_workload *all = edition_benchmark(w);
		const cJSON *without;

		cJSON_ArrayForEach(without, edition_own(all, "generation_without"))
		{
			cJSON_DeleteItemFromObjectCaseSensitive(tree, without->valuestring);
		}
		edition_change(tree, edition_own(all, "generation"));
		edition_change(tree, edition_own(w, "generation"));
	}
	return tree;
}

struct cJSON *edition_list(const struct edition_workload *w, const char *list)
{
	const struct edition_workload *benchmark = edition_benchmark(w);
	const cJSON *all = benchmark ? edition_own(benchmark, list) : NULL, *one;
	const cJSON *own = *w->name ? edition_own(w, list) : NULL;
	cJSON *to = all ? cJSON_Duplicate(all, true) : cJSON_CreateObject();

	cJSON_ArrayForEach(one, own)
	{
		cJSON_DeleteItemFromObjectCaseSensitive(to, one->string);
		cJSON_AddItemToObject(to, one->string, cJSON_Duplicate(one, true));
	}
	return to;
}

static bool edition_has_class(const cJSON *of, const char *hash)
{
	return strcmp(json_text_at(of, "class", ""), hash) == 0;
}

/* A workload has the class. An edition that takes no submission of it has no results, either. */
static void edition_say(char of[CLASS_SAID_BYTES], char in[CLASS_SAID_BYTES],
			const struct edition_workload *w, const char *accelerator,
			const char *before)
{
	size_t n = strlen(in);

	if (!*of)
		snprintf(of, CLASS_SAID_BYTES, "%s%s%s%s", before, w->name,
			 accelerator ? " on " : "", accelerator ? accelerator : "");
	if (!edition_is_whatif(w, accelerator))
		snprintf(in + n, CLASS_SAID_BYTES - n, "%s%s", n ? ", " : "", w->edition);
}

void edition_of_class(const struct editions *e, const char *hash, char of[CLASS_SAID_BYTES],
		      char in[CLASS_SAID_BYTES])
{
	const cJSON *one;

	of[0] = in[0] = '\0';
	for (unsigned i = 0; *hash && i < e->count; i++) {
		const struct edition_workload *w = &e->workloads[i];

		cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(w->file, "classes"))
		{
			if (!edition_has_class(one, hash))
				continue;
			snprintf(of, CLASS_SAID_BYTES, "%s", json_text_at(one, "of", ""));
			snprintf(in, CLASS_SAID_BYTES, "%s", json_text_at(one, "editions", ""));
		}
		if (!*w->name)
			continue;
		cJSON_ArrayForEach(one, edition_own(w, "accelerators"))
		{
			if (edition_has_class(one, hash))
				edition_say(of, in, w, one->string, "");
		}
		if (strcmp(json_text_at(edition_own(w, "class"), "", ""), hash) == 0)
			edition_say(of, in, w, NULL, "");
		if (edition_has_class(cJSON_GetObjectItemCaseSensitive(w->file, "subset"), hash))
			edition_say(of, in, w, NULL, "a subset of ");
	}
}
