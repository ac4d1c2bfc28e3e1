/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of one sample in its read slot: open, extents, close. */
#include "workloads/train/loader/reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/units.h"
#include "workloads/common/crew.h"

static int reader_decoded(struct reader *w, struct sample_read *r);
static int reader_received(struct reader *w, struct sample_read *r, const struct request *req);
static void reader_look_back(const struct reader *w, struct sample_read *r);
static void reader_fail(struct reader *w, const struct request *req, int rc, const char *text);

static const struct source *reader_source(const struct reader *w)
{
	return &w->options->sources[w->assignment->source];
}

static bool sample_read_size_unknown(const struct reader *w);
static void sample_read_take(struct reader *w, struct sample_read *r);
static void sample_read_advance(struct reader *w, struct sample_read *r);

static uint32_t reader_objects(const struct reader *w)
{
	return reader_source(w)->dataset->objects;
}

/* The file of the sample is another than before, and none of its objects is open. */
static void sample_read_lay_out(struct reader *w, struct sample_read *r)
{
	const struct dataset *d = reader_source(w)->dataset;
	uint64_t file = r->sample / w->assignment->sequence.order.samples_per_file;
	uint64_t wanted = file * READER_SOURCES + w->assignment->source + 1;
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
	if (reader_source(w)->whole && !sample_read_size_unknown(w))
		r->objects[0].size = r->layout.size;
	r->laid_out = wanted;
	r->state = SAMPLE_OPEN;
	r->began_ns = w->mark_ns;
}

void sample_read_begin(struct reader *w, struct sample_read *r, uint64_t position)
{
	const struct rank_sequence *sequence = &w->assignment->sequence;
	uint64_t sample = position == w->position + 1 ? sequence_next(sequence, position, w->sample)
						      : sequence_at(sequence, position);
	uint64_t file = sample / w->assignment->sequence.order.samples_per_file;

	w->position = r->position = position;
	w->sample = r->sample = sample;
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

/* The buffer of a request is always the same one. A stream's belongs to its read slot, which looks
 * back at what has come. NULL where no store gives bytes. */
static void *sample_read_buffer(const struct reader *w, const struct sample_read *r,
				const struct request *req)
{
	uint64_t i = (uint64_t)(reader_streams(w) ? r - w->read_slots : req - w->reqs);

	return w->buffers.base ? (char *)w->buffers.base + i * w->buffers.slot_bytes : NULL;
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

/* The buffer is about to be filled again. The end of what it holds may be the beginning of an id,
 * so it is kept. */
static void stream_keep_end(struct sample_read *r)
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

/* What has not been read yet of a stream, up to the end of a sample, in pieces. The pieces lie
 * where they would lie if the file were read to its end. */
static uint32_t stream_extents(const struct reader *w, struct sample_read *r, uint64_t k,
			       struct extent out[FORMAT_EXTENTS_MAX])
{
	uint64_t piece = reader_source(w)->request_bytes, end, from = r->piece.end;

	if (piece > r->layout.size)
		piece = r->layout.size;
	r->layout.format->extents(&r->layout, k, out);
	/* A reader of the stream reads on to the file's end, whatever follows the last sample. */
	end = k + 1 == r->layout.samples ? r->layout.size : out->offset + out->length;
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

/* Takes a piece of a request that is longer than its buffer. A wrong piece does not end the
 * transfer, because that would cost the connection. */
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
	uint64_t most = reader_source(w)->request_bytes, left = e->offset + e->length - r->at;
	uint64_t piece = e->step && e->step < most ? e->step : most;

	if (!left)
		return false;
	sample_read_ask(w, r, req, REQ_READ, e->object);
	req->offset = r->at;
	req->length = left < piece ? left : piece;
	req->data = sample_read_buffer(w, r, req);
	if (req->data && req->length > reader_source(w)->buffer_bytes) {
		req->chunk = sample_read_chunk;
		req->buffer_bytes = reader_source(w)->buffer_bytes;
	}
	r->at += req->length;
	if (reader_streams(w))
		stream_keep_end(r);
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

/* Nothing is in flight. An extent begins when the one before has come whole. After the last extent
 * the sample is over, and its file is closed unless it stays open for the next sample. */
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
	if (r->rc || !(reader_source(w)->dataset->stays_open || reader_streams(w)))
		r->state = SAMPLE_CLOSE;
}

/* Files have any size; the store tells it when a file is opened, or must be asked. */
static bool sample_read_size_unknown(const struct reader *w)
{
	const struct source *s = reader_source(w);

	return s->dataset->options.sizes == SIZES_STAT && store_can(s->store, BACKEND_CONTENT);
}

/* Looks for evidence of cold reads, before the first read. Looking is haul's own time. */
static void sample_read_witness(struct reader *w, const struct sample_read *r)
{
	uint64_t looks = w->residency.looks;

	for (uint32_t i = 0; i < r->extent_count; i++)
		residency_look(&w->residency, reader_source(w)->store,
			       &r->objects[r->extents[i].object], r->extents[i].offset,
			       r->extents[i].length);
	if (w->residency.looks != looks)
		reader_mark(w, ACCOUNT_HAUL, clock_now(w->options->clock));
}

/* Where a header is kept, the walk that began with it goes on from sample to sample. */
static bool sample_read_walks_anew(const struct reader *w, const struct sample_read *r)
{
	return !r->cache.file || r->layout.format->streams || reader_source(w)->dataset->existing;
}

/* The file is open. Reads what the sample needs and the slot has not kept, in the order of a real
 * reader. */
static void sample_read_take(struct reader *w, struct sample_read *r)
{
	uint64_t k = r->sample % w->assignment->sequence.order.samples_per_file;

	r->state = SAMPLE_EXTENTS;
	r->extent = 0;
	if (!reader_streams(w) && sample_read_walks_anew(w, r))
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

/* A size that no file of the set has is damage, which must not count as a sample. */
static void sample_read_check_size(struct reader *w, struct sample_read *r,
				   const struct request *req)
{
	const struct dataset *d = reader_source(w)->dataset;
	char text[FAILURE_TEXT_BYTES], is[UNITS_COUNTED_BYTES];
	uint64_t size = r->objects[0].size;

	if (r->rc || !d->file_bytes_most ||
	    (size >= d->file_bytes_least && size <= d->file_bytes_most))
		return;
	snprintf(
		text, sizeof(text),
		"has %s, files that were looked at before had %llu to %llu: it is damaged, or the job must say "
		"sample_bytes_stdev",
		units_counted(is, size, "byte"), (unsigned long long)d->file_bytes_least,
		(unsigned long long)d->file_bytes_most);
	r->rc = -ENODATA;
	w->short_objects++;
	reader_fail(w, req, r->rc, text);
}

/* An object is open, or its size has come. */
static void sample_read_opened(struct reader *w, struct sample_read *r, const struct request *req)
{
	struct object *file = &r->objects[0];

	if (req->op == REQ_OPEN && ++r->opened < reader_objects(w))
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
		sample_read_check_size(w, r, req);
		dataset_layout_found(&r->layout, file->size);
	}
	reader_cache_clear(&r->cache);
	r->piece = (struct piece){0};
	if (r->rc)
		r->state = SAMPLE_CLOSE;
	else
		sample_read_take(w, r);
}

/* An object is closed, or could not be. */
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

		/* The file was only read, so a failure is in the counts of the queue but fails no
		 * sample. */
		for (; r->opened; r->opened--)
			queue_do(&w->queues[w->assignment->source],
				 &(struct request){.op = REQ_CLOSE,
						   .object = &r->objects[r->opened - 1]});
	}
}

