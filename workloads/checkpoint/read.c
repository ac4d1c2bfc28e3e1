/* Reading a checkpoint: the threads of a rank take its pieces one after the other, each with several in flight. Every
 * thread walks over all pieces of the rank, which costs nothing but counting, and reads those that it takes; so nothing
 * is listed, whatever the mesh of the readers is. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/random.h"
#include "workloads/checkpoint/run.h"
#include "workloads/common/read_text.h"

static const uint64_t verify_stream = 0x636b7074; /* "ckpt" */

/* A read in flight. */
struct checkpoint_window {
	struct request req;
	void *memory;
};

struct checkpoint_reader {
	struct checkpoint_run *run;
	struct crew_thread *thread;
	/* The file that is open, or the last one. */
	struct object object;
	struct checkpoint_file file;
	struct archive archive;
	struct arena arena;
	uint64_t content; /* key */
	uint64_t rank;    /* of the mesh: that wrote it */
	uint32_t number;  /* of the file */
	bool open;
	/* Pieces of the rank: how many have been walked over, and the one that this thread has taken. */
	uint64_t walked, taken;
	struct checkpoint_window *windows; /* [run->read_pieces] */
	struct request **done;             /* [run->read_pieces] */
	uint32_t *idle;                    /* [run->read_pieces]: windows without a read */
	uint32_t idle_count, in_flight;
	uint8_t scratch[ARCHIVE_SCRATCH_BYTES];
};

int checkpoint_reader_open(struct checkpoint_run *r, uint32_t thread, struct err *err)
{
	struct crew_thread *w = &r->crew.members[thread];
	struct checkpoint_reader *x = calloc(1, sizeof(*x));

	r->members[thread].reader = x;
	if (!x)
		return err_set(err, -ENOMEM, "no memory for a reader");
	x->run = r;
	x->thread = w;
	x->windows = calloc(r->read_pieces, sizeof(*x->windows));
	x->done = calloc(r->read_pieces, sizeof(struct request *));
	x->idle = calloc(r->read_pieces, sizeof(*x->idle));
	if (!x->windows || !x->done || !x->idle)
		return err_set(err, -ENOMEM, "no memory for %u reads in flight", r->read_pieces);
	for (uint32_t i = 0; r->content && i < r->read_pieces; i++)
		x->windows[i].memory = (char *)checkpoint_ring_piece(r, thread, r->read_pieces) +
				       i * r->window_bytes;
	return 0;
}

void checkpoint_reader_close(struct checkpoint_run *r, uint32_t thread)
{
	struct checkpoint_reader *x = r->members[thread].reader;

	if (!x)
		return;
	arena_free(&x->arena);
	free(x->windows);
	free(x->done);
	free(x->idle);
	free(x);
	r->members[thread].reader = NULL;
}

int checkpoint_read_walk(const struct checkpoint_run *r,
			 int (*range)(void *argument, const struct checkpoint_range *g),
			 void *argument)
{
	struct checkpoint_range whole = {
		.rank = r->read_rank, .tensor = CHECKPOINT_WHOLE_FILE, .length = UINT64_MAX};
	uint32_t files;
	int rc = 0;

	if (r->ranges)
		return checkpoint_ranges(&r->shape, &r->readers, r->read_rank,
					 (enum checkpoint_replicas)r->options->replicas, range,
					 argument);
	files = checkpoint_file_count(&r->shape, r->read_rank);
	for (whole.file = 0; rc == 0 && whole.file < files; whole.file++)
		rc = range(argument, &whole);
	return rc;
}

/* Lays out the file of the range. No read of another file is in flight. */
static int checkpoint_reader_lay_out(struct checkpoint_reader *x, const struct checkpoint_range *g,
				     struct err *err)
{
	struct checkpoint_run *r = x->run;
	struct archive_tensors tensors;

	x->rank = g->rank;
	x->number = g->file;
	checkpoint_file(&r->shape, g->rank, g->file, &x->file);
	tensors = checkpoint_file_tensors(&x->file);
	arena_free(&x->arena);
	x->content = marker_content(&r->marker, x->file.number);
	return archive_make(&x->archive, (enum archive_kind)r->shape.framing, &tensors, &x->arena,
			    err);
}

