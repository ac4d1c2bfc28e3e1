/* SPDX-License-Identifier: Apache-2.0 */
/* One step: see state.h. */

#include <stdio.h>

#include "workloads/train/state.h"

enum {
	STEP_WAITING_NS = 100000, /* who waits longer for a batch waits for storage */
	STEP_SLICE_NS = 10000000,
	/* Of the null pass: one rank comes late in one of this many steps, by this much. */
	STEP_LATE_EVERY = 4,
	STEP_LATE_NS = 1000000,
};

/* The times of a step. */
struct step {
	uint64_t start_ns, batch_ns, moved_ns, computed_ns, end_ns;
	uint64_t met_ns;   /* the last rank had come to the barrier */
	uint64_t asked_ns; /* of compute */
	uint64_t slept_ns; /* of it, as measured */
	bool late;         /* of the null pass: a rank comes late in this step */
	uint64_t late_ns;  /* this one, by so much */
};

/* The ids and bytes of a batch that this rank has read. */
static void step_count(struct pass *p, const struct batch *b)
{
	uint64_t *rank = p->tally->rank_row, *row = p->row.words;

	rank[TRAIN_SAMPLES] += b->samples;
	rank[TRAIN_SAMPLES_FAILED] += b->failed;
	rank[TRAIN_IDS_FROM_BYTES] += b->ids_from_bytes;
	rank[TRAIN_LOGICAL_BYTES] += b->logical_bytes;
	row[EPOCH_SAMPLES] += b->samples;
	row[EPOCH_SAMPLES_FAILED] += b->failed;
	row[EPOCH_ID_SUM] += b->id_sum;
	row[EPOCH_ID_HASH] += b->id_hash;
	row[EPOCH_FAILED_ID_SUM] += b->failed_id_sum;
	row[EPOCH_FAILED_ID_HASH] += b->failed_id_hash;
}

/* A batch that has an error stops all ranks. */
static void step_error(struct pass *p, const struct batch *b)
{
	p->error = b->error;
	p->error_by = b->failed_by;
	p->meeting.own = STOP_ERROR;
	group_stop_tell(p->ctx->group, STOP_ERROR);
}

/* This rank has waited since then for a batch that its readers build. Where that is longer than the
 * job's stall_limit, tells it to whoever watches the ranks, with the file that has been on its way
 * for longest. Returns whether it did. */
static bool step_wait_tell(const struct pass *p, uint64_t since_ns)
{
	const struct train_input *in = p->inputs[p->row.of.source];
	uint64_t limit_ns = p->ctx->job->stall_limit_ns, now_ns = clock_now(p->ctx->clock), file;
	struct group_wait wait = {.elapsed_ns = now_ns - since_ns};
	char key[OBJECT_KEY_BYTES];

	if (!limit_ns || now_ns < since_ns + limit_ns)
		return false;
	/* Without a sample on its way, the readers decode, or wait for a core. */
	if (!loader_live_oldest(&p->loader, &file))
		return false;
	dataset_key(&in->dataset, file, key);
	snprintf(wait.object, sizeof(wait.object), "%.*s/%.*s", GROUP_WAIT_BYTES / 2, in->store.uri,
		 GROUP_WAIT_BYTES / 2 - 2, key);
	group_wait_tell(p->ctx->group, &wait);
	return true;
}

/* Waits for batch k of the loader. False: ended before it came. */
static bool step_load(struct pass *p, uint64_t k, struct step *s, struct batch *b)
{
	const struct group_wait none = {.elapsed_ns = 0};
	bool there = true, told = false;

	while (loader_take(&p->loader, k, s->start_ns, clock_kernel_ns() + STEP_SLICE_NS, b) < 0) {
		there = !meeting_poll(p);
		if (!there)
			break;
		told |= step_wait_tell(p, s->start_ns);
	}
	if (told)
		group_wait_tell(p->ctx->group, &none);
	s->batch_ns = clock_now(p->ctx->clock);
	account_switch(&p->accounts, ACCOUNT_HAUL, s->batch_ns);
	if (!there) {
		p->row.waited_ns = s->batch_ns - s->start_ns;
		p->row.waited_for = k;
		return false;
	}
	loader_give(&p->loader, k);
	account_blame(&p->accounts, s->batch_ns - s->start_ns, b->blamed);
	return !b->cut;
}