static const uint64_t verify_stream = 0x76657269; /* "veri" */

static uint64_t reader_verify(struct reader *w, const struct sample_read *r, const struct layout *l,
			      const struct request *req, const uint8_t *data);

/* The layout of the object that was read. It is made at out where that is not the file itself. */
static const struct layout *reader_layout(const struct sample_read *r, const struct request *req,
					  struct layout *out)
{
	if (req->object == r->objects)
		return &r->layout;
	layout_beside(&r->layout, (uint32_t)(req->object - r->objects), out);
	return out;
}

/* The format of what is read, whoever made it. */
static const struct format_ops *reader_format(const struct reader *w)
{
	return format_table()[w->options->sources[w->assignment->source].dataset->options.format];
}

static int reader_undecodable(struct reader *w, const struct request *req, const char *wrong)
{
	char text[FAILURE_TEXT_BYTES];

	w->payload_errors++;
	meter_error(&w->meter);
	snprintf(text, sizeof(text), "decode: %s, in bytes %llu to %llu", wrong,
		 (unsigned long long)req->offset, (unsigned long long)(req->offset + req->length));
	reader_fail(w, req, -EILSEQ, text);
	return -EILSEQ;
}

/* A stream that was opened again after an error begins in the middle of a piece, at the sample. */
static int reader_decode(struct reader *w, struct sample_read *r, const struct request *req,
			 const uint8_t *data)
{
	uint64_t skip = reader_streams(w) && r->walked > req->offset ? r->walked - req->offset : 0;
	struct walk_piece p = {.at = data + skip,
			       .left = req->length - skip,
			       .offset = req->offset + skip,
			       .object = (uint32_t)(req->object - r->objects)};
	const struct walk_ops *walk = reader_format(w)->walk;
	const char *wrong = walk_take(walk, &r->walk, &p);

	if (!wrong && reader_streams(w) && r->walk.last)
		wrong = walk_end(walk, &r->walk, r->layout.samples);
	r->walked = req->offset + req->length;
	reader_mark(w, ACCOUNT_DECODE, clock_now(w->options->clock));
	return wrong ? reader_undecodable(w, req, wrong) : 0;
}

/* decode: ends the walk when all bytes of the sample have come; not in streams, whose records end
 * as they come. */
static int reader_decoded(struct reader *w, struct sample_read *r)
{
	const char *wrong;

	if (!w->options->decode || reader_streams(w) || !w->buffers.base)
		return 0;
	wrong = walk_end(reader_format(w)->walk, &r->walk, r->layout.samples);
	return wrong ? reader_undecodable(w,
					  &(struct request){.op = REQ_READ,
							    .object = &r->objects[0],
							    .length = r->layout.size,
							    .answer.attempts = 1},
					  wrong)
		     : 0;
}

