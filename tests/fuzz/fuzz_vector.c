/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what a search believes of a node that it has read: any bytes are the node. Its neighbours are
 * ids of the index, no more than it has room for, or the node is refused; and a search that follows
 * them ends. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/vector/frontier.h"
#include "workloads/vector/index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { VECTORS = 500, LIST = 20, NODES_MAX = 64 };

static void must(int holds)
{
	if (!holds)
		abort();
}

/* Node i of those that the input has; past its end they are as they were made. */
static const void *node_at(const uint8_t *data, size_t size, const struct vector_index *x,
			   uint64_t i, char *copy)
{
	if (size < (i + 1) * x->item_bytes)
		return NULL;
	memcpy(copy, data + i * x->item_bytes, x->item_bytes);
	return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct vector_shape shape = {
		.vectors = VECTORS, .segments = 1, .dimension = 1, .degree = 6, .list_pages = 1};
	uint32_t neighbours[GRAPH_DEGREE_MAX], id, looked = 0;
	struct frontier f = {0};
	struct vector_index x;
	char copy[64];

	vector_index_of(&x, &shape, 1, 0);
	must(x.item_bytes <= sizeof(copy) && frontier_open(&f, LIST, NULL) == 0);
	frontier_begin(&f, &x.graph, VECTORS / 3);
	for (; frontier_take(&f, &id); looked++) {
		const void *node = node_at(data, size, &x, looked % NODES_MAX, copy);
		int count = vector_index_neighbours(&x, id, node, neighbours, 6);

		must(count >= -1 && count <= 6 && looked <= VECTORS);
		for (int i = 0; i < count; i++)
			must(neighbours[i] < VECTORS);
		if (count > 0)
			frontier_see(&f, neighbours, (uint32_t)count);
	}
	frontier_close(&f);
	return 0;
}
