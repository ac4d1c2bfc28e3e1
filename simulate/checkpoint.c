/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints in virtual time: see checkpoint.h. A thread that writes or reads is an actor
 * here, with its pieces in flight. Bytes are there at once: making, comparing and copying them is the client's. */
#include "simulate/checkpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/numbers.h"
#include "workloads/checkpoint/marker.h"

/* Of a snapshot where the job does not say: a copy in memory, per rank. */
static const uint64_t copy_rate = 8000000000;

enum slot_state { SLOT_IS_FREE, SLOT_IS_OPENING, SLOT_IS_OPEN };

/* A file that threads of a rank write or read. */
struct ckpt_slot {
	enum slot_state state;
	uint32_t users;
	uint64_t next, size, key, offset;
};

struct ckpt_rank {
	uint32_t files, next_file, active;
	uint64_t file_rank, bytes, end_ns, request_ns;
	struct ckpt_slot *slots; /* [threads] */
	struct accounts accounts;
};

struct ckpt_flight {
	struct actor actor;
	struct ckpt_thread *thread;
	struct sim_ask ask;
	struct sim_answer answer;
};

struct ckpt_thread {
	struct checkpoint_model *m;
	uint32_t rank, flying, free_count;
	struct ckpt_slot *slot;
	bool waits; /* for a file that another thread opens */
	struct ckpt_flight *flights, **free;
};

struct checkpoint_model {
	const struct simulation *s;
	struct engine *engine;
	const struct checkpoint_use *use;
	struct checkpoint_shape shape;
	struct mesh mesh; /* of the readers */
	struct simulated *out;
	struct virtual_store *store;
	struct ckpt_rank *rank;
	struct ckpt_thread *threads;
	uint32_t ranks, per_rank; /* per_rank: threads, the most of both */
	uint32_t writers, readers, write_depth, read_depth;
	uint64_t chunk, number, start_ns, first_ns, most_bytes;
	uint64_t first_end_ns,
		first_bytes; /* when the first rank that had any bytes was done: of all ranks */
	uint32_t left;
	bool reads, begun, ranges;
	struct actor *done;
};

static void ckpt_thread_next(struct ckpt_thread *t);

static uint64_t *ckpt_row_of(const struct checkpoint_model *m, uint32_t rank)
{
	return simulated_row(m->out, rank);
}

/* ---- requests ---- */

static void ckpt_flight_done(struct engine *e, struct actor *a);

static void ckpt_send(struct ckpt_thread *t, enum request_op op, uint64_t offset, uint64_t length)
{
	struct checkpoint_model *m = t->m;
	struct ckpt_flight *f = t->free[--t->free_count];

	f->ask = (struct sim_ask){.op = op,
				  .arrival_ns = m->engine->now_ns,
				  .key = t->slot->key,
				  .offset = t->slot->offset + offset,
				  .length = length};
	t->flying++;
	virtual_store_ask(m->store, t->rank, &f->ask, &f->answer);
	engine_at(m->engine, f->answer.done_ns, &f->actor);
}

static void ckpt_count(struct checkpoint_model *m, const struct ckpt_thread *t,
		       const struct ckpt_flight *f)
{
	static const uint8_t hists[REQ_OPS] = {[REQ_WRITE] = CHECKPOINT_HIST_WRITE,
					       [REQ_READ] = CHECKPOINT_HIST_READ,
					       [REQ_BEGIN] = CHECKPOINT_HIST_BEGIN,
					       [REQ_COMMIT] = CHECKPOINT_HIST_COMMIT,
					       [REQ_OPEN] = CHECKPOINT_HIST_OPEN};
	uint64_t took = f->answer.done_ns - f->ask.arrival_ns;

	simulated_count(m->out, t->rank, &f->ask, &f->answer);
	hist_record(&m->out->tally.hists[hists[f->ask.op]], took);
	if (f->ask.op == REQ_READ || f->ask.op == REQ_WRITE)
		m->rank[t->rank].bytes += f->answer.failed ? 0 : f->ask.length;
	else
		m->rank[t->rank].request_ns += took;
}

