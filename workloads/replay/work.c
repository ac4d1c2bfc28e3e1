/* The loop of a thread: it begins operations while there are free slots and their time has come, sends their requests
 * together, and takes what has come back one step further. Its clock is the queue's last stamp, so that an operation reads the
 * clock no more often than the queue does. */
#include "workloads/replay/work.h"

#include <errno.h>
#include <stdlib.h>

#include "core/content/random.h"
#include "workloads/replay/objects.h"

static const uint64_t thread_stream = 0x746872656164; /* "thread" */

uint64_t replay_buffer_bytes(const struct replay_options *o, const struct store *store)
{
	uint64_t bytes = queue_buffer_bytes(store, o->chunk);

	return (bytes + PATTERN_BLOCK - 1) / PATTERN_BLOCK * PATTERN_BLOCK;
}

uint64_t replay_thread_bytes(const struct replay_options *o, bool content)
{
	uint64_t slot = sizeof(struct replay_slot);

	if (content)
		slot += o->chunk;
	return sizeof(struct replay_thread) + sizeof(struct crew_thread) +
	       meter_bytes(&replay_meter) + slot * o->depth + turn_bytes(o->depth);
}

static void work_slots_init(struct replay_thread *t)
{
	const struct replay_work *work = t->work;
	const struct replay_options *o = work->options;
	uint64_t bytes = replay_buffer_bytes(o, work->store);

	for (uint64_t i = o->depth; i-- > 0;) {
		struct replay_slot *slot = &t->slots[i];

		if (t->member->buffer)
			slot->buffer = (char *)t->member->buffer + i * bytes;
		slot->content.clock = work->store->clock;
		slot->content.verify = (enum verify)o->verify;
		slot->next = t->free;
		t->free = slot;
	}
}

int replay_thread_open(struct replay_thread *t, struct replay_work *work, struct crew_thread *w,
		       struct err *err)
{
	uint64_t number = (uint64_t)(t - work->threads), depth = work->options->depth;
	int rc;

	t->work = work;
	t->member = w;
	t->list = &work->rows->lists[number];
	t->slots = calloc(depth, sizeof(*t->slots));
	if (!t->slots)
		return err_set(err, -ENOMEM, "no memory for %llu operations in flight",
			       (unsigned long long)depth);
	rc = turn_open(&t->turn, &w->queue, work->store->clock, (uint32_t)depth, err);
	if (rc < 0)
		return rc;
	work_slots_init(t);
	t->key = random_at(work->seed ^ thread_stream, work->store->place.rank, number);
	return 0;
}

void replay_thread_close(struct replay_thread *t)
{
	free(t->slots);
	turn_close(&t->turn);
}

bool replay_halted(const struct replay_thread *t)
{
	return atomic_load_explicit(&t->member->crew->halt, memory_order_relaxed);
}

void replay_send(struct replay_thread *t, struct replay_slot *slot, uint32_t step)
{
	slot->step = step;
	slot->req.user = slot;
	turn_add(&t->turn, &slot->req);
}

/* A read waits for a write or delete of its key, and these for any operation of it. */
static bool work_may_begin(const struct replay_key *key, const struct replay_slot *slot)
{
	return !key->writing && (replay_reads(slot) || !key->readers);
}

static struct replay_key *work_key(const struct replay_thread *t, const struct replay_slot *slot)
{
	return &t->work->rows->keys[slot->row->key];
}

static void work_begin(struct replay_thread *t, struct replay_slot *slot, struct replay_key *key)
{
	if (replay_reads(slot))
		key->readers++;
	else
		key->writing = true;
	slot->begin_ns = t->now_ns;
	replay_operation_begin(t, slot);
}

static void work_free(struct replay_thread *t, struct replay_slot *slot)
{
	atomic_store_explicit(&slot->live_ns, 0, memory_order_relaxed);
	slot->next = t->free;
	t->free = slot;
}

/* Those in the line of a key may begin, in their order. When the phase ends early they are dropped. */
static void work_wake(struct replay_thread *t, struct replay_key *key)
{
	bool drops = t->rc < 0 || replay_halted(t);

	while (key->waiting && (drops || work_may_begin(key, key->waiting))) {
		struct replay_slot *slot = key->waiting;

		key->waiting = slot->next;
		if (drops) {
			t->dropped++;
			work_free(t, slot);
		} else {
			work_begin(t, slot, key);
		}
	}
}

static void work_count(struct replay_thread *t, const struct replay_slot *slot)
{
	static const enum replay_hist hists[] = {[TRACE_READ] = REPLAY_HIST_READ,
						 [TRACE_WRITE] = REPLAY_HIST_WRITE,
						 [TRACE_DELETE] = REPLAY_HIST_DELETE};
	const struct replay_row *row = slot->row;
	uint64_t from_ns = slot->due_ns ? slot->due_ns : slot->begin_ns;
	uint64_t now_ns = slot->req.answer.done_ns;

	t->done++;
	t->tiers[row->tier].count[row->operation]++;
	t->tiers[row->tier].bytes[row->operation] += row->bytes;
	hist_record(meter_hist(&t->member->meter, (int)hists[row->operation]),
		    now_ns > from_ns ? now_ns - from_ns : 0);
	atomic_store_explicit(&t->member->files, t->done, memory_order_relaxed);
}

