/* SPDX-License-Identifier: Apache-2.0 */
/* Retry with exponential backoff: how often what failed in passing is tried again, after how long,
 * and when no more.
 *
 * The wait before attempt n + 1 is uniform in [0, min(longest, first * 2^(n-1))) ("full jitter"),
 * or what the store asked for where that is longer, up to the bound patience. A budget bounds the
 * load that retries add to a store in trouble: it starts full, each further attempt takes one from
 * it, each success gives a tenth back. Belongs to a queue's thread; allocates nothing after
 * open. */
#ifndef HAUL_BACKENDS_QUEUE_RETRY_H
#define HAUL_BACKENDS_QUEUE_RETRY_H

#include "backends/backend.h"
#include "backends/retry.h"
#include "core/content/random.h"

struct retry_waiting {
	uint64_t at_ns;
	struct request *req;
};

struct retry {
	const struct retry_options *options; /* NULL: never */
	struct random random;
	uint64_t tenths; /* that are left of the budget */
	uint32_t count;
	uint64_t soonest_ns;           /* UINT64_MAX: none waits */
	struct retry_waiting *waiting; /* [depth] */
};

int retry_open(struct retry *r, const struct retry_options *options, uint32_t depth, uint64_t seed,
	       struct err *err);
void retry_close(struct retry *r);

/* Whether req, whose attempt has just failed, gets another, which is then taken from the budget. */
bool retry_allows(struct retry *r, const struct request *req);
/* When that attempt may begin. */
uint64_t retry_at(struct retry *r, const struct request *req, uint64_t now_ns);
void retry_succeeded(struct retry *r);

/* retry_keep holds req until at_ns; retry_due gives back one that is due, or NULL. */
void retry_keep(struct retry *r, struct request *req, uint64_t at_ns);
struct request *retry_due(struct retry *r, uint64_t now_ns);

#endif
