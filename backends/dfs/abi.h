/* SPDX-License-Identifier: Apache-2.0 */
/* Interface of libdfs and libdaos, as far as daos:// uses it: types, constants and functions of the
 * DAOS client interface, version 2 (DAOS 2.4 to 2.8).
 *
 * These are declarations of our own, so that haul builds without DAOS and finds the library when it
 * runs (library.h). The assertions hold the sizes and offsets of x86-64 and aarch64. Where the
 * headers of DAOS are installed, tests/backends/dfs/abi_headers.c compares all of this with them.
 *
 * Functions whose names begin with dfs_ return 0 or a positive errno. Those that begin with daos_
 * return a negative code of DAOS (code.h), and the event of an asynchronous request holds
 * either. */
#ifndef HAUL_BACKENDS_DFS_ABI_H
#define HAUL_BACKENDS_DFS_ABI_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct dfs_mount;  /* dfs_t */
struct dfs_object; /* dfs_obj_t */

/* daos_handle_t: passed by value. */
struct dfs_handle {
	uint64_t cookie;
};

/* d_iov_t */
struct dfs_iov {
	void *data;
	size_t capacity;
	size_t length;
};

/* d_sg_list_t */
struct dfs_scatter {
	uint32_t count;
	uint32_t count_out;
	struct dfs_iov *iovs;
};

/* daos_anchor_t: a position in a listing. It begins as zeros. */
struct dfs_anchor {
	uint16_t type; /* DFS_ANCHOR_END: all entries were listed */
	uint16_t shard;
	uint32_t flags;
	uint64_t sub_anchors;
	uint8_t state[104];
};

/* daos_event_t: an asynchronous request. The library keeps its own state in it. */
struct dfs_event {
	int error;
	uint64_t internal[20];
	uint64_t debug;
};

/* dfs_obj_info_t: DAOS 2.4 fills in the first two members, 2.6 the first four, 2.8 all. */
struct dfs_object_info {
	uint32_t object_class; /* of a folder in DAOS 2.4: the default of what is made there */
	uint64_t chunk_bytes;
	uint32_t folder_class, file_class; /* defaults of what is made in a folder */
	uint64_t id[2];
	uint64_t later_versions[8];
};

/* daos_pool_info_t: all versions fill in what is here, the more where it is wanted. */
struct dfs_pool_info {
	uint8_t id[16];
	uint32_t targets, engines, disabled_targets, map_version, leader;
	uint64_t wanted; /* bits, such as DFS_POOL_SPACE; 0: nothing more */
	/* by kind of medium: memory, NVMe */
	uint64_t total[2], free[2];
	uint64_t more[124];
};

