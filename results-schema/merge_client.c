/* SPDX-License-Identifier: Apache-2.0 */
/* Merge of the client's side: the rows of all nodes get the same interval. Of very many nodes the
 * file has few rows each, and for each interval how the nodes were distributed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "results-schema/merge.h"

const char *const client_stat_names[CLIENT_STATS] = {"sum", "min", "p50", "p95", "max"};

/* Nodes fold their rows until they have the same interval, and no more rows than `most` each. */
static int fold_client(struct client_series *client, uint64_t most, struct group *group,
		       uint64_t *interval_ns, uint64_t *rows)
{
	int rc;

	*interval_ns = client ? client->interval_ns : 0;
	rc = group_allreduce(group, MERGE_MAX, interval_ns, 1);
	for (; rc == 0; *interval_ns *= 2) {
		if (client)
			client_series_fold(client, *interval_ns);
		*rows = client ? client->rows : 0;
		rc = group_allreduce(group, MERGE_MAX, rows, 1);
		if (*rows <= most)
			break;
	}
	return rc;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* nodes[count][CLIENT_COLUMNS]: what they did in interval i; sorted: room for count values. */
static void over_interval(struct client_over *over, uint32_t i, const uint64_t *nodes,
			  uint32_t count, uint64_t *sorted)
{
	for (unsigned c = 0; c < CLIENT_COLUMNS; c++) {
		uint64_t sum = 0;
		uint32_t n = 0;

		for (uint32_t k = 0; k < count; k++) {
			const uint64_t *row = nodes + (size_t)k * CLIENT_COLUMNS;

			/* A node without a reading in the interval has no values. */
			if (!row[CLIENT_COVERED_NS])
				continue;
			sorted[n++] = row[c];
			sum += row[c];
		}
		over->nodes[i] = n;
		if (!n)
			continue;
		qsort(sorted, n, sizeof(*sorted), by_value);
		over->row[CLIENT_SUM][i][c] = sum;
		over->row[CLIENT_MIN][i][c] = sorted[0];
		over->row[CLIENT_P50][i][c] = sorted[(n - 1) / 2];
		over->row[CLIENT_P95][i][c] = sorted[((uint64_t)n * 95 + 99) / 100 - 1];
		over->row[CLIENT_MAX][i][c] = sorted[n - 1];
	}
}

/* Among the first ranks of the nodes; rank 0 is one of them. */
static int gather_over(struct merged_client *c, const struct client_series *client,
		       struct group *leaders, struct err *err)
{
	static const uint64_t nothing[CLIENT_COLUMNS];
	uint64_t *nodes = NULL, *sorted = NULL;
	int rc = 0;

	if (leaders->rank == 0) {
		nodes = calloc(leaders->size, CLIENT_COLUMNS * sizeof(*nodes));
		sorted = calloc(leaders->size, sizeof(*sorted));
		c->over = calloc(1, sizeof(*c->over));
		if (!nodes || !sorted || !c->over)
			rc = err_set(err, -ENOMEM, "no memory for what %u nodes did",
				     leaders->size);
	}
	rc = group_agree(leaders, rc, err);
	for (uint32_t i = 0; rc == 0 && i < c->rows; i++) {
		const uint64_t *row = i < client->rows ? client->row[i] : nothing;

		rc = group_gather(leaders, row, sizeof(nothing), nodes);
		if (rc == 0 && nodes && sorted && c->over)
			over_interval(c->over, i, nodes, leaders->size, sorted);
	}
	if (c->over) {
		c->over->interval_ns = c->interval_ns;
		c->over->rows = c->rows;
	}
	free(nodes);
	free(sorted);
	return rc;
}

static int merge_over(struct merged_client *c, struct client_series *client, struct group *group,
		      struct err *err)
{
	struct group *some = NULL;
	uint64_t rows = 0;
	int rc = fold_client(client, CLIENT_OVER_ROWS, group, &c->interval_ns, &rows);

	c->rows = (uint32_t)rows;
	if (rc == 0)
		rc = group_split(group, client ? 0 : 1, &some, err);
	if (rc == 0 && client)
		rc = gather_over(c, client, some, err);
	if (some)
		group_free(some);
	return group_agree(group, rc, err);
}

int merge_client(struct merged *m, uint32_t nodes_max, struct group *group, struct err *err)
{
	struct client_series *client = m->phase->client;
	uint64_t nodes = client ? 1 : 0, most = MERGED_CLIENT_LEAST, rows = 0;
	int rc = group_allreduce(group, MERGE_SUM, &nodes, 1);

	if (rc < 0 || !nodes)
		return rc;
	m->client = (struct merged_client){.nodes = (uint32_t)nodes, .own = client};
	if (nodes > nodes_max)
		rc = merge_over(&m->client, client, group, err);
	else if (most < MERGED_CLIENT_ROWS / nodes)
		most = MERGED_CLIENT_ROWS / nodes;
	if (rc == 0)
		rc = fold_client(client, most, group, &m->client.interval_ns, &rows);
	m->client.rows = (uint32_t)rows;
	return rc;
}
