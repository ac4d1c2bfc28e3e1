/* Client profiles: see client.h. docs/stores-daos.md has the same table, and what options cannot express. */
#include "backends/dfs/client.h"

const char *const dfs_client_names[] = {
	[DFS_CLIENT_DFS] = "dfs",
	[DFS_CLIENT_PYDAOS] = "pydaos",
	NULL,
};

/* pydaos.torch of DAOS 2.8: a sample is opened and read by one request each time, and a checkpoint is written in chunks
 * by four processes. */
void dfs_client_preset(void *into)
{
	struct dfs_options *o = into;

	if (o->client != DFS_CLIENT_PYDAOS)
		return;
	o->handles = 0;
	o->folders = 64 << 10;
	o->common.transfer = 1ull << 40;
	o->part_bytes = 64 << 20;
	o->in_flight = 4;
}
