/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/queue/state.h"

#include <errno.h>
#include <stdlib.h>

#include "core/numbers.h"

enum { RETRY_TOKEN = 10 };

int retry_open(struct retry *r, const struct retry_options *options, uint32_t depth, uint64_t seed,
	       struct err *err)
{
	*r = (struct retry){.options = options, .soonest_ns = UINT64_MAX, .random = {.key = seed}};
	if (!options)
		return 0;
	r->tenths = options->budget * RETRY_TOKEN;
	r->waiting = calloc(depth, sizeof(*r->waiting));
	return r->waiting ? 0 : err_set(err, -ENOMEM, "no memory for a queue of depth %u", depth);
}

void retry_close(struct retry *r)
{
	free(r->waiting);
	r->waiting = NULL;
}

bool retry_allows(struct retry *r, const struct request *req)
{
	if (!r->options || !req->answer.transient || req->answer.attempts >= r->options->attempts)
		return false;
	if (!r->options->budget)
		return true;
	if (r->tenths < RETRY_TOKEN)
		return false;
	r->tenths -= RETRY_TOKEN;
	return true;
}

uint64_t retry_at(struct retry *r, const struct request *req, uint64_t now_ns)
{
	uint64_t bound = r->options->first_ns, wait, asked = req->answer.retry_after_ns;

	for (uint32_t n = 1; n < req->answer.attempts && bound < r->options->longest_ns; n++)
		bound *= 2;
	if (bound > r->options->longest_ns)
		bound = r->options->longest_ns;
	wait = random_next(&r->random) % bound;
	if (asked > r->options->patience_ns)
		asked = r->options->patience_ns;
	return now_ns + max_u64(wait, asked);
}

void retry_succeeded(struct retry *r)
{
	if (r->options && r->tenths < r->options->budget * RETRY_TOKEN)
		r->tenths++;
}

void retry_keep(struct retry *r, struct request *req, uint64_t at_ns)
{
	r->waiting[r->count++] = (struct retry_waiting){at_ns, req};
	if (at_ns < r->soonest_ns)
		r->soonest_ns = at_ns;
}

struct request *retry_due(struct retry *r, uint64_t now_ns)
{
	struct request *req = NULL;

	if (now_ns < r->soonest_ns)
		return NULL;
	r->soonest_ns = UINT64_MAX;
	for (uint32_t i = 0; i < r->count; i++) {
		if (!req && r->waiting[i].at_ns <= now_ns) {
			req = r->waiting[i].req;
			r->waiting[i--] = r->waiting[--r->count];
		} else if (r->waiting[i].at_ns < r->soonest_ns) {
			r->soonest_ns = r->waiting[i].at_ns;
		}
	}
	return req;
}
