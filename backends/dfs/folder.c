/* Folders that are kept open: see folder.h. Each has one place, by its hash: one that comes later
 * takes the place of one that nobody uses. */
#include "backends/dfs/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "backends/store.h"

enum { FOLDER_MODE = 0777 };

int dfs_folders_open(struct dfs_folders *f, uint32_t capacity, const struct dfs_library *library,
		     struct dfs_mount *mount, uint32_t folder_class)
{
	*f = (struct dfs_folders){.library = library,
				  .mount = mount,
				  .folder_class = folder_class,
				  .capacity = capacity};
	f->places = calloc(capacity, sizeof(*f->places));
	if (!f->places)
		return -ENOMEM;
	pthread_mutex_init(&f->lock, NULL);
	return 0;
}

static void folder_free(struct dfs_folders *f, struct dfs_folder *folder)
{
	f->library->dfs_release(folder->object);
	free(folder->path);
	free(folder);
}

void dfs_folders_close(struct dfs_folders *f)
{
	if (!f->places)
		return;
	for (uint32_t i = 0; i < f->capacity; i++)
		if (f->places[i])
			folder_free(f, f->places[i]);
	free(f->places);
	f->places = NULL;
	pthread_mutex_destroy(&f->lock);
}

/* The folder in the cache, of which the caller is now a user, or NULL. */
static struct dfs_folder *folder_find(struct dfs_folders *f, const char *path, uint64_t hash)
{
	struct dfs_folder *folder;

	pthread_mutex_lock(&f->lock);
	folder = f->places[hash % f->capacity];
	if (folder && (folder->hash != hash || strcmp(folder->path, path) != 0))
		folder = NULL;
	if (folder)
		folder->users++;
	pthread_mutex_unlock(&f->lock);
	return folder;
}

/* Puts the folder into its place, unless one that is in use is there. Another thread may have
 * opened the same folder at the same time: then both are used. */
static void folder_keep(struct dfs_folders *f, struct dfs_folder *folder)
{
	struct dfs_folder **place = &f->places[folder->hash % f->capacity], *old;

	pthread_mutex_lock(&f->lock);
	old = *place;
	if (!old || !old->users) {
		*place = folder;
		folder->kept = true;
	} else {
		old = NULL;
	}
	pthread_mutex_unlock(&f->lock);
	if (old)
		folder_free(f, old);
}

/* Makes every folder on the way to path. Another rank may be making the same ones. path is changed
 * and restored. */
static int folder_make(struct dfs_folders *f, char *path)
{
	const struct dfs_library *l = f->library;
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
			  struct dfs_folder *folder)
{
	const struct dfs_library *l = f->library;
	mode_t mode = 0;
	int rc = l->dfs_lookup(f->mount, path, O_RDWR, &folder->object, &mode, NULL);

	if (rc == ENOENT && make) {
		rc = folder_make(f, folder->path);
		if (rc == 0)
			rc = l->dfs_lookup(f->mount, path, O_RDWR, &folder->object, &mode, NULL);
	}
	if (rc == 0 && !S_ISDIR(mode)) {
		l->dfs_release(folder->object);
		rc = ENOTDIR;
	}
	return rc;
}

int dfs_folder_take(struct dfs_folders *f, const char *path, bool make, struct dfs_folder **folder)
{
	uint64_t hash = text_hash(path);
	struct dfs_folder *found = folder_find(f, path, hash);
	int rc;

	*folder = found;
	if (found)
		return 0;
	found = calloc(1, sizeof(*found));
	if (!found)
		return ENOMEM;
	found->hash = hash;
	found->users = 1;
	found->path = strdup(path);
	rc = found->path ? folder_look_up(f, path, make, found) : ENOMEM;
	if (rc) {
		free(found->path);
		free(found);
		return rc;
	}
	folder_keep(f, found);
	*folder = found;
	return 0;
}

void dfs_folder_drop(struct dfs_folders *f, struct dfs_folder *folder)
{
	bool last;

	pthread_mutex_lock(&f->lock);
	last = --folder->users == 0 && !folder->kept;
	pthread_mutex_unlock(&f->lock);
	if (last)
		folder_free(f, folder);
}

void dfs_folder_forget(struct dfs_folders *f, const char *path)
{
	uint64_t hash = text_hash(path);
	struct dfs_folder **place = &f->places[hash % f->capacity], *old;

	pthread_mutex_lock(&f->lock);
	old = *place;
	if (old && old->hash == hash && strcmp(old->path, path) == 0) {
		*place = NULL;
		old->kept = false;
	} else {
		old = NULL;
	}
	if (old && old->users)
		old = NULL;
	pthread_mutex_unlock(&f->lock);
	if (old)
		folder_free(f, old);
}
