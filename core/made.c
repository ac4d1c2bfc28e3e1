/* SPDX-License-Identifier: Apache-2.0 */
/* Folders that haul makes: see made.h. */
#include "core/made.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/owner.h"
#include "core/part.h"

static bool is_own(const char *path)
{
	static const char begins[] = ".haul-";
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t n = strlen(name), ending = sizeof(OWNER_ENDING) - 1;

	return strncmp(name, begins, sizeof(begins) - 1) == 0 ||
	       (n > ending && strcmp(name + n - ending, OWNER_ENDING) == 0);
}

static int record_path(char out[PATH_MAX], const char *folder)
{
	int n = snprintf(out, PATH_MAX, "%s/" MADE_NAME, folder);

	return n > 0 && n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int record_put(const char *folder)
{
	char path[PATH_MAX], text[OWNER_TEXT_BYTES];
	size_t n = owner_text_line(text);
	int fd = record_path(path, folder) < 0 ? -1 : part_open_own(path, 0666), rc;

	if (fd < 0)
		return fd;
	rc = part_fill(fd, text, n);
	close(fd);
	return rc;
}

/* Whether it has the name under which a folder is made, where its record may not be whole yet. */
static bool is_drawn(const char *folder)
{
	return part_stem(folder, PART_OF_OBJECT) > 0;
}

/* An entry that is the folder of a killed run that was about to make it goes, too. */
static bool entry_goes(const char *folder, const char *name)
{
	char path[PATH_MAX];

	return is_drawn(name) && snprintf(path, sizeof(path), "%s/%s", folder, name) < PATH_MAX &&
	       made_remove(path) == 0;
}

/* Whether the folder holds a record, and nothing else, or, with a drawn name, nothing at all. */
static bool record_alone(const char *folder)
{
	bool record = is_drawn(folder), alone = true;
	DIR *entries = opendir(folder);
	struct dirent *entry;

	while (entries && alone && (entry = readdir(entries))) {
		if (strcmp(entry->d_name, MADE_NAME) == 0)
			record = true;
		else
			alone = strcmp(entry->d_name, ".") == 0 ||
				strcmp(entry->d_name, "..") == 0 ||
				entry_goes(folder, entry->d_name);
	}
	if (entries)
		closedir(entries);
	return entries && record && alone;
}

/* The record at path is a file that haul has written, of one name. */
static bool record_is(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char text[OWNER_TEXT_BYTES];
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT;
	n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1
		    ? read(fd, text, sizeof(text))
		    : -1;
	close(fd);
	return n == 0 || (n > 0 && owner_text_is(text, (size_t)n));
}

/* Takes the folder away under a drawn name, so that a kill before its end leaves one that is known as haul's without its record, too.
 * Where a file system renames no folders, under its own. */
static int take_away(const char *folder)
{
	char ending[PART_ENDING_BYTES], part[PATH_MAX], record[PATH_MAX];
	int rc;

	part_ending(ending, PART_OF_OBJECT, part_draw());
	if (is_drawn(folder) || snprintf(part, sizeof(part), "%s%s", folder, ending) >= PATH_MAX ||
	    rename(folder, part) < 0)
		snprintf(part, sizeof(part), "%s", folder);
	if (record_path(record, part) < 0)
		return -ENAMETOOLONG;
	rc = record_alone(part) ? 0 : -ENOTEMPTY;
	if (rc == 0) {
		unlink(record);
		rc = TEMP_FAILURE_RETRY(rmdir(part)) < 0 ? -errno : 0;
	}
	/* Another run has put something there meanwhile. */
	if (rc == -ENOTEMPTY || rc == -EEXIST) {
		record_put(part);
		if (strcmp(part, folder) != 0)
			(void)!rename(part, folder);
	}
	return rc;
}

int made_remove(const char *folder)
{
	char path[PATH_MAX];

	if (record_path(path, folder) < 0 || !record_alone(folder) ||
	    !(is_drawn(folder) || record_is(path)))
		return -ENOTEMPTY;
	return take_away(folder);
}

static void made_remove_part(void *argument, const char *part)
{
	(void)argument;
	made_remove(part);
}

static int made_bare(const char *folder)
{
	return TEMP_FAILURE_RETRY(mkdir(folder, 0777)) < 0 && errno != EEXIST ? -errno : 0;
}

/* Makes it under a drawn name, with its record. Where a file system renames no folders, a kill may
 * come before the record. */
static int made_one(const char *folder)
{
	char ending[PART_ENDING_BYTES], part[PATH_MAX];
	int rc = -EINVAL;

	part_visit(folder, PART_OF_OBJECT, S_IFDIR, made_remove_part, NULL);
	part_ending(ending, PART_OF_OBJECT, part_draw());
	if (snprintf(part, sizeof(part), "%s%s", folder, ending) < PATH_MAX &&
	    TEMP_FAILURE_RETRY(mkdir(part, 0777)) == 0) {
		rc = record_put(part);
		if (rc == 0 && renameat2(AT_FDCWD, part, AT_FDCWD, folder, RENAME_NOREPLACE) < 0)
			rc = -errno;
		if (rc < 0)
			made_remove(part);
	}
	if (rc == 0 || rc == -EEXIST)
		return 0;
	rc = made_bare(folder);
	return rc < 0 ? rc : record_put(folder);
}

int made_folders(const char *path)
{
	bool records = is_own(path);
	char *folder = strdup(path);
	int rc = folder ? 0 : -ENOMEM;

	for (char *slash = folder; rc == 0 && (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		/* One that stands may be one that we could not have made. */
		if (access(folder, F_OK) < 0)
			rc = records ? made_one(folder) : made_bare(folder);
		*slash = '/';
	}
	free(folder);
	return rc;
}

void made_leave(const char *path)
{
	char *folder = strdup(path), *slash;

	while (folder && is_own(path) && (slash = strrchr(folder, '/')) && slash != folder) {
		*slash = '\0';
		if (made_remove(folder) < 0)
			break;
		part_visit(folder, PART_OF_OBJECT, S_IFDIR, made_remove_part, NULL);
	}
	free(folder);
}