/* Bytes of the range. */
static int checkpoint_range_length(const struct checkpoint_run *r, const struct checkpoint_range *g,
				   uint64_t *length, struct err *err)
{
	struct archive_tensors tensors;
	struct checkpoint_file file;
	uint64_t payload;

	*length = g->length;
	if (g->tensor != CHECKPOINT_WHOLE_FILE)
		return 0;
	checkpoint_file(&r->shape, g->rank, g->file, &file);
	tensors = checkpoint_file_tensors(&file);
	return archive_size((enum archive_kind)r->shape.framing, &tensors, length, &payload, err);
}

static int checkpoint_reader_fail(struct checkpoint_reader *x, const struct request *req, int rc,
				  const char *text)
{
	crew_fail(x->thread, req, rc, text);
	return x->run->options->on_error == ON_ERROR_COUNT ? 0 : rc;
}

/* Compares what has come of a piece. */
static int checkpoint_reader_verify(struct checkpoint_reader *x, const struct checkpoint_window *v)
{
	const struct request *req = &v->req;
	struct checkpoint_run *r = x->run;
	uint64_t at = 0, length = req->length, good, tensor, began_ns;
	char text[FAILURE_TEXT_BYTES];
	struct tensor t;

	if (r->options->verify == VERIFY_NONE || !r->content)
		return 0;
	began_ns = clock_now(r->store.clock);
	if (r->options->verify == VERIFY_SAMPLED && length > VERIFY_SAMPLE_BYTES) {
		at = random_at(x->content ^ verify_stream, r->number, req->offset) %
		     (length - VERIFY_SAMPLE_BYTES + 1);
		length = VERIFY_SAMPLE_BYTES;
	}
	good = archive_verify(&x->archive, x->content, req->offset - x->file.offset + at,
			      (const char *)v->memory + req->answer.lead + at, length, x->scratch);
	r->members[x->thread - r->crew.members].verify_ns += clock_now(r->store.clock) - began_ns;
	if (good == length)
		return 0;
	at += req->offset + good;
	tensor = archive_tensor_at(&x->archive, at - x->file.offset);
	if (tensor < x->archive.tensors.count) {
		checkpoint_file_tensor(&x->file, tensor, &t);
		snprintf(text, sizeof(text), "differs at byte %" PRIu64 ", in tensor %s", at,
			 t.name);
	} else {
		snprintf(text, sizeof(text), "differs at byte %" PRIu64 ", between its tensors",
			 at);
	}
	x->thread->counts[COUNT_PAYLOAD_ERRORS]++;
	meter_error(&x->thread->meter);
	return checkpoint_reader_fail(x, req, -EILSEQ, text);
}

static int checkpoint_reader_done(struct checkpoint_reader *x, struct checkpoint_window *v)
{
	const struct request *req = &v->req;
	char text[FAILURE_TEXT_BYTES];

	if (req->answer.status == 0) {
		x->thread->counts[COUNT_BYTES] += req->length;
		return checkpoint_reader_verify(x, v);
	}
	snprintf(text, sizeof(text), "%s", request_text(req));
	if (req->answer.status == -ENODATA)
		read_text_ends(text, req, x->archive.size);
	return checkpoint_reader_fail(x, req, req->answer.status, text);
}

/* Receives at least so many of the reads in flight. */
static int checkpoint_reader_receive(struct checkpoint_reader *x, uint32_t least)
{
	int rc = 0;

	while (least) {
		uint32_t n =
			queue_reap(&x->thread->queue, x->done, 1, x->run->read_pieces, UINT64_MAX);

		for (uint32_t i = 0; i < n; i++) {
			struct checkpoint_window *v = x->done[i]->user;
			int one = checkpoint_reader_done(x, v);

			rc = rc ? rc : one;
			x->idle[x->idle_count++] = (uint32_t)(v - x->windows);
		}
		x->in_flight -= n;
		least -= n < least ? n : least;
	}
	return rc;
}

/* An open or close, whose time counts. */
static void checkpoint_reader_ask(struct checkpoint_reader *x, struct request *req)
{
	struct checkpoint_member *m = &x->run->members[x->thread - x->run->crew.members];

	queue_do(&x->thread->queue, req);
	m->request_ns += req->answer.done_ns - req->answer.submit_ns;
}

