/* SPDX-License-Identifier: Apache-2.0 */
/* Connection of all ranks: see connection.h. */
#include "backends/dfs/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/dfs/aside.h"
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

/* A call of the library that may never return, for a rank: connecting, or taking a connection
 * over. */
struct connection_call {
	struct dfs_store *s;
	char uri[URI_BYTES], system[64], pool[URI_BYTES], container[URI_BYTES];
	bool shares;           /* others will take the connection over */
	struct dfs_iov packed; /* the connection as bytes that other processes understand */
	int rc;
	struct err err;
};

static int connection_flags(const struct dfs_store *s)
{
	return s->read_only ? O_RDONLY : O_RDWR;
}

/* libdfs says the same of a pool and of a container that are not there. */
static int connection_missing(struct connection_call *c)
{
	const struct dfs_library *l = &c->s->library;
	struct dfs_handle pool;
	int code = l->daos_pool_connect2 && l->daos_pool_disconnect
			   ? l->daos_pool_connect2(c->pool, c->system[0] ? c->system : NULL,
						   DFS_POOL_READ, &pool, NULL, NULL)
			   : 1;

	if (code == 0) {
		l->daos_pool_disconnect(pool, NULL);
		return err_set(
			&c->err, -ENOENT,
			"%s: the pool \"%s\" has no container \"%s\" (daos container list %s)",
			c->uri, c->pool, c->container, c->pool);
	}
	if (dfs_code_errno(code) == -ENOENT)
		return err_set(&c->err, -ENOENT, "%s: there is no pool \"%s\" (daos pool list)",
			       c->uri, c->pool);
	return err_set(
		&c->err, -ENOENT,
		"%s: there is no pool \"%s\", or it has no container \"%s\" (daos pool list, daos "
		"container list %s)",
		c->uri, c->pool, c->container, c->pool);
}

static int connection_pack(struct connection_call *c)
{
	const struct dfs_library *l = &c->s->library;
	int rc = l->dfs_local2global_all(c->s->mount, &c->packed);

	if (rc == 0) {
		c->packed.data = calloc(1, c->packed.capacity);
		c->packed.length = c->packed.capacity;
		rc = c->packed.data ? l->dfs_local2global_all(c->s->mount, &c->packed) : ENOMEM;
	}
	return rc ? dfs_code_blame(dfs_code_errno(rc), DFS_SHARES, c->uri, &c->err) : 0;
}

static void connection_connect(void *from)
{
	struct connection_call *c = from;

	c->rc = dfs_code_errno(c->s->library.dfs_connect(c->pool, c->system[0] ? c->system : NULL,
							 c->container, connection_flags(c->s), NULL,
							 &c->s->mount));
	if (c->rc == -ENOENT)
		connection_missing(c);
	else if (c->rc < 0)
		dfs_code_blame(c->rc, DFS_CONNECTS, c->uri, &c->err);
	else if (c->shares)
		c->rc = connection_pack(c);
}

static void connection_unpack(void *from)
{
	struct connection_call *c = from;

	c->rc = dfs_code_errno(c->s->library.dfs_global2local_all(connection_flags(c->s), c->packed,
								  &c->s->mount));
	if (c->rc < 0)
		dfs_code_blame(c->rc, DFS_SHARES, c->uri, &c->err);
}

static void connection_drop(void *from)
{
	struct connection_call *c = from;

	free(c->packed.data);
	free(c);
}

/* packed: in, for unpack; out, where others will take the connection over. */
static int connection_call(const struct store *store, struct dfs_store *s, void (*call)(void *),
			   bool shares, struct dfs_iov *packed, struct err *err)
{
	struct dfs_patience patience = {.stop = store->stop, .limit_ns = store->patience_ns};
	struct connection_call *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return err_set(err, -ENOMEM, "no memory for %s", store->uri);
	*c = (struct connection_call){.s = s, .shares = shares, .packed = *packed};
	*packed = (struct dfs_iov){0};
	strcpy(c->uri, store->uri);
	snprintf(c->system, sizeof(c->system), "%s", dfs_options_of(store)->system);
	connection_names(store->root, c->pool, c->container);
	if (!dfs_aside_do(&patience, call, connection_drop, c)) {
		atomic_store(&s->left, true);
		return err_set(
			err, dfs_patience_error(&patience),
			"%s: DAOS had not answered when nobody would wait any longer (dmg system query)",
			store->uri);
	}
	rc = c->rc;
	if (rc < 0)
		*err = c->err;
	if (shares)
		*packed = c->packed;
	else
		free(c->packed.data);
	free(c);
	return rc;
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
	struct dfs_iov packed = {0}, none = {0};
	bool first = store->all->rank == 0;

	if (first && rc == 0)
		rc = connection_call(store, s, connection_connect, true, &packed, err);
	connection_tell(store, &packed, rc, err, &news);
	if (!first && rc == 0)
		rc = connection_make_room(&news, &packed, err);
	rc = group_agree(store->all, rc, err);
	if (rc == 0)
		rc = group_broadcast(store->all, packed.data, packed.length);
	if (rc == 0 && !first)
		rc = strcmp(news.root, store->root) == 0
			     ? connection_call(store, s, connection_unpack, false, &packed, err)
			     : connection_call(store, s, connection_connect, false, &none, err);
	free(packed.data);
	return rc;
}

int dfs_connection_open(const struct store *store, struct dfs_store *s, int rc, struct err *err)
{
	struct dfs_iov none = {0};

	if (store->all && store->all->size > 1)
		return connection_share(store, s, rc, err);
	return rc < 0 ? rc : connection_call(store, s, connection_connect, false, &none, err);
}
