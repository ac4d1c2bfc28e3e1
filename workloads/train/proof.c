/* SPDX-License-Identifier: Apache-2.0 */
/* The proof of an epoch. */
#include "workloads/train/proof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* Where the part of a rank begins among n things. */
static uint64_t proof_part_at(uint64_t n, uint32_t rank, uint32_t ranks)
{
	return (uint64_t)((unsigned __int128)n * rank / ranks);
}

/* Adds the samples at positions from ... end - 1. */
static void ids_add_order(struct ids *ids, const struct order *o, uint64_t from, uint64_t end)
{
	uint64_t sample = 0;

	for (uint64_t k = from; k < end; k++) {
		sample = k > from ? order_next(o, k, sample) : order_at(o, k);
		ids_add(ids, sample);
	}
}

static void proof_expect_positions(const struct rank_sequence *s, uint64_t used,
				   struct proof_part *part, struct ids *expected)
{
	const struct order *o = &s->order;
	uint64_t tail = o->samples - used;
	struct ids some = {0};

	if (used < tail) {
		ids_add_order(&some, o, proof_part_at(used, s->rank, s->ranks),
			      proof_part_at(used, s->rank + 1, s->ranks));
		*expected = some;
		return;
	}
	if (!part->made)
		ids_range(&part->ids, proof_part_at(o->samples, s->rank, s->ranks),
			  proof_part_at(o->samples, s->rank + 1, s->ranks));
	part->made = true;
	ids_add_order(&some, o, used + proof_part_at(tail, s->rank, s->ranks),
		      used + proof_part_at(tail, s->rank + 1, s->ranks));
	expected->count = part->ids.count - some.count;
	expected->sum = part->ids.sum - some.sum;
	expected->hash = part->ids.hash - some.hash;
}

/* What has come out of the shuffle buffer in an epoch that was cut. */
static int proof_expect_shuffled(const struct rank_sequence *s, uint64_t used, struct ids *expected,
				 struct err *err)
{
	struct brought_sample *in = calloc(s->shuffle_samples, sizeof(*in)), next, out;
	struct shuffle_buffer b;
	uint64_t q;

	if (!in)
		return err_set(err, -ENOMEM, "no memory for a shuffle buffer of %llu samples",
			       (unsigned long long)s->shuffle_samples);
	sequence_shuffle_buffer(s, &b, in);
	for (q = 0; q < b.came; q++)
		in[q].id = sequence_at(s, q);
	while (used--) {
		if (shuffle_buffer_more(&b))
			next.id = sequence_at(s, b.came);
		out = shuffle_buffer_take(&b, shuffle_buffer_more(&b) ? &next : NULL);
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
	if (s->shuffle_samples && used < s->samples)
		return proof_expect_shuffled(s, used, expected, err);
	if (!s->interleave)
		proof_expect_positions(s, used * s->ranks, part, expected);
	for (q = 0; s->interleave && q < used; q++)
		ids_add(expected, sequence_at(s, q));
	return 0;
}

static int proof_mismatch(const uint64_t *row, const struct ids *got, const struct ids *expected,
			  struct err *err)
{
	const char *what = row[EPOCH_EVALUATION] ? "evaluation after epoch" : "epoch";

	if (got->count != expected->count)
		return err_set(err, -EBADMSG,
			       "%s %llu: of the samples %llu were read, %llu should have been",
			       what, (unsigned long long)row[EPOCH_NUMBER],
			       (unsigned long long)got->count, (unsigned long long)expected->count);
	return err_set(
		err, -EBADMSG,
		"%s %llu: not each of %llu samples was read exactly once: the ids read add up to %llu, not %llu",
		what, (unsigned long long)row[EPOCH_NUMBER], (unsigned long long)expected->count,
		(unsigned long long)got->sum, (unsigned long long)expected->sum);
}

/* Of the ranks in once: what they have together, and what they should have. Only what is read
 * counts as expected in a row, so that the rows of all ranks add up. */
static int proof_compare(const struct proof_ranks *ranks, const struct rank_sequence *s,
			 uint64_t taken, struct proof_part *part, uint64_t *row, struct err *err)
{
	struct ids got = {
		.count = row[EPOCH_SAMPLES] + row[EPOCH_SAMPLES_FAILED],
		.sum = row[EPOCH_ID_SUM] + row[EPOCH_FAILED_ID_SUM],
		.hash = row[EPOCH_ID_HASH] + row[EPOCH_FAILED_ID_HASH],
	};
	struct ids expected;
	uint64_t words[6];
	int rc = group_agree(ranks->once, proof_expect(s, taken, part, &expected, err), err);

	if (rc < 0)
		return rc;
	if (ranks->handed) {
		got = *ranks->handed;
	} else {
		row[EPOCH_EXPECTED_SAMPLES] = expected.count;
		row[EPOCH_EXPECTED_ID_SUM] = expected.sum;
		row[EPOCH_EXPECTED_ID_HASH] = expected.hash;
	}
	memcpy(words, &got, sizeof(got));
	memcpy(words + 3, &expected, sizeof(expected));
	rc = group_allreduce(ranks->once, MERGE_SUM, words, 6);
	if (rc < 0)
		return err_set(err, rc, "the ranks could not compare their samples");
	memcpy(&got, words, sizeof(got));
	memcpy(&expected, words + 3, sizeof(expected));
	if (memcmp(&got, &expected, sizeof(got)) != 0)
		return proof_mismatch(row, &got, &expected, err);
	return 0;
}

int proof_judge(const struct proof_ranks *ranks, const struct rank_sequence *s, uint64_t taken,
		bool whole, struct proof_part *part, uint64_t *row, enum proof_verdict *verdict,
		struct err *err)
{
	uint64_t even[3] = {taken, ~taken, whole ? 0 : 1};
	int rc;

	*verdict = PROOF_NOT_JUDGED;
	row[EPOCH_JUDGED] = 0;
	row[EPOCH_PROVEN] = 0;
	rc = group_allreduce(ranks->all, MERGE_MAX, even, 3);
	if (rc < 0)
		return err_set(err, rc, "the ranks could not compare their samples");
	if (even[0] != ~even[1] || even[2])
		return 0;
	if (ranks->once)
		rc = proof_compare(ranks, s, taken, part, row, err);
	if (ranks->once != ranks->all)
		rc = group_agree(ranks->all, rc, err);
	row[EPOCH_JUDGED] = rc == 0 || rc == -EBADMSG;
	row[EPOCH_PROVEN] = rc == 0;
	if (row[EPOCH_JUDGED])
		*verdict = rc == 0 ? PROOF_HOLDS : PROOF_MISMATCH;
	return rc;
}
