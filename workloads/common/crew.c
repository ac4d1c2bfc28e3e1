/* SPDX-License-Identifier: Apache-2.0 */
/* Crew: see crew.h. */
#include "workloads/common/crew.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/queue/failure.h"
#include "core/clock.h"
#include "core/clock_wait.h"
#include "core/time_ns.h"

static const uint64_t crew_wait_ns = 5 * NS_PER_MS, crew_wait_at_end_ns = NS_PER_MS;
static const uint64_t crew_look_ns = 100 * NS_PER_MS;

/* The phase's words in its status rounds. */
enum { CREW_P99_NS, CREW_BYTES, CREW_WALL_NS, CREW_ITEMS };

static void *crew_work(void *argument);

/* A thread's counts so far, added by itself, or while it rests. */
static void crew_add(void *thread, struct tally *t)
{
	const struct crew_thread *w = thread;

	meter_merge(&w->meter, t);
	if (w->crew->count)
		w->crew->count(w, t);
}

struct crew crew_of(const struct phase_context *ctx, struct store *store,
		    const struct meter_layout *layout, uint64_t threads, uint64_t depth,
		    const char *kind)
{
	return (struct crew){
		.store = store,
		.group = ctx->group,
		.stop = ctx->stop,
		.deadline_ns = ctx->deadline_ns,
		.start_ns = clock_now(ctx->clock),
		.layout = layout,
		.threads = (uint32_t)threads,
		.depth = (uint32_t)depth,
		.progress = ctx->progress,
		.progress_argument = ctx->progress_argument,
		.overdue = ctx->overdue,
		.overdue_argument = ctx->overdue_argument,
		.kind = kind,
	};
}

int crew_open(struct crew *p, struct err *err)
{
	int rc;

	p->members = calloc(p->threads, sizeof(*p->members));
	if (!p->members)
		return err_set(err, -ENOMEM, "no memory for %u threads", p->threads);
	sem_init(&p->ended, 0, 0);
	sem_init(&p->more, 0, 0);
	rc = buffers_init(&p->buffers, p->buffer_bytes ? p->threads : 0, p->buffer_bytes, err);
	for (uint32_t i = 0; rc == 0 && i < p->threads; i++) {
		struct crew_thread *w = &p->members[i];

		w->crew = p;
		w->buffer = p->buffer_bytes ? buffers_take(&p->buffers) : NULL;
		rc = meter_open(&w->meter, p->layout, &p->store->place, p->start_ns, err);
		if (rc == 0)
			rc = queue_open(&w->queue, p->store, p->depth ? p->depth : 1, err);
		if (rc < 0)
			break;
		queue_memory(&w->queue, w->buffer, p->buffers.slot_bytes);
		meter_attach(&w->meter, &w->queue);
		if (p->snapshot)
			snapshot_join(p->snapshot, &w->part, crew_add, w);
	}
	return rc;
}

void crew_close(struct crew *p)
{
	if (!p->members)
		return;
	for (uint32_t i = 0; i < p->threads; i++) {
		queue_close(&p->members[i].queue);
		meter_close(&p->members[i].meter);
	}
	buffers_free(&p->buffers);
	sem_destroy(&p->ended);
	sem_destroy(&p->more);
	free(p->members);
	p->members = NULL;
}

static int crew_start_threads(struct crew *p, struct err *err)
{
	deal_open(&p->deal, p->once ? 0 : p->files, p->group);
	atomic_store(&p->halt, false);
	atomic_store(&p->over, false);
	for (p->started = 0; p->started < p->threads; p->started++) {
		struct crew_thread *w = &p->members[p->started];
		int rc;

		w->rc = 0;
		atomic_store(&w->files, 0);
		/* One that runs again and again tells what all runs of the phase have moved. */
		w->begun_bytes = p->once ? 0 : atomic_load(&w->meter.live_bytes);
		atomic_fetch_add(&p->running, 1);
		snapshot_wake(&w->part);
		rc = pthread_create(&w->thread, NULL, crew_work, w);
		if (rc) {
			atomic_fetch_sub(&p->running, 1);
			snapshot_rest(&w->part);
			atomic_store(&p->halt, true);
			return err_set(err, -rc, "no thread %u of %" PRIu32 ": %s", p->started + 1,
				       p->threads, strerror(rc));
		}
	}
	return 0;
}

