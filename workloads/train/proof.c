#include "workloads/train/proof.h"

#include <errno.h>
#include <stdlib.h>

#include "core/content/random.h"
#include "workloads/train/train.h"

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

/* Where the part of rank begins in n things. */
static uint64_t part_at(uint64_t n, uint32_t rank, uint32_t ranks)
{
	return (uint64_t)((unsigned __int128)n * rank / ranks);
}

static void expect_positions(const struct rank_sequence *s, uint64_t used, struct proof_part *part,
			     struct ids *expected)
{
	const struct order *o = &s->order;
	uint64_t tail = o->samples - used, k, end;
	struct ids some = {0};

	if (used < tail) {
		end = part_at(used, s->rank + 1, s->ranks);
		for (k = part_at(used, s->rank, s->ranks); k < end; k++)
			ids_add(&some, order_at(o, k));
		*expected = some;
		return;
	}
	if (!part->made)
		ids_range(&part->ids, part_at(o->samples, s->rank, s->ranks),
			  part_at(o->samples, s->rank + 1, s->ranks));
	part->made = true;
	end = used + part_at(tail, s->rank + 1, s->ranks);
	for (k = used + part_at(tail, s->rank, s->ranks); k < end; k++)
		ids_add(&some, order_at(o, k));
	expected->count = part->ids.count - some.count;
	expected->sum = part->ids.sum - some.sum;
	expected->hash = part->ids.hash - some.hash;
}

/* What a window that is cut has let out so far. */
static int expect_shuffled(const struct rank_sequence *s, uint64_t used, struct ids *expected,
			   struct err *err)
{
	struct arrival *in = calloc(s->window, sizeof(*in)), next, out;
	struct shuffle_buffer w;
	uint64_t q;

	if (!in)
		return err_set(err, -ENOMEM, "no memory for a shuffle window of %llu samples",
			       (unsigned long long)s->window);
	sequence_shuffle_buffer(s, &w, in);
	for (q = 0; q < w.came; q++)
		in[q].id = sequence_at(s, q);
	while (used--) {
		if (shuffle_buffer_more(&w))
			next.id = sequence_at(s, w.came);
		out = shuffle_buffer_take(&w, shuffle_buffer_more(&w) ? &next : NULL);
		ids_add(expected, out.id);
	}
	free(in);
	return 0;
}

int proof_expect(const struct rank_sequence *s, uint64_t batches, struct proof_part *part,
		 struct ids *expected, struct err *err)
{
	uint64_t used = batches * s->batch, q;

	*expected = (struct ids){0};
	if (s->window && used < s->samples)
		return expect_shuffled(s, used, expected, err);
	if (!s->interleave)
		expect_positions(s, used * s->ranks, part, expected);
	for (q = 0; s->interleave && q < used; q++)
		ids_add(expected, sequence_at(s, q));
	return 0;
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

int proof_judge(struct group *g, const struct rank_sequence *s, uint64_t taken, bool whole,
		struct proof_part *part, uint64_t *row, enum proof_verdict *verdict,
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
	rc = group_agree(g, proof_expect(s, taken, part, &expected, err), err);
	if (rc < 0)
		return rc;
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
