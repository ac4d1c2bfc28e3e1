/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a checkpoint: see run.h. */
#include "workloads/checkpoint/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/random.h"
#include "workloads/common/piece_reader.h"

static const uint64_t verify_stream = 0x636b7074; /* "ckpt" */

struct checkpoint_reader {
	struct checkpoint_run *run;
	struct piece_reader pieces;
	/* The file that is open, or the last one. */
	struct checkpoint_file file;
	struct archive archive;
	struct arena arena;
	uint64_t content; /* key */
	uint8_t scratch[ARCHIVE_SCRATCH_BYTES];
};

int checkpoint_read_walk(const struct checkpoint_run *r,
			 int (*range)(void *argument, const struct checkpoint_range *g),
			 void *argument)
{
	struct checkpoint_range whole = {
		.rank = r->read_rank, .tensor = CHECKPOINT_WHOLE_FILE, .length = UINT64_MAX};
	uint32_t files;
	int rc = 0;

	if (checkpoint_has_state_dict(&r->shape))
		return checkpoint_items(&r->shape, &r->readers, r->read_rank,
					(enum checkpoint_replicas)r->options->replicas, NULL, range,
					argument);
	if (r->ranges)
		return checkpoint_ranges(&r->shape, &r->readers, r->read_rank,
					 (enum checkpoint_replicas)r->options->replicas, range,
					 argument);
	files = checkpoint_file_count(&r->shape, r->read_rank);
	for (whole.file = 0; rc == 0 && whole.file < files; whole.file++)
		rc = range(argument, &whole);
	return rc;
}

/* Lays out the file of the range. */
static int checkpoint_reader_lay_out(struct piece_reader *p, const void *range)
{
	const struct checkpoint_range *g = range;
	struct checkpoint_reader *x = p->owner;
	struct checkpoint_run *r = x->run;
	struct archive_tensors tensors;
	int rc;

	checkpoint_file(&r->shape, g->rank, g->file, &x->file);
	arena_free(&x->arena);
	x->content = marker_content(&r->marker, x->file.number);
	rc = checkpoint_file_list(&x->file, &x->arena, &p->thread->err);
	tensors = checkpoint_file_tensors(&x->file);
	if (rc == 0)
		rc = archive_make(&x->archive, checkpoint_archive_kind(&r->shape), &tensors,
				  &x->arena, &p->thread->err);
	p->object.size = x->archive.size;
	marker_file_key(r->options->folder, r->number, &x->file, p->object.key);
	return rc;
}

static uint64_t checkpoint_reader_begin(const struct piece_reader *p, const void *range)
{
	const struct checkpoint_range *g = range;
	const struct checkpoint_reader *x = p->owner;

	if (g->tensor == CHECKPOINT_WHOLE_FILE)
		return x->file.offset;
	/* Of a state dict, items are read whole. */
	return x->file.offset + g->offset +
	       (x->archive.starts ? x->archive.starts : x->archive.offsets)[g->tensor];
}

/* Compares what has come of a piece. */
static int checkpoint_reader_verify(struct piece_reader *p, const struct request *req,
				    const void *bytes)
{
	struct checkpoint_reader *x = p->owner;
	struct checkpoint_run *r = x->run;
	uint64_t at = 0, length = req->length, good, tensor, began_ns;
	char text[FAILURE_TEXT_BYTES];
	struct tensor t;

	if (r->options->verify == VERIFY_NONE || !bytes)
		return 0;
	began_ns = clock_now(r->store.clock);
	if (r->options->verify == VERIFY_SAMPLED && length > VERIFY_SAMPLE_BYTES) {
		at = random_at(x->content ^ verify_stream, r->number, req->offset) %
		     (length - VERIFY_SAMPLE_BYTES + 1);
		length = VERIFY_SAMPLE_BYTES;
	}
	good = archive_verify(&x->archive, x->content, req->offset - x->file.offset + at,
			      (const char *)bytes + at, length, x->scratch);
	r->members[p->thread - r->crew.members].verify_ns += clock_now(r->store.clock) - began_ns;
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
	p->thread->counts[COUNT_PAYLOAD_ERRORS]++;
	meter_error(&p->thread->meter);
	return piece_reader_fail(p, req, -EILSEQ, text);
}

static const struct piece_hooks checkpoint_reader_hooks = {
	.open = checkpoint_reader_lay_out,
	.begin = checkpoint_reader_begin,
	.received = checkpoint_reader_verify,
};

int checkpoint_reader_open(struct checkpoint_run *r, uint32_t thread, struct err *err)
{
	struct checkpoint_reader *x = calloc(1, sizeof(*x));

	r->members[thread].reader = x;
	if (!x)
		return err_set(err, -ENOMEM, "no memory for a reader");
	x->run = r;
	x->pieces = (struct piece_reader){
		.thread = &r->crew.members[thread],
		.hooks = &checkpoint_reader_hooks,
		.owner = x,
		.next = &r->next_piece,
		.chunk = r->chunk,
		.depth = r->read_pieces,
		.memory = checkpoint_ring_piece(r, thread, r->read_pieces),
		.window_bytes = r->window_bytes,
		.counts_errors = r->options->on_error == ON_ERROR_COUNT,
	};
	return piece_reader_open(&x->pieces, err);
}

void checkpoint_reader_close(struct checkpoint_run *r, uint32_t thread)
{
	struct checkpoint_reader *x = r->members[thread].reader;

	if (!x)
		return;
	arena_free(&x->arena);
	piece_reader_close(&x->pieces);
	free(x);
	r->members[thread].reader = NULL;
}

/* Bytes of the range. */
static int checkpoint_range_length(const struct checkpoint_run *r, const struct checkpoint_range *g,
				   uint64_t *length, struct err *err)
{
	struct checkpoint_file file;

	*length = g->length;
	if (g->tensor != CHECKPOINT_WHOLE_FILE)
		return 0;
	checkpoint_file(&r->shape, g->rank, g->file, &file);
	return checkpoint_archive_bytes(&file, length, err);
}

static int checkpoint_reader_range(void *argument, const struct checkpoint_range *g)
{
	struct checkpoint_reader *x = argument;
	uint64_t length;
	int rc = checkpoint_range_length(x->run, g, &length, &x->pieces.thread->err);

	/* A rank of a mesh has few files. */
	return rc < 0 ? rc : piece_reader_range(&x->pieces, g->rank << 32 | g->file, length, g);
}

int checkpoint_read_thread(struct crew_thread *w, uint64_t thread)
{
	struct checkpoint_run *r = w->crew->argument;
	struct checkpoint_member *m = &r->members[thread];
	struct checkpoint_reader *x = m->reader;
	int rc, ended;

	if (thread >= r->options->readers)
		return 0;
	clock_sleep_until(r->store.clock, r->repeat.start_ns);
	piece_reader_start(&x->pieces);
	rc = checkpoint_read_walk(r, checkpoint_reader_range, x);
	ended = piece_reader_end(&x->pieces);
	m->request_ns += x->pieces.request_ns;
	w->counts[COUNT_FILES] += x->pieces.files;
	w->counts[COUNT_BYTES] += x->pieces.bytes;
	w->end_ns = w->queue.now_ns;
	return rc < 0 ? rc : ended;
}
