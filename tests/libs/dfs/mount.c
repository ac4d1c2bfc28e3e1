/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of the test library: starting, mounting, and handing a mount to other processes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/libs/dfs/test_dfs.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int users;
/* The tables of open pools and containers, which dfs_fini drops before it fails. */
static int *tables, table;

/* A variant of the library is like DAOS before 2.6.5, which cannot be asked. */
#ifndef TEST_DFS_WITHOUT_VERSION
int daos_version_get(int *major, int *minor, int *fix)
{
	const char *text = getenv("HAUL_DFS_VERSION");

	*major = 2;
	*minor = 8;
	*fix = 0;
	return text && sscanf(text, "%d.%d.%d", major, minor, fix) != 3 ? -1003 : 0;
}
#endif

int dfs_init(void)
{
	int rc = 0;

	pthread_mutex_lock(&lock);
	if (users == 0) {
		test_settings_begin();
		rc = test_agent() ? test_blocking(TEST_init) : EIO;
		if (rc == 0) {
			tables = &table;
			test_log("init");
		}
	}
	users += rc == 0;
	pthread_mutex_unlock(&lock);
	return rc;
}

int dfs_fini(void)
{
	int rc = 0;

	pthread_mutex_lock(&lock);
	if (users == 0)
		rc = EINVAL;
	else if (users > 1)
		users--;
	else {
		tables = NULL;
		rc = test_agent() ? test_blocking(TEST_fini) : EIO;
		test_check_closed();
		test_log("fini %d", rc);
		users -= rc == 0;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

static int mount_open(const char *pool, const char *container, int flags, struct dfs_mount **mount)
{
	struct dfs_mount *m;
	bool started;
	int rc;

	pthread_mutex_lock(&lock);
	started = users > 0;
	/* As in DAOS, which does not look whether it has them. */
	if (started)
		*(volatile int *)tables += 1;
	pthread_mutex_unlock(&lock);
	if (!started)
		return EACCES;
	m = calloc(1, sizeof(*m));
	if (!m)
		return ENOMEM;
	m->flags = flags;
	snprintf(m->pool, sizeof(m->pool), "%s", pool);
	snprintf(m->container, sizeof(m->container), "%s", container);
	snprintf(m->root, sizeof(m->root), "%s/%s/%s", test_root(), m->pool, m->container);
	m->fd = open(m->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (m->fd < 0) {
		rc = errno;
		free(m);
		return rc;
	}
	test_opened(TEST_MOUNTS, 1);
	*mount = m;
	return 0;
}

int dfs_connect(const char *pool, const char *system, const char *container, int flags,
		void *attributes, struct dfs_mount **mount)
{
	int rc = test_blocking(TEST_connect);

	(void)system;
	(void)attributes;
	if (rc == 0 && test_read_only() && (flags & O_ACCMODE) != O_RDONLY)
		rc = EPERM;
	if (rc == 0 && !test_posix())
		rc = EINVAL;
	if (rc == 0)
		rc = mount_open(pool, container, flags, mount);
	if (rc == 0)
		test_log("connect %s/%s %s", pool, container,
			 (flags & O_ACCMODE) == O_RDONLY ? "r" : "rw");
	return rc;
}

/* What tells that a pool is there. */
int daos_pool_connect2(const char *pool, const char *system, unsigned int flags,
		       struct dfs_handle *handle, struct dfs_pool_info *info,
		       struct dfs_event *event)
{
	char path[3072];
	int code = test_fault(TEST_pool);

	(void)system;
	if (flags != DFS_POOL_READ || info || event)
		return -1003;
	snprintf(path, sizeof(path), "%s/%s", test_root(), pool);
	test_hang();
	if (code == 0 && access(path, F_OK) < 0)
		code = -1005;
	handle->cookie = 1;
	if (code == 0)
		test_opened(TEST_POOLS, 1);
	return code;
}

int daos_pool_disconnect(struct dfs_handle pool, struct dfs_event *event)
{
	if (pool.cookie != 1 || event)
		return -1003;
	test_opened(TEST_POOLS, -1);
	return 0;
}

int dfs_disconnect(struct dfs_mount *mount)
{
	test_hang();
	test_agent_ends();
	close(mount->fd);
	free(mount);
	test_opened(TEST_MOUNTS, -1);
	return 0;
}

int dfs_pool_get(struct dfs_mount *mount, struct dfs_handle *pool)
{
	pool->cookie = (uintptr_t)mount;
	test_opened(TEST_POOLS, 1);
	return 0;
}

int dfs_pool_put(struct dfs_mount *mount, struct dfs_handle pool)
{
	if (pool.cookie != (uintptr_t)mount)
		return EINVAL;
	test_opened(TEST_POOLS, -1);
	return 0;
}

int daos_pool_query(struct dfs_handle pool, void **ranks, struct dfs_pool_info *info,
		    void *properties, struct dfs_event *event)
{
	int code = test_fault(TEST_query);

	test_hang();
	if (!pool.cookie || ranks || properties || event || (info->wanted & ~DFS_POOL_SPACE))
		return -1003;
	info->engines = 4;
	info->targets = test_targets();
	if (info->wanted & DFS_POOL_SPACE) {
		info->total[0] = info->total[1] = 1ull << 42;
		info->free[0] = test_space() / 2;
		info->free[1] = test_space() - info->free[0];
	}
	info->disabled_targets = 3;
	return code;
}

/* A mount as bytes: the flags, then "pool/container". */
int dfs_local2global_all(struct dfs_mount *mount, struct dfs_iov *global)
{
	char text[600];
	size_t n = (size_t)snprintf(text, sizeof(text), "%d %s %s", mount->flags, mount->pool,
				    mount->container) +
		   1;

	if (!global->data) {
		global->capacity = n;
		return 0;
	}
	if (global->capacity < n)
		return ENOBUFS;
	memcpy(global->data, text, n);
	global->length = n;
	return 0;
}

int dfs_global2local_all(int flags, struct dfs_iov global, struct dfs_mount **mount)
{
	char pool[256], container[256];
	int was, rc = test_blocking(TEST_global);

	if (rc)
		return rc;
	if (!global.data || global.capacity < global.length)
		return EINVAL;
	if (sscanf(global.data, "%d %255s %255s", &was, pool, container) != 3)
		return EINVAL;
	rc = mount_open(pool, container, flags ? flags : was, mount);
	if (rc == 0)
		test_log("global %s/%s", pool, container);
	return rc;
}