/* ---- files ---- */

static uint64_t ckpt_file_key(const struct checkpoint_model *m, uint64_t rank, uint32_t i)
{
	char key[OBJECT_KEY_BYTES];
	struct checkpoint_file f;

	if (!virtual_store_draws(m->store))
		return 0;
	checkpoint_file(&m->shape, rank, i, &f);
	marker_file_key(m->use->options->folder, m->number, &f, key);
	return sim_key(key);
}

static void ckpt_slot_begin(struct ckpt_thread *t, struct ckpt_slot *s, uint32_t i)
{
	struct checkpoint_model *m = t->m;
	const struct ckpt_rank *r = &m->rank[t->rank];
	struct checkpoint_file f;

	*s = (struct ckpt_slot){.state = SLOT_IS_OPENING, .users = 1};
	s->key = ckpt_file_key(m, r->file_rank, i);
	checkpoint_file(&m->shape, r->file_rank, i, &f);
	s->offset = f.offset;
	if (m->reads && m->ranges)
		s->size = checkpoint_restored_by(m->use->options, &m->shape, &m->mesh, t->rank);
	else if (checkpoint_file_bytes(&m->shape, r->file_rank, i, &s->size, NULL) < 0)
		s->size = 0;
	t->slot = s;
	ckpt_send(t, m->reads ? REQ_OPEN : REQ_BEGIN, 0, 0);
}

static struct ckpt_slot *ckpt_slot_with_work(struct ckpt_rank *r, uint32_t n, bool *opening)
{
	struct ckpt_slot *found = NULL;

	*opening = false;
	for (uint32_t i = 0; i < n; i++) {
		struct ckpt_slot *s = &r->slots[i];

		*opening = *opening || s->state == SLOT_IS_OPENING;
		if (!found && s->state == SLOT_IS_OPEN && s->next < s->size)
			found = s;
	}
	return found;
}

static void ckpt_all_done(struct checkpoint_model *m);

/* The thread joins a file, or begins the next; or it has nothing to do any more. */
static void ckpt_thread_take(struct ckpt_thread *t)
{
	struct checkpoint_model *m = t->m;
	struct ckpt_rank *r = &m->rank[t->rank];
	bool opening;
	struct ckpt_slot *s;

	t->slot = NULL;
	if (r->next_file < r->files) {
		for (s = r->slots; s->state != SLOT_IS_FREE; s++)
			;
		ckpt_slot_begin(t, s, r->next_file++);
		return;
	}
	s = ckpt_slot_with_work(r, m->per_rank, &opening);
	if (s) {
		s->users++;
		t->slot = s;
		ckpt_thread_next(t);
		return;
	}
	t->waits = opening;
	if (opening || --r->active)
		return;
	r->end_ns = m->engine->now_ns;
	for (uint32_t i = 0; r->bytes && !m->first_end_ns && i < m->ranks; i++)
		m->first_bytes += m->rank[i].bytes;
	m->first_end_ns = r->bytes && !m->first_end_ns ? r->end_ns : m->first_end_ns;
	if (--m->left == 0)
		ckpt_all_done(m);
}

static void ckpt_wake_waiting(struct checkpoint_model *m, uint32_t rank)
{
	struct ckpt_thread *t = &m->threads[(size_t)rank * m->per_rank];

	for (uint32_t i = 0; i < m->per_rank; i++)
		if (t[i].waits) {
			t[i].waits = false;
			ckpt_thread_take(&t[i]);
		}
}

/* As many pieces as may be in flight; then the file is left, and committed by the last thread. */
static void ckpt_thread_next(struct ckpt_thread *t)
{
	struct checkpoint_model *m = t->m;
	struct ckpt_slot *s = t->slot;
	uint32_t depth = m->reads ? m->read_depth : m->write_depth;

	while (t->flying < depth && s->next < s->size) {
		uint64_t at = s->next, piece = min_u64(m->chunk, s->size - at);

		s->next += piece;
		ckpt_send(t, m->reads ? REQ_READ : REQ_WRITE, at, piece);
	}
	if (t->flying)
		return;
	if (--s->users == 0) {
		if (m->reads) {
			s->state = SLOT_IS_FREE;
			ckpt_row_of(m, t->rank)[CHECKPOINT_FILES_READ]++;
		} else {
			ckpt_send(t, REQ_COMMIT, 0, 0);
			return;
		}
	}
	ckpt_thread_take(t);
}

