/* SPDX-License-Identifier: Apache-2.0 */
/* Files and folders of the test library. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/libs/dfs/test_dfs.h"

struct object_class {
	const char *name;
	uint32_t id, targets;
};
static const struct object_class classes[] = {
	{"S1", 0x1000001, 1},     {"S2", 0x1000002, 2},         {"SX", 0x100ffff, 1},
	{"RP_2GX", 0x200ffff, 2}, {"EC_16P2GX", 0x300ffff, 18},
};
enum { CLASSES = sizeof(classes) / sizeof(classes[0]), CLASS_S1 = 0, CLASS_SX = 2 };

int daos_oclass_name2id(const char *name)
{
	for (int i = 0; i < CLASSES; i++)
		if (strcmp(classes[i].name, name) == 0)
			return (int)classes[i].id;
	return 0;
}

int daos_oclass_id2name(uint32_t id, char *name)
{
	for (int i = 0; i < CLASSES; i++)
		if (classes[i].id == id) {
			strcpy(name, classes[i].name);
			return 0;
		}
	strcpy(name, "UNKNOWN");
	return -1;
}

static int folder_of(const struct dfs_mount *mount, const struct dfs_object *folder)
{
	return folder ? folder->fd : mount->fd;
}

static int object_new(int fd, int flags, struct dfs_object **object)
{
	struct dfs_object *o = calloc(1, sizeof(*o));
	struct stat st;

	if (!o || fstat(fd, &st) < 0) {
		free(o);
		close(fd);
		return ENOMEM;
	}
	o->fd = fd;
	o->flags = flags;
	o->mode = st.st_mode;
	o->chunk_bytes = 1 << 20;
	o->object_class = S_ISDIR(st.st_mode) ? classes[CLASS_S1].id : classes[CLASS_SX].id;
	test_opened(TEST_OBJECTS, 1);
	*object = o;
	return 0;
}

static bool mount_denies(const struct dfs_mount *mount, int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY && (mount->flags & O_ACCMODE) == O_RDONLY;
}

static uint32_t class_targets(uint32_t id)
{
	for (int i = 0; i < CLASSES; i++)
		if (classes[i].id == id)
			return classes[i].targets;
	return 1;
}

int dfs_lookup(struct dfs_mount *mount, const char *path, int flags, struct dfs_object **object,
	       mode_t *mode, struct stat *stat)
{
	int rc = test_blocking(TEST_lookup), fd;

	if (rc)
		return rc;
	if (path[0] != '/')
		return EINVAL;
	if (mount_denies(mount, flags))
		return EPERM;
	path += strspn(path, "/");
	path = path[0] ? path : ".";
	fd = openat(mount->fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	rc = object_new(fd, flags, object);
	if (rc == 0 && mode)
		*mode = (*object)->mode;
	if (rc == 0 && stat)
		fstat(fd, stat);
	test_log("lookup %s", path);
	return rc;
}

int dfs_open(struct dfs_mount *mount, struct dfs_object *folder, const char *name, mode_t mode,
	     int flags, uint32_t object_class, uint64_t chunk_bytes, const char *link,
	     struct dfs_object **object)
{
	int rc = test_blocking(TEST_open), fd;

	if (rc)
		return rc;
	if (!name[0] || strchr(name, '/') || link || !S_ISREG(mode) || (flags & O_APPEND))
		return EINVAL;
	if (mount_denies(mount, flags))
		return EPERM;
	if ((flags & O_CREAT) && class_targets(object_class) > test_targets())
		return EINVAL;
	fd = openat(folder_of(mount, folder), name, flags | O_CLOEXEC, mode & 0777);
	if (fd < 0)
		return errno;
	rc = object_new(fd, flags, object);
	if (rc == 0 && (flags & O_CREAT) && object_class)
		(*object)->object_class = object_class;
	if (rc == 0 && (flags & O_CREAT) && chunk_bytes)
		(*object)->chunk_bytes = chunk_bytes;
	if (flags & O_CREAT)
		test_log("create %s %x %lu", name, object_class, chunk_bytes);
	else
		test_log("open %s", name);
	return rc;
}

int dfs_release(struct dfs_object *object)
{
	if (atomic_load(&object->flying))
		test_log("wrong: an object is released with requests in flight");
	close(object->fd);
	free(object);
	test_opened(TEST_OBJECTS, -1);
	return 0;
}

int dfs_read(struct dfs_mount *mount, struct dfs_object *object, struct dfs_scatter *to,
	     uint64_t offset, uint64_t *bytes, struct dfs_event *event)
{
	(void)mount;
	if (!S_ISREG(object->mode) || !to || to->count != 1 || !bytes)
		return EINVAL;
	if (event)
		return test_events_start(object, to, offset, bytes, event);
	return test_events_move(object, to->iovs[0].data, to->iovs[0].length, offset, bytes);
}

int dfs_write(struct dfs_mount *mount, struct dfs_object *object, struct dfs_scatter *from,
	      uint64_t offset, struct dfs_event *event)
{
	(void)mount;
	if (!S_ISREG(object->mode) || !from || from->count != 1)
		return EINVAL;
	if ((object->flags & O_ACCMODE) == O_RDONLY)
		return EPERM;
	if (event)
		return test_events_start(object, from, offset, NULL, event);
	return test_events_move(object, from->iovs[0].data, from->iovs[0].length, offset, NULL);
}

int dfs_get_size(struct dfs_mount *mount, struct dfs_object *object, uint64_t *bytes)
{
	int rc = test_blocking(TEST_size);
	struct stat st;

	(void)mount;
	if (rc == 0 && fstat(object->fd, &st) < 0)
		rc = errno;
	if (rc == 0)
		*bytes = (uint64_t)st.st_size;
	return rc;
}

int dfs_stat(struct dfs_mount *mount, struct dfs_object *folder, const char *name,
	     struct stat *stat)
{
	int rc = test_blocking(TEST_stat);

	if (rc)
		return rc;
	if (strchr(name, '/'))
		return EINVAL;
	test_look_at(1);
	test_log("stat %s", name);
	return fstatat(folder_of(mount, folder), name, stat, AT_SYMLINK_NOFOLLOW) < 0 ? errno : 0;
}

int dfs_mkdir(struct dfs_mount *mount, struct dfs_object *folder, const char *name, mode_t mode,
	      uint32_t object_class)
{
	int rc = test_blocking(TEST_mkdir);

	if (rc)
		return rc;
	if (strchr(name, '/'))
		return EINVAL;
	if (mount_denies(mount, O_RDWR))
		return EPERM;
	if (mkdirat(folder_of(mount, folder), name, mode) < 0)
		return errno;
	test_log("mkdir %s %x", name, object_class);
	return 0;
}

int dfs_remove(struct dfs_mount *mount, struct dfs_object *folder, const char *name, bool force,
	       void *id)
{
	int rc = test_blocking(TEST_remove), at = folder_of(mount, folder);

	(void)id;
	if (rc)
		return rc;
	if (strchr(name, '/') || force)
		return EINVAL;
	if (mount_denies(mount, O_RDWR))
		return EPERM;
	if (unlinkat(at, name, 0) < 0 && (errno != EISDIR || unlinkat(at, name, AT_REMOVEDIR) < 0))
		return errno;
	return 0;
}

int dfs_move(struct dfs_mount *mount, struct dfs_object *folder, const char *name,
	     struct dfs_object *new_folder, const char *new_name, void *id)
{
	int rc = test_blocking(TEST_move);

	(void)id;
	if (rc)
		return rc;
	if (strchr(name, '/') || strchr(new_name, '/'))
		return EINVAL;
	if (mount_denies(mount, O_RDWR))
		return EPERM;
	if (renameat(folder_of(mount, folder), name, folder_of(mount, new_folder), new_name) < 0)
		return errno;
	return 0;
}

int dfs_obj_get_info(struct dfs_mount *mount, struct dfs_object *object,
		     struct dfs_object_info *info)
{
	(void)mount;
	test_hang();
	/* DAOS 2.4 has two members, the first of which is, of a folder, the class of what is made
	 * there. */
	if (test_old()) {
		info->object_class =
			S_ISDIR(object->mode) ? classes[CLASS_SX].id : object->object_class;
		info->chunk_bytes = object->chunk_bytes;
		return 0;
	}
	*info = (struct dfs_object_info){.object_class = object->object_class,
					 .chunk_bytes = object->chunk_bytes,
					 .folder_class = classes[CLASS_S1].id,
					 .file_class = classes[CLASS_SX].id};
	return 0;
}
