#include "backends/file/system.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "backends/file/direct.h"
#include "core/uri.h"

/* Whether path lies below the mount point; the length of the latter, the longest of which counts. */
static size_t lies_below(const char *path, const char *point)
{
	size_t n = strlen(point);

	if (n == 1)
		return 1;
	return strncmp(path, point, n) == 0 && (path[n] == '/' || !path[n]) ? n : 0;
}

/* "36 35 98:0 /root /point options [tags] - type source options": of several mounted on one point the
 * last one is seen. The kernel writes a blank in a point as \040; such a point is not found. */
static void name_mounted(const char *path, struct file_system *fs)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[2 * PATH_MAX], point[PATH_MAX], *dash;
	size_t best = 0, n;

	while (f && fgets(line, sizeof(line), f)) {
		dash = strstr(line, " - ");
		if (!dash || sscanf(line, "%*s %*s %*s %*s %4095s", point) != 1)
			continue;
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
