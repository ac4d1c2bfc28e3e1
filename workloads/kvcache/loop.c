/* SPDX-License-Identifier: Apache-2.0 */
/* The main thread of a phase "kvcache". It wakes when a user is due, an answer has come, an
 * operation or a generation ends, or its status round must be looked at; and never waits for
 * storage. */
#include "workloads/kvcache/run.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/numbers.h"
#include "workloads/kvcache/serving/server.h"
#include "workloads/kvcache/tiers/entries.h"

/* Serving requests: each takes its steps one after the other, waits for the operations of a step,
 * and at last for its tokens. */

static void serve_done(struct kv_run *r, struct kv_served *s)
{
	if (s->request.kind != KV_REQUEST_INGEST)
		kv_measure_request(r, s);
	kv_served_free(&r->serving, s);
}

/* Ends the requests whose generations have ended. */
static void serve_generated(struct kv_run *r)
{
	struct kv_served *s;

	while ((s = kv_served_generated(&r->serving, r->over ? UINT64_MAX : r->now_ns)))
		if (r->over)
			kv_served_free(&r->serving, s);
		else
			serve_done(r, s);
}

/* All steps have been taken. */
static void serve_generate(struct kv_run *r, struct kv_served *s)
{
	uint64_t ns = s->request.generate * r->setup.options->token_ns;

	if (ns && s->request.kind != KV_REQUEST_INGEST)
		kv_served_generate(&r->serving, s, r->now_ns + ns);
	else
		serve_done(r, s);
}

/* Only who makes room and writes needs a credit. Returns false where there is none. */
static bool serve_take_credit(struct kv_run *r, struct kv_served *s)
{
	if (!r->setup.options->allocations || s->step.kind != KV_STEP_WRITE || s->credit)
		return true;
	if (!r->serving.credits)
		return false;
	r->serving.credits--;
	s->credit = true;
	return true;
}

/* Asks the tiers. Returns whether the step is done, and false where operations or questions are
 * under way for it. */
static bool serve_ask(struct kv_run *r, struct kv_served *s)
{
	struct kv_id id = kv_part_id(r, s->step.id);
	uint64_t bytes;
	int rc = 0;

	switch (s->step.kind) {
	case KV_STEP_READ:
		rc = kv_tiers_read(&r->tiers, id);
		if (rc != -EINPROGRESS)
			kv_measure_found(r, s, rc >= 0);
		break;
	case KV_STEP_WRITE:
		bytes = kv_model_shard_most(&r->setup.model, s->step.tokens, r->setup.tensor);
		rc = kv_tiers_write(&r->tiers, id, bytes);
		break;
	case KV_STEP_DELETE:
		kv_tiers_delete(&r->tiers, id);
		break;
	}
	kv_dispatch_decided(r, s);
	if (rc == -ENOMEM)
		kv_run_fail(r, rc);
	if (s->under_way) {
		s->asked_ns = r->now_ns;
		return false;
	}
	kv_served_give_credit(&r->serving, s);
	return true;
}

/* Takes steps until one has to wait. */
static void serve_go_on(struct kv_run *r, struct kv_served *s)
{
	while (!r->over) {
		if (s->parked) {
			r->ctx->tally->rank_row[KV_CREDIT_NS] += r->now_ns - s->asked_ns;
		} else if (!kv_steps_next(&s->steps, s->hit, &s->step)) {
			serve_generate(r, s);
			return;
		}
		s->parked = !serve_take_credit(r, s);
		if (s->parked) {
			kv_served_park(&r->serving, s, r->now_ns);
			return;
		}
		if (!serve_ask(r, s))
			return;
	}
	kv_served_give_credit(&r->serving, s);
	kv_served_free(&r->serving, s);
}

/* Serves waiting requests as long as there is room; takes the steps of all requests that
 * may go on. Returns whether any could. */
static bool serve_waiting(struct kv_run *r)
{
	struct kv_serving *v = &r->serving;
	struct kv_request request;
	struct kv_served *s;
	bool any = false;

	while (!r->over && !list_empty(&v->free) && kv_waiting_take(&r->waiting, &request))
		kv_served_begin(v, &r->source, &request, r->now_ns);
	while (r->over && (s = kv_served_next(&v->parked)))
		kv_served_free(v, s);
	while ((s = kv_served_next(&v->ready))) {
		serve_go_on(r, s);
		any = true;
	}
	return any;
}

