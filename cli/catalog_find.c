/* SPDX-License-Identifier: Apache-2.0 */
/* Look-up of catalogue jobs: see catalog_find.h. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/catalog_find.h"
#include "core/numbers.h"
#include "core/option/option.h"
#include "haul_build.h"

enum { NAMES_MAX = 1024, LIST_BYTES = 768 };

static bool catalog_is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Finds PREFIX/share/haul/catalog for PREFIX/bin/haul, because an installation may have been
 * moved. */
static bool catalog_beside_program(char *path, unsigned bytes)
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
	       catalog_is_folder(path);
}

const char *catalog_folder(char *path, unsigned bytes)
{
	const char *named = getenv("HAUL_CATALOG");

	if (named && *named) {
		snprintf(path, bytes, "%s", named);
		return path;
	}
	if (catalog_beside_program(path, bytes))
		return path;
	snprintf(path, bytes, "%s", HAUL_CATALOG_SOURCE);
	if (catalog_is_folder(path))
		return path;
	snprintf(path, bytes, "%s", HAUL_CATALOG_INSTALLED);
	return catalog_is_folder(path) ? path : NULL;
}

static int catalog_is_job(const struct dirent *entry)
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
	n = scandir(folder, &entries, catalog_is_job, alphasort);
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

struct catalog_names {
	unsigned count;
	const char *names[NAMES_MAX + 1]; /* the last is NULL */
};

static int names_add(void *argument, const char *name)
{
	struct catalog_names *n = argument;

	if (n->count < NAMES_MAX) {
		n->names[n->count] = strdup(name);
		n->count += n->names[n->count] ? 1 : 0;
	}
	return 0;
}

static void names_free(struct catalog_names *n)
{
	for (unsigned i = 0; i < n->count; i++)
		free((void *)(uintptr_t)n->names[i]);
}

/* Lists the names that begin with word, such as "unet3d_a100, unet3d_demo" for "unet3d", or, where
 * none does, those that contain it, as many as there is room for. Returns their number. */
static unsigned names_like(const struct catalog_names *n, const char *word, bool begin, char *list,
			   unsigned bytes)
{
	unsigned found = 0, length = 0;

	list[0] = '\0';
	for (unsigned i = 0; *word && i < n->count; i++) {
		const char *there = strcasestr(n->names[i], word);

		if (!there || (begin && there != n->names[i]))
			continue;
		if (length + strlen(n->names[i]) + sizeof(", ...") > bytes) {
			snprintf(list + length, bytes - length, ", ...");
			return found;
		}
		length += (unsigned)snprintf(list + length, bytes - length, "%s%s",
					     found ? ", " : "", n->names[i]);
		found++;
	}
	return found;
}

static int catalog_refuse(const char *job, struct err *err)
{
	struct catalog_names known = {0};
	char list[LIST_BYTES];
	const char *near;
	unsigned n;
	int rc;

	catalog_each(names_add, &known);
	n = names_like(&known, job, true, list, sizeof(list));
	if (!n)
		n = names_like(&known, job, false, list, sizeof(list));
	near = option_nearest(job, known.names);
	if (n)
		rc = err_set(err, -ENOENT,
			     "\"%s\" is not a file, and no ready job is called that; there %s %s",
			     job, n > 1 ? "are" : "is", list);
	else if (near)
		rc = err_set(err, -ENOENT,
			     "\"%s\" is not a file, and no ready job is called that; did you mean "
			     "\"%s\"?",
			     job, near);
	else
		rc = err_set(err, -ENOENT,
			     "\"%s\" is not a file, and no ready job is called that; haul catalog "
			     "lists them",
			     job);
	names_free(&known);
	return rc;
}

/* The ready job of another spelling: "llama3.1-8b" is llama3_8b. */
static bool catalog_spelled(const char *job, const char *folder, char *path, unsigned bytes)
{
	struct catalog_names known = {0};
	const char *name;
	bool found;

	catalog_each(names_add, &known);
	name = option_spelled(job, known.names);
	found = name && (unsigned)snprintf(path, bytes, "%s/%s.json", folder, name) < bytes;
	names_free(&known);
	return found;
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
	if (!strchr(job, '/') && catalog_folder(folder, sizeof(folder)) &&
	    catalog_spelled(job, folder, path, bytes))
		return 0;
	if (strchr(job, '/') || strstr(job, ".json"))
		return err_set(err, -ENOENT, "%s: %s", job, strerror(ENOENT));
	return catalog_refuse(job, err);
}

void catalog_rules(const char *rules, char *path, unsigned bytes)
{
	static const char *const folders[] = {"rules", "editions"};
	struct stat there;
	char folder[2048];

	if ((stat(rules, &there) != 0 || S_ISDIR(there.st_mode)) && !strchr(rules, '/') &&
	    catalog_folder(folder, sizeof(folder)))
		for (unsigned i = 0; i < COUNT(folders); i++)
			if ((unsigned)snprintf(path, bytes, "%s/%s/%s.json", folder, folders[i],
					       rules) < bytes &&
			    access(path, F_OK) == 0)
				return;
	snprintf(path, bytes, "%s", rules);
}

int catalog_edition(const char *edition, char *path, unsigned bytes, struct err *err)
{
	char folder[2048];

	if (!strchr(edition, '/') && catalog_folder(folder, sizeof(folder)) &&
	    (unsigned)snprintf(path, bytes, "%s/editions/mlperf-%s.json", folder, edition) <
		    bytes &&
	    access(path, F_OK) == 0)
		return 0;
	return err_set(err, -ENOENT,
		       "--edition %s: the catalogue has no such rules; --rules FILE names others",
		       edition);
}

int catalog_published(char *path, unsigned bytes, struct err *err)
{
	char folder[2048];

	if (catalog_folder(folder, sizeof(folder)) &&
	    (unsigned)snprintf(path, bytes, "%s/published/values.json", folder) < bytes &&
	    access(path, F_OK) == 0)
		return 0;
	return err_set(err, -ENOENT,
		       "the catalogue has no published values; --rows FILE names others");
}
