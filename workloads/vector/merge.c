/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/queue/failure.h"
#include "core/numbers.h"
#include "core/time_ns.h"
#include "workloads/common/crew.h"
#include "workloads/vector/work.h"

/* As many of its vectors as FreshDiskANN merges at once: 30 million of 800 million. */
enum { MERGE_SHARE = 27, INSERT_DEPTH = 16 };
/* Reads of a file, of which several are in flight. */
static const uint64_t merge_read_bytes = 4 << 20;
static const uint64_t merge_nap_ns = 5 * NS_PER_MS, leave_nap_ns = 100 * NS_PER_US;

static const struct meter_map merge_maps[] = {
	/* Reads of nodes; those of whole files have a histogram of the stream's. */
	{REQ_READ, VECTOR_MERGE_READS, VECTOR_HIST_INSERT_READ, METER_NONE, METER_NONE},
	{REQ_WRITE, VECTOR_MERGE_WRITES, VECTOR_HIST_MERGE_WRITE, METER_NONE, METER_NONE},
	{REQ_COMMIT, VECTOR_CLOSES, VECTOR_HIST_CLOSE, METER_NONE, METER_NONE},
};
static const struct meter_layout merge_meter = {
	METER_MAPS(vector_schema, merge_maps),
	.counts_operations = true,
	.live_op = REQ_WRITE,
};

uint64_t vector_merge_at(const struct vector_options *o, uint64_t *inserts)
{
	uint64_t vectors = vector_segment_vectors(&o->shape);
	uint64_t at = o->merge_at ? o->merge_at : max_u64(vectors / MERGE_SHARE, 1);

	*inserts = (uint64_t)llround((double)at * (o->inserts / (o->inserts + o->deletes)));
	return at;
}

static struct vector_options merge_inserts(const struct vector_options *o,
					   const struct job_store *store)
{
	struct vector_options i = *o;

	i.shape.vectors = vector_segment_vectors(&o->shape);
	i.shape.segments = i.side = i.threads = 1;
	i.depth = min_u64(max_u64(backend_depth(store) / i.beam, 1), INSERT_DEPTH);
	i.spread = VECTOR_SPREAD_QUERIES;
	i.inserts = i.deletes = 0;
	i.limits = (struct limit_options){.count = 1};
	i.pace = (struct pace_options){.rate = 0};
	i.on_error = ON_ERROR_STOP;
	return i;
}

uint64_t vector_merge_bytes(const struct vector_options *o, const struct job_store *store)
{
	const struct vector_options i = merge_inserts(o, store);
	struct vector_index x;

	vector_index_of(&x, &o->shape, 0, 0);
	return STREAM_READS * min_u64(merge_read_bytes, x.size) +
	       vector_build_buffers(store->section->owner, backend_part(store, x.size)) +
	       vector_thread_bytes(&i);
}

static int live_open(struct queue *q, const struct vector_index *x, struct object *o,
		     struct err *err)
{
	struct request req = {.op = REQ_OPEN, .object = o};
	char text[FAILURE_TEXT_BYTES];
	int rc;

	o->size = x->size;
	rc = queue_do(q, &req);
	if (rc < 0) {
		failure_set(err, rc, q->channel.store, &req, request_text(&req));
		return rc;
	}
	if (!store_can(q->channel.store, BACKEND_CONTENT) || !o->size || o->size >= x->size)
		return 0;
	req.answer.done_bytes = o->size;
	answer_text_ends(text, &req, x->size);
	failure_set(err, -ENODATA, q->channel.store, &req, text);
	queue_do(q, &(struct request){.op = REQ_CLOSE, .object = o});
	return -ENODATA;
}

static void live_close(struct queue *q, struct object *o)
{
	queue_do(q, &(struct request){.op = REQ_CLOSE, .object = o});
	*o = (struct object){.size = 0};
}

/* A file that nobody needs any more. */
static void live_remove(struct queue *q, struct object *o)
{
	struct object gone = {.size = 0};

	memcpy(gone.key, o->key, sizeof(gone.key));
	live_close(q, o);
	queue_do(q, &(struct request){.op = REQ_DELETE, .object = &gone});
}

