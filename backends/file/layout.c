/* SPDX-License-Identifier: Apache-2.0 */
/* Written to the published interfaces of both clients; not run on either file system. */
#include "backends/file/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/content/random.h"

enum { DRAWN_FROM = 1000, DRAWN_LEVELS = 8 };

/* Lustre: the layout of a file made without one, by extended attribute (lustre_user.h). */
#define LUSTRE_DELAY_CREATE (O_NOCTTY | O_ASYNC)
#define LUSTRE_LAYOUT_V1    UINT32_C(0x0bd10bd0)
#define LUSTRE_LAYOUT_V3    UINT32_C(0x0bd30bd0)
#define LUSTRE_COMPOSITE    UINT32_C(0x0bd60bd0) /* several layouts, each of a range of the file */
struct lustre_layout {
	uint32_t magic, pattern;
	uint64_t object[2];
	uint32_t stripe_bytes;
	uint16_t stripe_count, first; /* 0xffff: any */
	char pool[FILE_CLASS_BYTES];  /* V3 only */
} __attribute__((packed));

/* BeeGFS: a file made below an open folder (beegfs_ioctl_functions.h). */
struct beegfs_file {
	const char *name;
	unsigned mode, targets, chunk_bytes;
};
#define BEEGFS_MAKE_FILE _IOW('f', 27, struct beegfs_file)

static void say(const struct file_layout_options *o, const char *on, char text[96])
{
	char count[32] = "", bytes[40] = "";

	if (o->stripe_count)
		snprintf(count, sizeof(count), " count %u", (unsigned)o->stripe_count);
	if (o->stripe_bytes)
		snprintf(bytes, sizeof(bytes), " size %u B", (unsigned)o->stripe_bytes);
	snprintf(text, 96, "%s: stripe%s%s%s%.15s", on, count, bytes, o->class[0] ? " class " : "",
		 o->class);
}

enum file_layout_way file_layout_way(const struct file_layout_options *o,
				     const struct file_system *fs, char text[96])
{
	text[0] = '\0';
	if (!o->stripe_count && !o->stripe_bytes && !o->class[0])
		return FILE_LAYOUT_NONE;
	if (fs->magic == FILE_SYSTEM_LUSTRE) {
		say(o, "lustre", text);
		return FILE_LAYOUT_LUSTRE;
	}
	if (fs->magic == FILE_SYSTEM_BEEGFS && !o->class[0]) {
		say(o, "beegfs", text);
		return FILE_LAYOUT_BEEGFS;
	}
	if (fs->magic == FILE_SYSTEM_BEEGFS)
		snprintf(text, 96, "not applied: beegfs takes no class");
	else if (strcmp(fs->name, "fuse.daos") == 0)
		snprintf(text, 96,
			 "not applied: dfuse takes none, set the folder's by `daos fs set-attr`");
	else
		snprintf(text, 96, "not applied: %s has no striping that haul can set", fs->name);
	return FILE_LAYOUT_NONE;
}

void file_layout_decode(const void *answer, size_t size, char text[96])
{
	struct lustre_layout layout = {0};
	bool pool;

	text[0] = '\0';
	memcpy(&layout, answer, size < sizeof(layout) ? size : sizeof(layout));
	pool = layout.magic == LUSTRE_LAYOUT_V3 && size >= sizeof(layout) && layout.pool[0];
	if (size >= sizeof(layout.magic) && layout.magic == LUSTRE_COMPOSITE)
		snprintf(text, 96, "composite");
	else if (size < offsetof(struct lustre_layout, pool) ||
		 (layout.magic != LUSTRE_LAYOUT_V1 && layout.magic != LUSTRE_LAYOUT_V3))
		return;
	else if (layout.stripe_count == UINT16_MAX)
		snprintf(text, 96, "count all size %u B%s%.*s", layout.stripe_bytes,
			 pool ? " pool " : "", pool ? FILE_CLASS_BYTES : 0, layout.pool);
	else
		snprintf(text, 96, "count %u size %u B%s%.*s", layout.stripe_count,
			 layout.stripe_bytes, pool ? " pool " : "", pool ? FILE_CLASS_BYTES : 0,
			 layout.pool);
}

