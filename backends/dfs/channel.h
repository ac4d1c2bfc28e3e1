/* SPDX-License-Identifier: Apache-2.0 */
/* One thread's channel of daos://: an event queue of libdfs with a window of reads and writes, and
 * the opener threads. The hooks of struct backend_ops. */
#ifndef HAUL_BACKENDS_DFS_CHANNEL_H
#define HAUL_BACKENDS_DFS_CHANNEL_H

#include "backends/dfs/dfs.h"

int dfs_channel_open(struct channel *c, struct err *err);
void dfs_channel_close(struct channel *c);
void dfs_submit(struct channel *c, struct request *const *reqs, uint32_t n);
uint32_t dfs_reap(struct channel *c, struct request **done, uint32_t min, uint32_t max,
		  uint64_t deadline_ns);

#endif