#define DFS_ASSERT_SIZE(type, bytes) \
	_Static_assert(sizeof(struct type) == (bytes), "struct " #type " is as in libdfs")
#define DFS_ASSERT_OFFSET(type, member, bytes) \
	_Static_assert(offsetof(struct type, member) == (bytes), \
		       "struct " #type " has " #member " where libdfs has it")
DFS_ASSERT_SIZE(dfs_handle, 8);
DFS_ASSERT_SIZE(dfs_iov, 24);
DFS_ASSERT_OFFSET(dfs_iov, capacity, 8);
DFS_ASSERT_OFFSET(dfs_iov, length, 16);
DFS_ASSERT_SIZE(dfs_scatter, 16);
DFS_ASSERT_OFFSET(dfs_scatter, iovs, 8);
DFS_ASSERT_SIZE(dfs_anchor, 120);
DFS_ASSERT_OFFSET(dfs_anchor, type, 0);
DFS_ASSERT_OFFSET(dfs_anchor, sub_anchors, 8);
DFS_ASSERT_OFFSET(dfs_anchor, state, 16);
DFS_ASSERT_SIZE(dfs_event, 176);
DFS_ASSERT_OFFSET(dfs_event, error, 0);
DFS_ASSERT_OFFSET(dfs_event, internal, 8);
DFS_ASSERT_OFFSET(dfs_event, debug, 168);
DFS_ASSERT_OFFSET(dfs_object_info, chunk_bytes, 8);
DFS_ASSERT_OFFSET(dfs_object_info, folder_class, 16);
DFS_ASSERT_OFFSET(dfs_object_info, file_class, 20);
DFS_ASSERT_OFFSET(dfs_object_info, id, 24);
DFS_ASSERT_OFFSET(dfs_pool_info, targets, 16);
DFS_ASSERT_OFFSET(dfs_pool_info, engines, 20);
DFS_ASSERT_OFFSET(dfs_pool_info, disabled_targets, 24);
DFS_ASSERT_OFFSET(dfs_pool_info, wanted, 40);
DFS_ASSERT_OFFSET(dfs_pool_info, free, 64);

enum {
	DFS_INTERFACE_MAJOR = 2,
	DFS_ANCHOR_END = 3,       /* DAOS_ANCHOR_TYPE_EOF */
	DFS_POLL_NOW = 0,         /* DAOS_EQ_NOWAIT; else microseconds */
	DFS_DESTROY_FORCE = 1,    /* DAOS_EQ_DESTROY_FORCE */
	DFS_POOL_READ = 1,        /* DAOS_PC_RO */
	DFS_POOL_SPACE = 1,       /* DPI_SPACE */
	DFS_CLASS_DEFAULT = 0,    /* OC_UNKNOWN: as the folder or the container says */
	DFS_CLASS_NAME_BYTES = 64 /* more than MAX_OBJ_CLASS_NAME_LEN */
};

/* X(name, arguments): functions that every version has. All of them return int. */
/* clang-format off */
#define DFS_FUNCTIONS(X) \
	X(daos_eq_create, (struct dfs_handle *queue)) \
	X(daos_eq_destroy, (struct dfs_handle queue, int flags)) \
	X(daos_eq_poll, (struct dfs_handle queue, int running_only, int64_t timeout_us, \
			 unsigned int most, struct dfs_event **done)) \
	X(daos_event_init, (struct dfs_event *event, struct dfs_handle queue, \
			    struct dfs_event *parent)) \
	X(daos_event_fini, (struct dfs_event *event)) \
	X(daos_oclass_name2id, (const char *name)) \
	X(daos_oclass_id2name, (uint32_t id, char *name)) \
	X(dfs_init, (void)) \
	X(dfs_fini, (void)) \
	X(dfs_connect, (const char *pool, const char *system, const char *container, int flags, \
			void *attributes, struct dfs_mount **mount)) \
	X(dfs_disconnect, (struct dfs_mount *mount)) \
	X(dfs_local2global_all, (struct dfs_mount *mount, struct dfs_iov *global)) \
	X(dfs_global2local_all, (int flags, struct dfs_iov global, struct dfs_mount **mount)) \
	X(dfs_lookup, (struct dfs_mount *mount, const char *path, int flags, \
		       struct dfs_object **object, mode_t *mode, struct stat *stat)) \
	X(dfs_open, (struct dfs_mount *mount, struct dfs_object *folder, const char *name, \
		     mode_t mode, int flags, uint32_t object_class, uint64_t chunk_bytes, \
		     const char *link, struct dfs_object **object)) \
	X(dfs_release, (struct dfs_object *object)) \
	X(dfs_read, (struct dfs_mount *mount, struct dfs_object *object, \
		     struct dfs_scatter *to, uint64_t offset, uint64_t *bytes, \
		     struct dfs_event *event)) \
	X(dfs_write, (struct dfs_mount *mount, struct dfs_object *object, \
		      struct dfs_scatter *from, uint64_t offset, struct dfs_event *event)) \
	X(dfs_get_size, (struct dfs_mount *mount, struct dfs_object *object, uint64_t *bytes)) \
	X(dfs_stat, (struct dfs_mount *mount, struct dfs_object *folder, const char *name, \
		     struct stat *stat)) \
	X(dfs_mkdir, (struct dfs_mount *mount, struct dfs_object *folder, const char *name, \
		      mode_t mode, uint32_t object_class)) \
	X(dfs_remove, (struct dfs_mount *mount, struct dfs_object *folder, const char *name, \
		       bool force, void *id)) \
	X(dfs_move, (struct dfs_mount *mount, struct dfs_object *folder, const char *name, \
		     struct dfs_object *new_folder, const char *new_name, void *id)) \
	X(dfs_readdir, (struct dfs_mount *mount, struct dfs_object *folder, \
			struct dfs_anchor *anchor, uint32_t *count, struct dirent *entries)) \
	X(dfs_obj_anchor_split, (struct dfs_object *folder, uint32_t *count, \
				 struct dfs_anchor *anchors)) \
	X(dfs_obj_anchor_set, (struct dfs_object *folder, uint32_t index, \
			       struct dfs_anchor *anchor)) \
	X(dfs_obj_get_info, (struct dfs_mount *mount, struct dfs_object *object, \
			     struct dfs_object_info *info))

/* X(name, arguments): functions that a version may lack. */
#define DFS_OPTIONAL_FUNCTIONS(X) \
	X(daos_version_get, (int *major, int *minor, int *fix)) \
	X(daos_pool_connect2, (const char *pool, const char *system, unsigned int flags, \
			       struct dfs_handle *handle, struct dfs_pool_info *info, \
			       struct dfs_event *event)) \
	X(daos_pool_disconnect, (struct dfs_handle pool, struct dfs_event *event)) \
	X(daos_pool_query, (struct dfs_handle pool, void **ranks, struct dfs_pool_info *info, \
			    void *properties, struct dfs_event *event)) \
	X(dfs_pool_get, (struct dfs_mount *mount, struct dfs_handle *pool)) \
	X(dfs_pool_put, (struct dfs_mount *mount, struct dfs_handle pool))
/* clang-format on */

#endif