/* The stretch in which a batch went from rank to rank: to began_ns (0: it did not come to that) one
 * waited for the other, from then on bytes were copied. */
static void step_copied(struct pass *p, struct step *s, uint64_t began_ns)
{
	s->batch_ns = clock_now(p->ctx->clock);
	account_switch(&p->accounts, ACCOUNT_COPY, began_ns ? began_ns : s->batch_ns);
	account_switch(&p->accounts, ACCOUNT_HAUL, s->batch_ns);
}

/* Reads batch k, and hands it to the other ranks of the replica. */
static bool step_read(struct pass *p, uint64_t k, struct step *s, struct batch *b)
{
	const struct train_input *in = p->inputs[p->row.of.source];
	struct handover *h = &p->parallel->handover;
	bool content = store_can(&in->store, BACKEND_CONTENT), whole = step_load(p, k, s, b);

	if (whole) {
		step_count(p, b);
		p->proof.taken[p->row.index]++;
		if (b->error)
			step_error(p, b);
		whole = !b->error;
	}
	if (!p->parallel->hands_over)
		return whole;
	account_switch(&p->accounts, ACCOUNT_RANKS, s->batch_ns);
	if (whole)
		whole = handover_give(h, b, content ? b->logical_bytes : 0);
	else
		handover_withhold(h);
	step_copied(p, s, whole ? h->began_ns : 0);
	return whole;
}

/* The same of a batch that another rank has read. */
static void step_count_handed(struct pass *p, const struct batch *b)
{
	struct ids *handed = &p->proof.handed[p->row.index];

	p->tally->rank_row[TRAIN_RECEIVED_SAMPLES] += b->samples;
	p->tally->rank_row[TRAIN_RECEIVED_BYTES] += b->logical_bytes;
	handed->count += b->samples + b->failed;
	handed->sum += b->id_sum + b->failed_id_sum;
	handed->hash += b->id_hash + b->failed_id_hash;
}

/* Of the time until the batch came, what its reader blames on others is as it says; the rest was
 * the reader's. */
static void step_blame_reader(struct pass *p, uint64_t wait_ns, struct batch *b)
{
	uint64_t left_ns = wait_ns;

	for (int s = 0; s < ACCOUNTS; s++)
		if (s != ACCOUNT_HAUL)
			left_ns -= b->blamed[s] < left_ns ? b->blamed[s] : left_ns;
	b->blamed[ACCOUNT_RANKS] += left_ns;
	account_blame(&p->accounts, wait_ns, b->blamed);
}

/* Gets the batch from the rank of the replica that reads it. */
static bool step_receive(struct pass *p, struct step *s, struct batch *b)
{
	struct handover *h = &p->parallel->handover;
	bool whole = handover_take(h, b);

	step_copied(p, s, whole ? h->began_ns : 0);
	step_blame_reader(p, (whole ? h->began_ns : s->batch_ns) - s->start_ns, b);
	if (!whole)
		return false;
	step_count_handed(p, b);
	p->proof.taken[p->row.index]++;
	return true;
}

/* Waits for the batch of step k. False: ended before it came. */
static bool step_take(struct pass *p, uint64_t k, struct step *s, struct batch *b)
{
	bool whole = true;

	p->meeting.waiting = true;
	batch_clear(b, 0);
	s->batch_ns = s->start_ns;
	switch (p->parallel->role) {
	case REPLICA_READS:
		whole = step_read(p, k, s, b);
		break;
	case REPLICA_RECEIVES:
		whole = step_receive(p, s, b);
		break;
	case REPLICA_HAS_NONE:
		p->proof.taken[p->row.index]++;
	}
	p->meeting.waiting = false;
	timeline_add_span(p->tally->timeline, s->start_ns, s->batch_ns, SECOND_STALLED_NS);
	return whole;
}

