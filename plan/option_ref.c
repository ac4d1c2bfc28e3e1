/* SPDX-License-Identifier: Apache-2.0 */
/* Look-up of an option's value by name: see option_ref.h. */
#include "plan/option_ref.h"

#include <stdio.h>
#include <string.h>

static bool look_in(const struct option *table, const void *base, const char *path,
		    const char *name, enum option_kind kind, struct option_ref *found)
{
	char nested[sizeof(found->path)];
	const struct option *o;

	for (o = table; o && o->name; o++) {
		const void *member = (const char *)base + o->offset;

		snprintf(nested, sizeof(nested), "%s/%s", path, o->name);
		if (o->kind == kind && strcmp(o->name, name) == 0) {
			found->option = o;
			found->value = member;
			memcpy(found->path, nested, sizeof(nested));
			return true;
		}
		if (o->kind == OPTION_TABLE && look_in(o->table, member, nested, name, kind, found))
			return true;
	}
	return false;
}

bool option_find(const struct section *section, const void *base, const char *path,
		 const char *name, enum option_kind kind, struct option_ref *found)
{
	unsigned i;

	for (i = 0; i < SECTION_TABLES && section->tables[i]; i++)
		if (look_in(section->tables[i], base, path, name, kind, found))
			return true;
	return false;
}

const struct job_store *look_store(const struct job *job, const struct dataset_options *dataset)
{
	if (dataset->store[0])
		return job_find_store(job, dataset->store);
	return job->store_count == 1 ? &job->stores[0] : NULL;
}

const struct texts *store_interfaces(const struct job_store *store)
{
	const struct texts *names;
	struct option_ref ref;

	if (!option_find(store->section, store->options, "", "interface", OPTION_TEXTS, &ref))
		return NULL;
	names = ref.value;
	return names->count && names->items[0][0] ? names : NULL;
}