static bool merges_halted(const struct vector_merges *m)
{
	return atomic_load_explicit(&m->crew.halt, memory_order_relaxed);
}

/* What is written follows what is read: the bytes up to there have been read. */
static void merges_follow(struct vector_merges *m, uint64_t at)
{
	if (stream_until(&m->stream, at) < 0 || merges_halted(m))
		atomic_store(&m->stops, true);
}

struct merged_file {
	struct vector_merges *merges;
	const struct vector_index *index;
};

static void merged_image(const void *file, uint64_t at, void *to, uint64_t bytes)
{
	const struct merged_file *f = file;

	merges_follow(f->merges, at + bytes);
	vector_index_image(f->index, at, to, bytes);
}

static int merges_write_failed(void *merges, const struct request *req, int rc)
{
	struct vector_merges *m = merges;

	return crew_fail(&m->crew.members[0], req, rc, request_text(req));
}

static void merges_written(void *merges, struct object *object, uint64_t at, uint64_t length)
{
	struct vector_merges *m = merges;

	(void)object;
	if (!m->work->content)
		merges_follow(m, at + length);
	crew_look(&m->crew.members[0]);
}

static int merges_commit(struct vector_merges *m, struct object *o, uint64_t size)
{
	struct crew_thread *w = &m->crew.members[0];
	struct request req = {.op = REQ_COMMIT, .object = o, .length = size};
	char text[FAILURE_TEXT_BYTES];
	int rc = crew_do(w, &req);

	if (rc < 0 || !m->work->content || answer_text_committed(text, &req, size))
		return rc;
	meter_error(&w->meter);
	return crew_fail(w, &req, -EIO, text);
}

/* Reads a file and writes another one, x, which is then open to read. */
static int merges_pass(struct vector_merges *m, const struct vector_index *from,
		       struct object *from_object, const struct vector_index *x, struct object *o)
{
	struct crew_thread *w = &m->crew.members[0];
	const struct merged_file file = {.merges = m, .index = x};
	const struct writer_object what = {.object = o,
					   .size = x->size,
					   .piece = m->piece,
					   .image = merged_image,
					   .argument = &file};
	struct request req = {
		.op = REQ_BEGIN, .object = o, .length = x->size, .begin.part = m->piece};
	int rc = crew_do(w, &req), read;

	if (rc < 0)
		return rc;
	atomic_store(&m->stops, false);
	stream_begin(&m->stream, from, from_object);
	rc = writer_put(&m->writer, &what);
	read = rc == 0 ? stream_until(&m->stream, from->size) : m->stream.rc;
	stream_end(&m->stream);
	rc = read < 0 ? read : rc;
	if (rc == 0)
		rc = merges_commit(m, o, x->size);
	if (rc < 0) {
		queue_do(&w->queue, &(struct request){.op = REQ_ABORT, .object = o});
		return rc;
	}
	return live_open(&m->side, x, o, &w->err);
}

/* Each vector that is inserted searches the file, so many of them side by side. */
static int merges_insert(struct vector_merges *m, uint64_t inserts)
{
	struct vector_thread *t = &m->inserter;

	if (!inserts)
		return 0;
	t->issued = 0;
	t->limit = inserts;
	return slots_run(&t->slots, m->start_ns, 0);
}

