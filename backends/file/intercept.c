/* Interception libraries: see intercept.h. */
#include "backends/file/intercept.h"

#include <link.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "backends/file/direct.h"
#include "core/numbers.h"

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

/* Without dfuse, the environment tells libpil4dfs what it takes for a mount point (D_IL_MOUNT_POINT): a file below it then
 * has a descriptor that the kernel does not know. */
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