static int checkpoint_reader_shut(struct checkpoint_reader *x)
{
	struct request req = {.op = REQ_CLOSE, .object = &x->object};
	int rc = checkpoint_reader_receive(x, x->in_flight);

	if (!x->open)
		return rc;
	x->open = false;
	checkpoint_reader_ask(x, &req);
	return rc;
}

/* Opens the file of the range for this thread, and closes the one before. */
static int checkpoint_reader_turn(struct checkpoint_reader *x, const struct checkpoint_range *g)
{
	struct request req = {.op = REQ_OPEN, .object = &x->object};
	int rc;

	if (x->open && x->rank == g->rank && x->number == g->file)
		return 0;
	rc = checkpoint_reader_shut(x);
	if (rc == 0)
		rc = checkpoint_reader_lay_out(x, g, &x->thread->err);
	if (rc < 0)
		return rc;
	x->object = (struct object){.size = x->archive.size};
	checkpoint_file_key(x->run, &x->file, x->object.key);
	checkpoint_reader_ask(x, &req);
	if (request_failed(&req))
		return checkpoint_reader_fail(x, &req, req.answer.status, request_text(&req));
	x->open = true;
	x->thread->counts[COUNT_FILES]++;
	return 0;
}

static int checkpoint_reader_send(struct checkpoint_reader *x, uint64_t at, uint64_t length)
{
	struct checkpoint_window *v;
	struct request *req;
	int rc = x->idle_count ? 0 : checkpoint_reader_receive(x, 1);

	if (rc < 0)
		return rc;
	v = &x->windows[x->idle[--x->idle_count]];
	v->req = (struct request){.op = REQ_READ,
				  .object = &x->object,
				  .offset = x->file.offset + at,
				  .length = length,
				  .data = v->memory,
				  .user = v};
	req = &v->req;
	x->in_flight++;
	return queue_submit(&x->thread->queue, &req, 1);
}

/* Reads those pieces of the range that this thread takes. */
static int checkpoint_reader_range(void *argument, const struct checkpoint_range *g)
{
	struct checkpoint_reader *x = argument;
	struct checkpoint_run *r = x->run;
	uint64_t length, pieces, from, begin;
	int rc = checkpoint_range_length(r, g, &length, &x->thread->err);

	pieces = (length + r->chunk - 1) / r->chunk;
	while (rc == 0 && x->taken < x->walked + pieces) {
		if (atomic_load_explicit(&r->crew.halt, memory_order_relaxed))
			return -ECANCELED;
		rc = checkpoint_reader_turn(x, g);
		from = (x->taken - x->walked) * r->chunk;
		begin = g->tensor == CHECKPOINT_WHOLE_FILE
				? 0
				: x->archive.offsets[g->tensor] + g->offset;
		if (rc == 0 && x->open)
			rc = checkpoint_reader_send(x, begin + from,
						    length - from < r->chunk ? length - from
									     : r->chunk);
		x->taken = atomic_fetch_add_explicit(&r->next_piece, 1, memory_order_relaxed);
	}
	x->walked += pieces;
	return rc;
}

int checkpoint_read_thread(struct crew_thread *w, uint64_t thread)
{
	struct checkpoint_run *r = w->crew->argument;
	struct checkpoint_member *m = &r->members[thread];
	struct checkpoint_reader *x = m->reader;
	int rc, ended;

	m->end_ns = 0;
	if (thread >= r->options->readers)
		return 0;
	clock_sleep_until(r->store.clock, r->start_ns);
	x->walked = 0;
	x->idle_count = 0;
	x->in_flight = 0;
	for (uint32_t i = 0; i < r->read_pieces; i++)
		x->idle[x->idle_count++] = i;
	x->taken = atomic_fetch_add_explicit(&r->next_piece, 1, memory_order_relaxed);
	rc = checkpoint_read_walk(r, checkpoint_reader_range, x);
	ended = checkpoint_reader_shut(x);
	m->end_ns = w->queue.now_ns;
	return rc < 0 ? rc : ended;
}
