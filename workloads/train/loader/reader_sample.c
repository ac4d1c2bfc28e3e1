#include <errno.h>
#include <string.h>

#include "workloads/train/loader/reader_internal.h"

static const struct source *source_of(const struct worker *w)
{
	return &w->options->sources[w->assignment->source];
}

static bool reading_size_unknown(const struct worker *w);
static void reading_take(struct worker *w, struct reading *r);
static void reading_advance(struct worker *w, struct reading *r);

static uint32_t objects_of(const struct worker *w)
{
	return source_of(w)->dataset->objects;
}

/* None of its objects is open. */
static void reading_lay_out(struct worker *w, struct reading *r)
{
	const struct dataset *d = source_of(w)->dataset;
	uint64_t file = r->sample / w->assignment->share.order.samples_per_file;
	uint64_t wanted = file * WORKER_SOURCES + w->assignment->source + 1;
	uint32_t i;

	for (i = 0; i < d->objects; i++) {
		struct object *o = &r->objects[i];

		o->size = 0;
		memset(o->state, 0, sizeof(o->state));
		if (r->laid_out != wanted)
			dataset_object_key(d, file, i, o->key);
	}
	if (r->laid_out != wanted)
		dataset_layout(d, file, &r->layout);
	if (source_of(w)->whole && !reading_size_unknown(w))
		r->objects[0].size = r->layout.size;
	r->laid_out = wanted;
	r->state = READING_OPEN;
	r->began_ns = w->mark_ns;
}

void reading_begin(struct worker *w, struct reading *r, uint64_t place)
{
	uint64_t sample = share_at(&w->assignment->share, place);
	uint64_t file = sample / w->assignment->share.order.samples_per_file;

	r->place = place;
	r->sample = sample;
	r->id = sample;
	r->id_seen = false;
	r->flying = 0;
	r->rc = 0;
	r->began_ns = w->mark_ns;
	if (r->opened && r->layout.file == file) {
		reading_take(w, r);
		if (r->state == READING_OVER)
			return;
	}
	worker_mark(w, ACCOUNT_HAUL, clock_now(w->options->clock));
	r->began_ns = w->mark_ns;
	if (!r->opened)
		reading_lay_out(w, r);
	else if (r->layout.file != file)
		r->state = READING_LEAVE;
}

/* The window of a request, the same one always; a stream's is its lane's, which looks back at what came.
 * NULL where no store gives bytes. */
static void *reading_window(const struct worker *w, const struct reading *r, const struct io *io)
{
	uint64_t i = (uint64_t)(worker_streams(w) ? r - w->lanes : io - w->ios);

	return w->windows.base ? (char *)w->windows.base + i * w->windows.slot_bytes : NULL;
}

static bool reading_ask(const struct worker *w, struct reading *r, struct io *io, enum io_op op,
			uint32_t object)
{
	*io = (struct io){
		.op = op,
		.object = &r->objects[object],
		.user = r,
		.due_ns = w->mark_ns,
	};
	r->flying++;
	return true;
}

/* The window is about to be filled again: the end of what it holds may be the begin of an id. */
static void stream_went_on(struct reading *r)
{
	struct piece *p = &r->piece;
	uint64_t n = p->bytes < sizeof(p->before) ? p->bytes : sizeof(p->before);

	if (p->data)
		memcpy(p->before, p->data + p->bytes - n, n);
	p->before_bytes = p->data ? (uint32_t)n : 0;
	p->data = NULL;
	p->bytes = 0;
	p->end = r->at;
}

/* What a stream has not been read of yet, up to the end of a sample, in pieces: they lie where they would if
 * the file were read to its end. */
static uint32_t stream_extents(const struct worker *w, struct reading *r, uint64_t k,
			       struct extent out[FORMAT_EXTENTS_MAX])
{
	uint64_t piece = source_of(w)->request_bytes, end, from = r->piece.end;

