/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of daos:// that libdfs does only synchronously: all but reads and writes. Any thread.
 *
 * libdfs may never return. So a thread works on a copy of what was asked: whoever asked can give
 * the request up meanwhile, and take its memory with it. */
#ifndef HAUL_BACKENDS_DFS_OBJECT_H
#define HAUL_BACKENDS_DFS_OBJECT_H

#include "backends/dfs/dfs.h"

enum { DFS_MARKER_BYTES = 144 };

/* A request while a thread does it. */
struct dfs_task {
	struct dfs_store *store;
	struct request *asked; /* the caller's: touched only between claim and release */
	struct request req;    /* the copy, with its object and its target */
	struct object object;
	char target[OBJECT_KEY_BYTES];
	/* Of a listing: the begin of its marker, and what follows from the page. */
	char marker[DFS_MARKER_BYTES];
	uint32_t part, parts;
	bool names, more, vacant;
	/* False: the request was given up. */
	bool (*claim)(struct dfs_task *task);
	void (*release)(struct dfs_task *task);
};

/* Opens or closes an object that is kept open, and fills in the answer, without waiting for
 * anybody. False: a task must do the request. */
bool dfs_object_do_now(const struct store *store, struct request *req);

/* Copies what was asked; does it; copies the answer back. begin and end are called where the task
 * is claimed. */
void dfs_task_begin(struct dfs_task *task, struct request *asked);
void dfs_task_do(struct dfs_task *task);
void dfs_task_end(struct dfs_task *task);

/* listing.c: a page of a folder. Returns what dfs_code_errno takes, or what the caller's entry()
 * returned in *ended. */
int dfs_list_page(struct dfs_task *task, int *ended);

#endif
