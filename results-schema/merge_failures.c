/* SPDX-License-Identifier: Apache-2.0 */
/* Merge of a phase's first failures: they go from the ranks that met them to rank 0. Where there
 * are more than MERGED_FAILURES_MAX, each rank gives an equal part, the first that it met. */
#include <errno.h>
#include <stdlib.h>

#include "results-schema/merge.h"

static uint64_t failures_kept(const struct tally *t)
{
	return t->failure_count < TALLY_FAILURES ? t->failure_count : TALLY_FAILURES;
}

/* Rank 0: computes how many failures each rank gives, and puts that into has[ranks]. Returns the
 * sum. */
static uint32_t failures_share(uint64_t *has, uint32_t ranks)
{
	uint64_t wanted = 0, with = 0, most, total = 0;

	for (uint32_t r = 0; r < ranks; r++) {
		wanted += has[r];
		with += has[r] ? 1 : 0;
	}
	most = wanted <= MERGED_FAILURES_MAX ? TALLY_FAILURES : MERGED_FAILURES_MAX / with;
	most = most ? most : 1;
	for (uint32_t r = 0; r < ranks; r++) {
		has[r] = has[r] < most ? has[r] : most;
		if (total + has[r] > MERGED_FAILURES_MAX)
			has[r] = 0;
		total += has[r];
	}
	return (uint32_t)total;
}

static int by_time(const void *a, const void *b)
{
	const struct failure *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int failures_collect(struct merged *m, const struct tally *t, const uint64_t *shares,
			    struct group *group)
{
	struct failure *to = m->failures;

	for (uint64_t i = 0; i < shares[0]; i++)
		*to++ = t->failures[i];
	for (uint32_t r = 1; r < group->size; r++) {
		int rc = shares[r] ? group_receive(group, r, to, shares[r] * sizeof(*to)) : 0;

		if (rc < 0)
			return rc;
		to += shares[r];
	}
	qsort(m->failures, m->failure_rows, sizeof(*m->failures), by_time);
	return 0;
}

int merge_failures(struct merged *m, struct group *group, struct err *err)
{
	const struct tally *t = m->phase->tally;
	uint64_t count = t->failure_count, share = failures_kept(t), rows = 0;
	uint64_t *shares = NULL; /* on rank 0 only */
	int rc = group_allreduce(group, MERGE_SUM, &count, 1);

	if (rc < 0 || !count)
		return rc;
	if (group->rank == 0) {
		shares = calloc(group->size, sizeof(*shares));
		m->failures = calloc(MERGED_FAILURES_MAX, sizeof(*m->failures));
		if (!shares || !m->failures)
			rc = err_set(err, -ENOMEM, "no memory for the errors of a phase");
	}
	rc = group_agree(group, rc, err);
	if (rc == 0)
		rc = group_gather(group, &share, sizeof(share), shares);
	if (rc == 0 && shares)
		rows = failures_share(shares, group->size);
	if (rc == 0)
		rc = group_broadcast(group, &rows, sizeof(rows));
	if (rc == 0)
		rc = group_scatter(group, shares, sizeof(share), &share);
	m->failure_count = count;
	m->failure_rows = (uint32_t)rows;
	if (rc == 0 && shares)
		rc = failures_collect(m, t, shares, group);
	else if (rc == 0 && share)
		rc = group_send(group, 0, t->failures, share * sizeof(t->failures[0]));
	free(shares);
	return rc;
}
