/* SPDX-License-Identifier: Apache-2.0 */
/* Proof of an epoch: each sample outside the tail was read exactly once. What was read (count, sum
 * of ids, sum of mix64(id), all modulo 2^64) is compared with what should have been read. Each rank
 * computes the latter for a part of the samples that has nothing to do with what it read itself. */
#ifndef HAUL_WORKLOADS_TRAIN_PROOF_H
#define HAUL_WORKLOADS_TRAIN_PROOF_H

#include "core/err.h"
#include "core/group/group.h"
#include "workloads/train/sampler/rank_sequence.h"

struct ids {
	uint64_t count, sum, hash;
};

/* A part of all ids of a data set. It is the same in each epoch, so it is computed once. */
struct proof_part {
	bool made;
	struct ids ids;
};

void ids_add(struct ids *ids, uint64_t id);

/* All ids in [first, end). Count and sum are closed forms, the hash is not. */
void ids_range(struct ids *ids, uint64_t first, uint64_t end);

/* This rank's part of what the first batches of all ranks hold. One by one: computed from all ids
 * less the tail, or from the positions themselves, whichever is less work. Streams, and an epoch
 * with a shuffle buffer that was cut: by going through the rank's own batches again. */
int proof_expect(const struct rank_sequence *s, uint64_t batches, struct proof_part *part,
		 struct ids *expected, struct err *err);

enum proof_verdict { PROOF_NOT_JUDGED, PROOF_MISMATCH, PROOF_HOLDS };

/* Who proves an epoch. */
struct proof_ranks {
	struct group *all;
	/* The ranks that together read, or got, each sample once; s->rank is the rank in it. NULL:
	 * this rank had no samples, and takes part in the verdict only. */
	struct group *once;
	const struct ids
		*handed; /* what this rank got from another; NULL: it has read what its row says */
};

/* Judges a row of an epoch (enum train_epoch; ids read and failed are in it) and fills in what was
 * expected, whether it was judged and proven. taken: batches that this rank took; whole: false
 * where an error makes the epoch unfit. Collective over all; *verdict is the same on every rank.
 * -EBADMSG with a sentence on a mismatch. */
int proof_judge(const struct proof_ranks *ranks, const struct rank_sequence *s, uint64_t taken,
		bool whole, struct proof_part *part, uint64_t *row, enum proof_verdict *verdict,
		struct err *err);

#endif
