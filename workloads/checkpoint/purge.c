/* SPDX-License-Identifier: Apache-2.0 */
/* Removal of checkpoints that are too many: by all ranks before they go on, or by a thread of rank 0. See run.h. */
#include <errno.h>
#include <stdlib.h>

#include "workloads/checkpoint/run.h"
#include "workloads/common/open_uploads.h"

/* The thread of rank 0, which works on one checkpoint at a time. */
struct checkpoint_purge_work {
	struct checkpoint_run *run;
	struct queue queue;
	pthread_t thread;
	bool runs, opened;
	uint64_t number;
	/* What it has done: files removed, and in which time. */
	uint64_t files, ns;
	int rc;
};

void checkpoint_drop_parts(struct checkpoint_run *r, uint64_t number)
{
	char key[OBJECT_KEY_BYTES];

	marker_folder(r->options->folder, number, key);
	open_uploads_drop_parts(&r->side, key);
}

/* Removes this rank's files of a checkpoint. */
static int checkpoint_remove_files(struct checkpoint_run *r, struct err *err)
{
	struct group *group = r->ctx->group;
	uint32_t files = checkpoint_file_count(&r->shape, group->rank);
	struct crew_thread *w = &r->crew.members[0];
	struct object o = {.size = 0};
	int rc = 0;

	if (r->shape.layout == CHECKPOINT_SHARED && group->rank)
		files = 0;
	for (uint32_t i = 0; rc == 0 && i < files; i++) {
		struct request req = {.op = REQ_DELETE, .object = &o};
		struct checkpoint_file f;

		checkpoint_file(&r->shape, group->rank, i, &f);
		marker_file_key(r->options->folder, r->number, &f, o.key);
		rc = crew_do(w, &req);
		rc = rc == -ENOENT ? 0 : rc;
		if (rc < 0)
			*err = w->err;
	}
	return group_agree(group, rc, err);
}

/* Removes a checkpoint that is one too many. Its marker says first that it is no longer whole, and
 * goes last, so that `haul clean` knows what an interrupted run left. */
static int checkpoint_remove(struct checkpoint_run *r, uint64_t number, struct err *err)
{
	struct group *group = r->ctx->group;
	struct marker marker = r->marker;
	uint64_t now = r->number, began_ns = clock_now(r->store.clock);
	int rc = 0;

	r->number = number;
	marker.whole = false;
	rc = checkpoint_metadata_remove(r, number, err);
	if (rc == 0 && group->rank == 0)
		rc = marker_save(&marker, &r->side, r->options->folder, number, err);
	rc = group_agree(group, rc, err);
	if (rc == 0)
		rc = checkpoint_remove_files(r, err);
	if (rc == 0 && group->rank == 0) {
		checkpoint_drop_parts(r, number);
		marker_remove(&r->shape, &r->side, r->options->folder, number);
	}
	r->number = now;
	r->ctx->tally->rank_row[CHECKPOINT_PURGE_NS] += clock_now(r->store.clock) - began_ns;
	account_switch(&r->repeat.accounts, ACCOUNT_OPEN, clock_now(r->store.clock));
	return rc;
}

/* Everything of the checkpoint that stands, by this thread alone. Its marker says already that it is not whole. */
static void *purge_thread(void *argument)
{
	struct checkpoint_purge_work *x = argument;
	const struct checkpoint_run *r = x->run;
	uint64_t began_ns = clock_now(r->store.clock);
	struct object o = {.size = 0};
	struct request req = {.op = REQ_DELETE, .object = &o};
	uint64_t ranks = r->shape.layout == CHECKPOINT_SHARED ? 1 : r->ctx->group->size;

	x->rc = 0;
	for (uint64_t rank = 0; x->rc == 0 && rank < ranks; rank++) {
		uint32_t files = checkpoint_file_count(&r->shape, rank);

		for (uint32_t i = 0; x->rc == 0 && i < files; i++) {
			struct checkpoint_file f;

			checkpoint_file(&r->shape, rank, i, &f);
			marker_file_key(r->options->folder, x->number, &f, o.key);
			req = (struct request){.op = REQ_DELETE, .object = &o};
			x->rc = queue_do(&x->queue, &req);
			x->files += x->rc == 0;
			x->rc = x->rc == -ENOENT ? 0 : x->rc;
		}
	}
	if (x->rc == 0)
		marker_remove(&r->shape, &x->queue, r->options->folder, x->number);
	x->ns += clock_now(r->store.clock) - began_ns;
	return NULL;
}

static int purge_join(struct checkpoint_run *r, struct err *err)
{
	struct checkpoint_purge_work *x = r->purge;
	uint64_t *row = r->ctx->tally->rank_row;

	if (!x || !x->runs)
		return 0;
	pthread_join(x->thread, NULL);
	x->runs = false;
	row[CHECKPOINT_REMOVED] += x->files;
	row[CHECKPOINT_PURGE_NS] += x->ns;
	x->files = x->ns = 0;
	return x->rc < 0 ? err_set(err, x->rc, "%s: checkpoint %llu could not be removed: %s",
				   r->store.uri, (unsigned long long)x->number,
				   request_status_text(x->rc))
			 : 0;
}

static int purge_open(struct checkpoint_run *r, struct err *err)
{
	int rc;

	r->purge = calloc(1, sizeof(*r->purge));
	if (!r->purge)
		return err_set(err, -ENOMEM, "no memory for a thread that removes checkpoints");
	r->purge->run = r;
	rc = queue_open(&r->purge->queue, &r->store, 1, err);
	r->purge->opened = rc == 0;
	if (rc == 0)
		queue_unlogged(&r->purge->queue);
	return rc;
}

/* Rank 0 waits for the thread, which has had the time of a whole checkpoint, and gives it the next one. */
static int purge_launch(struct checkpoint_run *r, uint64_t number, struct err *err)
{
	struct marker marker = r->marker;
	int rc = checkpoint_metadata_remove(r, number, err);

	if (rc == 0 && r->ctx->group->rank == 0) {
		rc = r->purge ? purge_join(r, err) : purge_open(r, err);
		marker.whole = false;
		if (rc == 0)
			rc = marker_save(&marker, &r->side, r->options->folder, number, err);
	}
	rc = group_agree(r->ctx->group, rc, err);
	if (rc < 0 || !r->purge)
		return rc;
	r->purge->number = number;
	r->purge->runs = pthread_create(&r->purge->thread, NULL, purge_thread, r->purge) == 0;
	return r->purge->runs ? 0 : err_set(err, -EAGAIN, "no thread to remove checkpoints");
}

int checkpoint_purge_end(struct checkpoint_run *r, struct err *err)
{
	int rc = purge_join(r, err);

	return r->options->purge ? group_agree(r->ctx->group, rc, err) : rc;
}

void checkpoint_purge_close(struct checkpoint_run *r)
{
	if (!r->purge)
		return;
	purge_join(r, NULL);
	if (r->purge->opened)
		queue_close(&r->purge->queue);
	free(r->purge);
	r->purge = NULL;
}

int checkpoint_remove_old(struct checkpoint_run *r, struct err *err)
{
	uint64_t keep = r->options->keep, number = r->number - keep;

	if (!keep || !r->keeps || r->number < keep)
		return 0;
	if (r->options->purge == CHECKPOINT_PURGE_RANKS)
		return checkpoint_remove(r, number, err);
	return group_agree(r->ctx->group, purge_launch(r, number, err), err);
}
