/* What new files would find on a file store, seen from here. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "core/units.h"
#include "core/uri.h"
#include "plan/notes.h"

/* Cuts the path back to its nearest part that exists. */
static bool nearest_parent(char *path, struct statvfs *found)
{
	while (statvfs(path, found) < 0) {
		char *slash = strrchr(path, '/');

		if (strcmp(path, "/") == 0 || strcmp(path, ".") == 0)
			return false;
		if (!slash)
			strcpy(path, ".");
		else if (slash == path)
			path[1] = '\0';
		else
			*slash = '\0';
	}
	return true;
}

static void compare(const char *path, const struct statvfs *fs, const struct demand *d,
		    const char *wanted, char text[SPACE_BYTES], bool *lacking)
{
	double room = (double)fs->f_bavail * (double)fs->f_frsize;
	bool few_inodes = fs->f_files && (double)fs->f_favail < (double)d->inodes;
	char bytes[UNITS_TEXT_BYTES], inodes[UNITS_TEXT_BYTES];

	*lacking = room < d->space_bytes || few_inodes;
	units_bytes_decimal(bytes, room);
	units_count(inodes, fs->f_favail);
	if (fs->f_files)
		snprintf(text, SPACE_BYTES, "%s: %.100s has %s%s and %s inodes free", wanted, path,
			 *lacking ? "only " : "", bytes, inodes);
	else
		snprintf(text, SPACE_BYTES, "%s: %.100s has %s%s free", wanted, path,
			 *lacking ? "only " : "", bytes);
}

bool space_sentence(const struct job *job, const struct demand *d, char text[SPACE_BYTES],
		    bool *lacking)
{
	const struct job_store *store = job_find_store(job, d->store);
	static const struct place first = {.ranks = 1, .nodes = 1, .local_ranks = 1};
	char bytes[UNITS_TEXT_BYTES], inodes[UNITS_TEXT_BYTES], wanted[96], uri[URI_BYTES],
		whole[PATH_MAX];
	const struct store_options *common;
	struct err err = {0};
	struct statvfs fs;
	const char *rest;

	*lacking = false;
	if (!store || (d->space_bytes <= 0 && !d->inodes))
		return false;
	units_bytes_decimal(bytes, d->space_bytes);
	units_count(inodes, d->inodes);
	snprintf(wanted, sizeof(wanted), "%s and %s inodes", bytes, inodes);
	common = store->options;
	if ((strcmp(store->section->name, "file") != 0 &&
	     strcmp(store->section->name, "direct") != 0) ||
	    !common->uri.count) {
		snprintf(text, SPACE_BYTES, "%s: not checked (%s)", wanted, store->section->name);
		return true;
	}
	if (uri_expand(common->uri.items[0], &first, uri, &err) < 0 || !strstr(uri, "://")) {
		snprintf(text, SPACE_BYTES, "%s: not checked (%.160s)", wanted, err.text);
		return true;
	}
	rest = strstr(uri, "://") + 3;
	memmove(uri, rest, strlen(rest) + 1);
	if (!uri[0])
		strcpy(uri, ".");
	if (nearest_parent(uri, &fs))
		compare(realpath(uri, whole) ? whole : uri, &fs, d, wanted, text, lacking);
	else
		snprintf(text, SPACE_BYTES, "%s: not checked (no folder of %.100s exists)", wanted,
			 uri);
	return true;
}