/* Sleeps for ns from *now on, to an absolute end. What it sleeps longer is haul's own time. False:
 * the step was ended. */
static bool step_sleep(struct pass *p, enum account account, uint64_t ns, uint64_t *now)
{
	struct clock *clock = p->ctx->clock;
	uint64_t end = *now + ns;
	bool go_on = true;

	account_switch(&p->accounts, account, *now);
	while (*now < end && go_on) {
		clock_sleep_until(clock, end - *now > STEP_SLICE_NS ? *now + STEP_SLICE_NS : end);
		*now = clock_now(clock);
		go_on = *now >= end || !meeting_poll(p);
	}
	account_switch(&p->accounts, ACCOUNT_HAUL, *now < end ? *now : end);
	if (*now > end)
		p->tally->rank_row[TRAIN_OVERSLEEP_NS] += *now - end;
	return go_on;
}

static uint64_t step_span(uint64_t bytes, uint64_t rate)
{
	unsigned __int128 ns = (unsigned __int128)bytes * 1000000000u / rate;

	return ns < INT64_MAX ? (uint64_t)ns : INT64_MAX;
}

/* The batch goes to the accelerator, which then computes on it. False: the step was ended. */
static bool step_compute(struct pass *p, const struct batch *b, struct step *s)
{
	uint64_t now = s->batch_ns;
	bool go_on = true;

	if (p->options->loader.h2d)
		go_on = step_sleep(p, ACCOUNT_COPY,
				   step_span(b->logical_bytes, p->options->loader.h2d), &now);
	s->moved_ns = now;
	if (go_on)
		go_on = step_sleep(p, ACCOUNT_COMPUTE, s->asked_ns + s->late_ns, &now);
	s->slept_ns = now - s->moved_ns;
	s->computed_ns = now;
	return go_on;
}

/* When the last rank came to the barrier. What follows until this rank leaves it is haul's own
 * time. The clocks of different nodes agree only to within some microseconds. */
static uint64_t step_met(const struct step *s, uint64_t arrived_ns)
{
	if (!arrived_ns || arrived_ns > s->end_ns)
		return s->end_ns;
	return arrived_ns < s->computed_ns ? s->computed_ns : arrived_ns;
}

/* sync step: the status round is the barrier. A step whose end one rank did not reach (it was
 * stopped, or met an error) counts for no rank, so that all end with the same number of steps.
 * Returns whether the step was whole everywhere. */
static bool step_meet(struct pass *p, struct step *s, bool whole)
{
	struct status mine;

	meeting_status(p, &mine);
	mine.waiting = s->batch_ns - s->start_ns > STEP_WAITING_NS;
	mine.unfinished = !whole;
	mine.arrived_ns = s->computed_ns;
	account_switch(&p->accounts, ACCOUNT_RANKS, s->computed_ns);
	group_status(p->ctx->group, &mine, &p->meeting.merged);
	s->end_ns = clock_now(p->ctx->clock);
	s->met_ns = step_met(s, p->meeting.merged.arrived_ns);
	account_switch(&p->accounts, ACCOUNT_HAUL, s->met_ns);
	p->meeting.stopped = p->meeting.merged.stop != STOP_NONE;
	meeting_progress(p);
	return !p->meeting.merged.unfinished;
}

/* Steps of the null pass in which a rank comes late: the ranks take turns. */
static void step_make_late(const struct pass *p, uint64_t k, struct step *s)
{
	const struct group *g = p->ctx->group;

	s->late = p->late && k % STEP_LATE_EVERY == STEP_LATE_EVERY - 1;
	if (s->late && k / STEP_LATE_EVERY % g->size == g->rank)
		s->late_ns = STEP_LATE_NS;
}

