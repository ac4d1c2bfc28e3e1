/* SPDX-License-Identifier: Apache-2.0 */
/* Consolidation of shards into Hugging Face's files: see run.h. Nothing of it is in the time, the bytes or the latencies of
 * the save itself. */
#include <errno.h>

#include "core/numbers.h"
#include "workloads/checkpoint/run.h"

/* What a thread works with. */
struct consolidator {
	struct checkpoint_run *run;
	struct crew_thread *thread;
	struct queue queue;
	char *buffer; /* of a chunk; NULL: the store keeps no content */
	/* The file that it makes, and the shard that it takes tensors from. */
	struct checkpoint_file made, shard;
	struct archive made_archive, archive;
	struct arena made_arena, arena;
	struct object to, from;
};

static int consolidate_do(struct consolidator *c, struct request *req)
{
	struct crew_thread *w = c->thread;
	int rc;

	if (atomic_load(&c->run->crew.halt))
		return -ECANCELED;
	rc = queue_do(&c->queue, req);
	if (rc < 0)
		return crew_fail(w, req, rc, request_text(req));
	if (req->op == REQ_WRITE) {
		hist_record(meter_hist(&w->meter, CHECKPOINT_HIST_CONSOLIDATE_WRITE),
			    req->answer.done_ns - req->answer.submit_ns);
		w->counts[COUNT_CONSOLIDATE_WRITES]++;
		w->counts[COUNT_CONSOLIDATE_BYTES] += req->length;
	}
	return 0;
}

static int consolidate_move(struct consolidator *c, enum request_op op, struct object *o,
			    uint64_t at, const void *bytes, uint64_t length)
{
	struct request req = {.op = op, .object = o, .offset = at, .length = length};

	/* A request does not change what it writes. */
	req.data = (char *)(uintptr_t)bytes;
	return consolidate_do(c, &req);
}

/* A slice of the shard is read, and each run of it written where it stands in the model's file. */
static int consolidate_tensor(struct consolidator *c, uint64_t t)
{
	const struct archive *a = &c->archive;
	uint64_t bytes = a->ends[t] - a->offsets[t], chunk = c->run->chunk, n, m;
	struct archive_part p;
	int rc = 0;

	hf_part(&c->shard, t, &p);
	p.from += c->made_archive.header_bytes;
	/* Rows are not cut, where a chunk has any. */
	if (p.run < chunk)
		chunk -= chunk % p.run;
	for (uint64_t done = 0; rc == 0 && done < bytes; done += n) {
		n = min_u64(chunk, bytes - done);
		rc = consolidate_move(c, REQ_READ, &c->from, a->offsets[t] + done, c->buffer, n);
		for (uint64_t k = 0; rc == 0 && k < n; k += m) {
			uint64_t row = (done + k) / p.run, in = (done + k) % p.run;

			m = min_u64(p.run - in, n - k);
			rc = consolidate_move(c, REQ_WRITE, &c->to, p.from + row * p.pitch + in,
					      c->buffer ? c->buffer + k : NULL, m);
		}
	}
	return rc;
}

/* Reads the header, and then each tensor. */
static int consolidate_shard(struct consolidator *c)
{
	const struct checkpoint_run *r = c->run;
	struct archive_tensors tensors;
	uint64_t n;
	int rc, closed;

	arena_free(&c->arena);
	rc = checkpoint_file_list(&c->shard, &c->arena, &c->thread->err);
	tensors = checkpoint_file_tensors(&c->shard);
	if (rc == 0)
		rc = archive_make(&c->archive, ARCHIVE_SAFETENSORS, &tensors, &c->arena,
				  &c->thread->err);
	if (rc < 0)
		return rc;
	c->from = (struct object){.size = c->archive.size};
	marker_file_key(r->options->folder, r->number, &c->shard, c->from.key);
	rc = consolidate_move(c, REQ_OPEN, &c->from, 0, NULL, 0);
	if (rc < 0)
		return rc;
	for (uint64_t at = 0; rc == 0 && at < c->archive.header_bytes; at += n) {
		n = min_u64(r->chunk, c->archive.header_bytes - at);
		rc = consolidate_move(c, REQ_READ, &c->from, at, c->buffer, n);
	}
	for (uint64_t t = 0; rc == 0 && t < c->shard.tensors; t++)
		rc = consolidate_tensor(c, t);
	closed = queue_do(&c->queue, &(struct request){.op = REQ_CLOSE, .object = &c->from});
	return rc < 0 ? rc : closed;
}

