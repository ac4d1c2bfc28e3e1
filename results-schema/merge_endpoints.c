#include "results-schema/merge_endpoints.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = sizeof(struct tally_endpoint) / sizeof(uint64_t) };
enum { NAME_WORDS = TALLY_ENDPOINT_NAME_BYTES / sizeof(uint64_t) };
_Static_assert(WORDS == NAME_WORDS + ENDPOINT_MEASURES + TALLY_STATUSES + TALLY_LATENCIES,
	       "a name and words");

/* This rank's figures in the rows that rank 0 has named. */
static void fill(struct merged *m, const struct tally *t)
{
	for (uint32_t i = 0; i < m->endpoint_count; i++) {
		for (uint32_t k = 0; k < t->endpoint_count; k++) {
			if (strcmp(m->endpoints[i].name, t->endpoints[k].name) == 0)
				tally_endpoint_merge(&m->endpoints[i], &t->endpoints[k]);
		}
	}
}

/* Names are the same on every rank, so that only the words behind them are added. */
static int reduce(struct merged *m, struct group *group)
{
	uint64_t *words = malloc((size_t)m->endpoint_count * WORDS * sizeof(*words));
	uint64_t *most = malloc(m->endpoint_count * sizeof(*most));
	int rc = group_agree(group, words && most ? 0 : -ENOMEM, NULL);

	for (uint32_t i = 0; rc == 0 && i < m->endpoint_count; i++) {
		memcpy(words + (size_t)i * WORDS, &m->endpoints[i], sizeof(m->endpoints[i]));
		memset(words + (size_t)i * WORDS, 0, NAME_WORDS * sizeof(*words));
		most[i] = m->endpoints[i].row[ENDPOINT_MAX_NS];
	}
	if (rc == 0)
		rc = group_reduce(group, MERGE_SUM, words, (size_t)m->endpoint_count * WORDS);
	if (rc == 0)
		rc = group_reduce(group, MERGE_MAX, most, m->endpoint_count);
	for (uint32_t i = 0; rc == 0 && group->rank == 0 && i < m->endpoint_count; i++) {
		struct tally_endpoint *e = &m->endpoints[i];

		memcpy(e->row, words + (size_t)i * WORDS + NAME_WORDS,
		       sizeof(*e) - sizeof(e->name));
		e->row[ENDPOINT_MAX_NS] = most[i];
	}
	free(words);
	free(most);
	return rc;
}

/* How many rows of statuses follow from what rank 0 now has: all ranks must know. */
static int count_statuses(struct merged *m, struct group *group)
{
	uint64_t n = 0;
	int rc;

	for (uint32_t i = 0; group->rank == 0 && i < m->endpoint_count; i++) {
		for (unsigned s = 0; s < TALLY_STATUSES; s++)
			n += m->endpoints[i].status[s] != 0;
	}
	rc = group_broadcast(group, &n, sizeof(n));
	m->status_rows = (uint32_t)n;
	return rc;
}

int merge_endpoints(struct merged *m, const struct tally *t, struct group *group, struct err *err)
{
	uint64_t count = t->endpoint_count;
	int rc = group_broadcast(group, &count, sizeof(count));

	if (rc < 0 || !count)
		return rc;
	m->endpoint_count = (uint32_t)count;
	m->endpoints = calloc(count, sizeof(*m->endpoints));
	if (!m->endpoints)
		rc = err_set(err, -ENOMEM, "no memory for %u endpoints", m->endpoint_count);
	rc = group_agree(group, rc, err);
	for (uint32_t i = 0; rc == 0 && i < m->endpoint_count; i++) {
		if (group->rank == 0)
			memcpy(m->endpoints[i].name, t->endpoints[i].name,
			       sizeof(m->endpoints[i].name));
		rc = group_broadcast(group, m->endpoints[i].name, sizeof(m->endpoints[i].name));
	}
	if (rc < 0)
		return rc;
	fill(m, t);
	rc = reduce(m, group);
	return rc < 0 ? rc : count_statuses(m, group);
}
