/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that are kept open, folders among them: see dfs.h. */
#include "backends/dfs/dfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/store.h"

int dfs_cache_open(struct dfs_cache *c, uint32_t capacity, const struct dfs_library *library)
{
	*c = (struct dfs_cache){.library = library, .capacity = capacity};
	if (!capacity)
		return 0;
	c->places = calloc(capacity, sizeof(*c->places));
	if (!c->places)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	return 0;
}

static void kept_free(struct dfs_cache *c, struct dfs_kept *kept)
{
	c->library->dfs_release(kept->object);
	free(kept->name);
	free(kept);
}

void dfs_cache_close(struct dfs_cache *c)
{
	if (!c->places)
		return;
	for (uint32_t i = 0; i < c->capacity; i++)
		if (c->places[i])
			kept_free(c, c->places[i]);
	free(c->places);
	c->places = NULL;
	pthread_mutex_destroy(&c->lock);
}

/* Under the lock. */
static struct dfs_kept *cache_look(struct dfs_cache *c, const char *name, uint64_t hash)
{
	struct dfs_kept *kept = c->places[hash % c->capacity];

	return kept && kept->hash == hash && strcmp(kept->name, name) == 0 ? kept : NULL;
}

/* Under the lock, which it gives back. */
static struct dfs_kept *cache_use(struct dfs_cache *c, const char *name, uint64_t hash, bool sized)
{
	struct dfs_kept *kept = cache_look(c, name, hash);

	if (kept && sized && !kept->bytes)
		kept = NULL;
	if (kept)
		kept->users++;
	pthread_mutex_unlock(&c->lock);
	return kept;
}

struct dfs_kept *dfs_cache_find(struct dfs_cache *c, const char *name)
{
	uint64_t hash = text_hash(name);

	pthread_mutex_lock(&c->lock);
	return cache_use(c, name, hash, false);
}

struct dfs_kept *dfs_cache_try_find(struct dfs_cache *c, const char *name, bool sized)
{
	uint64_t hash = text_hash(name);

	return pthread_mutex_trylock(&c->lock) == 0 ? cache_use(c, name, hash, sized) : NULL;
}

struct dfs_kept *dfs_cache_add(struct dfs_cache *c, const char *name, struct dfs_object *object,
			       uint64_t bytes)
{
	struct dfs_kept *kept = calloc(1, sizeof(*kept)), **place, *old;

	if (kept)
		kept->name = strdup(name);
	if (!kept || !kept->name) {
		free(kept);
		return NULL;
	}
	kept->object = object;
	kept->hash = text_hash(name);
	kept->bytes = bytes;
	kept->users = 1;
	place = &c->places[kept->hash % c->capacity];
	pthread_mutex_lock(&c->lock);
	old = *place;
	if (!old || !old->users) {
		*place = kept;
		kept->kept = true;
	} else {
		old = NULL;
	}
	pthread_mutex_unlock(&c->lock);
	if (old)
		kept_free(c, old);
	return kept;
}

/* Under the lock, which it gives back. */
static void cache_leave(struct dfs_cache *c, struct dfs_kept *kept)
{
	bool last = --kept->users == 0 && !kept->kept;

	pthread_mutex_unlock(&c->lock);
	if (last)
		kept_free(c, kept);
}

void dfs_cache_drop(struct dfs_cache *c, struct dfs_kept *kept)
{
	pthread_mutex_lock(&c->lock);
	cache_leave(c, kept);
}

bool dfs_cache_try_drop(struct dfs_cache *c, struct dfs_kept *kept)
{
	if (pthread_mutex_trylock(&c->lock))
		return false;
	cache_leave(c, kept);
	return true;
}

void dfs_cache_forget(struct dfs_cache *c, const char *name)
{
	uint64_t hash = text_hash(name);
	struct dfs_kept *kept;

	pthread_mutex_lock(&c->lock);
	kept = cache_look(c, name, hash);
	if (kept) {
		c->places[hash % c->capacity] = NULL;
		kept->kept = false;
		kept = kept->users ? NULL : kept;
	}
	pthread_mutex_unlock(&c->lock);
	if (kept)
		kept_free(c, kept);
}

enum { FOLDER_MODE = 0777 };

int dfs_folders_open(struct dfs_folders *f, uint32_t capacity, const struct dfs_library *library,
		     struct dfs_mount *mount, bool read_only, uint32_t folder_class)
{
	f->mount = mount;
	f->read_only = read_only;
	f->folder_class = folder_class;
	return dfs_cache_open(&f->cache, capacity, library);
}

void dfs_folders_close(struct dfs_folders *f)
{
	dfs_cache_close(&f->cache);
}

/* Makes every folder on the way to path. Another rank may be making the same ones. path is changed
 * and restored. */
static int folder_make(struct dfs_folders *f, char *path)
{
	const struct dfs_library *l = f->cache.library;
	struct dfs_object *above = NULL, *next;
	char *name = path + 1, *slash;
	int rc = 0;

	while (rc == 0 && *name) {
		slash = strchrnul(name, '/');
		char end = *slash;

		*slash = '\0';
		rc = l->dfs_mkdir(f->mount, above, name, S_IFDIR | FOLDER_MODE, f->folder_class);
		rc = rc == EEXIST ? 0 : rc;
		next = NULL;
		if (rc == 0)
			rc = l->dfs_lookup(f->mount, path, O_RDWR, &next, NULL, NULL);
		if (above)
			l->dfs_release(above);
		above = next;
		*slash = end;
		name = end ? slash + 1 : slash;
	}
	if (above)
		l->dfs_release(above);
	return rc;
}

static int folder_look_up(struct dfs_folders *f, const char *path, bool make,
			  struct dfs_object **object)
{
	const struct dfs_library *l = f->cache.library;
	char parts[DFS_PATH_BYTES];
	int rc, flags = f->read_only ? O_RDONLY : O_RDWR;
	mode_t mode = 0;

	rc = l->dfs_lookup(f->mount, path, flags, object, &mode, NULL);
	if (rc == ENOENT && make) {
		snprintf(parts, sizeof(parts), "%s", path);
		rc = folder_make(f, parts);
		if (rc == 0)
			rc = l->dfs_lookup(f->mount, path, flags, object, &mode, NULL);
	}
	if (rc == 0 && !S_ISDIR(mode)) {
		l->dfs_release(*object);
		rc = ENOTDIR;
	}
	return rc;
}

int dfs_folder_take(struct dfs_folders *f, const char *path, bool make, struct dfs_kept **folder)
{
	struct dfs_object *object;
	int rc;

	*folder = dfs_cache_find(&f->cache, path);
	if (*folder)
		return 0;
	rc = folder_look_up(f, path, make, &object);
	if (rc)
		return rc;
	*folder = dfs_cache_add(&f->cache, path, object, 0);
	if (*folder)
		return 0;
	f->cache.library->dfs_release(object);
	return ENOMEM;
}

void dfs_folder_drop(struct dfs_folders *f, struct dfs_kept *folder)
{
	dfs_cache_drop(&f->cache, folder);
}

void dfs_folder_forget(struct dfs_folders *f, const char *path)
{
	dfs_cache_forget(&f->cache, path);
}
