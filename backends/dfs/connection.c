/* Connection of all ranks: see connection.h. */
#include "backends/dfs/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/dfs/code.h"

/* What the rank that connects tells the others first; the bytes that it counts follow. */
struct connection_news {
	int32_t rc;
	uint64_t bytes;
	char root[URI_BYTES];
	struct err err;
};

/* Divides "pool/container/path" at its slashes. */
static void connection_names(const char *root, char pool[URI_BYTES], char container[URI_BYTES])
{
	size_t n = strcspn(root, "/");

	snprintf(pool, URI_BYTES, "%.*s", (int)n, root);
	root += n + (root[n] == '/');
	snprintf(container, URI_BYTES, "%.*s", (int)strcspn(root, "/"), root);
}

static int connection_connect(const struct store *store, struct dfs_store *s, struct err *err)
{
	const char *system = dfs_options_of(store)->system;
	char pool[URI_BYTES], container[URI_BYTES];
	int rc;

	connection_names(store->root, pool, container);
	rc = s->library.dfs_connect(pool, system[0] ? system : NULL, container, O_RDWR, NULL,
				    &s->mount);
	if (rc == 0)
		return 0;
	rc = dfs_code_errno(rc);
	if (rc == -ENOENT)
		return err_set(err, rc,
			       "%s: there is no pool \"%s\", or it has no container \"%s\" (daos "
			       "pool list, daos container list %s)",
			       store->uri, pool, container, pool);
	return err_set(err, rc, "%s: connecting to the container: %s", store->uri,
		       dfs_code_text(rc));
}

/* The mount as bytes that other processes understand. */
static int connection_pack(struct dfs_store *s, const struct store *store, struct dfs_iov *packed,
			   struct err *err)
{
	int rc = s->library.dfs_local2global_all(s->mount, packed);

	if (rc == 0) {
		packed->data = calloc(1, packed->capacity);
		packed->length = packed->capacity;
		rc = packed->data ? s->library.dfs_local2global_all(s->mount, packed) : ENOMEM;
	}
	if (rc == 0)
		return 0;
	rc = dfs_code_errno(rc);
	return err_set(err, rc, "%s: sharing the connection with other ranks: %s", store->uri,
		       dfs_code_text(rc));
}

static int connection_unpack(struct dfs_store *s, const struct store *store, struct dfs_iov packed,
			     struct err *err)
{
	int rc = dfs_code_errno(s->library.dfs_global2local_all(O_RDWR, packed, &s->mount));

	if (rc == 0)
		return 0;
	return err_set(err, rc, "%s: taking over the connection of rank 0: %s", store->uri,
		       dfs_code_text(rc));
}

/* What rank 0 has to say: to all ranks in the same order, whatever became of it. */
static void connection_tell(const struct store *store, const struct dfs_iov *packed, int rc,
			    const struct err *err, struct connection_news *news)
{
	if (store->all->rank == 0) {
		news->rc = rc;
		news->bytes = packed->length;
		strcpy(news->root, store->root);
		news->err = *err;
	}
	group_broadcast(store->all, news, sizeof(*news));
}

/* The other ranks: room for what rank 0 will send. */
static int connection_make_room(const struct connection_news *news, struct dfs_iov *packed,
				struct err *err)
{
	if (news->rc < 0) {
		*err = news->err;
		return news->rc;
	}
	packed->data = calloc(1, news->bytes);
	packed->capacity = packed->length = news->bytes;
	return packed->data ? 0 : err_set(err, -ENOMEM, "no memory for %zu bytes", packed->length);
}

static int connection_share(const struct store *store, struct dfs_store *s, int rc, struct err *err)
{
	struct connection_news news = {0};
	struct dfs_iov packed = {0};
	bool first = store->all->rank == 0;

	if (first && rc == 0)
		rc = connection_connect(store, s, err);
	if (first && rc == 0)
		rc = connection_pack(s, store, &packed, err);
	connection_tell(store, &packed, rc, err, &news);
	if (!first && rc == 0)
		rc = connection_make_room(&news, &packed, err);
	rc = group_agree(store->all, rc, err);
	if (rc == 0)
		rc = group_broadcast(store->all, packed.data, packed.length);
	if (rc == 0 && !first)
		rc = strcmp(news.root, store->root) == 0 ? connection_unpack(s, store, packed, err)
							 : connection_connect(store, s, err);
	free(packed.data);
	return rc;
}

int dfs_connection_open(const struct store *store, struct dfs_store *s, int rc, struct err *err)
{
	if (store->all && store->all->size > 1)
		return connection_share(store, s, rc, err);
	return rc < 0 ? rc : connection_connect(store, s, err);
}
