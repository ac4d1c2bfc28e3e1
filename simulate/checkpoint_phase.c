/* SPDX-License-Identifier: Apache-2.0 */
/* The phase "checkpoint" in virtual time: all that it writes, then all that it reads. */
#include "simulate/checkpoint.h"

struct checkpoint_phase {
	struct actor next; /* woken when a checkpoint is whole, and after a pause */
	struct engine engine;
	const struct checkpoint_options *o;
	struct checkpoint_model *model;
	uint64_t to_write, to_read;
	bool pausing;
};

static void phase_next(struct engine *e, struct actor *a)
{
	struct checkpoint_phase *p = (struct checkpoint_phase *)a;

	if (!p->to_write && !p->to_read)
		return;
	if (p->pausing && p->o->pause_ns) {
		p->pausing = false;
		engine_at(e, e->now_ns + p->o->pause_ns, a);
		return;
	}
	p->pausing = true;
	if (p->to_write) {
		p->to_write--;
		checkpoint_model_begin(p->model, false, a);
		return;
	}
	if (p->to_read == p->o->count)
		checkpoint_model_from_first(p->model);
	p->to_read--;
	checkpoint_model_begin(p->model, true, a);
}

int simulate_checkpoint(const struct simulation *s, const struct job_phase *phase,
			struct simulated *out, struct err *err)
{
	struct checkpoint_phase p = {.next.wake = phase_next, .o = phase->options};
	struct checkpoint_use use;
	int rc = checkpoint_use_of(s->job, phase, &use, err);

	p.to_write = checkpoint_writes(p.o) ? p.o->count : 0;
	p.to_read = checkpoint_reads(p.o) ? p.o->count : 0;
	if (rc == 0)
		rc = checkpoint_model_open(&p.model, s, &p.engine, &use, s->ranks, out, out, err);
	if (rc == 0) {
		engine_at(&p.engine, 0, &p.next);
		rc = engine_run(&p.engine, err);
	}
	if (rc == 0) {
		checkpoint_model_count(p.model);
		out->events = p.engine.events;
	}
	checkpoint_model_close(p.model);
	engine_free(&p.engine);
	return rc;
}
