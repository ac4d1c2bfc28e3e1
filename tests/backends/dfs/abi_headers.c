/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison of backends/dfs/abi.h with the headers of DAOS. It is compiled where they are
 * installed, and does not compile where the two differ. */
#include <daos.h>
#include <daos_fs.h>

#include "backends/dfs/abi.h"
#include "backends/dfs/code.h"

#define SAME_SIZE(ours, theirs) \
	_Static_assert(sizeof(ours) == sizeof(theirs), "size of " #ours " and " #theirs)
#define SAME_PLACE(ours, member, theirs, their_member) \
	_Static_assert(offsetof(ours, member) == offsetof(theirs, their_member) && \
			       sizeof(((ours *)NULL)->member) == \
				       sizeof(((theirs *)NULL)->their_member), \
		       #member " and " #their_member)

SAME_SIZE(struct dfs_handle, daos_handle_t);
SAME_SIZE(struct dfs_iov, d_iov_t);
SAME_PLACE(struct dfs_iov, data, d_iov_t, iov_buf);
SAME_PLACE(struct dfs_iov, capacity, d_iov_t, iov_buf_len);
SAME_PLACE(struct dfs_iov, length, d_iov_t, iov_len);
SAME_SIZE(struct dfs_scatter, d_sg_list_t);
SAME_PLACE(struct dfs_scatter, count, d_sg_list_t, sg_nr);
SAME_PLACE(struct dfs_scatter, iovs, d_sg_list_t, sg_iovs);
SAME_SIZE(struct dfs_anchor, daos_anchor_t);
SAME_PLACE(struct dfs_anchor, type, daos_anchor_t, da_type);
SAME_PLACE(struct dfs_anchor, state, daos_anchor_t, da_buf);
SAME_SIZE(struct dfs_event, daos_event_t);
SAME_PLACE(struct dfs_event, error, daos_event_t, ev_error);
SAME_PLACE(struct dfs_event, debug, daos_event_t, ev_debug);
SAME_PLACE(struct dfs_object_info, object_class, dfs_obj_info_t, doi_oclass_id);
SAME_PLACE(struct dfs_object_info, chunk_bytes, dfs_obj_info_t, doi_chunk_size);
_Static_assert(sizeof(struct dfs_object_info) >= sizeof(dfs_obj_info_t), "room for their info");
SAME_PLACE(struct dfs_pool_info, targets, daos_pool_info_t, pi_ntargets);
SAME_PLACE(struct dfs_pool_info, engines, daos_pool_info_t, pi_nnodes);
SAME_PLACE(struct dfs_pool_info, disabled_targets, daos_pool_info_t, pi_ndisabled);
SAME_PLACE(struct dfs_pool_info, wanted, daos_pool_info_t, pi_bits);
SAME_PLACE(struct dfs_pool_info, total, daos_pool_info_t, pi_space.ps_space.s_total);
SAME_PLACE(struct dfs_pool_info, free, daos_pool_info_t, pi_space.ps_space.s_free);
_Static_assert(sizeof(struct dfs_pool_info) >= sizeof(daos_pool_info_t), "room for their info");
_Static_assert(sizeof(daos_oclass_id_t) == 4 && sizeof(daos_size_t) == 8 && sizeof(daos_off_t) == 8,
	       "sizes of arguments");
#define SAME_NUMBER(ours, theirs) \
	_Static_assert((int)(ours) == (int)(theirs), #ours " and " #theirs)
SAME_NUMBER(DFS_ANCHOR_END, DAOS_ANCHOR_TYPE_EOF);
SAME_NUMBER(DFS_POLL_NOW, DAOS_EQ_NOWAIT);
SAME_NUMBER(DFS_DESTROY_FORCE, DAOS_EQ_DESTROY_FORCE);
SAME_NUMBER(DFS_CLASS_DEFAULT, OC_UNKNOWN);
SAME_NUMBER(DFS_POOL_READ, DAOS_PC_RO);
SAME_NUMBER(DFS_POOL_SPACE, DPI_SPACE);
#define SAME_CODE(name, number, error) SAME_NUMBER(number, DER_##name);
DFS_CODES(SAME_CODE)
_Static_assert(MAX_OBJ_CLASS_NAME_LEN < DFS_CLASS_NAME_BYTES, "room for a name");

/* Their prototypes with their types, where ours have types of our own. */
typedef struct {
	int (*eq_create)(daos_handle_t *);
	int (*eq_destroy)(daos_handle_t, int);
	int (*eq_poll)(daos_handle_t, int, int64_t, unsigned int, daos_event_t **);
	int (*event_init)(daos_event_t *, daos_handle_t, daos_event_t *);
	int (*event_fini)(daos_event_t *);
	int (*name2id)(const char *);
	int (*id2name)(daos_oclass_id_t, char *);
	int (*init)(void);
	int (*fini)(void);
	int (*connect)(const char *, const char *, const char *, int, dfs_attr_t *, dfs_t **);
	int (*disconnect)(dfs_t *);
	int (*local2global)(dfs_t *, d_iov_t *);
	int (*global2local)(int, d_iov_t, dfs_t **);
	int (*lookup)(dfs_t *, const char *, int, dfs_obj_t **, mode_t *, struct stat *);
	int (*open)(dfs_t *, dfs_obj_t *, const char *, mode_t, int, daos_oclass_id_t, daos_size_t,
		    const char *, dfs_obj_t **);
	int (*release)(dfs_obj_t *);
	int (*read)(dfs_t *, dfs_obj_t *, d_sg_list_t *, daos_off_t, daos_size_t *, daos_event_t *);
	int (*write)(dfs_t *, dfs_obj_t *, d_sg_list_t *, daos_off_t, daos_event_t *);
	int (*get_size)(dfs_t *, dfs_obj_t *, daos_size_t *);
	int (*stat)(dfs_t *, dfs_obj_t *, const char *, struct stat *);
	int (*mkdir)(dfs_t *, dfs_obj_t *, const char *, mode_t, daos_oclass_id_t);
	int (*remove)(dfs_t *, dfs_obj_t *, const char *, bool, daos_obj_id_t *);
	int (*move)(dfs_t *, dfs_obj_t *, const char *, dfs_obj_t *, const char *, daos_obj_id_t *);
	int (*readdir)(dfs_t *, dfs_obj_t *, daos_anchor_t *, uint32_t *, struct dirent *);
	int (*split)(dfs_obj_t *, uint32_t *, daos_anchor_t *);
	int (*set)(dfs_obj_t *, uint32_t, daos_anchor_t *);
	int (*info)(dfs_t *, dfs_obj_t *, dfs_obj_info_t *);
	int (*pool_query)(daos_handle_t, d_rank_list_t **, daos_pool_info_t *, daos_prop_t *,
			  daos_event_t *);
	int (*pool_get)(dfs_t *, daos_handle_t *);
	int (*pool_put)(dfs_t *, daos_handle_t);
	int (*pool_connect)(const char *, const char *, unsigned int, daos_handle_t *,
			    daos_pool_info_t *, daos_event_t *);
	int (*pool_disconnect)(daos_handle_t, daos_event_t *);
} prototypes;
extern const prototypes dfs_prototypes;
const prototypes dfs_prototypes = {
	daos_eq_create,
	daos_eq_destroy,
	daos_eq_poll,
	daos_event_init,
	daos_event_fini,
	daos_oclass_name2id,
	daos_oclass_id2name,
	dfs_init,
	dfs_fini,
	dfs_connect,
	dfs_disconnect,
	dfs_local2global_all,
	dfs_global2local_all,
	dfs_lookup,
	dfs_open,
	dfs_release,
	dfs_read,
	dfs_write,
	dfs_get_size,
	dfs_stat,
	dfs_mkdir,
	dfs_remove,
	dfs_move,
	dfs_readdir,
	dfs_obj_anchor_split,
	dfs_obj_anchor_set,
	dfs_obj_get_info,
	daos_pool_query,
	dfs_pool_get,
	dfs_pool_put,
	daos_pool_connect2,
	daos_pool_disconnect,
};