/* How often a status round is looked at, also once this rank has finished and waits for others. */
static const uint64_t loop_poll_ns = 5000000, loop_poll_at_end_ns = 1000000;

/* The words of the phase in its status rounds. */
enum { WORD_BYTES, WORD_REQUESTS, WORD_HITS, WORD_MISSES, WORD_WALL_NS };

/* Nothing of this rank is under way any more; one that follows may still have to wait for its
 * leader. */
static bool loop_drained(const struct kv_run *r)
{
	if (!r->part.leads)
		return !r->given;
	return r->over && !r->given && !r->operations.under_way && !r->remote.open;
}

/* Which account the time belongs to in which the main thread sleeps. What users think and tokens
 * take is time that was asked for; a rank that follows has it, too. */
static enum account loop_account(const struct kv_run *r)
{
	if (r->given_stores)
		return ACCOUNT_TRANSFER;
	if (r->given)
		return ACCOUNT_COPY;
	if (r->remote.open || (r->part.leads && kv_board_open(&r->part.view)))
		return ACCOUNT_RANKS;
	return r->over ? ACCOUNT_RANKS : ACCOUNT_COMPUTE;
}

/* Sleeps until then, or until an answer comes. */
static void loop_sleep(struct kv_run *r, uint64_t until_ns)
{
	if (r->begun)
		account_switch(&r->accounts, loop_account(r), clock_now(r->ctx->clock));
	kv_work_sleep(&r->work, r->crew.threads, until_ns);
	r->now_ns = clock_now(r->ctx->clock);
	if (r->begun && !r->given)
		account_switch(&r->accounts, ACCOUNT_HAUL, r->now_ns);
}

/* When the next request falls due; UINT64_MAX: none does before the end. */
static uint64_t loop_due(const struct kv_run *r)
{
	uint64_t due_ns = kv_source_due(&r->source);

	if (r->over || due_ns == KV_NEVER || due_ns >= r->until_ns - r->start_ns)
		return UINT64_MAX;
	return r->start_ns + due_ns;
}

/* Requests that have fallen due begin to wait. */
static void loop_offer(struct kv_run *r)
{
	uint64_t *row = r->ctx->tally->rank_row;
	struct kv_request request;

	while (loop_due(r) <= r->now_ns) {
		uint64_t late_ns;

		kv_source_next(&r->source, &request);
		late_ns = r->now_ns - r->start_ns - request.due_ns;
		if (kv_waiting_add(&r->waiting, r->serving.class_rank[request.class], &request) <
		    0) {
			kv_run_fail(r, -ENOMEM);
			return;
		}
		if (request.kind == KV_REQUEST_INGEST)
			continue;
		row[KV_OFFERED]++;
		row[KV_LATE_NS] = max_u64(late_ns, row[KV_LATE_NS]);
		hist_record(&r->ctx->tally->hists[KV_HIST_LATE], late_ns);
	}
}

static void loop_work(struct kv_run *r)
{
	uint64_t requests = r->setup.options->requests;

	if (r->server) {
		kv_server_work(r);
		return;
	}
	if (!r->part.leads) {
		kv_shard_follow(r);
		return;
	}
	kv_dispatch_collect(r);
	kv_dispatch_poll(r);
	kv_scale(r);
	loop_offer(r);
	if (r->rc == 0)
		r->rc = r->source.arrivals.rc;
	do {
		/* Nothing will fall due any more, and all that did has been served. */
		bool exhausted = kv_source_due(&r->source) == KV_NEVER && !r->serving.busy &&
				 !r->waiting.count;

		if (r->rc < 0 || r->now_ns >= r->until_ns || exhausted ||
		    (requests && r->ctx->tally->rank_row[KV_REQUESTS] >= requests))
			r->over = true;
		serve_generated(r);
		kv_dispatch(r);
	} while (serve_waiting(r));
	kv_part_tell(r);
}