/* Looks at what a read has brought: its outcome, the id in it, its payload. */
static int reader_received(struct reader *w, struct sample_read *r, const struct request *req)
{
	const struct dataset *d = w->options->sources[w->assignment->source].dataset;
	const uint8_t *data = req->data ? (const uint8_t *)req->data + req->answer.lead : NULL;
	struct layout beside;
	const struct layout *l = reader_layout(r, req, &beside);
	uint64_t at, good;
	char text[FAILURE_TEXT_BYTES];

	if (req->answer.status < 0 && req->answer.status != -ENODATA) {
		reader_fail(w, req, req->answer.status, NULL);
		return req->answer.status;
	}
	if (req->answer.status == -ENODATA || req->answer.done_bytes < req->length) {
		w->short_objects++;
		answer_text_ends(text, req, l->size);
		reader_fail(w, req, -ENODATA, text);
		return -ENODATA;
	}
	/* What was streamed has been checked piece by piece. */
	if (!data || req->chunk)
		return 0;
	if (reader_streams(w)) {
		r->piece.data = data;
		r->piece.at = req->offset;
		r->piece.bytes = req->length;
		reader_look_back(w, r);
	} else if (!r->id_seen && layout_id_at(l, r->sample % d->options.samples_per_file,
					       req->offset, req->length, &at)) {
		r->id = layout_id(l, data + at);
		r->id_seen = true;
	}
	if (w->options->decode) {
		int rc = reader_decode(w, r, req, data);

		if (rc < 0)
			return rc;
	}
	if (w->options->verify == VERIFY_NONE || d->existing)
		return 0;
	good = reader_verify(w, r, l, req, data);
	reader_mark(w, ACCOUNT_HAUL, clock_now(w->options->clock));
	if (good == req->length)
		return 0;
	w->payload_errors++;
	meter_error(&w->meter);
	answer_text_differs(text, req->offset + good);
	reader_fail(w, req, -EILSEQ, text);
	return -EILSEQ;
}

/* A sample of a stream may lie in what its read slot has read already: takes its id from there. */
static void reader_look_back(const struct reader *w, struct sample_read *r)
{
	const struct dataset *d = w->options->sources[w->assignment->source].dataset;
	const struct layout *l = &r->layout;
	const struct piece *p = &r->piece;
	uint8_t bytes[sizeof(p->before)];
	uint64_t at, i;

	if (r->id_seen || !p->data || l->id_bytes != sizeof(bytes) ||
	    !layout_id_at(l, r->sample % d->options.samples_per_file, 0, l->size, &at) ||
	    at + sizeof(bytes) > p->at + p->bytes || at + p->before_bytes < p->at)
		return;
	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = at + i < p->at ? p->before[p->before_bytes - (p->at - at - i)]
					  : p->data[at + i - p->at];
	r->id = layout_id(l, bytes);
	r->id_seen = true;
}

/* Verifies what the job asks for. Returns length, or the place of the first wrong byte. */
static uint64_t reader_verify(struct reader *w, const struct sample_read *r, const struct layout *l,
			      const struct request *req, const uint8_t *data)
{
	const struct reader_options *o = w->options;
	uint64_t at = 0, length = req->length, good;

	if (o->verify == VERIFY_SAMPLED && length > READER_PIECE_BYTES) {
		at = random_at(o->seed ^ verify_stream, r->sample,
			       req->offset ^ w->assignment->epoch << 48);
		at = at % (length - READER_PIECE_BYTES + 1) & ~(uint64_t)7;
		length = READER_PIECE_BYTES;
	}
	good = layout_verify(l, req->offset + at, data + at, length, w->scratch);
	return good == length ? req->length : at + good;
}

static int reader_misidentified(struct reader *w, struct sample_read *r)
{
	struct request req = {.op = REQ_READ, .object = &r->objects[0], .answer.attempts = 1};
	char text[FAILURE_TEXT_BYTES];

	w->payload_errors++;
	meter_error(&w->meter);
	snprintf(text, sizeof(text), "holds sample %llu where sample %llu belongs",
		 (unsigned long long)r->id, (unsigned long long)r->sample);
	reader_fail(w, &req, -EILSEQ, text);
	return -EILSEQ;
}

int reader_identify(struct reader *w, struct sample_read *r)
{
	if (!r->id_seen || r->id == r->sample || w->options->verify == VERIFY_NONE)
		return 0;
	return reader_misidentified(w, r);
}

/* Records a failure, and ends the batch where errors stop the run. text NULL: what the answer of
 * req says. */
static void reader_fail(struct reader *w, const struct request *req, int rc, const char *text)
{
	struct failure *f;

	if (!w->options->count_errors && !w->batch->error) {
		w->batch->error = rc;
		w->batch->failed_by = w->index;
	}
	f = meter_fail(&w->meter, req, rc, w->mark_ns, text);
	if (!f)
		return;
	f->epoch = (uint32_t)w->assignment->epoch;
	f->step = (uint32_t)w->step + 1;
}
