/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the client library of DAOS: see library.h. */
#include "backends/dfs/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"

struct library_symbol {
	const char *name;
	size_t member; /* where its address goes in struct dfs_library */
	bool optional;
};

#define LIBRARY_NEEDED(name, arguments)   {#name, offsetof(struct dfs_library, name), false},
#define LIBRARY_OPTIONAL(name, arguments) {#name, offsetof(struct dfs_library, name), true},
static const struct library_symbol library_symbols[] = {
	DFS_FUNCTIONS(LIBRARY_NEEDED) DFS_OPTIONAL_FUNCTIONS(LIBRARY_OPTIONAL)};

enum { LIBRARY_SYMBOLS = COUNT(library_symbols) };

/* libdaos comes first: functions that libdfs does not show are found there. */
static int library_load(struct dfs_library *l, const char *name, bool named, struct err *err)
{
	if (!named)
		l->daos = dlopen(DAOS_LIBRARY_NAME, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
	l->dfs = dlopen(name, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
	if (l->dfs)
		return 0;
	return err_set(err, -ENOENT,
		       "daos:// needs the client library of DAOS, which cannot be opened (%s); "
		       "install the DAOS client package, or load it (module load daos), or give "
		       "its path in \"library\"",
		       dlerror());
}

static int library_find_symbols(struct dfs_library *l, const char *name, struct err *err)
{
	for (uint32_t i = 0; i < LIBRARY_SYMBOLS; i++) {
		const struct library_symbol *s = &library_symbols[i];
		void *address = dlsym(l->dfs, s->name);

		if (!address && l->daos)
			address = dlsym(l->daos, s->name);
		if (!address && !s->optional)
			return err_set(err, -ENOSYS,
				       "daos://: %s has no function %s, which haul needs; DAOS 2.4 "
				       "and later have it",
				       name, s->name);
		/* A function's address as data: POSIX allows it, C does not say. */
		memcpy((char *)l + s->member, &address, sizeof(address));
	}
	return 0;
}

/* Before DAOS 2.6.5 only the name of the file tells the version: libdaos.so.2.7.0. */
static bool library_version_of_file(struct dfs_library *l)
{
	void *address;
	char *path;
	const char *at;
	Dl_info found;
	int parts = 0;

	memcpy(&address, &l->daos_eq_create, sizeof(address));
	if (!dladdr(address, &found))
		return false;
	path = realpath(found.dli_fname, NULL);
	at = path ? strstr(path, ".so.") : NULL;
	if (at)
		parts = sscanf(at, ".so.%d.%d.%d", &l->major, &l->minor, &l->fix);
	free(path);
	return parts > 0;
}

/* DAOS installs its version beside its libraries: lib64/daos/VERSION. */
static void library_find_product(struct dfs_library *l)
{
	char *path = NULL, *slash, file[PATH_MAX + 16];
	void *address;
	Dl_info found;
	FILE *f = NULL;

	memcpy(&address, &l->dfs_init, sizeof(address));
	if (dladdr(address, &found))
		path = realpath(found.dli_fname, NULL);
	slash = path ? strrchr(path, '/') : NULL;
	if (slash) {
		*slash = '\0';
		snprintf(file, sizeof(file), "%s/daos/VERSION", path);
		f = fopen(file, "re");
	}
	free(path);
	if (!f)
		return;
	if (fscanf(f, "%15[0-9.]", l->product) != 1)
		l->product[0] = '\0';
	fclose(f);
}

static int library_check_version(struct dfs_library *l, const char *name, struct err *err)
{
	bool known;

	if (l->daos_version_get)
		known = l->daos_version_get(&l->major, &l->minor, &l->fix) == 0;
	else
		known = library_version_of_file(l);
	if (!known)
		return err_set(err, -ENOSYS,
			       "daos://: %s does not tell which version of the DAOS client "
			       "interface it has; haul knows version %d",
			       name, DFS_INTERFACE_MAJOR);
	if (l->major == DFS_INTERFACE_MAJOR)
		return 0;
	return err_set(err, -ENOSYS,
		       "daos://: %s has version %d.%d.%d of the DAOS client interface; haul knows "
		       "version %d",
		       name, l->major, l->minor, l->fix, DFS_INTERFACE_MAJOR);
}

void dfs_library_close(struct dfs_library *l)
{
	if (l->dfs)
		dlclose(l->dfs);
	if (l->daos)
		dlclose(l->daos);
	*l = (struct dfs_library){0};
}

int dfs_library_open(struct dfs_library *l, const char *name, struct err *err)
{
	bool named = name[0];
	int rc;

	*l = (struct dfs_library){0};
	name = named ? name : DFS_LIBRARY_NAME;
	rc = library_load(l, name, named, err);
	if (rc == 0)
		rc = library_find_symbols(l, name, err);
	if (rc == 0)
		rc = library_check_version(l, name, err);
	if (rc == 0)
		library_find_product(l);
	if (rc < 0)
		dfs_library_close(l);
	return rc;
}
