#include <errno.h>
#include <string.h>

#include "workloads/train/loader/reader_internal.h"

static const struct source *source_of(const struct reader *w)
{
	return &w->options->sources[w->assignment->source];
}

static bool sample_read_size_unknown(const struct reader *w);
static void sample_read_take(struct reader *w, struct sample_read *r);
static void sample_read_advance(struct reader *w, struct sample_read *r);

static uint32_t objects_of(const struct reader *w)
{
	return source_of(w)->dataset->objects;
}

/* None of its objects is open. */
static void sample_read_lay_out(struct reader *w, struct sample_read *r)
{
	const struct dataset *d = source_of(w)->dataset;
	uint64_t file = r->sample / w->assignment->sequence.order.samples_per_file;
	uint64_t awaited = file * READER_SOURCES + w->assignment->source + 1;
	uint32_t i;

	for (i = 0; i < d->objects; i++) {
		struct object *o = &r->objects[i];

		o->size = 0;
		memset(o->state, 0, sizeof(o->state));
		if (r->laid_out != awaited)
			dataset_object_key(d, file, i, o->key);
	}
	if (r->laid_out != awaited)
		dataset_layout(d, file, &r->layout);
	if (source_of(w)->whole && !sample_read_size_unknown(w))
		r->objects[0].size = r->layout.size;
	r->laid_out = awaited;
	r->state = SAMPLE_OPEN;
	r->began_ns = w->mark_ns;
}

void sample_read_begin(struct reader *w, struct sample_read *r, uint64_t position)
{
	uint64_t sample = sequence_at(&w->assignment->sequence, position);
	uint64_t file = sample / w->assignment->sequence.order.samples_per_file;

	r->position = position;
	r->sample = sample;
	r->id = sample;
	r->id_seen = false;
	r->flying = 0;
	r->rc = 0;
	r->began_ns = w->mark_ns;
	if (r->opened && r->layout.file == file) {
		sample_read_take(w, r);
		if (r->state == SAMPLE_OVER)
			return;
	}
	reader_mark(w, ACCOUNT_HAUL, clock_now(w->options->clock));
	r->began_ns = w->mark_ns;
	if (!r->opened)
		sample_read_lay_out(w, r);
	else if (r->layout.file != file)
		r->state = SAMPLE_LEAVE;
}

/* The window of a request, the same one always; a stream's is its lane's, which looks back at what came.
 * NULL where no store gives bytes. */
static void *sample_read_window(const struct reader *w, const struct sample_read *r,
				const struct request *req)
{
	uint64_t i = (uint64_t)(reader_streams(w) ? r - w->read_slots : req - w->reqs);

	return w->windows.base ? (char *)w->windows.base + i * w->windows.slot_bytes : NULL;
}

static bool sample_read_ask(const struct reader *w, struct sample_read *r, struct request *req,
			    enum request_op op, uint32_t object)
{
	*req = (struct request){
		.op = op,
		.object = &r->objects[object],
		.user = r,
		.due_ns = w->mark_ns,
	};
	r->flying++;
	return true;
}

/* The window is about to be filled again: the end of what it holds may be the begin of an id. */
static void stream_went_on(struct sample_read *r)
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
static uint32_t stream_extents(const struct reader *w, struct sample_read *r, uint64_t k,
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
static int sample_read_chunk(struct request *req, uint64_t offset, void *data, uint64_t length)
{
	struct sample_read *r = req->user;
	struct reader *w = r->reader;
	struct request piece = *req;
	int rc;

	piece.chunk = NULL;
	piece.offset = offset;
	piece.length = length;
	piece.answer.done_bytes = length;
	piece.data = data;
	if (req->answer.first_byte_ns)
		reader_mark(w, ACCOUNT_FIRST_BYTE, req->answer.first_byte_ns);
	reader_mark(w, ACCOUNT_TRANSFER, clock_now(w->options->clock));
	rc = reader_received(w, r, &piece);
	if (rc < 0 && !r->rc)
		r->rc = rc;
	return 0;
}

/* The next piece of the extent under way. */
static bool sample_read_extent(const struct reader *w, struct sample_read *r, struct request *req)
{
	const struct extent *e = &r->extents[r->extent];
	uint64_t most = source_of(w)->request_bytes, left = e->offset + e->length - r->at;
	uint64_t piece = e->step && e->step < most ? e->step : most;

	if (!left)
		return false;
	sample_read_ask(w, r, req, REQ_READ, e->object);
	req->offset = r->at;
	req->length = left < piece ? left : piece;
	req->data = sample_read_window(w, r, req);
	if (req->data && req->length > source_of(w)->window_bytes) {
		req->chunk = sample_read_chunk;
		req->buffer_bytes = source_of(w)->window_bytes;
	}
	r->at += req->length;
	if (reader_streams(w))
		stream_went_on(r);
	return true;
}

bool sample_read_next(struct reader *w, struct sample_read *r, struct request *req)
{
	if (r->state == SAMPLE_EXTENTS && !r->flying)
		sample_read_advance(w, r);
	if (r->state == SAMPLE_EXTENTS)
		return !r->rc && !w->batch->cut && !(r->flying && reader_streams(w)) &&
		       sample_read_extent(w, r, req);
	if (r->state == SAMPLE_OVER || r->flying)
		return false;
	if (r->state == SAMPLE_LEAVE || r->state == SAMPLE_CLOSE)
		return sample_read_ask(w, r, req, REQ_CLOSE, r->opened - 1);
	return sample_read_ask(w, r, req, r->state == SAMPLE_OPEN ? REQ_OPEN : REQ_STAT,
			       r->state == SAMPLE_OPEN ? r->opened : 0);
}

/* Nothing is in flight. An extent begins when the one before has come whole; behind the last the sample
 * is over, and its file is closed unless it stays open for the next. */
static void sample_read_advance(struct reader *w, struct sample_read *r)
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
		r->rc = reader_decoded(w, r);
	if (!r->rc)
		hist_record(meter_hist(&w->meter, w->options->sample_hist),
			    w->mark_ns - r->began_ns);
	r->state = SAMPLE_OVER;
	if (r->rc || !(source_of(w)->dataset->stays_open || reader_streams(w)))
		r->state = SAMPLE_CLOSE;
}