static void ckpt_flight_done(struct engine *e, struct actor *a)
{
	struct ckpt_flight *f = (struct ckpt_flight *)a;
	struct ckpt_thread *t = f->thread;
	enum request_op op = f->ask.op;

	(void)e;
	ckpt_count(t->m, t, f);
	t->free[t->free_count++] = f;
	t->flying--;
	if (op == REQ_COMMIT) {
		t->slot->state = SLOT_IS_FREE;
		ckpt_row_of(t->m, t->rank)[CHECKPOINT_FILES_WRITTEN]++;
		ckpt_thread_take(t);
		return;
	}
	if (op == REQ_BEGIN || op == REQ_OPEN) {
		t->slot->state = SLOT_IS_OPEN;
		ckpt_wake_waiting(t->m, t->rank);
	}
	ckpt_thread_next(t);
}

/* ---- one checkpoint ---- */

void checkpoint_model_begin(struct checkpoint_model *m, bool reads, struct actor *done)
{
	uint32_t threads = reads ? m->readers : m->writers;

	m->reads = reads;
	m->done = done;
	m->start_ns = m->engine->now_ns;
	m->first_end_ns = m->first_bytes = 0;
	m->left = m->ranks;
	for (uint32_t i = 0; i < m->ranks; i++) {
		struct ckpt_rank *r = &m->rank[i];
		uint64_t local = m->s->places[i].local_ranks;

		r->file_rank = reads && m->use->options->shift ? (i + local) % m->ranks : i;
		r->files = reads && m->ranges ? 1 : checkpoint_data_files(&m->shape, r->file_rank);
		r->next_file = 0;
		r->active = threads;
		r->bytes = r->request_ns = 0;
		memset(r->slots, 0, m->per_rank * sizeof(*r->slots));
		if (!m->begun)
			account_start(&r->accounts, ACCOUNT_HAUL, m->start_ns);
		account_skip(&r->accounts, m->start_ns);
	}
	if (!m->begun)
		timeline_init(m->out->tally.timeline, m->start_ns);
	m->first_ns = m->begun ? m->first_ns : m->start_ns;
	m->begun = true;
	for (uint32_t i = 0; i < m->ranks; i++)
		for (uint32_t k = 0; k < threads; k++)
			ckpt_thread_take(&m->threads[(size_t)i * m->per_rank + k]);
}

bool checkpoint_model_flies(const struct checkpoint_model *m)
{
	return m && m->left;
}

uint64_t checkpoint_model_copy_ns(const struct checkpoint_model *m)
{
	uint64_t rate = m->use->d2h ? m->use->d2h : copy_rate;

	return (uint64_t)((unsigned __int128)m->most_bytes * 1000000000u / rate);
}

