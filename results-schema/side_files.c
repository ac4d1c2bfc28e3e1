/* SPDX-License-Identifier: Apache-2.0 */
/* Side files of a series: see side_files.h. */
#include "results-schema/side_files.h"

#include "core/part.h"
#include "results-schema/staging.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIDE_FOLDER_ENDING ".runs"

void series_key(char key[SERIES_KEY_BYTES], uint64_t started_utc_ns)
{
	snprintf(key, SERIES_KEY_BYTES, "%016" PRIx64, started_utc_ns);
}

bool series_key_valid(const char *key)
{
	return strlen(key) == SERIES_KEY_BYTES - 1 &&
	       strspn(key, "0123456789abcdef") == SERIES_KEY_BYTES - 1;
}

static char *side_folder(const char *path)
{
	char *folder;

	return asprintf(&folder, "%s" SIDE_FOLDER_ENDING, path) < 0 ? NULL : folder;
}

char *side_file_path(const char *path, const char *key, uint32_t number)
{
	char *file;

	return asprintf(&file, "%s" SIDE_FOLDER_ENDING "/%s-%u.h5", path, key, number) < 0 ? NULL
											   : file;
}

char *side_file_link(const char *path, const char *key, uint32_t number)
{
	const char *slash = strrchr(path, '/');

	return side_file_path(slash ? slash + 1 : path, key, number);
}

/* A name of one entry of a folder. */
static bool plain_name(const char *name, size_t length)
{
	return length > 0 && !(name[0] == '.' && (length == 1 || (length == 2 && name[1] == '.')));
}

char *side_file_linked(const char *path, const char *link)
{
	const char *slash = strrchr(path, '/'), *inner = strchr(link, '/');
	char *file;

	if (!inner || strchr(inner + 1, '/') || !plain_name(link, (size_t)(inner - link)) ||
	    !plain_name(inner + 1, strlen(inner + 1)))
		return NULL;
	return asprintf(&file, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, link) < 0
		       ? NULL
		       : file;
}

int side_files_make_folder(const char *path, struct err *err)
{
	char *folder = side_folder(path);
	struct stat st;
	int rc = 0;

	if (!folder)
		return err_set(err, -ENOMEM, "no memory for the results");
	if (mkdir(folder, 0777) < 0 && errno != EEXIST)
		rc = err_set(err, -errno, "folder %s cannot be created: %s", folder,
			     strerror(errno));
	else if (lstat(folder, &st) < 0 || !S_ISDIR(st.st_mode))
		rc = err_set(
			err, -ENOTDIR,
			"%s is not a folder of its own; results of a series go there, so move it "
			"away or name another file with --results",
			folder);
	free(folder);
	return rc;
}

/* "17c8d1e0f3a2b4c5-2.h5", or a part or base of it. */
static bool side_file_of(const char *name, const char *key)
{
	size_t n = strlen(key);

	if (strncmp(name, key, n) != 0 || name[n] != '-' || !isdigit((unsigned char)name[n + 1]))
		return false;
	name += n + 1;
	name += strspn(name, "0123456789");
	return strcmp(name, ".h5") == 0 ||
	       (strncmp(name, ".h5", 3) == 0 &&
		(part_stem(name, STAGING_PART) == 3 || part_stem(name, STAGING_BASE) == 3));
}

/* Calls visit for each side file of a series; folder_fd is its folder. */
static void side_files_visit(const char *path, const char *key,
			     void (*visit)(int folder_fd, const char *name, uint64_t *sum),
			     uint64_t *sum)
{
	char *folder = side_folder(path);
	int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (entries && (entry = readdir(entries)))
		if (side_file_of(entry->d_name, key))
			visit(fd, entry->d_name, sum);
	if (entries)
		closedir(entries);
	else if (fd >= 0)
		close(fd);
	free(folder);
}

static void visit_size(int folder_fd, const char *name, uint64_t *sum)
{
	struct stat st;

	if (fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		*sum += (uint64_t)st.st_size;
}

uint64_t side_files_bytes(const char *path, const char *key)
{
	uint64_t sum = 0;

	side_files_visit(path, key, visit_size, &sum);
	return sum;
}

static void visit_remove(int folder_fd, const char *name, uint64_t *removed)
{
	*removed += unlinkat(folder_fd, name, 0) == 0;
}

void side_files_remove(const char *path, const char *key)
{
	char *folder = side_folder(path);
	uint64_t removed = 0;

	side_files_visit(path, key, visit_remove, &removed);
	if (folder)
		rmdir(folder); /* stays while another series has files in it */
	free(folder);
}
