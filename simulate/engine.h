/* SPDX-License-Identifier: Apache-2.0 */
/* Engine: events in virtual time. An actor asks to be woken at a moment; the engine wakes actors one after
 * the other, in the order of their moments, and those of the same moment in the order in which they asked.
 * So the same actors do the same in each run. Belongs to one thread. */
#ifndef HAUL_SIMULATE_ENGINE_H
#define HAUL_SIMULATE_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

struct engine;
/* Embedded in what is woken. */
struct actor {
	void (*wake)(struct engine *e, struct actor *a);
};

struct event {
	uint64_t at_ns, order;
	struct actor *actor;
};

struct engine {
	uint64_t now_ns;
	uint64_t next_order, events; /* events: so far */
	struct event *heap;
	uint64_t count, room;
	int rc; /* -ENOMEM: an event was lost */
};

void engine_at(struct engine *e, uint64_t at_ns, struct actor *a);
/* Until nobody is left to be woken. Returns e->rc with a sentence. */
int engine_run(struct engine *e, struct err *err);
void engine_free(struct engine *e);

#endif
