/* SPDX-License-Identifier: Apache-2.0 */
/* What entries of a folder are: see look.h. */
#include "backends/dfs/look.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

/* Fewer entries per thread are not worth starting it. */
enum { LOOK_PER_THREAD = 4 };

/* Takes the next entry until there is none. */
static void *look_run(void *from)
{
	struct dfs_look *look = from;
	uint32_t i;
	int rc;

	while (!atomic_load(&look->code) && (i = atomic_fetch_add(&look->next, 1)) < look->count) {
		rc = look->library->dfs_stat(look->mount, look->folder, look->entries[i].d_name,
					     &look->stats[i]);
		look->gone[i] = rc == ENOENT;
		if (rc && rc != ENOENT)
			atomic_store(&look->code, rc);
	}
	return NULL;
}

int dfs_look_at(struct dfs_look *look)
{
	pthread_t threads[DFS_LOOK_THREADS];
	uint32_t started = 0, wanted = look->count / LOOK_PER_THREAD;

	if (wanted > DFS_LOOK_THREADS)
		wanted = DFS_LOOK_THREADS;
	/* The caller is one of them, and does all where no other can be started. */
	while (started + 1 < wanted && pthread_create(&threads[started], NULL, look_run, look) == 0)
		started++;
	look_run(look);
	while (started)
		pthread_join(threads[--started], NULL);
	return atomic_load(&look->code);
}