	if (piece > r->layout.size)
		piece = r->layout.size;
	r->layout.format->extents(&r->layout, k, out);
	end = out->offset + out->length;
	if (end <= from)
		return 0;
	if (!from) { /* its file has just been opened */
		from = out->offset - out->offset % piece;
		r->walk = (struct walk){.size = r->layout.size};
		r->walked = out->offset;
	}
	end = from + (end - from + piece - 1) / piece * piece;
	if (end > r->layout.size)
		end = r->layout.size;
	*out = (struct extent){.offset = from, .length = end - from, .step = piece};
	return 1;
}

/* What has come of a request that is longer than its window. A piece that is wrong does not end the
 * transfer, which would cost the connection. */
static int reading_chunk(struct io *io, uint64_t offset, void *data, uint64_t length)
{
	struct reading *r = io->user;
	struct worker *w = r->worker;
	struct io piece = *io;
	int rc;

	piece.chunk = NULL;
	piece.offset = offset;
	piece.length = length;
	piece.done_bytes = length;
	piece.data = data;
	if (io->first_byte_ns)
		worker_mark(w, ACCOUNT_FIRST_BYTE, io->first_byte_ns);
	worker_mark(w, ACCOUNT_TRANSFER, clock_now(w->options->clock));
	rc = worker_received(w, r, &piece);
	if (rc < 0 && !r->rc)
		r->rc = rc;
	return 0;
}

/* The next piece of the extent under way. */
static bool reading_extent(const struct worker *w, struct reading *r, struct io *io)
{
	const struct extent *e = &r->extents[r->extent];
	uint64_t most = source_of(w)->request_bytes, left = e->offset + e->length - r->at;
	uint64_t piece = e->step && e->step < most ? e->step : most;

	if (!left)
		return false;
	reading_ask(w, r, io, IO_READ, e->object);
	io->offset = r->at;
	io->length = left < piece ? left : piece;
	io->data = reading_window(w, r, io);
	if (io->data && io->length > source_of(w)->window_bytes) {
		io->chunk = reading_chunk;
		io->window = source_of(w)->window_bytes;
	}
	r->at += io->length;
	if (worker_streams(w))
		stream_went_on(r);
	return true;
}

bool reading_next(struct worker *w, struct reading *r, struct io *io)
{
	if (r->state == READING_EXTENTS && !r->flying)
		reading_advance(w, r);
	if (r->state == READING_EXTENTS)
		return !r->rc && !w->batch->cut && !(r->flying && worker_streams(w)) &&
		       reading_extent(w, r, io);
	if (r->state == READING_OVER || r->flying)
		return false;
	if (r->state == READING_LEAVE || r->state == READING_CLOSE)
		return reading_ask(w, r, io, IO_CLOSE, r->opened - 1);
	return reading_ask(w, r, io, r->state == READING_OPEN ? IO_OPEN : IO_STAT,
			   r->state == READING_OPEN ? r->opened : 0);
}

/* Nothing is in flight. An extent begins when the one before has come whole; behind the last the sample
 * is over, and its file is closed unless it stays open for the next. */
static void reading_advance(struct worker *w, struct reading *r)
{
	const struct extent *e = &r->extents[r->extent];

	if (w->batch->cut && !r->rc)
		r->rc = -ECANCELED;
	for (; !r->rc && r->extent < r->extent_count && r->at == e->offset + e->length; e++)
		if (++r->extent < r->extent_count)
			r->at = e[1].offset;
	if (!r->rc && r->extent < r->extent_count)
		return;
	if (!r->rc)
		r->rc = worker_decoded(w, r);
	if (!r->rc)
		hist_record(&w->sample_hist, w->mark_ns - r->began_ns);
	r->state = READING_OVER;
	if (r->rc || !(source_of(w)->dataset->stays_open || worker_streams(w)))
		r->state = READING_CLOSE;
}

/* Files are of whatever size they have: the store tells it at the open, or must be asked. */
static bool reading_size_unknown(const struct worker *w)
{
	const struct source *s = source_of(w);

	return s->dataset->options.sizes == SIZES_STAT && store_can(s->store, BACKEND_CONTENT);
}

