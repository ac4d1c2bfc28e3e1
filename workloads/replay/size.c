/* What a phase "replay" asks of the machine. */
#include <stdio.h>

#include "workloads/replay/work.h"

int replay_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		uint32_t ranks_per_node, struct demand *out, struct err *err)
{
	const struct replay_options *o = phase->options;
	const struct backend_ops *ops;
	const struct job_store *store = NULL;
	int rc = replay_check(job, phase, ranks, err);

	(void)ranks_per_node;
	if (rc == 0)
		rc = phase_store_find(job, phase, &store, err);
	if (rc < 0 || !store)
		return rc;
	ops = store->section->owner;
	out->seconds_limit = (double)o->seconds_ns / 1e9;
	out->memory_per_rank =
		o->threads * replay_thread_bytes(o, ops->capabilities & BACKEND_CONTENT);
	demand_note(out, "how many bytes are moved is known when the trace is read");
	demand_note(out, "the rows of a rank's keys are in its memory, with 32 bytes each");
	return 0;
}

int replay_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		  struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err)
{
	const struct replay_options *o = phase->options;
	const struct job_store *store = NULL;
	struct phase_store *s;
	int rc = replay_check(job, phase, ranks, err);

	if (rc == 0)
		rc = phase_store_find(job, phase, &store, err);
	if (rc < 0)
		return rc;
	s = phase_store_add(out, count, "data", store);
	s->needs = BACKEND_RANGES | BACKEND_WRITES;
	s->depth = o->depth;
	s->depth_option = "depth";
	s->verifies = o->verify == VERIFY_FULL;
	return 0;
}