static void ckpt_count_row(struct checkpoint_model *m, uint64_t slowest, uint64_t first,
			   uint64_t bytes)
{
	uint64_t *own = table_numbered(&m->out->tally.tables[CHECKPOINT_TABLE_ROWS], m->number + 1);
	uint64_t start = m->start_ns - m->first_ns;

	if (!own)
		return;
	own[m->reads ? CHECKPOINT_ROW_READ_START_NS : CHECKPOINT_ROW_WRITE_START_NS] = start;
	own[m->reads ? CHECKPOINT_ROW_READ_NS : CHECKPOINT_ROW_WRITE_NS] = slowest;
	own[m->reads ? CHECKPOINT_ROW_READ_FIRST_NS : CHECKPOINT_ROW_WRITE_FIRST_NS] = first;
	own[m->reads ? CHECKPOINT_ROW_BYTES_READ : CHECKPOINT_ROW_BYTES_WRITTEN] = bytes;
	own[m->reads ? CHECKPOINT_ROW_READ_FIRST_BYTES : CHECKPOINT_ROW_WRITE_FIRST_BYTES] =
		m->first_bytes;
	if (m->reads)
		return;
	own[CHECKPOINT_ROW_DURABLE_NS] = slowest;
	if (m->use->snapshot != CHECKPOINT_SNAPSHOT_NONE)
		own[CHECKPOINT_ROW_DURABLE_NS] += checkpoint_model_copy_ns(m);
	own[CHECKPOINT_ROW_VISIBLE_NS] = own[CHECKPOINT_ROW_DURABLE_NS];
	if (!own[CHECKPOINT_ROW_BLOCKED_NS])
		own[CHECKPOINT_ROW_BLOCKED_NS] = own[CHECKPOINT_ROW_DURABLE_NS];
}

/* The last rank has come to its end, now. */
static void ckpt_all_done(struct checkpoint_model *m)
{
	uint64_t now = m->engine->now_ns, slowest = now - m->start_ns, sum = 0;
	uint64_t first = (m->first_end_ns ? m->first_end_ns : now) - m->start_ns;

	for (uint32_t i = 0; i < m->ranks; i++) {
		struct ckpt_rank *r = &m->rank[i];
		uint64_t *row = ckpt_row_of(m, i), own = r->end_ns - m->start_ns;
		uint64_t blamed[ACCOUNTS] = {[ACCOUNT_OPEN] = min_u64(r->request_ns, own)};
		const struct repeat_took took = {.own_ns = own,
						 .slowest_ns = slowest,
						 .first_ns = first,
						 .end_ns = r->end_ns};

		blamed[ACCOUNT_TRANSFER] = own - blamed[ACCOUNT_OPEN];
		account_switch(&r->accounts, ACCOUNT_RANKS, r->end_ns);
		account_blame(&r->accounts, own, blamed);
		account_switch(&r->accounts, ACCOUNT_HAUL, now);
		row[m->reads ? CHECKPOINT_READ_BACK : CHECKPOINT_WRITTEN]++;
		checkpoint_count_pass(&took, r->bytes,
				      m->reads ? CHECKPOINT_READ_NS : CHECKPOINT_WRITE_NS, row);
		row[CHECKPOINT_STORE_NS] += m->reads ? 0 : own;
		sum += r->bytes;
	}
	ckpt_count_row(m, slowest, first, sum);
	m->number++;
	engine_at(m->engine, now, m->done);
}

void checkpoint_model_blocked(struct checkpoint_model *m, uint64_t ns)
{
	uint64_t *own = table_numbered(&m->out->tally.tables[CHECKPOINT_TABLE_ROWS],
				       m->number + checkpoint_model_flies(m));

	if (own)
		own[CHECKPOINT_ROW_BLOCKED_NS] = ns;
}

void checkpoint_model_count(struct checkpoint_model *m)
{
	for (uint32_t i = 0; i < m->ranks; i++) {
		uint64_t *row = ckpt_row_of(m, i);

		for (int s = 0; s < ACCOUNTS; s++)
			row[CHECKPOINT_ACCOUNTS + s] = m->rank[i].accounts.ns[s];
		row[TALLY_WALL_NS] = account_wall(&m->rank[i].accounts);
	}
	m->out->seconds = m->begun ? (double)(m->engine->now_ns - m->first_ns) / 1e9 : 0;
}

/* ---- open, close ---- */

static int ckpt_no_memory(const struct checkpoint_model *m, struct err *err)
{
	return err_set(err, -ENOMEM, "no memory for the writers of %u ranks", m->ranks);
}

