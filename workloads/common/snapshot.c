/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshot: see snapshot.h. */
#include "workloads/common/snapshot.h"

#include <string.h>

int snapshot_open(struct snapshot *s, struct phase_context *ctx, struct snapshot_hooks hooks,
		  void *argument, struct err *err)
{
	int rc;

	memset(s, 0, sizeof(*s));
	s->hooks = hooks;
	s->argument = argument;
	/* A phase within this one counts into a part. */
	if (!ctx->snapshot) {
		s->phase = ctx;
		ctx->snapshot = s;
	}
	if (!ctx->publish_every_ns)
		return 0;
	rc = tally_init_like(&s->tally, ctx->tally, err);
	if (rc < 0)
		return rc;
	s->next_ns = UINT64_MAX;
	s->ctx = ctx;
	return 0;
}

void snapshot_close(struct snapshot *s)
{
	if (s->ctx)
		tally_free(&s->tally);
	s->ctx = NULL;
	if (s->phase)
		s->phase->snapshot = NULL;
	s->phase = NULL;
}

void snapshot_join(struct snapshot *s, struct snapshot_part *part,
		   void (*add)(void *argument, struct tally *t), void *argument)
{
	*part = (struct snapshot_part){.add = add, .argument = argument, .resting = true};
	part->next = s->parts;
	s->parts = part;
	s->part_count++;
	if (s->ctx)
		part->of = s;
}

void snapshot_freeze(struct snapshot *s, struct tally *t)
{
	tally_clear(t, s->phase->tally->timeline->start_ns);
	tally_add(t, s->phase->tally);
	/* Before counting begins, hooks and threads have nothing, and may not be ready to be
	 * asked. */
	if (s->counted || !s->begun)
		return;
	if (s->hooks.own)
		s->hooks.own(s->argument, t);
	for (struct snapshot_part *p = s->parts; p; p = p->next)
		p->add(p->argument, t);
	if (s->hooks.complete)
		s->hooks.complete(s->argument, t);
}

void snapshot_start(struct snapshot *s, uint64_t start_ns)
{
	s->begun = true;
	if (s->ctx)
		s->next_ns = start_ns + s->ctx->publish_every_ns;
}

void snapshot_add(struct snapshot_part *part)
{
	struct snapshot *s = part->of;
	uint32_t asked = atomic_load_explicit(&s->asked, memory_order_acquire);

	if (part->number == asked ||
	    atomic_exchange_explicit(&s->adding, true, memory_order_acquire))
		return;
	part->add(part->argument, &s->tally);
	part->number = asked;
	atomic_store_explicit(&s->adding, false, memory_order_release);
	atomic_fetch_add_explicit(&s->added, 1, memory_order_release);
}

static void snapshot_ask(struct snapshot *s)
{
	tally_clear(&s->tally, s->ctx->tally->timeline->start_ns);
	tally_add(&s->tally, s->ctx->tally);
	if (s->hooks.own)
		s->hooks.own(s->argument, &s->tally);
	atomic_store_explicit(&s->added, 0, memory_order_relaxed);
	atomic_fetch_add_explicit(&s->asked, 1, memory_order_release);
}

uint64_t snapshot_poll(struct snapshot *s)
{
	if (!s->ctx)
		return 0;
	if (s->ready == s->published && !snapshot_wanted(s) &&
	    clock_now(s->ctx->clock) >= s->next_ns)
		snapshot_ask(s);
	if (!snapshot_wanted(s))
		return s->ready;
	for (struct snapshot_part *p = s->parts; p; p = p->next)
		if (atomic_load_explicit(&p->resting, memory_order_acquire))
			snapshot_look(p);
	if (atomic_load_explicit(&s->added, memory_order_acquire) == s->part_count)
		s->ready = atomic_load_explicit(&s->asked, memory_order_relaxed);
	return s->ready;
}

bool snapshot_publish(struct snapshot *s, const struct status *merged)
{
	struct phase_context *ctx = s->ctx;
	uint64_t began_ns, took_ns;

	if (!ctx || merged->snapshot <= s->published)
		return false;
	began_ns = clock_now(ctx->clock);
	if (s->hooks.complete)
		s->hooks.complete(s->argument, &s->tally);
	ctx->publish(ctx->publish_argument, &s->tally);
	s->published = (uint32_t)merged->snapshot;
	took_ns = clock_now(ctx->clock) - began_ns;
	/* A store of results that is slow is not kept busy all the time. */
	s->next_ns = began_ns + ctx->publish_every_ns;
	if (took_ns > ctx->publish_every_ns / 2)
		s->next_ns = began_ns + 2 * took_ns;
	return true;
}
