/* SPDX-License-Identifier: Apache-2.0 */
/* Opener threads of a queue: they do what libdfs does only synchronously (opening, publishing,
 * listing …), while the queue's own thread goes on with reads and writes.
 *
 *	queue's thread ──► asked[0] ──► thread 0 ──► done[0] ──┐
 *	               ──► asked[1] ──► thread 1 ──► done[1] ──┴──► queue's thread
 *
 * Requests are dealt to the threads in turn. Each ring has one writer and one reader, and is as long
 * as the queue is deep, so it is never full. All calls belong to the queue's thread. */
#ifndef HAUL_BACKENDS_DFS_OPENER_H
#define HAUL_BACKENDS_DFS_OPENER_H

#include "backends/backend.h"

struct dfs_opener;

/* Starts the threads. depth: requests that may be under way at most. */
int dfs_opener_open(struct dfs_opener **opener, const struct store *store, uint32_t threads,
		    uint32_t depth, struct err *err);
/* Ends the threads, once each has done what it was asked; after dfs_opener_give_up it does not wait
 * for them. NULL: nothing. */
void dfs_opener_close(struct dfs_opener *opener);

void dfs_opener_ask(struct dfs_opener *opener, struct request *req);
/* How many requests are with the threads. */
uint32_t dfs_opener_busy(const struct dfs_opener *opener);
/* Nobody waits for the requests that are with the threads any more: gives all of them back, as many
 * as were asked and not taken. The threads end when the library returns, if ever. Nothing may be
 * asked afterwards. */
uint32_t dfs_opener_give_up(struct dfs_opener *opener, struct request **out);
/* A request that was done, or NULL: none is before until_ns of the store's clock. */
struct request *dfs_opener_take(struct dfs_opener *opener, uint64_t until_ns);

#endif