/* Files are of whatever size they have: the store tells it at the open, or must be asked. */
static bool sample_read_size_unknown(const struct reader *w)
{
	const struct source *s = source_of(w);

	return s->dataset->options.sizes == SIZES_STAT && store_can(s->store, BACKEND_CONTENT);
}

/* Evidence of cold reads, before the first of them. Looking is haul's own time. */
static void sample_read_witness(struct reader *w, const struct sample_read *r)
{
	uint64_t looks = w->residency.looks;

	for (uint32_t i = 0; i < r->extent_count; i++)
		residency_look(&w->residency, source_of(w)->store,
			       &r->objects[r->extents[i].object], r->extents[i].offset,
			       r->extents[i].length);
	if (w->residency.looks != looks)
		reader_mark(w, ACCOUNT_HAUL, clock_now(w->options->clock));
}

/* With a header that is kept, its walk goes on from sample to sample. */
static bool walks_anew(const struct reader *w, const struct sample_read *r)
{
	return !r->cache.file || r->layout.format->streams || source_of(w)->dataset->existing;
}

/* The file is open: what the sample needs of it and is not kept, in the order of a real reader. */
static void sample_read_take(struct reader *w, struct sample_read *r)
{
	uint64_t k = r->sample % w->assignment->sequence.order.samples_per_file;

	r->state = SAMPLE_EXTENTS;
	r->extent = 0;
	if (!reader_streams(w) && walks_anew(w, r))
		r->walk = (struct walk){.size = r->layout.size};
	if (reader_streams(w)) {
		r->extent_count = stream_extents(w, r, k, r->extents);
		reader_look_back(w, r);
	} else {
		r->extent_count = reader_cache_extents(&r->cache, &r->layout, k, r->extents);
	}
	r->at = r->extents[0].offset;
	if (r->extent_count)
		sample_read_witness(w, r);
	sample_read_advance(w, r);
}

/* An object is open, or its size has come. */
static void sample_read_opened(struct reader *w, struct sample_read *r, const struct request *req)
{
	struct object *file = &r->objects[0];

	if (req->op == REQ_OPEN && ++r->opened < objects_of(w))
		return;
	if (sample_read_size_unknown(w)) {
		if (!file->size && req->op == REQ_OPEN) {
			r->state = SAMPLE_STAT;
			return;
		}
		if (!file->size && !r->rc) {
			r->rc = -ENODATA;
			reader_fail(w, req, r->rc, "is empty");
		}
		dataset_layout_found(&r->layout, file->size);
	}
	reader_cache_clear(&r->cache);
	r->piece = (struct piece){0};
	if (r->rc)
		r->state = SAMPLE_CLOSE;
	else
		sample_read_take(w, r);
}

/* One is closed, whatever became of it. */
static void sample_read_closed(struct reader *w, struct sample_read *r)
{
	if (--r->opened)
		return;
	if (r->state == SAMPLE_LEAVE && !r->rc)
		sample_read_lay_out(w, r);
	else
		r->state = SAMPLE_OVER;
}

void sample_read_answered(struct reader *w, struct sample_read *r, const struct request *req)
{
	int rc = req->answer.status;

	r->flying--;
	if (req->op == REQ_READ)
		rc = req->chunk && r->rc ? r->rc : reader_received(w, r, req);
	else if (rc < 0)
		reader_fail(w, req, rc, NULL);
	if (!r->rc)
		r->rc = rc < 0 ? rc : 0;
	if (req->op == REQ_CLOSE)
		sample_read_closed(w, r);
	else if (req->op == REQ_STAT || (req->op == REQ_OPEN && rc >= 0))
		sample_read_opened(w, r, req);
	else if (req->op == REQ_OPEN)
		r->state = r->opened ? SAMPLE_CLOSE : SAMPLE_OVER;
	else if (!r->flying)
		sample_read_advance(w, r);
}

void reader_rest(struct reader *w)
{
	for (uint32_t i = 0; i < w->options->read_slots; i++) {
		struct sample_read *r = &w->read_slots[i];

		/* It was only read: a failure is in the queue's counts, and no sample's. */
		for (; r->opened; r->opened--)
			queue_do(&w->queues[w->assignment->source],
				 &(struct request){.op = REQ_CLOSE,
						   .object = &r->objects[r->opened - 1]});
	}
}
