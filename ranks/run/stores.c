/* Records of the stores in effect, for /stores: the first rank of each node reports them, and equal
 * rows of several nodes become one. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/run/state.h"

static bool same(const struct store_facts *a, const struct store_facts *b)
{
	return memcmp(a, b, offsetof(struct store_facts, nodes)) == 0;
}

/* Moves the rows that differ to the front, in order of first appearance. Returns how many there
 * are. */
static uint32_t fold(struct store_facts *rows, uint32_t count)
{
	uint32_t kept = 0, k;

	for (uint32_t i = 0; i < count; i++) {
		if (!rows[i].nodes)
			continue;
		for (k = 0; k < kept && !same(&rows[k], &rows[i]); k++)
			;
		if (k < kept)
			rows[k].nodes += rows[i].nodes;
		else
			rows[kept++] = rows[i];
	}
	return kept;
}

int run_record_stores(struct run *run, struct err *err)
{
	uint32_t stores = run->job.store_count;
	struct store_facts *rows = NULL;
	int rc = 0;

	if (run->world->rank == 0) {
		rows = calloc((size_t)run->nodes.count * stores + 1, sizeof(*rows));
		if (!rows)
			rc = err_set(err, -ENOMEM, "no memory for the record of the stores");
	}
	rc = group_agree(run->world, rc, err);
	if (rc == 0 && run->nodes.leaders)
		rc = group_gather(run->nodes.leaders, run->stores, stores * sizeof(*run->stores),
				  rows);
	if (rc == 0 && rows &&
	    results_set_stores(run->results, rows, fold(rows, run->nodes.count * stores)) < 0)
		rc = err_set(err, -ENOMEM, "no memory for the record of the stores");
	free(rows);
	return group_agree(run->world, rc, err);
}
