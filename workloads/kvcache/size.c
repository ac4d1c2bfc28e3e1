/* What a phase "kvcache" asks of the machine. */
#include <stdio.h>

#include "workloads/common/crew.h"
#include "workloads/kvcache/columns.h"
#include "workloads/kvcache/run.h"

static void size_note(struct demand *out, const char *text)
{
	if (out->note_count < sizeof(out->notes) / sizeof(out->notes[0]))
		snprintf(out->notes[out->note_count++], sizeof(out->notes[0]), "%s", text);
}

/* Entries that have so many bytes on average, of a tier with that capacity; 0: nobody knows. */
static uint64_t size_entries(const struct kv_setup *s, uint64_t capacity)
{
	uint64_t tokens = 0, bytes;

	if (capacity == KV_UNLIMITED || s->source.arrivals.file[0] || !s->source.template_count)
		return 0;
	for (uint32_t i = 0; i < s->source.template_count; i++)
		tokens +=
			(s->source.templates[i].context_min + s->source.templates[i].context_max) /
			2;
	bytes = kv_model_bytes(&s->model, tokens / s->source.template_count);
	return bytes ? capacity / bytes + 1 : 0;
}

int kvcache_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		 uint32_t ranks_per_node, struct demand *out, struct err *err)
{
	const struct kvcache_options *o = phase->options;
	struct kv_setup s;
	int rc = kv_setup_of(job, phase, &s, err);

	(void)ranks;
	(void)ranks_per_node;
	if (rc < 0)
		return rc;
	out->seconds = (double)o->duration_ns / 1e9;
	out->seconds_limit = out->seconds;
	/* A trace moves no byte, so its tiers have no memory. */
	out->memory_per_rank =
		(o->trace[0] ? 0 : s.memory) + s.source.users_most * sizeof(struct kv_user) +
		s.served * sizeof(struct kv_served) + o->threads * kv_worker_bytes(&s);
	size_note(out, "how many bytes are moved depends on how fast the stores are");
	if (o->requests)
		size_note(out, "the phase ends earlier, after its number of requests");
	return 0;
}

int kvcache_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		   struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err)
{
	const struct kvcache_options *o = phase->options;
	struct kv_setup s;
	int rc = kv_setup_of(job, phase, &s, err);

	for (uint32_t i = 0; rc == 0 && i < s.store_count; i++) {
		const struct backend_ops *ops = s.stores[i]->section->owner;
		struct phase_store *p = NULL;

		for (uint32_t k = 0; k < s.tier_count; k++) {
			if (s.tiers[k].kind != KV_TIER_STORE || s.tiers[k].store != i)
				continue;
			if (!p)
				p = phase_store_add(out, count, s.tiers[k].name, s.stores[i]);
			if (o->trace[0] || !(ops->capabilities & BACKEND_CONTENT) ||
			    s.rules[k].capacity == KV_UNLIMITED)
				continue;
			p->space_bytes += (double)s.rules[k].capacity * ranks;
			p->inodes += size_entries(&s, s.rules[k].capacity) * ranks;
		}
		if (!p || o->trace[0])
			continue;
		p->needs = BACKEND_RANGES;
		p->depth = o->depth;
		p->verifies = o->verify == VERIFY_FULL;
	}
	return rc;
}
