/* SPDX-License-Identifier: Apache-2.0 */
/* The way to the storage: see way.h. */
#include "report/way.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "report/phase.h"

static const char *way_text(const cJSON *object, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsString(value) && value->valuestring[0] ? value->valuestring : NULL;
}

/* The name of the phase's store: its own, else that of the data set; NULL: not told. */
static const char *way_store(const cJSON *job, const struct phase_record *r)
{
	const char *named = way_text(phase_options(job, r), "store");

	return named ? named : way_text(cJSON_GetObjectItemCaseSensitive(job, "dataset"), "store");
}

static const char *way_of_files(const struct store_facts *s)
{
	static const char *const libraries[] = {"pil4dfs", "ioil"};

	for (int i = 0; i < 2; i++)
		if (strstr(s->engine, libraries[i]))
			return libraries[i];
	return strcmp(s->file_system, "fuse.daos") == 0 ? "dfuse"
	       : s->file_system[0]                      ? s->file_system
							: "file";
}

static void way_of_store(const struct store_facts *s, char way[WAY_BYTES])
{
	size_t scheme = strcspn(s->uri, ":");
	bool files = strncmp(s->uri, "file:", 5) == 0 || strncmp(s->uri, "direct:", 7) == 0;

	if (files)
		snprintf(way, WAY_BYTES, "%s%s", way_of_files(s), s->direct ? " direct" : "");
	else if (strncmp(s->uri, "daos:", 5) == 0)
		snprintf(way, WAY_BYTES, "dfs");
	else
		snprintf(way, WAY_BYTES, "%.*s", (int)scheme, s->uri);
}

void way_of(const struct results_file *f, const struct phase_record *r, char way[WAY_BYTES])
{
	cJSON *job = f->job_text ? cJSON_Parse(f->job_text) : NULL;
	const char *called = way_text(job, "way"), *store = way_store(job, r);
	static const char simulated[] = RESULTS_SIMULATED " ";

	way[0] = '\0';
	for (uint64_t i = 0; !called && i < f->store_count; i++)
		if (!store || strcmp(f->stores[i].name, store) == 0) {
			way_of_store(&f->stores[i], way);
			break;
		}
	if (called)
		snprintf(way, WAY_BYTES, "%s", called);
	cJSON_Delete(job);
	/* No curve of a simulation passes for one that was measured. */
	if (f->simulated) {
		memmove(way + sizeof(simulated) - 1, way, WAY_BYTES - sizeof(simulated) + 1);
		memcpy(way, simulated, sizeof(simulated) - 1);
		way[WAY_BYTES - 1] = '\0';
	}
}
