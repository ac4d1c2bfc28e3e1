/* Named blocks of a node. The list hangs on the group and lives inside the blocks themselves, one
 * link for each rank (a block may stand at another address in each), so it goes when they go.
 *
 *	struct block | links[size] | padding to 64 | the backend's part
 */
#include "backends/node_block.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/store.h"

enum { BLOCK_ALIGN = 64 };

struct block {
	char name[URI_BYTES];
	size_t bytes;
	struct block *links[]; /* [group size]: each rank's next */
};

static size_t head_bytes(const struct group *node)
{
	size_t bytes = sizeof(struct block) + node->size * sizeof(struct block *);

	return (bytes + BLOCK_ALIGN - 1) / BLOCK_ALIGN * BLOCK_ALIGN;
}

static struct block *find(const struct group *node, const char *name)
{
	struct block *b = node->node_blocks;

	while (b && strcmp(b->name, name) != 0)
		b = b->links[node->rank];
	return b;
}

int node_block_get(struct store *store, size_t bytes, void **block, bool *fresh, struct err *err)
{
	struct group *node = store->node;
	const char *name = store_common(store)->uri.items[0];
	struct block *b;
	void *memory;
	int rc;

	*fresh = true;
	if (!node) {
		*block = calloc(1, bytes);
		return *block ? 0
			      : err_set(err, -ENOMEM, "%s: no memory for %zu bytes", store->uri,
					bytes);
	}
	b = find(node, name);
	if (b) {
		*fresh = false;
		*block = (char *)b + head_bytes(node);
		if (b->bytes == bytes)
			return 0;
		return err_set(err, -EINVAL,
			       "%s: another store of the job has this URI and another capacity",
			       name);
	}
	rc = group_shared(node, head_bytes(node) + bytes, &memory, err);
	if (rc < 0)
		return err_wrap(err, rc, "%s", store->uri);
	b = memory;
	if (node->rank == 0) {
		snprintf(b->name, sizeof(b->name), "%s", name);
		b->bytes = bytes;
	}
	b->links[node->rank] = node->node_blocks;
	node->node_blocks = b;
	*block = (char *)memory + head_bytes(node);
	/* Nobody looks for it by its name before that stands. */
	return group_barrier(node);
}

void node_block_free(struct store *store, void *block)
{
	if (!store->node)
		free(block);
}
