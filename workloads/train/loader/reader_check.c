/* SPDX-License-Identifier: Apache-2.0 */
/* What a read has brought: its outcome, the id in it, its payload. And what failed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "workloads/common/answer_text.h"
#include "workloads/train/loader/reader_internal.h"

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

int reader_decoded(struct reader *w, struct sample_read *r)
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

int reader_received(struct reader *w, struct sample_read *r, const struct request *req)
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

void reader_look_back(const struct reader *w, struct sample_read *r)
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

void reader_fail(struct reader *w, const struct request *req, int rc, const char *text)
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
