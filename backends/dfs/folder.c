/* Folders that are kept open: see folder.h. */
#include "backends/dfs/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { FOLDER_MODE = 0777 };

int dfs_folders_open(struct dfs_folders *f, uint32_t capacity, const struct dfs_library *library,
		     struct dfs_mount *mount, uint32_t folder_class)
{
	f->mount = mount;
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
	mode_t mode = 0;
	int rc = l->dfs_lookup(f->mount, path, O_RDWR, object, &mode, NULL);

	if (rc == ENOENT && make) {
		snprintf(parts, sizeof(parts), "%s", path);
		rc = folder_make(f, parts);
		if (rc == 0)
			rc = l->dfs_lookup(f->mount, path, O_RDWR, object, &mode, NULL);
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
