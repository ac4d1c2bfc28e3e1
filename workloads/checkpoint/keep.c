/* The last checkpoints stay, older ones are removed. */
#include "workloads/checkpoint/run.h"

#include <errno.h>

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
		checkpoint_file_key(r, &f, o.key);
		rc = crew_do(w, &req);
		rc = rc == -ENOENT ? 0 : rc;
		if (rc < 0)
			*err = w->err;
	}
	return group_agree(group, rc, err);
}

/* Removes a checkpoint that is one too many. Its marker says first that it is no longer whole, and goes last, so that
 * `haul clean` knows what an interrupted run left. */
static int checkpoint_remove(struct checkpoint_run *r, uint64_t number, struct err *err)
{
	struct group *group = r->ctx->group;
	struct marker marker = r->marker;
	uint64_t now = r->number;
	struct object o = {.size = 0};
	int rc = 0;

	r->number = number;
	marker.whole = false;
	if (group->rank == 0)
		rc = marker_save(&marker, &r->side, r->options->folder, number, err);
	rc = group_agree(group, rc, err);
	if (rc == 0)
		rc = checkpoint_remove_files(r, err);
	if (rc == 0 && group->rank == 0) {
		marker_key(r->options->folder, number, o.key);
		queue_do(&r->side, &(struct request){.op = REQ_DELETE, .object = &o});
		marker_folder(r->options->folder, number, o.key);
		queue_do(&r->side, &(struct request){.op = REQ_DELETE, .object = &o});
	}
	r->number = now;
	account_switch(&r->repeat.accounts, ACCOUNT_OPEN, clock_now(r->store.clock));
	return rc;
}

int checkpoint_remove_old(struct checkpoint_run *r, struct err *err)
{
	uint64_t keep = r->options->keep;

	return keep && r->keeps && r->number >= keep ? checkpoint_remove(r, r->number - keep, err)
						     : 0;
}

int checkpoint_write_next(struct checkpoint_run *r, enum stop_reason *stopped, struct err *err)
{
	int rc = checkpoint_write_one(r, stopped, err);

	return rc == 0 && *stopped == STOP_NONE ? checkpoint_remove_old(r, err) : rc;
}