static int ckpt_open_threads(struct checkpoint_model *m, struct err *err)
{
	uint32_t depth = max_u32(m->write_depth, m->read_depth);

	m->rank = calloc(m->ranks, sizeof(*m->rank));
	m->threads = calloc((size_t)m->ranks * m->per_rank, sizeof(*m->threads));
	if (!m->rank || !m->threads)
		return ckpt_no_memory(m, err);
	for (uint32_t i = 0; i < m->ranks * m->per_rank; i++) {
		struct ckpt_thread *t = &m->threads[i];
		struct ckpt_rank *r = &m->rank[i / m->per_rank];

		t->m = m;
		t->rank = i / m->per_rank;
		t->flights = calloc(depth, sizeof(*t->flights));
		t->free = calloc(depth, sizeof(struct ckpt_flight *));
		if (!r->slots)
			r->slots = calloc(m->per_rank, sizeof(*r->slots));
		if (!t->flights || !t->free || !r->slots)
			return ckpt_no_memory(m, err);
		for (uint32_t k = 0; k < depth; k++) {
			t->flights[k].actor.wake = ckpt_flight_done;
			t->flights[k].thread = t;
			t->free[t->free_count++] = &t->flights[k];
		}
	}
	return 0;
}

static void ckpt_share_ring(struct checkpoint_model *m)
{
	const struct checkpoint_options *o = m->use->options;
	uint32_t pieces = (uint32_t)(o->buffers / o->chunk), depth = backend_depth(m->use->store);
	uint32_t own = pieces / max_u32(1, (uint32_t)o->writers);

	m->chunk = o->chunk;
	m->writers = max_u32(1, (uint32_t)o->writers); /* a training reads none */
	m->readers = max_u32(1, (uint32_t)o->readers);
	m->write_depth = max_u32(1, min_u32(own > 1 ? own - 1 : 1, depth));
	m->read_depth = max_u32(1, min_u32(pieces / m->readers, depth));
	m->per_rank = max_u32(m->writers, m->readers);
}

/* The rank with most bytes, for copies; and bigger chunks where there are too many. */
static int ckpt_measure(struct checkpoint_model *m, struct err *err)
{
	struct checkpoint_written all, first = {0};
	int rc = checkpoint_written(&m->shape, m->ranks, &all, err);

	if (rc == 0)
		rc = checkpoint_written_by(&m->shape, 0, &first, err);
	if (rc < 0)
		return rc;
	m->most_bytes = first.bytes;
	while ((double)all.bytes / (double)m->chunk * (double)m->use->options->count >
	       SIMULATE_REQUESTS_MAX) {
		m->chunk *= 2;
		m->out->together = true;
	}
	return 0;
}

int checkpoint_model_open(struct checkpoint_model **out, const struct simulation *s,
			  struct engine *e, const struct checkpoint_use *use, uint32_t ranks,
			  const struct simulated *phase, struct simulated *counted, struct err *err)
{
	struct checkpoint_model *m = calloc(1, sizeof(*m));
	int rc;

	*out = m;
	if (!m)
		return err_set(err, -ENOMEM, "no memory for checkpoints");
	if (checkpoint_consolidators(use->options))
		return err_set(err, -ENOTSUP, "%s/consolidate: is not simulated", use->path);
	m->s = s;
	m->engine = e;
	m->use = use;
	m->out = counted;
	m->ranks = ranks;
	checkpoint_shape(s->job, use->options, ranks, use->store, &m->shape);
	checkpoint_reader_mesh(use->options, &m->shape, ranks, &m->mesh);
	m->ranges = checkpoint_reads_ranges(use->options, &m->shape.mesh);
	ckpt_share_ring(m);
	rc = ckpt_measure(m, err);
	m->store = simulated_store(s, phase, use->store);
	return rc < 0 ? rc : ckpt_open_threads(m, err);
}

void checkpoint_model_close(struct checkpoint_model *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; m->threads && i < m->ranks * m->per_rank; i++) {
		free(m->threads[i].flights);
		free(m->threads[i].free);
	}
	for (uint32_t i = 0; m->rank && i < m->ranks; i++)
		free(m->rank[i].slots);
	free(m->rank);
	free(m->threads);
	free(m);
}

/* ---- the phase: all that it writes, then all that it reads ---- */

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
		p->model->number = 0;
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
