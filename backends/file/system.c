/* SPDX-License-Identifier: Apache-2.0 */
/* The file system below a store: see system.h. */
#include "backends/file/system.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "backends/file/direct.h"
#include "core/numbers.h"
#include "core/uri.h"

/* Whether path lies below the mount point; the length of the latter, the longest of which
 * counts. */
static size_t lies_below(const char *path, const char *point)
{
	size_t n = strlen(point);

	if (n == 1)
		return 1;
	return strncmp(path, point, n) == 0 && (path[n] == '/' || !path[n]) ? n : 0;
}

/* The kernel writes a blank in a point as \\040, and three more characters in the same way. */
static void point_plain(char *point)
{
	const char *from = point;
	unsigned value;

	while (*from) {
		if (*from == '\\' && sscanf(from + 1, "%3o", &value) == 1) {
			*point++ = (char)value;
			from += strnlen(from, 4);
		} else {
			*point++ = *from++;
		}
	}
	*point = '\0';
}

/* "36 35 98:0 /root /point options [tags] - type source options": of several mounted on one point
 * the last one is seen. */
static void name_mounted(const char *path, struct file_system *fs)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[2 * PATH_MAX], point[PATH_MAX], *dash;
	size_t best = 0, n;

	while (f && fgets(line, sizeof(line), f)) {
		dash = strstr(line, " - ");
		if (!dash || sscanf(line, "%*s %*s %*s %*s %4095s", point) != 1)
			continue;
		point_plain(point);
		n = lies_below(path, point);
		if (n < best || !n || sscanf(dash + 3, "%31s %*s %95s", fs->name, fs->options) < 1)
			continue;
		best = n;
		snprintf(fs->point, sizeof(fs->point), "%.*s", (int)sizeof(fs->point) - 1, point);
	}
	if (f)
		fclose(f);
}

void file_system_find(const char *folder, struct file_system *fs)
{
	char standing[URI_BYTES], path[PATH_MAX];
	struct statfs st;

	memset(fs, 0, sizeof(*fs));
	file_standing_folder(folder, standing);
	if (statfs(standing, &st) == 0)
		fs->magic = (uint64_t)st.f_type & 0xffffffffu;
	if (realpath(standing, path))
		name_mounted(path, fs);
	if (!*fs->name && fs->magic)
		snprintf(fs->name, sizeof(fs->name), "0x%llx", (unsigned long long)fs->magic);
}

bool file_system_is(const struct file_system *fs, const char *called)
{
	const char *name = fs->name;
	size_t n = strlen(called);

	if (called[0] == '/') {
		while (n > 1 && called[n - 1] == '/')
			n--;
		return strlen(fs->point) == n && strncmp(fs->point, called, n) == 0;
	}
	if (strcmp(called, "dfuse") == 0)
		called = "fuse.daos", n = strlen(called);
	if (strncmp(name, "fuse.", 5) == 0 && strncmp(called, "fuse.", 5) != 0)
		name += 5;
	/* nfs4 is nfs */
	return strncmp(name, called, n) == 0 && strspn(name + n, "0123456789") == strlen(name + n);
}

/* The first one keeps nothing in the kernel, the second one only moves the bytes. */
static const char *const intercept_libraries[] = {"libpil4dfs", "libioil"};

enum { INTERCEPT_LIBRARIES = COUNT(intercept_libraries) };

static int intercept_look(struct dl_phdr_info *info, size_t size, void *found)
{
	const char *name = strrchr(info->dlpi_name, '/');
	const char **library = found;

	(void)size;
	name = name ? name + 1 : info->dlpi_name;
	for (int i = 0; i < INTERCEPT_LIBRARIES; i++)
		if (strncmp(name, intercept_libraries[i], strlen(intercept_libraries[i])) == 0)
			*library = intercept_libraries[i];
	return *library != NULL;
}

/* Without dfuse, the environment tells libpil4dfs what it takes for a mount point
 * (D_IL_MOUNT_POINT): a file below it then has a descriptor that the kernel does not know. */
const char *file_interception(const char *root, const struct file_system *fs)
{
	const char *library = NULL;
	bool known;
	int fd;

	dl_iterate_phdr(intercept_look, &library);
	if (!library || strcmp(fs->name, "fuse.daos") == 0)
		return library;
	fd = file_nameless(root, 0);
	if (fd < 0)
		return NULL;
	known = file_kernel_knows(fd);
	close(fd);
	return known ? NULL : library;
}

/* Options of dfuse are looked for in the command line of the process that has the mount point among
 * its words; another user's process may be hidden. */
enum { DFUSE_COMMAND_BYTES = 4096, DFUSE_NAME_BYTES = 512 };

static ssize_t dfuse_read(const char *proc, const char *process, const char *name, char *data,
			  size_t bytes)
{
	char path[DFUSE_NAME_BYTES];
	ssize_t n;
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s/%s", proc, process, name) >= sizeof(path))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, data, bytes - 1);
	close(fd);
	data[n > 0 ? n : 0] = '\0';
	return n;
}

/* The words of a command line end in zeros. With text, they are put there, divided by blanks, but
 * for the first. */
static bool dfuse_words(const char *words, size_t bytes, const char *point, char *text, size_t room)
{
	const char *word = words, *end = words + bytes;
	bool ours = false;
	size_t used = 0;

	for (; word < end; word += strlen(word) + 1) {
		const char *value = strchr(word, '=');

		ours = ours || strcmp(word, point) == 0 || (value && strcmp(value + 1, point) == 0);
		if (text && word != words && word[0] && used < room)
			used += (size_t)snprintf(text + used, room - used, " %s", word);
	}
	return ours;
}

static bool dfuse_is(const char *proc, const char *process, const char *point, char *text,
		     size_t room)
{
	char name[32], words[DFUSE_COMMAND_BYTES];
	ssize_t n = dfuse_read(proc, process, "comm", name, sizeof(name));

	if (n <= 0 || strcmp(name, "dfuse\n") != 0)
		return false;
	n = dfuse_read(proc, process, "cmdline", words, sizeof(words));
	if (n <= 0 || !dfuse_words(words, (size_t)n, point, NULL, 0))
		return false;
	dfuse_words(words, (size_t)n, point, text, room);
	return true;
}

void file_dfuse_find(const char *proc, const struct file_system *fs, char text[FILE_DFUSE_BYTES])
{
	char words[FILE_DFUSE_BYTES / 2] = "";
	const struct dirent *d;
	DIR *dir;

	text[0] = '\0';
	if (strcmp(fs->name, "fuse.daos") != 0)
		return;
	dir = opendir(proc);
	while (dir && (d = readdir(dir)) != NULL)
		if (d->d_name[0] >= '1' && d->d_name[0] <= '9' &&
		    dfuse_is(proc, d->d_name, fs->point, words, sizeof(words)))
			break;
	if (dir)
		closedir(dir);
	snprintf(text, FILE_DFUSE_BYTES, "dfuse%s; mounted %s", words[0] ? words : " (not found)",
		 fs->options);
}
