/* SPDX-License-Identifier: Apache-2.0 */
/* What a user asks of the cache, from the requests that the source makes: the first ones of the phase, as if all that they
 * read were there. One thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_DEMAND_H
#define HAUL_WORKLOADS_KVCACHE_DEMAND_H

#include "workloads/kvcache/requests/source.h"

struct kv_demand {
	double read, written; /* tokens per second of a user, on average */
	uint64_t request;     /* that a request reads and writes: the 95th percentile */
};

/* Requests that fall due before duration_ns, of at most as many users and requests as make an average. All 0: there are
 * none, or they are recorded ones. Options must have passed kv_source_check. -EINVAL or -ENOMEM, with a sentence. */
int kv_demand_of(const struct kv_source_options *options, const struct model *model, uint64_t seed,
		 uint64_t duration_ns, const char *path, struct kv_demand *out, struct err *err);

#endif
