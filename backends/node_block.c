/* SPDX-License-Identifier: Apache-2.0 */
/* Node blocks: see node_block.h. Each rank keeps a list of the blocks, because a block may have
 * another address in each rank. The newest block comes first: in a series of runs a store may need
 * a block of another size than in the previous run. */
#include "backends/node_block.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node_block {
	struct node_block *next;
	uint64_t bytes;
	void *memory;
	char uri[URI_BYTES]; /* as the job writes it */
};

uint64_t backend_node_bytes(const struct job_store *described)
{
	const struct backend_ops *ops = described->section->owner;

	return ops->node_bytes ? ops->node_bytes(described->options) : 0;
}

static const char *node_block_uri(const struct job_store *described)
{
	const struct store_options *common = described->options;

	return common->uri.items[0];
}

static const struct node_block *node_block_named(const struct group *node, const char *uri)
{
	const struct node_block *b = node ? node->node_blocks : NULL;

	while (b && strcmp(b->uri, uri) != 0)
		b = b->next;
	return b;
}

void *node_block_find(const struct group *node, const struct job_store *described)
{
	const struct node_block *b = node_block_named(node, node_block_uri(described));

	return b && b->bytes == backend_node_bytes(described) ? b->memory : NULL;
}

int node_blocks_check(const struct job_store *stores, uint32_t count, struct err *err)
{
	for (uint32_t i = 1; i < count; i++) {
		for (uint32_t k = 0; k < i; k++) {
			if (strcmp(node_block_uri(&stores[i]), node_block_uri(&stores[k])) != 0 ||
			    backend_node_bytes(&stores[i]) == backend_node_bytes(&stores[k]))
				continue;
			return err_set(
				err, -EINVAL,
				"/stores/%s: store \"%s\" has the same URI %s but another capacity",
				stores[i].name, stores[k].name, node_block_uri(&stores[i]));
		}
	}
	return 0;
}

static int node_block_make(struct group *node, const struct job_store *described, struct err *err)
{
	const struct backend_ops *ops = described->section->owner;
	struct node_block *b = calloc(1, sizeof(*b));
	int rc = b ? 0 : err_set(err, -ENOMEM, "/stores/%s: no memory", described->name);

	rc = group_agree(node, rc, err);
	if (rc < 0)
		goto out_free;
	b->bytes = backend_node_bytes(described);
	snprintf(b->uri, sizeof(b->uri), "%s", node_block_uri(described));
	rc = group_shared(node, b->bytes, &b->memory, err);
	if (rc < 0) {
		err_wrap(err, rc, "/stores/%s", described->name);
		goto out_free;
	}
	if (node->rank == 0 && ops->node_init)
		ops->node_init(b->memory, described->options);
	b->next = node->node_blocks;
	node->node_blocks = b;
	/* No rank may use the block before its first state has been made. */
	return group_barrier(node);
out_free:
	free(b);
	return rc;
}

int node_blocks_reserve(struct group *node, const struct job_store *stores, uint32_t count,
			struct err *err)
{
	int rc = node_blocks_check(stores, count, err);

	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		if (backend_node_bytes(&stores[i]) && !node_block_find(node, &stores[i]))
			rc = node_block_make(node, &stores[i], err);
	}
	return rc;
}

void node_blocks_free(struct group *node)
{
	struct node_block *b = node->node_blocks, *next;

	for (; b; b = next) {
		next = b->next;
		free(b);
	}
	node->node_blocks = NULL;
}