/* Writes the next generation, which is then open; the one that is there stays as it is. */
static int merges_write(struct vector_merges *m, uint64_t i, const struct vector_generation *next,
			uint64_t inserts)
{
	struct vector_live *l = &m->work->live[i];
	const struct vector_set *set = m->work->set;
	uint64_t segment = m->work->from + i, version = vector_version(next);
	uint32_t at = l->turn & 1, to = !at;
	struct vector_index *between = &m->target.index[0];
	struct object *open = &m->target.object[0];
	int rc = 0;

	*between = l->index[at];
	*open = l->object[at];
	if (m->options->merge_passes > 1) {
		vector_index_at(between, &set->shape, set->seed, segment, version - 1,
				m->generations[i].vectors);
		*open = (struct object){.size = 0};
		vector_set_key_at(set, segment, version - 1, open->key);
		rc = merges_pass(m, &l->index[at], &l->object[at], between, open);
		if (rc < 0)
			return rc;
	}
	vector_index_at(&l->index[to], &set->shape, set->seed, segment, version, next->vectors);
	l->object[to] = (struct object){.size = 0};
	vector_set_key_at(set, segment, version, l->object[to].key);
	rc = merges_insert(m, inserts);
	if (rc == 0)
		rc = merges_pass(m, between, open, &l->index[to], &l->object[to]);
	if (m->options->merge_passes > 1)
		live_remove(&m->side, open);
	return rc;
}

/* The nodes in memory are those of the new graph. */
static int merges_keep(struct vector_merges *m, uint64_t i, const struct vector_generation *next)
{
	struct vector_live *l = &m->work->live[i];
	struct crew_thread *w = &m->crew.members[0];
	uint32_t to = !(l->turn & 1);
	int rc = vector_hot(&l->hot[to], m->options, &l->index[to].graph);

	if (rc < 0)
		err_set(&w->err, rc, "no memory for nodes of a segment");
	else
		rc = vector_generation_save(next, m->work->set->folder, m->work->from + i, &m->side,
					    &w->err);
	if (rc < 0)
		live_remove(&m->side, &l->object[to]);
	return rc;
}

/* Searches turn to the new generation; the old one is removed when the last has left it. */
static void merges_turn(struct vector_merges *m, uint64_t i)
{
	struct vector_live *l = &m->work->live[i];
	struct clock *clock = m->ctx->clock;
	uint32_t old = l->turn & 1;

	atomic_fetch_add(&l->turn, 1);
	while (atomic_load(&l->readers[old]))
		clock_sleep_until(clock, clock_now(clock) + leave_nap_ns);
	live_remove(&m->side, &l->object[old]);
	hot_free(&l->hot[old]);
}

/* Changes of a segment since the phase began. */
static double merges_changes(const struct vector_merges *m, uint64_t now_ns)
{
	const struct vector_options *o = m->options;

	return (double)excess_u64(now_ns, m->start_ns) / 1e9 * (o->inserts + o->deletes) /
	       (double)o->shape.segments;
}

static int merges_one(struct vector_merges *m, uint64_t i)
{
	uint64_t inserts, at = vector_merge_at(m->options, &inserts), deletes = at - inserts;
	uint64_t began_ns = clock_now(m->ctx->clock), now_ns, waited;
	struct vector_generation *g = &m->generations[i];
	const struct vector_generation next = {g->number + 1, g->vectors + inserts - deletes};
	int rc;

	atomic_store(&m->meanwhile.merging, true);
	rc = merges_write(m, i, &next, inserts);
	if (rc == 0)
		rc = merges_keep(m, i, &next);
	if (rc == 0)
		merges_turn(m, i);
	atomic_store(&m->meanwhile.merging, false);
	now_ns = clock_now(m->ctx->clock);
	waited = (uint64_t)merges_changes(m, now_ns) - m->merged[i] * at;
	m->waiting = max_u64(m->waiting, waited);
	if (rc < 0) {
		m->left++;
		return rc;
	}
	*g = next;
	m->merged[i]++;
	m->merges++;
	m->merge_ns += now_ns - began_ns;
	m->inserted += inserts;
	m->deleted += deletes;
	return 0;
}

/* The segment that is to be merged next, and when; those that may not shrink or grow any more are not.
 * Returns work->own where there is none. */