/* Evidence of cold reads, before the first of them. Looking is haul's own time. */
static void reading_witness(struct worker *w, const struct reading *r)
{
	uint64_t looks = w->residency.looks;

	for (uint32_t i = 0; i < r->extent_count; i++)
		residency_look(&w->residency, source_of(w)->store,
			       &r->objects[r->extents[i].object], r->extents[i].offset,
			       r->extents[i].length);
	if (w->residency.looks != looks)
		worker_mark(w, ACCOUNT_HAUL, clock_now(w->options->clock));
}

/* With a header that is kept, its walk goes on from sample to sample. */
static bool walks_anew(const struct worker *w, const struct reading *r)
{
	return !r->kept.file || r->layout.format->streams || source_of(w)->dataset->existing;
}

/* The file is open: what the sample needs of it and is not kept, in the order of a real reader. */
static void reading_take(struct worker *w, struct reading *r)
{
	uint64_t k = r->sample % w->assignment->share.order.samples_per_file;

	r->state = READING_EXTENTS;
	r->extent = 0;
	if (!worker_streams(w) && walks_anew(w, r))
		r->walk = (struct walk){.size = r->layout.size};
	if (worker_streams(w)) {
		r->extent_count = stream_extents(w, r, k, r->extents);
		worker_look_back(w, r);
	} else {
		r->extent_count = kept_extents(&r->kept, &r->layout, k, r->extents);
	}
	r->at = r->extents[0].offset;
	if (r->extent_count)
		reading_witness(w, r);
	reading_advance(w, r);
}

/* An object is open, or its size has come. */
static void reading_opened(struct worker *w, struct reading *r, const struct io *io)
{
	struct object *file = &r->objects[0];

	if (io->op == IO_OPEN && ++r->opened < objects_of(w))
		return;
	if (reading_size_unknown(w)) {
		if (!file->size && io->op == IO_OPEN) {
			r->state = READING_STAT;
			return;
		}
		if (!file->size && !r->rc) {
			r->rc = -ENODATA;
			worker_fail(w, io, r->rc, "is empty");
		}
		dataset_layout_found(&r->layout, file->size);
	}
	kept_nothing(&r->kept);
	r->piece = (struct piece){0};
	if (r->rc)
		r->state = READING_CLOSE;
	else
		reading_take(w, r);
}

/* One is closed, whatever became of it. */
static void reading_closed(struct worker *w, struct reading *r)
{
	if (--r->opened)
		return;
	if (r->state == READING_LEAVE && !r->rc)
		reading_lay_out(w, r);
	else
		r->state = READING_OVER;
}

void reading_answered(struct worker *w, struct reading *r, const struct io *io)
{
	int rc = io->status;

	r->flying--;
	if (io->op == IO_READ)
		rc = io->chunk && r->rc ? r->rc : worker_received(w, r, io);
	else if (rc < 0)
		worker_fail(w, io, rc, NULL);
	if (!r->rc)
		r->rc = rc < 0 ? rc : 0;
	if (io->op == IO_CLOSE)
		reading_closed(w, r);
	else if (io->op == IO_STAT || (io->op == IO_OPEN && rc >= 0))
		reading_opened(w, r, io);
	else if (io->op == IO_OPEN)
		r->state = r->opened ? READING_CLOSE : READING_OVER;
	else if (!r->flying)
		reading_advance(w, r);
}

void worker_rest(struct worker *w)
{
	for (uint32_t i = 0; i < w->options->lanes; i++) {
		struct reading *r = &w->lanes[i];

		/* It was only read: a failure is in the queue's counts, and no sample's. */
		for (; r->opened; r->opened--)
			queue_do(
				&w->queues[w->assignment->source],
				&(struct io){.op = IO_CLOSE, .object = &r->objects[r->opened - 1]});
	}
}