/* The status of this rank. */
static void crew_status(struct crew *p, int rc, struct status *s)
{
	uint64_t now_ns = clock_now(p->store->clock);

	*s = (struct status){.merge = STATUS_MERGE(CREW_P99_NS, MERGE_MAX) |
				      STATUS_MERGE(CREW_BYTES, MERGE_SUM) |
				      STATUS_MERGE(CREW_WALL_NS, MERGE_SUM) |
				      STATUS_MERGE(CREW_ITEMS, MERGE_SUM)};
	if (p->stop)
		s->stop = stop_asked(p->stop);
	if (p->deadline_ns && s->stop < STOP_DEADLINE && now_ns >= p->deadline_ns)
		s->stop = STOP_DEADLINE;
	if (rc < 0)
		s->stop = STOP_ERROR;
	s->unfinished = atomic_load(&p->running) > 0 || deal_left(&p->deal);
	for (uint32_t i = 0; i < p->threads; i++) {
		const struct crew_thread *w = &p->members[i];
		uint64_t p99_ns = atomic_load_explicit(&w->meter.live_p99_ns, memory_order_relaxed);

		s->word[CREW_ITEMS] += atomic_load_explicit(&w->files, memory_order_relaxed);
		s->word[CREW_BYTES] +=
			atomic_load_explicit(&w->meter.live_bytes, memory_order_relaxed) -
			w->begun_bytes;
		s->word[CREW_P99_NS] =
			p99_ns > s->word[CREW_P99_NS] ? p99_ns : s->word[CREW_P99_NS];
	}
	s->step = s->word[CREW_ITEMS];
	/* A halt that was not requested from outside is due to an error of a thread. */
	if (atomic_load(&p->halt))
		s->stop = STOP_ERROR;
	if (p->snapshot)
		s->snapshot = snapshot_poll(p->snapshot);
	s->word[CREW_WALL_NS] = now_ns > p->start_ns ? now_ns - p->start_ns : 0;
	s->waiting = !s->unfinished;
}

static void crew_figures(const struct progress *progress, struct progress_figures *out)
{
	const struct crew *p = progress->phase;
	const uint64_t *word = progress->merged->word;

	*out = (struct progress_figures){
		.work = p->kind,
		.items = word[CREW_ITEMS],
		.items_total = p->items ? p->files : 0,
		.items_name = p->items,
		.percent = p->files || p->limit_ns,
		.au = NAN,
		.hit_share = NAN,
		.bytes = word[CREW_BYTES],
		.removed = p->removes,
		.p99_ns = word[CREW_P99_NS],
	};
}

static void crew_show(const struct crew *p, const struct status *merged)
{
	double over = p->limit_ns ? (double)merged->word[CREW_WALL_NS] / p->group->size /
					    (double)p->limit_ns
				  : 0;
	double done = p->files ? (double)merged->word[CREW_ITEMS] / (double)p->files : 0;
	double fraction = over > done ? over : done;
	struct progress shown = {.merged = merged,
				 .fraction = fraction < 1 ? fraction : 1,
				 .figures = crew_figures,
				 .phase = p};

	if (p->progress)
		p->progress(p->progress_argument, &shown);
}

/* Waits until a thread ends or the time is over. It uses wall time, whatever the store's clock
 * is. */
static void crew_wait(struct crew *p, bool unfinished)
{
	clock_sem_wait(&p->ended,
		       clock_kernel_ns() + (unfinished ? crew_wait_ns : crew_wait_at_end_ns));
}

/* Threads that found no file wait; there may be some again. A thread counts as running from here
 * on, so that no round finds the rank without work in between. */
static void crew_wake(struct crew *p)
{
	/* Those that rest have counts, too, which a snapshot may want. */
	bool wanted = !p->once && p->snapshot && snapshot_wanted(p->snapshot);
	uint32_t idle;

	if (atomic_load(&p->halt) || (!deal_left(&p->deal) && !wanted))
		return;
	idle = p->started - atomic_load(&p->running);
	atomic_fetch_add(&p->running, idle);
	while (idle--)
		sem_post(&p->more);
}

/* Whether ranks wait while others have files that they have not begun: more are not done than all
 * threads of the ranks at work can have begun. The same on all ranks. */
static bool crew_uneven(const struct crew *p, const struct status *merged)
{
	uint64_t at_work = p->group->size - merged->waiting;

	return !p->once && merged->waiting > 0 && deal_may(&p->deal) &&
	       p->files - merged->word[CREW_ITEMS] > at_work * p->threads;
}

/* For how long a thread has worked on the same file without moving a byte. */
static uint64_t crew_thread_waits(const struct crew *p, struct crew_thread *w, uint64_t now_ns,
				  char key[OBJECT_KEY_BYTES])
{
	uint64_t file = atomic_load_explicit(&w->live_file, memory_order_relaxed);
	uint64_t bytes = atomic_load_explicit(&w->meter.live_bytes, memory_order_relaxed);

	if (p->waits)
		return p->waits(p, (uint32_t)(w - p->members), now_ns, key);
	if (!file || file != w->seen_file || bytes != w->seen_bytes) {
		w->seen_file = file;
		w->seen_bytes = bytes;
		w->seen_ns = now_ns;
		return 0;
	}
	p->name(p, file - 1, key);
	return now_ns - w->seen_ns;
}

