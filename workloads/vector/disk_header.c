/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/vector/disk_header.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "workloads/vector/index.h"

/* The words of a header from the number of vectors on, but for the dimension. */
enum { MEDOID = 1, NODE_BYTES, PER_SECTOR, FROZEN, FROZEN_ID, REORDER, REORDER_FIRST, WORDS = 10 };
/* The words that Microsoft's form has at most here; without reorder data it has 9. */
enum { NAMED_LEAST = 9, NAMED_MOST = 64, DIMENSION_MAX = 32768 };

static uint64_t word_at(const void *sector, uint64_t i)
{
	uint64_t word;

	memcpy(&word, (const char *)sector + 8 * i, sizeof(word));
	return word;
}

/* Which of the two forms it is: where the words are, and the dimension. */
static int header_words(const void *sector, uint64_t file_bytes, uint64_t words[WORDS],
			uint64_t *dimension, struct err *err)
{
	uint64_t count = word_at(sector, 0) & UINT32_MAX, from = 1;

	*dimension = 0;
	if (word_at(sector, 0) >> 32 == 1 && count >= NAMED_LEAST && count <= NAMED_MOST &&
	    word_at(sector, count) == file_bytes) {
		*dimension = word_at(sector, 2);
		words[0] = word_at(sector, 1);
		if (*dimension < 1 || *dimension > DIMENSION_MAX)
			return err_set(err, -EINVAL, "its header has a dimension of %" PRIu64,
				       *dimension);
		from = 3;
	} else if (word_at(sector, 0) == file_bytes) {
		words[0] = word_at(sector, 1);
		from = 2;
	} else {
		return err_set(
			err, -EINVAL,
			"is no index file of DiskANN, or not all of one: its header does not "
			"say that it has %" PRIu64 " bytes",
			file_bytes);
	}
	for (uint64_t i = 1; i < WORDS; i++)
		words[i] = word_at(sector, from + i - 1);
	return 0;
}

static int header_nodes(const struct disk_header *h, uint64_t file_bytes, struct err *err)
{
	uint64_t per = VECTOR_SECTOR / h->node_bytes, sectors;

	if (h->per_sector != per)
		return err_set(err, -EINVAL,
			       "its header has %" PRIu64 " nodes per sector, and of %" PRIu64
			       " bytes there are %" PRIu64,
			       h->per_sector, h->node_bytes, per);
	sectors = per ? (h->vectors + per - 1) / per
		      : h->vectors * ((h->node_bytes + VECTOR_SECTOR - 1) / VECTOR_SECTOR);
	if (file_bytes / VECTOR_SECTOR < 1 + sectors)
		return err_set(err, -EINVAL,
			       "ends at byte %" PRIu64 ", and its %" PRIu64 " nodes take %" PRIu64,
			       file_bytes, h->vectors, (1 + sectors) * VECTOR_SECTOR);
	if (!h->reorder)
		return 0;
	if (h->reorder_sector < 1 + sectors || h->reorder_sector >= file_bytes / VECTOR_SECTOR ||
	    !h->reorder_per_sector || !h->reorder_dimension)
		return err_set(err, -EINVAL,
			       "its header has reorder data at sector %" PRIu64
			       ", where there are none",
			       h->reorder_sector);
	return 0;
}

int disk_header_read(struct disk_header *h, const void *sector, uint64_t file_bytes,
		     struct err *err)
{
	uint64_t words[WORDS] = {0}, dimension;
	int rc = header_words(sector, file_bytes, words, &dimension, err);

	if (rc < 0)
		return rc;
	*h = (struct disk_header){.vectors = words[0],
				  .medoid = words[MEDOID],
				  .node_bytes = words[NODE_BYTES],
				  .per_sector = words[PER_SECTOR],
				  .dimension = dimension,
				  .frozen = words[FROZEN],
				  .frozen_id = words[FROZEN_ID],
				  .reorder = words[REORDER] == 1};
	if (h->per_sector == UINT64_MAX)
		h->per_sector = 0;
	if (h->reorder) {
		h->reorder_sector = words[REORDER_FIRST];
		h->reorder_dimension = words[REORDER_FIRST + 1];
		h->reorder_per_sector = words[REORDER_FIRST + 2];
	}
	if (h->vectors < 2 || h->vectors > UINT32_MAX)
		return err_set(err, -EINVAL, "its header has %" PRIu64 " vectors", h->vectors);
	if (h->medoid >= h->vectors)
		return err_set(err, -EINVAL,
			       "its header begins searches at node %" PRIu64 " of %" PRIu64,
			       h->medoid, h->vectors);
	if (h->node_bytes < 9 || h->node_bytes > UINT32_MAX)
		return err_set(err, -EINVAL, "its header has nodes of %" PRIu64 " bytes",
			       h->node_bytes);
	if (h->frozen > 1 || (h->frozen && h->frozen_id >= h->vectors))
		return err_set(err, -EINVAL,
			       "its header has %" PRIu64 " frozen points, the first of id %" PRIu64,
			       h->frozen, h->frozen_id);
	return header_nodes(h, file_bytes, err);
}

int disk_header_degree(const struct disk_header *h, uint64_t vector_bytes, uint64_t *degree,
		       struct err *err)
{
	uint64_t rest = h->node_bytes > vector_bytes ? h->node_bytes - vector_bytes : 0;

	*degree = rest / 4 - (rest >= 4);
	if (rest % 4 == 0 && *degree >= 1 && *degree <= GRAPH_DEGREE_MAX)
		return 0;
	return err_set(err, -EINVAL,
		       "its nodes have %" PRIu64 " bytes, which are no vector of %" PRIu64
		       " bytes and up to %d neighbours; see dimension and type",
		       h->node_bytes, vector_bytes, GRAPH_DEGREE_MAX);
}
