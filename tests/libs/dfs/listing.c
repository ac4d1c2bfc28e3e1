/* SPDX-License-Identifier: Apache-2.0 */
/* Listings of the test library. A folder has HAUL_DFS_ANCHORS anchors, among which its names are
 * divided. An entry may come with the end of its anchor, and every other call that is not the last
 * gives fewer entries than it was asked for, even none: both are allowed, and libdfs does both. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/libs/dfs/test_dfs.h"

enum { ANCHOR_GOES_ON = 1 };

/* What an anchor's own bytes hold. */
struct place {
	uint64_t position; /* names of its part that were given */
	uint64_t calls;
};

int dfs_obj_anchor_split(struct dfs_object *folder, uint32_t *count, struct dfs_anchor *anchors)
{
	int rc = test_blocking(TEST_split);

	if (rc)
		return rc;
	if (!S_ISDIR(folder->mode) || *count || anchors)
		return EINVAL;
	*count = test_anchors();
	return 0;
}

int dfs_obj_anchor_set(struct dfs_object *folder, uint32_t index, struct dfs_anchor *anchor)
{
	if (!S_ISDIR(folder->mode) || index >= test_anchors())
		return EINVAL;
	*anchor = (struct dfs_anchor){.type = ANCHOR_GOES_ON, .shard = (uint16_t)(index + 1)};
	return 0;
}

static bool listing_has(const struct dfs_anchor *anchor, const char *name)
{
	uint32_t hash = 0;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return false;
	for (const char *c = name; *c; c++)
		hash = hash * 31 + (unsigned char)*c;
	return !anchor->shard || hash % test_anchors() == (uint32_t)anchor->shard - 1;
}

static int listing_read(DIR *dir, struct dfs_anchor *anchor, uint32_t *count,
			struct dirent *entries)
{
	uint32_t most = *count, n = 0;
	struct place place;
	uint64_t seen = 0;
	struct dirent *d;

	memcpy(&place, anchor->state, sizeof(place));
	if (place.calls++ % 2)
		most /= 2;
	errno = 0;
	while ((d = readdir(dir)) != NULL) {
		if (!listing_has(anchor, d->d_name) || seen++ < place.position)
			continue;
		if (n == most)
			break;
		/* libdfs fills in the name alone. */
		strcpy(entries[n].d_name, d->d_name);
		n++;
	}
	anchor->type = d ? ANCHOR_GOES_ON : DFS_ANCHOR_END;
	place.position += n;
	memcpy(anchor->state, &place, sizeof(place));
	*count = n;
	return !d && errno ? errno : 0;
}

int dfs_readdir(struct dfs_mount *mount, struct dfs_object *folder, struct dfs_anchor *anchor,
		uint32_t *count, struct dirent *entries)
{
	int rc = test_blocking(TEST_list), fd;
	DIR *dir;

	(void)mount;
	test_log("names %u", *count);
	if (rc)
		return rc;
	if (!S_ISDIR(folder->mode))
		return ENOTDIR;
	if (anchor->type == DFS_ANCHOR_END) {
		*count = 0;
		return 0;
	}
	fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir)
		return errno;
	rc = listing_read(dir, anchor, count, entries);
	closedir(dir);
	return rc;
}