/* Tells that this rank waits for storage, where it has for long, and once when that is over. */
static void crew_tell(struct crew *p, bool over)
{
	uint64_t now_ns = clock_now(p->store->clock), waits_ns;
	struct group_wait wait = {.elapsed_ns = 0};
	char key[OBJECT_KEY_BYTES];

	if (!p->stall_limit_ns || (!over && now_ns - p->looked_ns < crew_look_ns))
		return;
	p->looked_ns = now_ns;
	for (uint32_t i = 0; !over && i < p->threads; i++) {
		waits_ns = crew_thread_waits(p, &p->members[i], now_ns, key);
		if (waits_ns < p->stall_limit_ns || waits_ns <= wait.elapsed_ns)
			continue;
		wait.elapsed_ns = waits_ns;
		snprintf(wait.object, sizeof(wait.object), "%.*s/%.*s", GROUP_WAIT_BYTES / 2,
			 p->store->uri, GROUP_WAIT_BYTES / 2 - 2, key);
	}
	if (wait.elapsed_ns || p->told)
		group_wait_tell(p->group, &wait);
	p->told = wait.elapsed_ns > 0;
}

/* Tells that the limit of time is over while requests from before that are still on their way. What
 * began later, such as a sync at the end, may take as long as it takes. */
static void crew_tell_overdue(struct crew *p, bool over)
{
	uint64_t now_ns = clock_now(p->store->clock), until_ns = p->start_ns + p->limit_ns;
	char key[OBJECT_KEY_BYTES];
	bool late = false;

	if (!p->overdue || !p->limit_ns || (!p->late && now_ns < until_ns + crew_look_ns))
		return;
	for (uint32_t i = 0; !over && i < p->threads && !late; i++)
		late = crew_thread_waits(p, &p->members[i], now_ns, key) > now_ns - until_ns;
	if (late != p->late)
		p->overdue(p->overdue_argument, late ? until_ns : 0);
	p->late = late;
}

static enum stop_reason crew_follow(struct crew *p, int rc)
{
	struct status mine, merged;

	for (;;) {
		crew_wake(p);
		crew_tell(p, false);
		crew_tell_overdue(p, false);
		crew_status(p, rc, &mine);
		group_status_post(p->group, &mine);
		while (!group_status_test(p->group, &merged)) {
			crew_tell(p, false);
			crew_tell_overdue(p, false);
			crew_wait(p, mine.unfinished);
		}
		crew_show(p, &merged);
		if (merged.stop || !merged.unfinished)
			return (enum stop_reason)merged.stop;
		if (p->snapshot)
			snapshot_publish(p->snapshot, &merged);
		if (crew_uneven(p, &merged))
			rc = deal_again(&p->deal, !mine.unfinished, p->group);
		else
			crew_wait(p, mine.unfinished);
	}
}

/* Waits for all threads. Returns rc, or the first error of a thread. */
static int crew_join(struct crew *p, int rc, struct err *err)
{
	atomic_store(&p->over, true);
	for (uint32_t i = 0; i < p->started; i++)
		sem_post(&p->more);
	for (uint32_t i = 0; i < p->started; i++) {
		struct crew_thread *w = &p->members[i];

		pthread_join(w->thread, NULL);
		if (w->rc < 0 && rc == 0) {
			rc = w->rc;
			if (err)
				*err = w->err;
		}
	}
	while (sem_trywait(&p->ended) == 0 || sem_trywait(&p->more) == 0)
		;
	deal_close(&p->deal);
	return rc;
}

int crew_run(struct crew *p, int (*body)(struct crew_thread *w, uint64_t file),
	     enum stop_reason *stopped, struct err *err)
{
	int rc;

	p->body = body;
	rc = crew_start_threads(p, err);
	*stopped = crew_follow(p, rc);
	crew_tell(p, true);
	if (*stopped != STOP_NONE)
		atomic_store(&p->halt, true);
	rc = crew_join(p, rc, err);
	crew_tell_overdue(p, true);
	return group_agree(p->group, rc, err);
}

int crew_launch(struct crew *p, int (*body)(struct crew_thread *w, uint64_t thread),
		struct err *err)
{
	int rc;

	p->body = body;
	rc = crew_start_threads(p, err);
	return rc < 0 ? crew_join(p, rc, err) : 0;
}

bool crew_flies(const struct crew *p)
{
	return atomic_load(&p->running) > 0;
}

int crew_land(struct crew *p, bool halt, struct err *err)
{
	if (halt)
		atomic_store(&p->halt, true);
	return crew_join(p, 0, err);
}

/* Takes the next file, or waits until files are dealt again. Returns false when there will be none;
 * the thread then no longer counts as running. */
