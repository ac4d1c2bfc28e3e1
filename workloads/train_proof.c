#include "workloads/train_proof.h"

#include <errno.h>

#include "core/random.h"
#include "workloads/train.h"

void ids_add(struct ids *ids, uint64_t id)
{
	ids->count++;
	ids->sum += id;
	ids->hash += mix64(id);
}

void ids_range(struct ids *ids, uint64_t first, uint64_t end)
{
	unsigned __int128 twice =
		(unsigned __int128)(end - first) * ((unsigned __int128)first + end);
	uint64_t id;

	ids->count = end - first;
	/* (first + end - 1) * (end - first) / 2 */
	ids->sum = (uint64_t)((twice - (end - first)) / 2);
	ids->hash = 0;
	for (id = first; id < end; id++)
		ids->hash += mix64(id);
}

/* Where the share of rank begins in n things. */
static uint64_t share_at(uint64_t n, uint32_t rank, uint32_t ranks)
{
	return (uint64_t)((unsigned __int128)n * rank / ranks);
}

void proof_expect(const struct order *o, uint64_t used, uint32_t rank, uint32_t ranks,
		  struct proof_share *share, struct ids *expected)
{
	uint64_t tail = o->samples - used, k, end;
	struct ids some = {0};

	if (used < tail) {
		end = share_at(used, rank + 1, ranks);
		for (k = share_at(used, rank, ranks); k < end; k++)
			ids_add(&some, order_at(o, k));
		*expected = some;
		return;
	}
	if (!share->made)
		ids_range(&share->ids, share_at(o->samples, rank, ranks),
			  share_at(o->samples, rank + 1, ranks));
	share->made = true;
	end = used + share_at(tail, rank + 1, ranks);
	for (k = used + share_at(tail, rank, ranks); k < end; k++)
		ids_add(&some, order_at(o, k));
	expected->count = share->ids.count - some.count;
	expected->sum = share->ids.sum - some.sum;
	expected->hash = share->ids.hash - some.hash;
}

static int proof_mismatch(const uint64_t *row, const struct ids *got, const struct ids *wanted,
			  struct err *err)
{
	const char *what = row[EPOCH_EVALUATION] ? "evaluation after epoch" : "epoch";

	if (got->count != wanted->count)
		return err_set(err, -EBADMSG,
			       "%s %llu: %llu samples were read, %llu should have been", what,
			       (unsigned long long)row[EPOCH_NUMBER],
			       (unsigned long long)got->count, (unsigned long long)wanted->count);
	return err_set(
		err, -EBADMSG,
		"%s %llu: not each of %llu samples was read exactly once: the ids read add up to %llu, not %llu",
		what, (unsigned long long)row[EPOCH_NUMBER], (unsigned long long)wanted->count,
		(unsigned long long)got->sum, (unsigned long long)wanted->sum);
}

int proof_judge(struct group *g, const struct order *o, uint64_t taken, uint64_t batch, bool whole,
		struct proof_share *share, uint64_t *row, enum proof_verdict *verdict,
		struct err *err)
{
	uint64_t even[3] = {taken, ~taken, whole ? 0 : 1};
	struct ids expected, got, wanted;
	uint64_t words[6];
	int rc;

	*verdict = PROOF_NOT_JUDGED;
	row[EPOCH_JUDGED] = 0;
	row[EPOCH_PROVEN] = 0;
	rc = group_allreduce(g, MERGE_MAX, even, 3);
	if (rc < 0)
		return err_set(err, rc, "the ranks could not compare their samples");
	if (even[0] != ~even[1] || even[2])
		return 0;
	proof_expect(o, taken * batch * g->size, g->rank, g->size, share, &expected);
	row[EPOCH_EXPECTED_SAMPLES] = expected.count;
	row[EPOCH_EXPECTED_ID_SUM] = expected.sum;
	row[EPOCH_EXPECTED_ID_HASH] = expected.hash;
	words[0] = row[EPOCH_SAMPLES] + row[EPOCH_SAMPLES_FAILED];
	words[1] = row[EPOCH_ID_SUM] + row[EPOCH_FAILED_ID_SUM];
	words[2] = row[EPOCH_ID_HASH] + row[EPOCH_FAILED_ID_HASH];
	words[3] = expected.count;
	words[4] = expected.sum;
	words[5] = expected.hash;
	rc = group_allreduce(g, MERGE_SUM, words, 6);
	if (rc < 0)
		return err_set(err, rc, "the ranks could not compare their samples");
	got = (struct ids){words[0], words[1], words[2]};
	wanted = (struct ids){words[3], words[4], words[5]};
	row[EPOCH_JUDGED] = 1;
	*verdict = PROOF_MISMATCH;
	if (got.count != wanted.count || got.sum != wanted.sum || got.hash != wanted.hash)
		return proof_mismatch(row, &got, &wanted, err);
	row[EPOCH_PROVEN] = 1;
	*verdict = PROOF_HOLDS;
	return 0;
}