static int consolidate_file(struct consolidator *c)
{
	struct checkpoint_run *r = c->run;
	struct archive *a = &c->made_archive;
	struct request close = {.op = REQ_CLOSE, .object = &c->to};
	struct archive_tensors tensors;
	int rc;

	arena_free(&c->made_arena);
	rc = checkpoint_file_list(&c->made, &c->made_arena, &c->thread->err);
	tensors = checkpoint_file_tensors(&c->made);
	if (rc == 0)
		rc = archive_make(a, ARCHIVE_SAFETENSORS, &tensors, &c->made_arena,
				  &c->thread->err);
	if (rc < 0)
		return rc;
	c->to = (struct object){.size = 0};
	marker_file_key(r->options->folder, r->number, &c->made, c->to.key);
	rc = consolidate_move(c, REQ_UPDATE, &c->to, 0, NULL, a->size);
	if (rc < 0)
		return rc;
	rc = consolidate_move(c, REQ_WRITE, &c->to, 0, c->buffer ? a->header : NULL,
			      a->header_bytes);
	for (uint64_t rank = 0; rc == 0 && rank < mesh_ranks(&r->shape.mesh); rank++)
		if (hf_shard(&r->shape, rank, c->made.number, &c->shard))
			rc = consolidate_shard(c);
	if (rc == 0)
		return consolidate_do(c, &close);
	queue_do(&c->queue, &close);
	return rc;
}

static int consolidate_thread(struct crew_thread *w, uint64_t thread)
{
	struct checkpoint_run *r = w->crew->argument;
	struct consolidator c = {.run = r, .thread = w};
	uint64_t rank = r->ctx->group->rank, i;
	uint64_t first = checkpoint_data_files(&r->shape, rank);
	uint64_t end = checkpoint_file_count(&r->shape, rank);
	int rc;

	w->end_ns = 0;
	if (thread >= r->options->consolidators || first == end)
		return 0;
	c.buffer = r->ring.base ? (char *)r->ring.base + thread * r->window_bytes : NULL;
	rc = queue_open(&c.queue, &r->store, 1, &w->err);
	if (rc < 0)
		return rc;
	queue_memory(&c.queue, r->ring.base, r->ring.mapped_bytes);
	while (rc == 0 && (i = first + atomic_fetch_add(&r->next_piece, 1)) < end) {
		checkpoint_file(&r->shape, rank, (uint32_t)i, &c.made);
		if (!c.made.metadata)
			rc = consolidate_file(&c);
	}
	w->end_ns = clock_now(r->store.clock);
	queue_close(&c.queue);
	arena_free(&c.made_arena);
	arena_free(&c.arena);
	return rc;
}

int checkpoint_consolidate(struct checkpoint_run *r, enum stop_reason *stopped, struct err *err)
{
	uint64_t *row = r->ctx->tally->rank_row, began_ns = clock_now(r->store.clock);
	uint64_t end_ns = began_ns;
	int rc;

	if (!r->shape.consolidate)
		return 0;
	atomic_store(&r->next_piece, 0);
	account_switch(&r->repeat.accounts, ACCOUNT_TRANSFER, began_ns);
	rc = crew_run(&r->crew, consolidate_thread, stopped, err);
	for (uint32_t i = 0; i < r->crew.threads; i++)
		end_ns = max_u64(end_ns, r->crew.members[i].end_ns);
	account_switch(&r->repeat.accounts, ACCOUNT_RANKS, end_ns);
	row[CHECKPOINT_CONSOLIDATE_NS] += clock_now(r->store.clock) - began_ns;
	row[CHECKPOINT_CONSOLIDATE_WRITES] += crew_count(&r->crew, COUNT_CONSOLIDATE_WRITES);
	row[CHECKPOINT_CONSOLIDATE_BYTES] += crew_count(&r->crew, COUNT_CONSOLIDATE_BYTES);
	return rc;
}