static bool crew_take(struct crew_thread *w, uint64_t *file)
{
	struct crew *p = w->crew;

	while (!deal_take(&p->deal, file)) {
		crew_look(w);
		atomic_fetch_sub(&p->running, 1);
		sem_post(&p->ended);
		while (sem_wait(&p->more) < 0)
			;
		if (atomic_load(&p->over))
			return false;
	}
	return true;
}

static bool crew_do_file(struct crew_thread *w, uint64_t file)
{
	int rc;

	atomic_store_explicit(&w->live_file, file + 1, memory_order_relaxed);
	rc = w->crew->body(w, file);
	atomic_store_explicit(&w->live_file, 0, memory_order_relaxed);
	if (rc < 0 && rc != -ECANCELED) {
		w->rc = rc;
		atomic_store(&w->crew->halt, true);
	}
	return rc == 0;
}

static void *crew_work(void *argument)
{
	struct crew_thread *w = argument;
	struct crew *p = w->crew;
	uint64_t file;

	if (p->once && !atomic_load_explicit(&p->halt, memory_order_relaxed))
		crew_do_file(w, (uint64_t)(w - p->members));
	/* A stop that this rank was asked for counts at once; that of another rank comes by the
	 * status rounds. */
	while (!p->once && !atomic_load_explicit(&p->halt, memory_order_relaxed) &&
	       !(p->stop && stop_asked(p->stop))) {
		if (!crew_take(w, &file)) {
			snapshot_rest(&w->part);
			return NULL;
		}
		if (!crew_do_file(w, file))
			break;
		atomic_fetch_add_explicit(&w->files, 1, memory_order_relaxed);
		meter_live(&w->meter, w->queue.now_ns);
		crew_look(w);
	}
	snapshot_rest(&w->part);
	atomic_fetch_sub(&p->running, 1);
	sem_post(&p->ended);
	return NULL;
}

void crew_start(struct crew *p, uint64_t start_ns)
{
	p->start_ns = start_ns;
	for (uint32_t i = 0; i < p->threads; i++)
		meter_start(&p->members[i].meter, start_ns);
}

void crew_merge(const struct crew *p, struct tally *t)
{
	snapshot_count(p->snapshot);
	for (uint32_t i = 0; p->members && i < p->threads; i++)
		crew_add(&p->members[i], t);
}

int crew_fail(struct crew_thread *w, const struct request *req, int rc, const char *text)
{
	if (w->meter.failure_count == 0)
		failure_set(&w->err, rc, w->crew->store, req, text);
	meter_fail(&w->meter, req, rc, req->answer.done_ns, text);
	return rc;
}

void crew_removed(struct crew_thread *w, uint64_t bytes)
{
	/* Only this thread adds. */
	uint64_t before = atomic_load_explicit(&w->meter.live_bytes, memory_order_relaxed);

	atomic_store_explicit(&w->meter.live_bytes, before + bytes, memory_order_relaxed);
}

int crew_do(struct crew_thread *w, struct request *req)
{
	int rc = queue_do(&w->queue, req);

	if (request_failed(req))
		rc = crew_fail(w, req, rc, request_text(req));
	crew_look(w);
	return rc;
}

uint64_t crew_count(const struct crew *p, unsigned which)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->threads; i++)
		sum += p->members[i].counts[which];
	return sum;
}

void crew_clear_counts(struct crew *p)
{
	for (uint32_t i = 0; i < p->threads; i++)
		memset(p->members[i].counts, 0, sizeof(p->members[i].counts));
}

void answer_text_ends(char text[FAILURE_TEXT_BYTES], const struct request *req, uint64_t size)
{
	uint64_t done = req->answer.done_bytes;
	/* Where nothing has come, the end may lie before. */
	const char *before = done || !req->offset ? "" : " or before";

	snprintf(text, FAILURE_TEXT_BYTES, "ends at byte %" PRIu64 " of %" PRIu64 "%s",
		 req->offset + done, size, before);
}

void answer_text_failed(char text[FAILURE_TEXT_BYTES], const struct request *req, uint64_t size)
{
	if (req->op == REQ_READ && req->answer.status == -ENODATA)
		answer_text_ends(text, req, size);
	else
		snprintf(text, FAILURE_TEXT_BYTES, "%s", request_text(req));
}

void answer_text_differs(char text[FAILURE_TEXT_BYTES], uint64_t at)
{
	snprintf(text, FAILURE_TEXT_BYTES, "payload differs at byte %" PRIu64, at);
}

bool answer_text_committed(char text[FAILURE_TEXT_BYTES], const struct request *req, uint64_t size)
{
	if (req->answer.done_bytes == size)
		return true;
	snprintf(text, FAILURE_TEXT_BYTES, "the store has %" PRIu64 " bytes of it, not %" PRIu64,
		 req->answer.done_bytes, size);
	return false;
}
