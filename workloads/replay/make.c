/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that a trace reads before it writes them: they are made before the phase begins, with all
 * threads of all ranks. Their requests count nowhere, and have no rows in the operation log. */
#include <errno.h>

#include "workloads/replay/objects.h"
#include "workloads/replay/work.h"

/* Writes the bytes of an object that has been begun. */
static int make_write(struct crew_thread *w, const struct replay_work *work,
		      const struct replay_made *made, struct object *object,
		      struct replay_content *content)
{
	uint64_t part = store_part(work->store, made->bytes);
	int rc = 0;

	for (uint64_t at = 0; rc == 0 && at < made->bytes;) {
		uint64_t left = made->bytes - at, length = left < part ? left : part;
		struct request req = {.op = REQ_WRITE,
				      .object = object,
				      .offset = at,
				      .length = length,
				      .data = w->buffer,
				      .buffer_bytes = work->options->chunk,
				      .chunk = replay_content_fill,
				      .user = content};

		rc = crew_do(w, &req);
		at += length;
		if (rc == 0 && atomic_load_explicit(&w->crew->halt, memory_order_relaxed))
			rc = -ECANCELED;
	}
	return rc;
}

static int make_object(struct crew_thread *w, const struct replay_work *work,
		       const struct replay_made *made)
{
	const struct replay_key *key = &work->rows->keys[made->key];
	uint64_t part = store_part(work->store, made->bytes);
	struct replay_content content = {.clock = work->store->clock};
	struct object object = {.size = 0};
	struct request req = {.op = REQ_BEGIN,
			      .object = &object,
			      .length = made->bytes,
			      .begin.part = part < made->bytes ? part : made->bytes};
	int rc;

	replay_content_begin(&content, &work->pattern, work->seed, key->hash);
	replay_object_key(work->options->folder, made->tier,
			  trace_names_text(&work->rows->names, made->key), object.key);
	rc = crew_do(w, &req);
	if (rc < 0)
		return rc;
	rc = make_write(w, work, made, &object, &content);
	if (rc == 0) {
		req = (struct request){.op = REQ_COMMIT, .object = &object, .length = made->bytes};
		rc = crew_do(w, &req);
	}
	if (rc < 0) {
		req = (struct request){.op = REQ_ABORT, .object = &object};
		queue_do(&w->queue, &req);
	}
	return rc;
}

/* The body of the crew: thread i makes every nth object from the ith on. */
static int make_run(struct crew_thread *w, uint64_t number)
{
	const struct replay_work *work = w->crew->argument;
	int rc = 0;

	for (uint64_t i = number; rc == 0 && i < work->rows->made_count; i += w->crew->threads) {
		if (atomic_load_explicit(&w->crew->halt, memory_order_relaxed))
			return -ECANCELED;
		rc = make_object(w, work, &work->rows->made[i]);
		atomic_fetch_add_explicit(&w->files, 1, memory_order_relaxed);
	}
	return rc;
}

int replay_make(struct replay_work *work, struct phase_context *ctx, enum stop_reason *stopped,
		struct err *err)
{
	uint64_t objects = work->content ? work->rows->made_count : 0;
	struct crew crew;
	int rc = group_allreduce(ctx->group, MERGE_SUM, &objects, 1);

	if (rc < 0 || !objects)
		return rc;
	crew = crew_of(ctx, work->store, NULL, work->options->threads, 1, "replay");
	crew.files = objects;
	crew.once = true;
	crew.buffer_bytes = replay_buffer_bytes(work->options, work->store);
	crew.items = "objects made first";
	crew.argument = work;
	rc = crew_open(&crew, err);
	for (uint32_t i = 0; rc == 0 && i < crew.threads; i++)
		queue_unlogged(&crew.members[i].queue);
	rc = group_agree(ctx->group, rc, err);
	if (rc == 0)
		rc = crew_run(&crew, make_run, stopped, err);
	crew_close(&crew);
	return rc;
}
