/* Space for new files, as the file system tells it. */
#include <errno.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "backends/file/direct.h"
#include "backends/file/file.h"
#include "core/content/random.h"
#include "core/numbers.h"

/* Not in every version of linux/magic.h. */
enum { SPACE_ZFS = 0x2fc12fc1, SPACE_XFS = 0x58465342 };

/* Whether a file system of that kind is that of one node. All others count as shared by all nodes, so that nobody takes
 * for its own what others have, too. */
static bool space_local(uint64_t magic)
{
	static const uint64_t local[] = {EXT4_SUPER_MAGIC,      SPACE_XFS,   BTRFS_SUPER_MAGIC,
					 OVERLAYFS_SUPER_MAGIC, TMPFS_MAGIC, RAMFS_MAGIC,
					 F2FS_SUPER_MAGIC,      SPACE_ZFS};

	for (size_t i = 0; i < COUNT(local); i++)
		if (magic == local[i])
			return true;
	return false;
}

int file_space(const struct store *store, struct store_space *out)
{
	const struct file_store *f = store->state;
	char standing[URI_BYTES];
	struct statvfs fs;
	struct stat st;

	file_standing_folder(store->root, standing);
	if (statvfs(standing, &fs) < 0 || stat(standing, &st) < 0)
		return -errno;
	/* Some file systems tell nothing. */
	if (!fs.f_blocks)
		return -ENODATA;
	out->free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	out->node = space_local(f->system.magic);
	/* Each node numbers the devices of file systems that are not its own, so their kind and size tell which is meant. */
	out->device = out->node
			      ? st.st_dev
			      : mix64(f->system.magic ^ mix64((uint64_t)fs.f_blocks * fs.f_frsize));
	return 0;
}