/* What the step took beyond the compute asked for. Where a rank came late on purpose, what it took
 * beyond that, too: the way from the last arrival at the barrier to the next step is haul's own. */
static void step_record_stall(struct pass *p, const struct step *s)
{
	uint64_t wall = s->end_ns - s->start_ns, asked = s->asked_ns;

	if (s->late)
		asked += s->late_ns + (s->met_ns - s->computed_ns);
	hist_record(s->late ? p->late : &p->tally->hists[TRAIN_HIST_STEP_STALL],
		    wall > asked ? wall - asked : 0);
}

/* Counts a step that was completed. */
static void step_record(struct pass *p, uint64_t k, const struct step *s)
{
	uint64_t *rank = p->tally->rank_row, *row = p->row.words;
	uint64_t wall = s->end_ns - s->start_ns, ranks = s->met_ns - s->computed_ns;

	if (p->row.of.source == PASS_TRAIN)
		steps_add(p->tally->steps, p->steps_done,
			  (uint64_t[STEP_PARTS]){[STEP_LOAD] = s->batch_ns - s->start_ns,
						 [STEP_COMPUTE] = s->computed_ns - s->batch_ns,
						 [STEP_RANKS] = ranks});
	row[EPOCH_STEPS]++;
	if (k == 0)
		p->row.first_ns = s->computed_ns - s->start_ns;
	else
		row[EPOCH_MLPERF_COMPUTE_NS] += s->slept_ns;
	if (p->row.of.source == PASS_TRAIN) {
		p->steps_done++;
		rank[TRAIN_STEPS]++;
		rank[TRAIN_LAST_STEP] = k + 1;
		if (p->parallel->role != REPLICA_HAS_NONE)
			hist_record(&p->tally->hists[TRAIN_HIST_BATCH_WAIT],
				    s->batch_ns - s->start_ns);
	}
	if (k < p->options->warmup_steps)
		return;
	row[EPOCH_AU_COMPUTE_NS] += s->asked_ns;
	row[EPOCH_AU_WALL_NS] += wall;
	row[EPOCH_AU_RANKS_NS] += ranks;
	if (p->row.of.source != PASS_TRAIN)
		return;
	rank[TRAIN_AU_STEPS]++;
	rank[TRAIN_AU_COMPUTE_NS] += s->asked_ns;
	rank[TRAIN_AU_WALL_NS] += wall;
	rank[TRAIN_AU_RANKS_NS] += ranks;
	hist_record(&p->tally->hists[TRAIN_HIST_STEP], wall);
	step_record_stall(p, s);
}

/* The phase is published at the barrier, between two steps, if all ranks have a snapshot. That is
 * haul's own time, and no step's. */
static void step_publish(struct pass *p)
{
	if (!p->snapshot || !snapshot_publish(p->snapshot, &p->meeting.merged))
		return;
	p->now_ns = clock_now(p->ctx->clock);
	account_switch(&p->accounts, ACCOUNT_HAUL, p->now_ns);
}

bool pass_step(struct pass *p, uint64_t k)
{
	const struct train_options *o = p->options;
	bool evaluation = p->row.of.source == PASS_EVALUATION, whole;
	struct step s = {.start_ns = p->now_ns};
	struct batch b;

	s.asked_ns = draw_next(evaluation ? &o->evaluation.compute : &o->compute, &p->random);
	step_make_late(p, k, &s);
	whole = step_take(p, k, &s, &b);
	s.computed_ns = s.batch_ns;
	if (whole)
		whole = step_compute(p, &b, &s);
	s.end_ns = s.met_ns = s.computed_ns;
	if (o->sync == SYNC_STEP && !evaluation)
		whole = step_meet(p, &s, whole);
	else
		p->meeting.stopped = meeting_poll(p);
	p->now_ns = s.end_ns;
	if (whole)
		step_record(p, k, &s);
	if (!p->meeting.rolling && !p->meeting.stopped)
		step_publish(p);
	return whole && !p->meeting.stopped;
}