void replay_fails(struct replay_thread *t, struct replay_slot *slot, int rc, const char *text)
{
	slot->failed = true;
	crew_fail(t->member, &slot->req, rc, text ? text : request_text(&slot->req));
	if (t->work->options->on_error == ON_ERROR_STOP) {
		t->rc = t->rc ? t->rc : rc;
		t->over = true;
	}
}

void replay_end(struct replay_thread *t, struct replay_slot *slot)
{
	struct replay_key *key = work_key(t, slot);

	if (!slot->failed)
		work_count(t, slot);
	if (replay_reads(slot))
		key->readers--;
	else
		key->writing = false;
	work_free(t, slot);
	work_wake(t, key);
}

/* Takes up the next row. */
static void work_take(struct replay_thread *t, uint64_t now_ns)
{
	const struct replay_row *row = &t->list->rows[t->next++];
	uint64_t due_ns = t->work->timed ? t->work->start_ns + row->due_ns : 0;
	struct replay_slot *slot = t->free;
	struct replay_key *key;

	t->free = slot->next;
	slot->next = NULL;
	slot->row = row;
	slot->due_ns = due_ns;
	slot->failed = false;
	if (due_ns && now_ns > due_ns && now_ns - due_ns > t->late_start_ns)
		t->late_start_ns = now_ns - due_ns;
	atomic_store_explicit(&slot->live_row, row, memory_order_relaxed);
	atomic_store_explicit(&slot->live_ns, now_ns, memory_order_relaxed);
	key = work_key(t, slot);
	if (!key->waiting && work_may_begin(key, slot)) {
		work_begin(t, slot, key);
		return;
	}
	t->waited++;
	if (key->waiting)
		key->last->next = slot;
	else
		key->waiting = slot;
	key->last = slot;
}

/* Takes up what is due. Returns when the next row is, UINT64_MAX: none waits for its time. */
static uint64_t work_take_all(struct replay_thread *t, uint64_t now_ns)
{
	const struct replay_work *work = t->work;

	while (t->free && !t->over) {
		uint64_t next_ns;

		if (t->next >= t->list->count) {
			t->over = true;
			break;
		}
		next_ns = work->start_ns + t->list->rows[t->next].due_ns;
		if (work->until_ns && (now_ns >= work->until_ns || next_ns >= work->until_ns)) {
			t->over = true;
			t->timed_out = true;
		} else if (next_ns > now_ns) {
			return next_ns;
		} else {
			work_take(t, now_ns);
		}
	}
	return UINT64_MAX;
}

static void work_step_all(struct replay_thread *t, uint32_t n)
{
	if (n)
		t->now_ns = t->member->queue.now_ns;
	for (uint32_t i = 0; i < n; i++)
		replay_operation_step(t, t->turn.back[i]->user);
	meter_live(&t->member->meter, t->member->queue.now_ns);
	crew_look(t->member);
}

static void work_loop(struct replay_thread *t)
{
	uint64_t next_ns;

	t->now_ns = clock_now(t->work->store->clock);
	for (;;) {
		t->over = t->over || replay_halted(t);
		next_ns = work_take_all(t, t->now_ns);
		if (!turn_submit(&t->turn) && next_ns == UINT64_MAX)
			break;
		work_step_all(t, turn_wait(&t->turn, t->now_ns, next_ns));
		t->now_ns = turn_now(&t->turn, next_ns);
	}
}

int replay_thread_run(struct crew_thread *w, uint64_t number)
{
	struct replay_work *work = w->crew->argument;
	struct replay_thread *t = &work->threads[number];

	clock_sleep_until(work->store->clock, work->start_ns);
	work_loop(t);
	if (t->rc < 0)
		return t->rc;
	return replay_halted(t) ? -ECANCELED : 0;
}

/* Main thread, while the thread works: only what is atomic, and what does not change. */
uint64_t replay_thread_waits(const struct crew *p, uint32_t thread, uint64_t now_ns,
			     char key[OBJECT_KEY_BYTES])
{
	const struct replay_work *work = p->argument;
	const struct replay_thread *t = &work->threads[thread];
	const struct replay_row *row = NULL;
	uint64_t oldest_ns = now_ns;

	for (uint64_t i = 0; i < work->options->depth; i++) {
		struct replay_slot *s = &t->slots[i];
		uint64_t since_ns = atomic_load_explicit(&s->live_ns, memory_order_relaxed);

		if (!since_ns || since_ns >= oldest_ns)
			continue;
		oldest_ns = since_ns;
		row = atomic_load_explicit(&s->live_row, memory_order_relaxed);
	}
	if (row)
		replay_object_key(work->options->folder, row->tier,
				  trace_names_text(&work->rows->names, row->key), key);
	return now_ns - oldest_ns;
}
