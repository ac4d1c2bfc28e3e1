/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/vector/shards.h"

#include <stdlib.h>

#include "core/numbers.h"

/* What a part took, and whose part it was, as one word: the largest is that of the slowest rank. */
enum { RANK_BITS = 20, BLOCK = 4096 };
static const uint64_t unanswered = UINT64_MAX;

static uint64_t part_word(const struct vector_part *part, uint32_t rank)
{
	uint64_t most = UINT64_MAX >> (RANK_BITS + 1);

	return part->took_ns ? min_u64(part->took_ns, most) << RANK_BITS | rank : unanswered;
}

static void shards_count(struct vector_thread *t, const struct vector_part *part, uint64_t word,
			 uint32_t rank)
{
	uint64_t took_ns = word >> RANK_BITS;

	if (word == unanswered)
		return;
	t->expanded += part->expanded;
	t->cached += part->cached;
	t->rounds += part->rounds;
	t->beside += part->beside;
	if ((word & ((1u << RANK_BITS) - 1)) != rank)
		return;
	t->answered++;
	if (!t->pace.limited)
		t->joined_ns += took_ns / (t->work->options->threads * t->work->options->depth);
	hist_record(meter_hist(&t->member->meter, VECTOR_HIST_QUERY), took_ns);
}

/* The queries of one thread number, from first on. */
static int shards_join_thread(struct vector_thread *t, struct group *g, uint64_t *words,
			      uint64_t first, uint64_t end)
{
	int rc = 0;

	/* What it answered in its own warm-up counts where another rank answered later. */
	t->warm = true;
	for (uint64_t at = first; rc == 0 && at < end; at += BLOCK) {
		uint64_t n = min_u64(end - at, BLOCK);

		for (uint64_t i = 0; i < n; i++)
			words[i] = part_word(&t->parts[at + i], g->rank);
		rc = group_allreduce(g, MERGE_MAX, words, n);
		for (uint64_t i = 0; rc == 0 && i < n; i++)
			shards_count(t, &t->parts[at + i], words[i], g->rank);
	}
	return rc;
}

int shards_join(struct vector_work *work, struct group *g)
{
	uint64_t threads = work->options->threads;
	uint64_t *ends = calloc(2 * threads + BLOCK, sizeof(*ends));
	struct err none = {0};
	int rc = group_agree(g, ends ? 0 : -ENOMEM, &none);

	for (uint64_t i = 0; rc == 0 && i < threads; i++) {
		ends[2 * i] = work->threads[i].warm_issued;
		ends[2 * i + 1] = work->threads[i].issued;
	}
	if (rc == 0)
		rc = group_allreduce(g, MERGE_MIN, ends, 2 * threads);
	for (uint64_t i = 0; rc == 0 && i < threads; i++)
		rc = shards_join_thread(&work->threads[i], g, ends + 2 * threads, ends[2 * i],
					ends[2 * i + 1]);
	free(ends);
	return rc;
}