static void loop_status(struct kv_run *r, struct status *s)
{
	const struct phase_context *ctx = r->ctx;
	const uint64_t *row = ctx->tally->rank_row;

	*s = (struct status){.merge = STATUS_MERGE(WORD_BYTES, MERGE_SUM) |
				      STATUS_MERGE(WORD_REQUESTS, MERGE_SUM) |
				      STATUS_MERGE(WORD_HITS, MERGE_SUM) |
				      STATUS_MERGE(WORD_MISSES, MERGE_SUM) |
				      STATUS_MERGE(WORD_WALL_NS, MERGE_MAX)};
	if (ctx->stop)
		s->stop = stop_asked(ctx->stop);
	if (ctx->deadline_ns && s->stop < STOP_DEADLINE && r->now_ns >= ctx->deadline_ns)
		s->stop = STOP_DEADLINE;
	if (r->rc < 0)
		s->stop = STOP_ERROR;
	s->unfinished = !loop_drained(r);
	s->waiting = r->given_stores > 0;
	s->step = row[KV_REQUESTS];
	for (uint32_t i = 0; i < r->crew.threads; i++)
		s->word[WORD_BYTES] += atomic_load_explicit(&r->crew.members[i].meter.live_bytes,
							    memory_order_relaxed);
	s->word[WORD_REQUESTS] = row[KV_REQUESTS];
	s->word[WORD_HITS] = row[KV_HITS];
	s->word[WORD_MISSES] = row[KV_MISSES];
	s->word[WORD_WALL_NS] = excess_u64(r->now_ns, r->start_ns);
	s->snapshot = snapshot_poll(&r->snapshot);
}

static void loop_figures(const struct progress *p, struct progress_figures *out)
{
	const uint64_t *word = p->merged->word;
	uint64_t reads = word[WORD_HITS] + word[WORD_MISSES];

	*out = (struct progress_figures){
		.work = "kvcache",
		.items = word[WORD_REQUESTS],
		.items_name = "requests",
		.percent = true,
		.au = NAN,
		.hit_share = reads ? (double)word[WORD_HITS] / (double)reads : NAN,
		.bytes = word[WORD_BYTES],
		.wall_ns = word[WORD_WALL_NS],
	};
}

static void loop_show(const struct kv_run *r)
{
	const struct status *merged = &r->rounds.merged;
	double done = (double)merged->word[WORD_WALL_NS] / (double)r->setup.options->duration_ns;
	struct progress shown = {.merged = merged,
				 .fraction = done < 1 ? done : 1,
				 .figures = loop_figures,
				 .phase = r};

	if (r->ctx->progress)
		r->ctx->progress(r->ctx->progress_argument, &shown);
}

/* Looks at the status round where it is time. Returns whether the rounds are over. */
static bool loop_poll(struct kv_run *r)
{
	struct status mine;
	bool fresh, ended;

	if (r->rounds.over)
		return true;
	if (r->now_ns < r->polled_ns)
		return false;
	r->polled_ns =
		r->now_ns + (r->over && loop_drained(r) ? loop_poll_at_end_ns : loop_poll_ns);
	loop_status(r, &mine);
	ended = status_rounds_poll(&r->rounds, &mine, &fresh);
	if (fresh)
		loop_show(r);
	if (fresh && !ended)
		snapshot_publish(&r->snapshot, &r->rounds.merged);
	return ended;
}

/* When something is due, whatever comes. */
static uint64_t loop_next(const struct kv_run *r)
{
	uint64_t next_ns = r->rounds.over ? r->now_ns + loop_poll_ns : r->polled_ns;

	next_ns = min_u64(next_ns, kv_remote_due(r));
	if (r->server)
		return min_u64(next_ns, kv_server_due(r));
	if (r->over || !r->part.leads)
		return next_ns;
	next_ns = min_u64(next_ns, loop_due(r));
	next_ns = min_u64(next_ns, r->scaling.due_ns);
	next_ns = min_u64(next_ns, kv_dispatch_due(r));
	next_ns = min_u64(next_ns, kv_served_due(&r->serving));
	return min_u64(next_ns, r->until_ns);
}

