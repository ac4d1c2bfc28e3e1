/* SPDX-License-Identifier: Apache-2.0 */
/* Last words of a run that does not come to an end (watchdog.h): see state.h.
 *
 * All of it runs in a copy of the process, in one thread, beside the state in which the others
 * were: nothing here may wait for them, or take a lock of theirs. The others' figures are not here:
 * their rows are zeros. */
#include <string.h>
#include <unistd.h>

#include "core/group/lone.h"
#include "core/utf8.h"
#include "ranks/run/publish.h"
#include "workloads/common/snapshot.h"

struct last_words {
	struct lone_group world, leaders;
	struct run *run;
	enum stop_reason reason;
	const char *sentence;
};

/* What has been counted so far: by threads that go on, or by a phase that has ended here but not
 * everywhere. Without either the phase has not begun to count. */
static bool words_counted(struct phase_run *p, struct tally *t)
{
	struct err ignored = {0};

	if (p->ctx.counted) {
		*t = p->tally;
		if (!p->counted)
			phase_count(p, t->rank_row);
		return true;
	}
	if (!p->ctx.snapshot || tally_init_like(t, &p->tally, &ignored) < 0)
		return false;
	snapshot_freeze(p->ctx.snapshot, t);
	phase_count(p, t->rank_row);
	return true;
}

static int words_publish(struct last_words *l, struct phase_run *p, struct err *err)
{
	struct run *run = l->run;
	struct results_phase phase = {0};
	struct err why = {0};
	struct tally t = {0};
	uint64_t requests;

	if (results_next(run->results) > p->number || !words_counted(p, &t))
		return 0;
	phase.tally = &t;
	p->ctx.group = &l->world.base;
	/* What all ranks had done when the phase was last published may be more than what this one
	 * has done until now. It stays, then: one phase has one set of figures. A publication may be
	 * in place although not all ranks have heard of it. */
	requests = phase_requests(&t, p->ctx.group);
	if (requests < p->interim_requests || requests < results_interim(run->results))
		return 0;
	p->rc = l->reason == STOP_ERROR ? -1 : 0;
	p->stopped = l->reason;
	p->finished_ns = p->finished_ns ? p->finished_ns : phase_utc_ns(p);
	err_set(&why, -1, "%s", l->sentence);
	phase_describe(p, &t, &why, &phase.record);
	utf8_copy(phase.record.error, sizeof(phase.record.error), l->sentence);
	run->published = (uint32_t)results_next(run->results);
	return phase_publish(run, p->ctx.phase, &phase, p, err);
}

void run_last_words(void *argument, enum stop_reason reason, const char *sentence)
{
	struct run *run = argument;
	struct last_words l = {.run = run, .reason = reason, .sentence = sentence};
	struct err err = {0};
	int rc;

	if (!run->results)
		return;
	lone_group_init(&l.world, run->world->rank, run->world->size);
	lone_group_init(&l.leaders, run->nodes.index, run->nodes.count);
	rc = results_set_alone(run->results, &l.world.base, &err);
	/* The log goes on under this rank's name. */
	run->world = &l.world.base;
	run->nodes.leaders = &l.leaders.base;
	if (rc == 0 && run->phase)
		rc = words_publish(&l, run->phase, &err);
	if (rc == 0 || results_stand(run->results))
		rc = results_finish(run->results,
				    reason == STOP_ERROR || reason == STOP_OTHERS_FAILED
					    ? RESULTS_FAILED
					    : RESULTS_INTERRUPTED,
				    sentence, &err) < 0 ||
				     rc < 0
			     ? -1
			     : 0;
	if (rc < 0 && err.text[0])
		log_say(&run->log, LOG_ERROR, "%s", err.text);
	else if (results_stand(run->results) && run->results_path)
		log_say(&run->log, LOG_ERROR, "more: haul report %s", run->results_path);
	results_give_back(run->results);
}
