/* SPDX-License-Identifier: Apache-2.0 */
/* What a user asks of the cache: see demand.h. */
#include "workloads/kvcache/requests/demand.h"

#include <errno.h>
#include <stdlib.h>

#include "core/measure/hist.h"
#include "workloads/kvcache/requests/steps.h"

enum { DEMAND_USERS_MAX = 1024, DEMAND_REQUESTS_MAX = 1 << 16 };

struct demand_sums {
	uint64_t read, written;
	uint64_t earlier[DEMAND_USERS_MAX]; /* tokens of the turns before this one */
	struct hist requests;               /* tokens, in place of ns */
};

/* The tokens of what a step reads. */
static uint64_t demand_read(const struct demand_sums *d, const struct kv_steps *s,
			    const struct kv_step *step)
{
	const struct kv_source *source = s->source;
	const struct kv_request *r = s->request;

	switch (step->cause) {
	case KV_CAUSE_PROMPT:
		return kv_source_prompt_tokens(source, r->prompt);
	case KV_CAUSE_TURN:
		/* All of them are counted with the first. */
		return s->next == 1 ? d->earlier[r->user] : 0;
	case KV_CAUSE_RETRIEVAL:
		return s->next == 1 ? kv_retrieval_tokens(&source->documents, &r->retrieval) : 0;
	case KV_CAUSE_DECODE:
		return source->options->mode == KV_MODE_DECODE ? source->options->stored_tokens
							       : s->context;
	case KV_CAUSE_PREFILL:
	case KV_CAUSE_INGEST:
	case KV_CAUSES:
		break;
	}
	return 0;
}

static void demand_count(struct demand_sums *d, const struct kv_source *s,
			 const struct kv_request *r)
{
	uint64_t read = 0, written = 0, entry = 0;
	struct kv_steps steps;
	struct kv_step step;

	if (r->turn == 1)
		d->earlier[r->user] = 0;
	kv_steps_begin(&steps, s, r);
	while (kv_steps_next(&steps, true, &step)) {
		if (step.kind == KV_STEP_READ)
			read += demand_read(d, &steps, &step);
		if (step.kind == KV_STEP_WRITE)
			written += step.tokens;
		if (step.cause == KV_CAUSE_PREFILL)
			entry = step.tokens;
	}
	if (r->turn)
		d->earlier[r->user] += entry;
	d->read += read;
	d->written += written;
	hist_record(&d->requests, read + written);
}

int kv_demand_of(const struct kv_source_options *options, const struct model *model, uint64_t seed,
		 uint64_t duration_ns, const char *path, struct kv_demand *out, struct err *err)
{
	struct kv_source_options few = *options;
	struct demand_sums *d;
	struct kv_request request;
	struct kv_source source;
	uint64_t last_ns = duration_ns;
	unsigned count = 0;
	int rc;

	*out = (struct kv_demand){0};
	if (options->arrivals.file[0])
		return 0;
	if (few.users > DEMAND_USERS_MAX)
		few.users = DEMAND_USERS_MAX;
	few.users_most = few.users;
	rc = kv_source_open(&source, &few, model, seed, 0, path, err);
	if (rc < 0)
		return rc;
	d = calloc(1, sizeof(*d));
	while (d && count < DEMAND_REQUESTS_MAX && kv_source_due(&source) < duration_ns) {
		kv_source_next(&source, &request);
		/* Documents are written before users ask for them. */
		if (request.kind == KV_REQUEST_INGEST)
			continue;
		demand_count(d, &source, &request);
		if (++count == DEMAND_REQUESTS_MAX)
			last_ns = request.due_ns;
	}
	if (d && count && last_ns) {
		double user_seconds = (double)few.users * (double)last_ns / 1e9;

		out->read = (double)d->read / user_seconds;
		out->written = (double)d->written / user_seconds;
		out->request = hist_quantile_ns(&d->requests, 0.95);
	}
	kv_source_close(&source);
	rc = d ? 0 : err_set(err, -ENOMEM, "no memory for the requests of users");
	free(d);
	return rc;
}