static uint64_t merges_next(const struct vector_merges *m, uint64_t *due_ns)
{
	const struct vector_options *o = m->options;
	uint64_t inserts, at = vector_merge_at(o, &inserts), next = m->work->own;
	double changes_s = (o->inserts + o->deletes) / (double)o->shape.segments;

	*due_ns = UINT64_MAX;
	for (uint64_t i = 0; i < m->work->own; i++) {
		uint64_t vectors = m->generations[i].vectors + inserts;
		uint64_t due = m->start_ns +
			       (uint64_t)((double)((m->merged[i] + 1) * at) / changes_s * 1e9);

		if ((o->merges && m->merged[i] >= o->merges) || vectors < at - inserts + 2 ||
		    vectors - (at - inserts) > VECTOR_VECTORS_MAX || due >= *due_ns)
			continue;
		next = i;
		*due_ns = due;
	}
	return next;
}

static int merges_run(struct crew_thread *w, uint64_t thread)
{
	struct vector_merges *m = w->crew->argument;
	struct clock *clock = m->ctx->clock;
	uint64_t next, due_ns, now_ns;
	int rc = 0;

	(void)thread;
	while (rc == 0 && !merges_halted(m)) {
		next = merges_next(m, &due_ns);
		if (next == m->work->own)
			break;
		now_ns = clock_now(clock);
		if (now_ns >= due_ns)
			rc = merges_one(m, next);
		else
			clock_sleep_until(clock, min_u64(due_ns, now_ns + merge_nap_ns));
		crew_look(w);
	}
	if (rc < 0 || m->options->merges)
		atomic_store(&m->meanwhile.over, true);
	return rc == -ECANCELED ? 0 : rc;
}

static int merges_open_segments(struct vector_merges *m, struct err *err)
{
	const struct vector_set *set = m->work->set;
	int rc = 0;

	for (; rc == 0 && m->opened < m->work->own; m->opened += rc == 0) {
		struct vector_live *l = &m->work->live[m->opened];
		uint64_t segment = m->work->from + m->opened;

		m->generations[m->opened] = vector_set_generation(set, segment);
		vector_set_key(set, segment, l->object[0].key);
		rc = live_open(&m->side, &l->index[0], &l->object[0], err);
	}
	return rc;
}

/* The thread that merges, with memory for reads and writes of whole files, or for searches. */
static int merges_open_crew(struct vector_merges *m, const struct job_store *described,
			    struct err *err)
{
	struct store *store = m->work->store;
	uint64_t flight = vector_in_flight(&m->inserts, m->inserts.side),
		 size = m->work->live[0].index[0].size;
	uint64_t part = store_part(store, size), read = min_u64(merge_read_bytes, size);
	uint64_t writes = vector_build_buffers(store->ops, part);
	uint64_t window = queue_buffer_bytes(store, read), unit;
	uint32_t depth = backend_in_flight(described);
	struct crew *c = &m->crew;
	int rc;

	writes = (writes + VECTOR_SECTOR - 1) / VECTOR_SECTOR * VECTOR_SECTOR;
	window = (window + VECTOR_SECTOR - 1) / VECTOR_SECTOR * VECTOR_SECTOR;
	unit = queue_buffer_bytes(store, vector_index_unit(&m->work->live[0].index[0]));
	m->piece = vector_build_piece(store->ops, part);
	*c = crew_of(m->ctx, store, &merge_meter, 1, max_u64(depth, flight), "merge");
	c->once = true;
	c->argument = m;
	if (m->work->content)
		c->buffer_bytes = max_u64(writes + STREAM_READS * window, flight * unit);
	rc = crew_open(c, err);
	if (rc < 0)
		return rc;
	m->stream = (struct stream){.member = &c->members[0],
				    .store = store,
				    .verify = m->options->verify,
				    .piece = read,
				    .depth = min_u32(backend_depth(described), STREAM_READS),
				    .buffer_bytes = window};
	m->writer = (struct writer){.queue = &c->members[0].queue,
				    .memory = c->members[0].buffer,
				    .buffer_bytes = writes / VECTOR_BUILD_BUFFERS,
				    .buffers = VECTOR_BUILD_BUFFERS,
				    .depth = min_u32(depth, VECTOR_BUILD_BUFFERS),
				    .halt = &m->stops,
				    .failed = merges_write_failed,
				    .written = merges_written,
				    .argument = m};
	if (m->work->content)
		m->stream.memory = (char *)c->members[0].buffer + writes;
	rc = stream_open(&m->stream, err);
	return rc < 0 ? rc : writer_open(&m->writer, err);
}

