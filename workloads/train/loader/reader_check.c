#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "workloads/train/loader/reader_internal.h"

static const uint64_t verify_stream = 0x76657269; /* "veri" */

static uint64_t worker_verify(struct worker *w, const struct reading *r, const struct layout *l,
			      const struct io *io, const uint8_t *data);

/* Of the object that was read; made at out where it is not the file itself. */
static const struct layout *layout_read(const struct reading *r, const struct io *io,
					struct layout *out)
{
	if (io->object == r->objects)
		return &r->layout;
	layout_beside(&r->layout, (uint32_t)(io->object - r->objects), out);
	return out;
}

/* Of what is read, whoever made it. */
static const struct format_ops *worker_format(const struct worker *w)
{
	return format_table()[w->options->sources[w->assignment->source].dataset->options.format];
}

static int worker_undecodable(struct worker *w, const struct io *io, const char *wrong)
{
	char text[FAILURE_TEXT_BYTES];

	w->payload_errors++;
	snprintf(text, sizeof(text), "decode: %s, in bytes %llu to %llu", wrong,
		 (unsigned long long)io->offset, (unsigned long long)(io->offset + io->length));
	worker_fail(w, io, -EILSEQ, text);
	return -EILSEQ;
}

/* A stream opened again after an error begins in the middle of a piece, at the sample. */
static int worker_decode(struct worker *w, struct reading *r, const struct io *io,
			 const uint8_t *data)
{
	uint64_t skip = worker_streams(w) && r->walked > io->offset ? r->walked - io->offset : 0;
	struct walk_piece p = {data + skip, io->length - skip, io->offset + skip,
			       (uint32_t)(io->object - r->objects)};
	const char *wrong = worker_format(w)->walk(&r->walk, &p);

	r->walked = io->offset + io->length;
	worker_mark(w, ACCOUNT_DECODE, clock_now(w->options->clock));
	return wrong ? worker_undecodable(w, io, wrong) : 0;
}

int worker_decoded(struct worker *w, struct reading *r)
{
	struct io io = {
		.op = IO_READ, .object = &r->objects[0], .length = r->layout.size, .attempts = 1};
	const char *wrong;

	if (!w->options->decode || worker_streams(w) || !w->windows.base)
		return 0;
	wrong = worker_format(w)->walk_end(&r->walk, r->layout.samples);
	return wrong ? worker_undecodable(w, &io, wrong) : 0;
}

int worker_received(struct worker *w, struct reading *r, const struct io *io)
{
	const struct dataset *d = w->options->sources[w->assignment->source].dataset;
	const uint8_t *data = io->data ? (const uint8_t *)io->data + io->lead : NULL;
	struct layout beside;
	const struct layout *l = layout_read(r, io, &beside);
	uint64_t at, good;
	char text[FAILURE_TEXT_BYTES];

	if (io->status < 0 && io->status != -ENODATA) {
		worker_fail(w, io, io->status, NULL);
		return io->status;
	}
	if (io->status == -ENODATA || io->done_bytes < io->length) {
		w->short_objects++;
		/* Where nothing came the end may lie before. */
		snprintf(text, sizeof(text),
			 io->done_bytes || !io->offset ? "ends at byte %llu of %llu"
						       : "ends at byte %llu of %llu or before",
			 (unsigned long long)(io->offset + io->done_bytes),
			 (unsigned long long)l->size);
		worker_fail(w, io, -ENODATA, text);
		return -ENODATA;
	}
	/* What was streamed has been looked at piece by piece. */
	if (!data || io->chunk)
		return 0;
	if (worker_streams(w)) {
		r->piece.data = data;
		r->piece.at = io->offset;
		r->piece.bytes = io->length;
		worker_look_back(w, r);
	} else if (!r->id_seen && layout_id_at(l, r->sample % d->options.samples_per_file,
					       io->offset, io->length, &at)) {
		r->id = layout_id(l, data + at);
		r->id_seen = true;
	}
	if (w->options->decode) {
		int rc = worker_decode(w, r, io, data);

		if (rc < 0)
			return rc;
	}
	if (w->options->verify == VERIFY_NONE || d->existing)
		return 0;
	good = worker_verify(w, r, l, io, data);
	worker_mark(w, ACCOUNT_HAUL, clock_now(w->options->clock));
	if (good == io->length)
		return 0;
	w->payload_errors++;
	snprintf(text, sizeof(text), "payload differs at byte %llu",
		 (unsigned long long)(io->offset + good));
	worker_fail(w, io, -EILSEQ, text);
	return -EILSEQ;
}

void worker_look_back(const struct worker *w, struct reading *r)
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

/* Verifies what the job asks for. Returns length, or where the first wrong byte stands. */
static uint64_t worker_verify(struct worker *w, const struct reading *r, const struct layout *l,
			      const struct io *io, const uint8_t *data)
{
	const struct worker_options *o = w->options;
	uint64_t at = 0, length = io->length, good;

	if (o->verify == VERIFY_SAMPLED && length > WORKER_PIECE_BYTES) {
		at = random_at(o->seed ^ verify_stream, r->sample,
			       io->offset ^ w->assignment->epoch << 48);
		at = at % (length - WORKER_PIECE_BYTES + 1) & ~(uint64_t)7;
		length = WORKER_PIECE_BYTES;
	}
	good = layout_verify(l, io->offset + at, data + at, length, w->scratch);
	return good == length ? io->length : at + good;
}

int worker_identify(struct worker *w, struct reading *r)
{
	struct io io = {.op = IO_READ, .object = &r->objects[0], .attempts = 1};
	char text[FAILURE_TEXT_BYTES];

	if (!r->id_seen || r->id == r->sample || w->options->verify == VERIFY_NONE)
		return 0;
	w->payload_errors++;
	snprintf(text, sizeof(text), "holds sample %llu where sample %llu belongs",
		 (unsigned long long)r->id, (unsigned long long)r->sample);
	worker_fail(w, &io, -EILSEQ, text);
	return -EILSEQ;
}

void worker_fail(struct worker *w, const struct io *io, int rc, const char *text)
{
	struct failure *f;

	if (!w->options->count_errors && !w->batch->error) {
		w->batch->error = rc;
		w->batch->failed_by = w->index;
	}
	if (w->failure_count++ >= TALLY_FAILURES)
		return;
	f = &w->failures[w->failure_count - 1];
	memset(f, 0, sizeof(*f));
	f->time_ns = w->mark_ns > w->options->start_ns ? w->mark_ns - w->options->start_ns : 0;
	f->offset = io->offset;
	f->length = io->length;
	f->rank = w->options->rank;
	f->node = w->options->node;
	f->error = rc;
	f->protocol_status = io->protocol_status;
	f->attempts = io->attempts;
	f->epoch = (uint32_t)w->assignment->epoch;
	f->step = (uint32_t)w->step + 1;
	snprintf(f->operation, sizeof(f->operation), "%s", io_op_name(io->op));
	snprintf(f->object, sizeof(f->object), "%.*s", FAILURE_OBJECT_BYTES - 1, io->object->key);
	snprintf(f->text, sizeof(f->text), "%s", text ? text : io_text(io));
}
