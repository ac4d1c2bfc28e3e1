/* SPDX-License-Identifier: Apache-2.0 */
/* The client of DAOS in this process: see dfs.h. */
#include "backends/dfs/dfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/dfs/aside.h"
#include "backends/dfs/code.h"
#include "backends/stores.h"

/* The end of the process waits no longer for servers that do not answer. */
#define CLIENT_END_NS UINT64_C(1000000000)

struct dfs_client *dfs_client_find(const struct store_process *process, const char *name)
{
	for (struct store_keep *k = process ? process->first : NULL; k; k = k->next) {
		struct dfs_client *c = (struct dfs_client *)k;

		if (k->ops == &dfs_backend && strcmp(c->name, name) == 0)
			return c;
	}
	return NULL;
}

struct dfs_client *dfs_client_start(const char *name, const char *uri, int *rc, struct err *err)
{
	struct dfs_client *c = calloc(1, sizeof(*c));

	if (!c) {
		*rc = err_set(err, -ENOMEM, "no memory for %s", uri);
		return NULL;
	}
	snprintf(c->name, sizeof(c->name), "%s", name);
	*rc = dfs_library_open(&c->library, name, err);
	if (*rc == 0) {
		*rc = dfs_code_errno(c->library.dfs_init());
		if (*rc == 0)
			return c;
		dfs_code_blame(*rc, DFS_STARTS, uri, err);
		dfs_library_close(&c->library);
	}
	free(c);
	return NULL;
}

static void client_fini(void *from)
{
	struct dfs_client *c = from;

	c->library.dfs_fini();
}

static void client_free(void *from)
{
	struct dfs_client *c = from;

	dfs_library_close(&c->library);
	free(c);
}

static void client_end(struct store_keep *keep)
{
	struct dfs_patience patience = {.limit_ns = CLIENT_END_NS};

	/* Nobody opens a store any more, so it does not matter whether it succeeds. */
	if (dfs_aside_do(&patience, client_fini, client_free, keep))
		client_free(keep);
}

void dfs_client_keep(struct store_process *process, struct dfs_client *client)
{
	client->keep =
		(struct store_keep){.ops = &dfs_backend, .end = client_end, .next = process->first};
	process->first = &client->keep;
}

void dfs_client_end(struct dfs_client *client, const struct log *log)
{
	int rc = dfs_code_errno(client->library.dfs_fini());

	if (rc < 0)
		log_say(log, LOG_WARNING,
			"the client of DAOS cannot be ended (%s): no store daos:// can be opened in "
			"this process any more",
			dfs_code_text(rc));
	client_free(client);
}