int vector_merges_open(struct vector_merges *m, const struct job_store *described, struct err *err)
{
	struct vector_work *work = m->work;
	int rc;

	m->inserts = merge_inserts(m->options, described);
	m->generations = calloc(work->own, sizeof(*m->generations));
	m->merged = calloc(work->own, sizeof(*m->merged));
	if (!m->generations || !m->merged)
		return err_set(err, -ENOMEM, "no memory for %llu segments",
			       (unsigned long long)work->own);
	rc = queue_open(&m->side, work->store, 1, err);
	if (rc < 0)
		return rc;
	queue_unlogged(&m->side);
	m->asks = true;
	rc = merges_open_segments(m, err);
	if (rc == 0)
		rc = merges_open_crew(m, described, err);
	if (rc < 0)
		return rc;
	m->insert_work = (struct vector_work){.options = &m->inserts,
					      .set = work->set,
					      .store = work->store,
					      .own = 1,
					      .live = &m->target,
					      .targets = work->targets,
					      .vectors = work->vectors,
					      .content = work->content,
					      .beam = m->inserts.beam,
					      .side = 1,
					      .of = 1,
					      .inserts = true};
	m->target.index[0] = work->live[0].index[0];
	return vector_thread_open(&m->inserter, &m->insert_work, &m->crew.members[0], 0, err);
}

void vector_merges_close(struct vector_merges *m)
{
	vector_thread_close(&m->inserter);
	writer_close(&m->writer);
	stream_close(&m->stream);
	crew_close(&m->crew);
	for (uint64_t i = 0; i < m->opened; i++) {
		struct vector_live *l = &m->work->live[i];

		live_close(&m->side, &l->object[l->turn & 1]);
	}
	if (m->asks)
		queue_close(&m->side);
	free(m->generations);
	free(m->merged);
}

int vector_merges_start(struct vector_merges *m, uint64_t start_ns, struct err *err)
{
	int rc;

	m->start_ns = start_ns;
	crew_start(&m->crew, start_ns);
	rc = crew_launch(&m->crew, merges_run, err);
	m->flies = rc == 0;
	return rc;
}

int vector_merges_end(struct vector_merges *m, struct err *err)
{
	if (!m->flies)
		return 0;
	m->flies = false;
	return crew_land(&m->crew, true, err);
}

void vector_merges_add(void *merges, struct tally *t)
{
	const struct vector_merges *m = merges;
	uint64_t *row = t->rank_row;
	uint64_t read = row[TALLY_BYTES_READ], written = row[TALLY_BYTES_WRITTEN];

	if (!m->crew.members)
		return;
	crew_merge(&m->crew, t);
	hist_merge(&t->hists[VECTOR_HIST_MERGE_READ], &m->stream.reads);
	row[VECTOR_MERGE_READ_BYTES] += row[TALLY_BYTES_READ] - read;
	row[VECTOR_MERGE_WRITTEN_BYTES] += row[TALLY_BYTES_WRITTEN] - written;
	row[VECTOR_MERGES] += m->merges;
	row[VECTOR_MERGES_LEFT] += m->left;
	row[VECTOR_MERGE_NS] += m->merge_ns;
	row[VECTOR_INSERTS] += m->inserted;
	row[VECTOR_DELETES] += m->deleted;
	row[VECTOR_INSERT_READS] += m->inserter.expanded;
	row[VECTOR_WAITING] = max_u64(row[VECTOR_WAITING], m->waiting);
	row[VECTOR_VERIFY_NS] += m->stream.verify_ns + m->inserter.verify_ns;
	row[VECTOR_PAYLOAD_ERRORS] += m->stream.payload_errors + m->inserter.payload_errors;
}