void file_layout_find(const char *folder, const struct file_system *fs, char text[96])
{
	char answer[4096];
	ssize_t size;

	text[0] = '\0';
	if (fs->magic != FILE_SYSTEM_LUSTRE)
		return;
	size = getxattr(folder, "lustre.lov", answer, sizeof(answer));
	if (size > 0)
		file_layout_decode(answer, (size_t)size, text);
}

/* One of the first entries of the folder: each with the same probability. '\0': there are none. */
static unsigned char layout_draw_entry(const char *folder, uint64_t seed, char name[256])
{
	unsigned char type = '\0';
	const struct dirent *d;
	uint64_t seen = 0;
	DIR *dir = opendir(folder);

	while (dir && seen < DRAWN_FROM && (d = readdir(dir)) != NULL) {
		if (d->d_name[0] == '.' || (d->d_type != DT_DIR && d->d_type != DT_REG))
			continue;
		seen++;
		if (random_at(seed, seen, 0) % seen)
			continue;
		snprintf(name, 256, "%s", d->d_name);
		type = d->d_type;
	}
	if (dir)
		closedir(dir);
	return type;
}

int file_layout_draw(const char *folder, uint64_t seed, char path[FILE_DRAWN_BYTES])
{
	size_t used = (size_t)snprintf(path, FILE_DRAWN_BYTES, "%s", folder);
	char name[256];

	for (uint64_t level = 0; level < DRAWN_LEVELS && used < FILE_DRAWN_BYTES; level++) {
		unsigned char type = layout_draw_entry(path, mix64(seed + level), name);

		if (!type)
			return -ENOENT;
		used += (size_t)snprintf(path + used, FILE_DRAWN_BYTES - used, "/%s", name);
		if (type == DT_REG)
			return used < FILE_DRAWN_BYTES ? 0 : -ENAMETOOLONG;
	}
	return -ENOENT;
}

void file_layout_find_drawn(const char *folder, uint64_t seed, const struct file_system *fs,
			    char text[96])
{
	char path[FILE_DRAWN_BYTES];

	text[0] = '\0';
	if (fs->magic == FILE_SYSTEM_LUSTRE && file_layout_draw(folder, seed, path) == 0)
		file_layout_find(path, fs, text);
}

static int lustre_make(const struct file_layout_options *o, const char *path)
{
	struct lustre_layout layout = {
		.magic = o->class[0] ? LUSTRE_LAYOUT_V3 : LUSTRE_LAYOUT_V1,
		.stripe_bytes = (uint32_t)o->stripe_bytes,
		.stripe_count = (uint16_t)o->stripe_count,
		.first = UINT16_MAX,
	};
	size_t size = o->class[0] ? sizeof(layout) : offsetof(struct lustre_layout, pool);
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | LUSTRE_DELAY_CREATE, 0666);
	int rc = 0;

	if (fd < 0)
		return -errno;
	memcpy(layout.pool, o->class, sizeof(layout.pool));
	if (fsetxattr(fd, "lustre.lov", &layout, size, 0) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

static int beegfs_make(const struct file_layout_options *o, const char *path)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(path, '/');
	struct beegfs_file file = {.mode = 0666,
				   .targets = (unsigned)o->stripe_count,
				   .chunk_bytes = (unsigned)o->stripe_bytes};
	int fd, rc = 0;

	if (!slash || slash - path >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(folder, path, (size_t)(slash - path));
	folder[slash - path] = '\0';
	file.name = slash + 1;
	fd = open(slash == path ? "/" : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, BEEGFS_MAKE_FILE, &file) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

int file_layout_make(enum file_layout_way way, const struct file_layout_options *o,
		     const char *path)
{
	if (way == FILE_LAYOUT_NONE)
		return -EOPNOTSUPP;
	return way == FILE_LAYOUT_LUSTRE ? lustre_make(o, path) : beegfs_make(o, path);
}
