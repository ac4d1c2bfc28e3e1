/* What is in effect: see describe.h. */
#include "backends/dfs/describe.h"

#include <stdio.h>
#include <string.h>

#include "backends/dfs/client.h"
#include "core/units.h"

static void describe_add(struct store_facts *facts, const char *text)
{
	size_t n = strlen(facts->layout);

	snprintf(facts->layout + n, sizeof(facts->layout) - n, "%s%s", n ? "; " : "", text);
}

/* Servers of DAOS are engines, of which a machine may have several. */
static void describe_pool(const struct dfs_store *s, struct store_facts *facts)
{
	const struct dfs_library *l = &s->library;
	struct dfs_pool_info info = {.wanted = 0};
	char engines[UNITS_COUNTED_BYTES], targets[UNITS_COUNTED_BYTES], text[128], lost[48] = "";
	struct dfs_handle pool;

	if (!l->daos_pool_query || !l->dfs_pool_get || !l->dfs_pool_put ||
	    l->dfs_pool_get(s->mount, &pool))
		return;
	if (l->daos_pool_query(pool, NULL, &info, NULL, NULL) == 0) {
		if (info.disabled_targets)
			snprintf(lost, sizeof(lost), ", %u of them out of service",
				 info.disabled_targets);
		snprintf(text, sizeof(text), "%s with %s%s",
			 units_counted(engines, info.engines, "engine"),
			 units_counted(targets, info.targets, "target"), lost);
		describe_add(facts, text);
	}
	l->dfs_pool_put(s->mount, pool);
}

/* The name of a class tells how often data are there: S1, RP_2GX, EC_16P2GX. */
static void describe_redundancy(const char *class, char text[64])
{
	unsigned data, more;

	text[0] = '\0';
	if (sscanf(class, "RP_%uG", &more) == 1)
		snprintf(text, 64, ", %u copies", more);
	else if (sscanf(class, "EC_%uP%uG", &data, &more) == 2)
		snprintf(text, 64, ", %u parities for %u parts", more, data);
	else if (class[0] == 'S')
		snprintf(text, 64, ", no redundancy");
}

/* The class and the chunks of a folder's new files. */
static void describe_layout(struct dfs_store *s, uint64_t asked, struct store_facts *facts)
{
	char class[DFS_CLASS_NAME_BYTES] = "", chunk[UNITS_TEXT_BYTES], redundancy[64], text[224];
	struct dfs_object_info info = {0};
	struct dfs_kept *folder;
	uint32_t id;

	/* A path that is not there yet will be made below the container's root. */
	if (dfs_folder_take(&s->folders, s->base[0] ? s->base : "/", false, &folder) &&
	    dfs_folder_take(&s->folders, "/", false, &folder))
		return;
	if (s->library.dfs_obj_get_info(s->mount, folder->object, &info) == 0) {
		id = s->object_class ? s->object_class : info.file_class;
		if (id)
			s->library.daos_oclass_id2name(id, class);
		describe_redundancy(class, redundancy);
		snprintf(text, sizeof(text), "new files: class %s%s, chunks of %s",
			 class[0] ? class : "unknown", redundancy,
			 units_bytes_binary(chunk, (double)(asked ? asked : info.chunk_bytes)));
		describe_add(facts, text);
	}
	dfs_folder_drop(&s->folders, folder);
}

void dfs_describe(const struct store *store, struct store_facts *facts)
{
	struct dfs_store *s = dfs_store_of(store);

	snprintf(facts->engine, sizeof(facts->engine), "libdfs %d.%d.%d", s->library.major,
		 s->library.minor, s->library.fix);
	snprintf(facts->file_system, sizeof(facts->file_system), "DAOS");
	snprintf(facts->client, sizeof(facts->client), "%s",
		 dfs_client_names[dfs_options_of(store)->client]);
	describe_pool(s, facts);
	describe_layout(s, dfs_options_of(store)->chunk_bytes, facts);
}
