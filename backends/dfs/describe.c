/* SPDX-License-Identifier: Apache-2.0 */
/* What is in effect on an open store: see describe.h. Each call of the library may never return, so
 * all of them are made aside, into memory of their own. */
#include "backends/dfs/describe.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/dfs/aside.h"
#include "backends/dfs/code.h"
#include "backends/store.h"
#include "core/units.h"

/* Facts are worth no longer wait. */
#define DESCRIBE_NS UINT64_C(5000000000)

struct describe_call {
	struct dfs_store *s;
	char layout[sizeof(((struct store_facts *)NULL)->layout)];
	int rc;
	uint64_t free_bytes;
};

static void describe_add(struct describe_call *c, const char *text)
{
	size_t n = strlen(c->layout);

	snprintf(c->layout + n, sizeof(c->layout) - n, "%s%s", n ? "; " : "", text);
}

/* Asks the pool for what wanted says. Returns 0 or a negative errno. */
static int describe_query(const struct dfs_store *s, struct dfs_pool_info *info)
{
	const struct dfs_library *l = &s->library;
	struct dfs_handle pool;
	int rc;

	if (!l->daos_pool_query || !l->dfs_pool_get || !l->dfs_pool_put)
		return -ENOTSUP;
	rc = dfs_code_errno(l->dfs_pool_get(s->mount, &pool));
	if (rc < 0)
		return rc;
	rc = dfs_code_errno(l->daos_pool_query(pool, NULL, info, NULL, NULL));
	l->dfs_pool_put(s->mount, pool);
	return rc;
}

/* Servers of DAOS are engines, of which a machine may have several. */
static void describe_pool(struct describe_call *c)
{
	char engines[UNITS_COUNTED_BYTES], targets[UNITS_COUNTED_BYTES], text[128], lost[48] = "";
	struct dfs_pool_info info = {.wanted = 0};

	if (describe_query(c->s, &info) < 0)
		return;
	if (info.disabled_targets)
		snprintf(lost, sizeof(lost), ", %u of them out of service", info.disabled_targets);
	snprintf(text, sizeof(text), "%s with %s%s", units_counted(engines, info.engines, "engine"),
		 units_counted(targets, info.targets, "target"), lost);
	describe_add(c, text);
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
static void describe_layout(struct describe_call *c)
{
	char class[DFS_CLASS_NAME_BYTES] = "", chunk[UNITS_TEXT_BYTES], redundancy[64], text[224];
	struct dfs_object_info info = {0};
	struct dfs_store *s = c->s;
	struct dfs_kept *folder;
	uint32_t id;

	/* A path that is not there yet will be made below the container's root. */
	if (dfs_folder_take(&s->folders, s->base[0] ? s->base : "/", false, &folder) &&
	    dfs_folder_take(&s->folders, "/", false, &folder))
		return;
	if (s->library.dfs_obj_get_info(s->mount, folder->object, &info) == 0) {
		id = s->object_class   ? s->object_class
		     : info.file_class ? info.file_class
				       : info.object_class;
		if (id)
			s->library.daos_oclass_id2name(id, class);
		describe_redundancy(class, redundancy);
		snprintf(text, sizeof(text), "new files: class %s%s, chunks of %s",
			 class[0] ? class : "unknown", redundancy,
			 units_bytes_binary(chunk, (double)(s->chunk_bytes ? s->chunk_bytes
									   : info.chunk_bytes)));
		describe_add(c, text);
	}
	dfs_folder_drop(&s->folders, folder);
}

static void describe_work(void *from)
{
	describe_pool(from);
	describe_layout(from);
}

static void describe_space(void *from)
{
	struct dfs_pool_info info = {.wanted = DFS_POOL_SPACE};
	struct describe_call *c = from;

	c->rc = describe_query(c->s, &info);
	c->free_bytes = info.free[0] + info.free[1];
}

/* False: DAOS does not answer. */
static bool describe_do(const struct store *store, void (*work)(void *),
			struct describe_call **call)
{
	struct dfs_patience patience = {.stop = store->stop, .limit_ns = DESCRIBE_NS};
	struct dfs_store *s = dfs_store_of(store);

	*call = calloc(1, sizeof(**call));
	if (!*call || atomic_load(&s->left)) {
		free(*call);
		return false;
	}
	(*call)->s = s;
	if (dfs_aside_do(&patience, work, free, *call))
		return true;
	atomic_store(&s->left, true);
	return false;
}

void dfs_describe(const struct store *store, struct store_facts *facts)
{
	const struct dfs_library *l = &dfs_store_of(store)->library;
	struct describe_call *c;

	/* The product has another version than its interface: DAOS 2.4 has interface 2.7. */
	if (l->product[0])
		snprintf(facts->engine, sizeof(facts->engine), "libdfs %.8s, API %d.%d", l->product,
			 l->major, l->minor);
	else
		snprintf(facts->engine, sizeof(facts->engine), "libdfs, API %d.%d.%d", l->major,
			 l->minor, l->fix);
	snprintf(facts->file_system, sizeof(facts->file_system), "DAOS");
	snprintf(facts->client, sizeof(facts->client), "%s",
		 dfs_client_names[dfs_options_of(store)->client]);
	if (!describe_do(store, describe_work, &c))
		return;
	memcpy(facts->layout, c->layout, sizeof(facts->layout));
	free(c);
}

int dfs_space(const struct store *store, struct store_space *out)
{
	struct describe_call *c;
	int rc;

	if (!describe_do(store, describe_space, &c))
		return -ETIMEDOUT;
	rc = c->rc;
	*out = (struct store_space){.free_bytes = c->free_bytes, .device = text_hash(store->root)};
	free(c);
	return rc;
}