int kv_loop(struct kv_run *r, enum stop_reason *stopped)
{
	struct status mine;
	bool settled = false;

	clock_sleep_until(r->ctx->clock, r->start_ns);
	r->now_ns = clock_now(r->ctx->clock);
	loop_status(r, &mine);
	status_rounds_begin(&r->rounds, r->ctx->group, &mine);
	while (!settled) {
		uint64_t next_ns;
		bool ended;

		loop_work(r);
		ended = loop_poll(r);
		/* A reason to stop that another rank had: nothing more is begun. */
		if (ended && !r->over) {
			r->over = true;
			continue;
		}
		/* No other rank needs this one any more. Without a reason to stop, the status
		 * rounds end when all ranks are drained. */
		settled = ended &&
			  (!r->rounds.merged.stop || kv_remote_settled(r, loop_drained(r))) &&
			  loop_drained(r) &&
			  (r->part.leads || kv_board_past(&r->part.view, KV_STAGE_ENDED));
		next_ns = loop_next(r);
		if (!settled && next_ns > r->now_ns)
			loop_sleep(r, next_ns);
		else
			r->now_ns = clock_now(r->ctx->clock);
	}
	if (r->part.leads && r->part.view.board) {
		kv_part_tell(r); /* other servers may have changed a shared tier meanwhile */
		kv_board_tell(&r->part.view, KV_STAGE_ENDED);
	}
	*stopped = (enum stop_reason)r->rounds.merged.stop;
	if (*stopped == STOP_NONE && !r->setup.options->requests &&
	    (!r->setup.source.arrivals.file[0] || !r->setup.source.arrivals.cycles))
		*stopped = STOP_LIMIT;
	return r->rc;
}

/* One entry of those that are there before the first request. */
static int fill_entry(struct kv_run *r, struct kv_id id, uint64_t tokens)
{
	int rc = kv_tiers_write(&r->tiers, kv_part_id(r, id),
				kv_model_shard_most(&r->setup.model, tokens, r->setup.tensor));

	kv_dispatch_decided(r, NULL);
	return rc == -ENOMEM ? rc : 0;
}

/* Entries of preconditioning come first, then those that a decode-only phase reads. Returns false
 * where all are made. */
static bool fill_next(struct kv_run *r, uint64_t n)
{
	const struct kvcache_options *o = r->setup.options;
	const struct kv_source_options *s = &r->setup.source;
	uint64_t bytes =
		kv_model_shard_most(&r->setup.model, o->precondition_tokens, r->setup.tensor);
	uint64_t first = bytes ? (o->precondition + bytes - 1) / bytes : 0;
	uint64_t stored = s->mode == KV_MODE_DECODE ? s->users * s->stored_per_user : 0;
	int rc;

	if (n >= first + stored)
		return false;
	if (n < first)
		rc = fill_entry(r, kv_id_make(KV_KEY_FILL, 0, 0, n), o->precondition_tokens);
	else
		rc = fill_entry(r, kv_id_make(KV_KEY_STORED, 0, 0, n - first), s->stored_tokens);
	kv_run_fail(r, rc);
	return true;
}

static uint64_t fill_under_way(const struct kv_run *r)
{
	return (uint64_t)r->operations.under_way + r->remote.open;
}

static void fill_sleep(struct kv_run *r, uint64_t due_ns)
{
	due_ns = min_u64(due_ns, r->now_ns + loop_poll_ns);
	loop_sleep(r, min_u64(due_ns, kv_remote_due(r)));
}

static void fill_lead(struct kv_run *r)
{
	uint64_t n = 0;
	bool more = true;

	while (more || fill_under_way(r)) {
		if (r->rc < 0 || (r->ctx->stop && stop_asked(r->ctx->stop)) ||
		    (r->ctx->deadline_ns && r->now_ns >= r->ctx->deadline_ns)) {
			r->over = true;
			more = false;
		}
		kv_dispatch_collect(r);
		kv_dispatch_poll(r);
		while (more && fill_under_way(r) < 2ull * r->crew.threads * r->crew.depth)
			more = fill_next(r, n++);
		kv_dispatch(r);
		if (fill_under_way(r))
			fill_sleep(r, kv_dispatch_due(r));
	}
	if (r->part.view.board)
		kv_board_tell(&r->part.view, KV_STAGE_FILLED);
}

int kv_fill(struct kv_run *r, struct err *err)
{
	r->now_ns = clock_now(r->ctx->clock);
	if (r->part.leads)
		fill_lead(r);
	else
		kv_shard_follow(r);
	while (!r->part.leads && (r->given || !kv_board_past(&r->part.view, KV_STAGE_FILLED))) {
		loop_sleep(r, r->now_ns + loop_poll_ns);
		kv_shard_follow(r);
	}
	/* Others may still ask. */
	while (!kv_remote_settled(r, true)) {
		kv_dispatch_poll(r);
		fill_sleep(r, UINT64_MAX);
	}
	if (r->rc < 0)
		return err_set(err, r->rc,
			       "the entries before the first request could not be made: %s",
			       strerror(-r->rc));
	return 0;
}
