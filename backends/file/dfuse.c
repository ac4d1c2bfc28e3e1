/* Options of a dfuse mount: see dfuse.h. They are looked for in the command line of the process that has the mount point
 * among its words; another user's process may be hidden. */
#include "backends/file/dfuse.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* The words of a command line end in zeros. With text, they are put there, divided by blanks, but for the first. */
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
