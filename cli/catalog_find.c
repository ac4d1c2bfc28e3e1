#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/catalog.h"
#include "core/option/option.h"
#include "haul_build.h"

enum { NAMES_MAX = 1024 };

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* PREFIX/share/haul/catalog for PREFIX/bin/haul: an installation may have been moved. */
static bool beside_program(char *path, unsigned bytes)
{
	char program[2048], *slash;
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (n <= 0)
		return false;
	program[n] = '\0';
	slash = strrchr(program, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return (unsigned)snprintf(path, bytes, "%s/../share/haul/catalog", program) < bytes &&
	       is_folder(path);
}

const char *catalog_folder(char *path, unsigned bytes)
{
	const char *named = getenv("HAUL_CATALOG");

	if (named && *named) {
		snprintf(path, bytes, "%s", named);
		return path;
	}
	if (beside_program(path, bytes))
		return path;
	snprintf(path, bytes, "%s", HAUL_CATALOG_SOURCE);
	if (is_folder(path))
		return path;
	snprintf(path, bytes, "%s", HAUL_CATALOG_INSTALLED);
	return is_folder(path) ? path : NULL;
}

static int is_job(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return entry->d_name[0] != '.' && length > 5 &&
	       strcmp(entry->d_name + length - 5, ".json") == 0;
}

int catalog_each(int (*found)(void *argument, const char *name), void *argument)
{
	struct dirent **entries;
	char folder[2048];
	int n, i, rc = 0;

	if (!catalog_folder(folder, sizeof(folder)))
		return -ENOENT;
	n = scandir(folder, &entries, is_job, alphasort);
	if (n < 0)
		return -errno;
	for (i = 0; i < n; i++) {
		entries[i]->d_name[strlen(entries[i]->d_name) - 5] = '\0';
		if (rc == 0)
			rc = found(argument, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return rc;
}

struct names {
	unsigned count;
	const char *names[NAMES_MAX + 1];
};

static int gather(void *argument, const char *name)
{
	struct names *n = argument;

	if (n->count < NAMES_MAX) {
		n->names[n->count] = strdup(name);
		n->count += n->names[n->count] ? 1 : 0;
	}
	return 0;
}

static int refuse(const char *job, struct err *err)
{
	struct names known = {0};
	const char *near;
	unsigned i;
	int rc;

	catalog_each(gather, &known);
	near = option_nearest(job, known.names);
	if (near)
		rc = err_set(err, -ENOENT,
			     "\"%s\" is no file and no ready job; did you mean \"%s\"?", job, near);
	else
		rc = err_set(err, -ENOENT,
			     "\"%s\" is no file and no ready job; haul catalog lists those", job);
	for (i = 0; i < known.count; i++)
		free((void *)(uintptr_t)known.names[i]);
	return rc;
}

int catalog_resolve(const char *job, char *path, unsigned bytes, struct err *err)
{
	char folder[2048];

	if (access(job, F_OK) == 0) {
		if ((unsigned)snprintf(path, bytes, "%s", job) >= bytes)
			return err_set(err, -ENAMETOOLONG, "%.64s…: the path is too long", job);
		return 0;
	}
	if (!strchr(job, '/') && catalog_folder(folder, sizeof(folder)) &&
	    (unsigned)snprintf(path, bytes, "%s/%s.json", folder, job) < bytes &&
	    access(path, F_OK) == 0)
		return 0;
	if (strchr(job, '/') || strstr(job, ".json"))
		return err_set(err, -ENOENT, "%s: %s", job, strerror(ENOENT));
	return refuse(job, err);
}
