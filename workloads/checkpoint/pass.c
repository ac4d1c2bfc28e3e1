/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over a checkpoint: see run.h. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/checkpoint/run.h"
#include "workloads/common/open_uploads.h"
#include "workloads/common/small_object.h"

/* How long a pass took. */
struct checkpoint_took {
	struct repeat_took time;
	const struct checkpoint_member *last; /* of the threads that ended */
	uint64_t bytes, files;
};

/* Whether the folder, which has no marker, has anything. A run that was killed may have left a
 * marker that was not published yet. */
static int checkpoint_look_inside(struct checkpoint_run *r, const char *key,
				  char name[OBJECT_KEY_BYTES], struct err *err)
{
	char marker[OBJECT_KEY_BYTES];

	if (!store_can(&r->store, BACKEND_LIST))
		return 0;
	marker_key(r->options->folder, r->number, marker);
	return folder_first_whole(&r->side, key, marker, name, err);
}

/* Rank 0 looks at what is there. Nothing may be that haul did not make. */
static int checkpoint_look(struct checkpoint_run *r, struct marker *old, struct err *err)
{
	const char *folder = r->options->folder;
	char key[OBJECT_KEY_BYTES], name[OBJECT_KEY_BYTES] = "";
	struct err none = {0};
	int rc = marker_load(old, &r->side, folder, r->number, &none);

	marker_folder(folder, r->number, key);
	if (rc == 0 && !marker_shape_is(old, &r->shape))
		return err_set(
			err, -EEXIST,
			"%s/%s: a checkpoint of another model, mesh or layout is there; run `haul clean` with "
			"its job, or use another folder",
			r->store.uri, key);
	if (rc == 0 && old->ranks > r->ctx->group->size)
		return err_set(
			err, -EEXIST,
			"%s/%s: a checkpoint of %llu ranks is there, of which some would stay; run `haul clean`, "
			"or use another folder",
			r->store.uri, key, (unsigned long long)old->ranks);
	if (rc == -ENOENT) {
		*old = (struct marker){.generation = 0};
		rc = checkpoint_look_inside(r, key, name, err);
		if (rc == 0 && name[0])
			rc = err_set(
				err, -EEXIST,
				"%s/%s: has \"%s\" and no marker that haul made it: it stays; use another folder",
				r->store.uri, key, name);
		return rc;
	}
	if (rc < 0)
		*err = none;
	else if (!old->whole)
		checkpoint_drop_parts(r, r->number);
	return rc;
}

/* Before the first file: the marker says that the checkpoint is not whole, and which content it
 * gets. */
static int checkpoint_write_mark(struct checkpoint_run *r, struct err *err)
{
	struct group *group = r->ctx->group;
	struct marker old = {.generation = 0};
	int rc = 0;

	if (r->keeps && group->rank == 0)
		rc = checkpoint_look(r, &old, err);
	rc = group_agree(group, rc, err);
	if (rc == 0)
		rc = group_broadcast(group, &old.generation, sizeof(old.generation));
	r->marker = (struct marker){.shape = r->shape,
				    .seed = r->ctx->job->seed + r->number,
				    .generation = old.generation + 1,
				    .ranks = group->size,
				    .version = MARKER_LAYOUT};
	if (rc == 0)
		rc = checkpoint_metadata_remove(r, r->number, err);
	if (rc == 0 && r->keeps && group->rank == 0)
		rc = marker_save(&r->marker, &r->side, r->options->folder, r->number, err);
	return group_agree(group, rc, err);
}

/* After the last file of all ranks. */
static int checkpoint_write_publish(struct checkpoint_run *r, enum stop_reason *stopped,
				    uint64_t *marker_ns, struct err *err)
{
	struct clock *clock = r->store.clock;
	uint64_t began_ns = clock_now(clock);
	int rc = 0;

	r->marker.whole = true;
	rc = checkpoint_protocol_finish(r, stopped, err);
	if (rc == 0 && *stopped == STOP_NONE && r->keeps && r->ctx->group->rank == 0 &&
	    !checkpoint_has_metadata(&r->shape))
		rc = marker_save(&r->marker, &r->side, r->options->folder, r->number, err);
	*marker_ns = r->ctx->group->rank == 0 && r->keeps ? clock_now(clock) - began_ns : 0;
	return group_agree(r->ctx->group, rc, err);
}

/* The work of all threads is done: how long this rank and the slowest one took. */
static int checkpoint_pass_took(struct checkpoint_run *r, struct checkpoint_took *took)
{
	int rc;

	*took = (struct checkpoint_took){.bytes = crew_count(&r->crew, COUNT_BYTES),
					 .files = crew_count(&r->crew, COUNT_FILES)};
	rc = repeat_took(&r->repeat, r->shared_end_ns, &took->time);
	took->last = &r->members[took->time.last - r->crew.members];
	return rc;
}

/* Where a shared file is one version of all ranks, it is begun before the work of the threads, and
 * published after it. */
static bool checkpoint_is_version(const struct checkpoint_run *r)
{
	return r->shape.layout == CHECKPOINT_SHARED && !r->in_place;
}

static int checkpoint_version_begin(struct checkpoint_run *r, struct err *err)
{
	struct checkpoint_file f;

	if (!checkpoint_is_version(r))
		return 0;
	checkpoint_file(&r->shape, 0, 0, &f);
	marker_file_key(r->options->folder, r->number, &f, r->shared.object.key);
	clock_sleep_until(r->store.clock, r->repeat.start_ns);
	return shared_object_begin(&r->shared,
				   checkpoint_shared_bytes(&r->shape, r->ctx->group->size),
				   r->chunk, &r->crew.members[0], r->ctx->group, err);
}

static int checkpoint_version_end(struct checkpoint_run *r, bool whole, struct err *err)
{
	struct crew_thread *w = &r->crew.members[0];
	int rc;

	if (!checkpoint_is_version(r))
		return 0;
	rc = shared_object_end(&r->shared, &whole, w, r->ctx->group, err);
	/* It is there when rank 0 has published it. */
	r->shared_end_ns = w->queue.now_ns;
	return rc;
}

/* Adds what the last writer of a whole checkpoint measured to the rank's row. */
static void checkpoint_count_writers(struct checkpoint_run *r, const struct checkpoint_member *last,
				     bool whole)
{
	uint64_t *row = r->ctx->tally->rank_row;

	row[CHECKPOINT_FILL_NS] += whole ? last->writer.fill_ns : 0;
	row[CHECKPOINT_STORE_NS] += whole ? last->writer.write_ns + last->request_ns : 0;
	for (uint32_t i = 0; i < r->crew.threads; i++) {
		struct checkpoint_member *m = &r->members[i];

		m->writer.fill_ns = m->writer.write_ns = m->request_ns = 0;
	}
}

static void checkpoint_count_written(struct checkpoint_run *r, const struct checkpoint_took *took,
				     uint64_t marker_ns)
{
	uint64_t visible_ns = clock_now(r->store.clock) - r->asked_ns;
	uint64_t durable_ns = took->time.end_ns > r->asked_ns ? took->time.end_ns - r->asked_ns : 0;
	uint64_t blocked_ns = r->blocked_ns ? r->blocked_ns : visible_ns;
	uint64_t *row = r->ctx->tally->rank_row, *own;

	row[CHECKPOINT_WRITTEN]++;
	row[CHECKPOINT_STALL_NS] += blocked_ns;
	row[CHECKPOINT_DURABLE_NS] += durable_ns;
	row[CHECKPOINT_VISIBLE_NS] += visible_ns;
	row[CHECKPOINT_INTERVAL_NS] = r->options->interval_ns;
	row[CHECKPOINT_MTBF_NS] = r->options->mtbf_ns;
	checkpoint_count_pass(&took->time, took->bytes, CHECKPOINT_WRITE_NS, row);
	row[CHECKPOINT_MARKER_NS] += marker_ns;
	own = table_numbered(&r->ctx->tally->tables[CHECKPOINT_TABLE_ROWS], r->number + 1);
	if (!own)
		return;
	own[CHECKPOINT_ROW_WRITE_START_NS] = r->repeat.start_ns - r->repeat.origin_ns;
	own[CHECKPOINT_ROW_WRITE_NS] = took->time.own_ns;
	own[CHECKPOINT_ROW_WRITE_FIRST_NS] = took->time.first_ns;
	own[CHECKPOINT_ROW_WRITE_FIRST_BYTES] = took->time.first_bytes;
	own[CHECKPOINT_ROW_VISIBLE_NS] = visible_ns;
	own[CHECKPOINT_ROW_DURABLE_NS] = durable_ns;
	own[CHECKPOINT_ROW_BLOCKED_NS] = blocked_ns;
	own[CHECKPOINT_ROW_MARKER_NS] = marker_ns;
	own[CHECKPOINT_ROW_BYTES_WRITTEN] = took->bytes;
}

int checkpoint_write_begin(struct checkpoint_run *r, struct err *err)
{
	int rc;

	r->asked_ns = clock_now(r->store.clock);
	r->shared_end_ns = 0;
	rc = checkpoint_write_mark(r, err);
	if (rc == 0 && r->options->fill == CHECKPOINT_FILL_WHOLE)
		rc = group_agree(r->ctx->group, checkpoint_whole_lay_out(r, err), err);
	if (rc < 0)
		return rc;
	checkpoint_write_reset(r);
	rc = repeat_begin(&r->repeat);
	if (rc == 0)
		rc = checkpoint_protocol_plan(r, err);
	/* Nobody waits for what comes before the start line. */
	if (!r->repeat.at_once)
		r->asked_ns = r->repeat.start_ns;
	return rc < 0 ? rc : checkpoint_version_begin(r, err);
}

int checkpoint_write_end(struct checkpoint_run *r, int written, enum stop_reason *stopped,
			 struct err *err)
{
	bool whole = written == 0 && *stopped == STOP_NONE;
	int rc = checkpoint_version_end(r, whole, whole ? err : NULL), took_rc;
	uint64_t blamed[ACCOUNTS] = {0}, marker_ns = 0;
	struct checkpoint_took took;

	took_rc = checkpoint_pass_took(r, &took);
	rc = written < 0 ? written : rc < 0 ? rc : took_rc;
	account_switch(&r->repeat.accounts, ACCOUNT_RANKS, took.time.end_ns);
	if (rc == 0 && whole)
		rc = checkpoint_write_publish(r, stopped, &marker_ns, err);
	blamed[ACCOUNT_OPEN] = took.last->request_ns;
	blamed[ACCOUNT_TRANSFER] = took.last->writer.write_ns;
	blamed[ACCOUNT_GENERATE] = took.last->writer.fill_ns;
	repeat_account(&r->repeat, blamed, took.time.end_ns);
	r->ctx->tally->rank_row[CHECKPOINT_FILES_WRITTEN] += took.files;
	whole = rc == 0 && *stopped == STOP_NONE;
	checkpoint_count_writers(r, took.last, whole);
	if (whole)
		checkpoint_count_written(r, &took, marker_ns);
	return rc;
}

int checkpoint_write_next(struct checkpoint_run *r, enum stop_reason *stopped, struct err *err)
{
	int rc = checkpoint_write_begin(r, err);

	if (rc < 0)
		return rc;
	r->blocked_ns = 0;
	rc = crew_run(&r->crew, checkpoint_write_thread, stopped, err);
	rc = checkpoint_write_end(r, rc, stopped, err);
	return rc == 0 && *stopped == STOP_NONE ? checkpoint_remove_old(r, err) : rc;
}

/* Whether the checkpoint is what the job reads. */
static int checkpoint_read_check(const struct checkpoint_run *r, struct err *err)
{
	uint64_t needed = r->ranges ? mesh_ranks(&r->shape.mesh) : r->ctx->group->size;
	const char *why = NULL;
	char folder[OBJECT_KEY_BYTES];

	if (!r->marker.whole)
		why = "this checkpoint is not whole";
	else if (r->marker.version != MARKER_LAYOUT)
		why = "another version of haul, which named or sized files otherwise, made this checkpoint";
	else if (!marker_shape_is(&r->marker, &r->shape))
		why = "is a checkpoint of another model, mesh or layout than the job's";
	else if (r->marker.ranks < needed)
		why = "was written by fewer ranks than what is to be read needs";
	marker_folder(r->options->folder, r->number, folder);
	return why ? err_set(err, -EINVAL, "%s/%s: %s", r->store.uri, folder, why) : 0;
}

/* Rank 0 reads the marker, and all ranks get it. */
static int checkpoint_read_mark(struct checkpoint_run *r, struct err *err)
{
	struct group *group = r->ctx->group;
	int rc = 0;

	r->marker = (struct marker){
		.shape = r->shape, .seed = r->ctx->job->seed + r->number, .generation = 1};
	if (!r->keeps)
		return 0;
	if (group->rank == 0) {
		rc = marker_load(&r->marker, &r->side, r->options->folder, r->number, err);
		if (rc == 0)
			rc = checkpoint_read_check(r, err);
	}
	rc = group_agree(group, rc, err);
	return rc == 0 ? group_broadcast(group, &r->marker, sizeof(r->marker)) : rc;
}

static void checkpoint_count_read(struct checkpoint_run *r, const struct checkpoint_took *took)
{
	uint64_t *row = r->ctx->tally->rank_row, *own;

	row[CHECKPOINT_READ_BACK]++;
	row[CHECKPOINT_NEEDED_BYTES] += r->needed_bytes;
	checkpoint_count_pass(&took->time, took->bytes, CHECKPOINT_READ_NS, row);
	own = table_numbered(&r->ctx->tally->tables[CHECKPOINT_TABLE_ROWS], r->number + 1);
	if (!own)
		return;
	own[CHECKPOINT_ROW_READ_START_NS] = r->repeat.start_ns - r->repeat.origin_ns;
	own[CHECKPOINT_ROW_READ_NS] = took->time.own_ns;
	own[CHECKPOINT_ROW_READ_FIRST_NS] = took->time.first_ns;
	own[CHECKPOINT_ROW_READ_FIRST_BYTES] = took->time.first_bytes;
	own[CHECKPOINT_ROW_BYTES_READ] = took->bytes;
}

/* The walk over what this rank reads: each rank drops its files, or has a look at what of them is
 * in the page cache, by requests that count nowhere, before any rank reads. What the kernel reads
 * ahead would be mistaken for an old copy. */
struct checkpoint_walk {
	struct checkpoint_run *run;
	int (*file)(struct checkpoint_walk *x);
	struct residency residency;
	uint64_t rank; /* of the last range, and its file */
	uint32_t number;
	bool some;
	struct object object; /* that file's key */
	struct err *err;
};

/* Calls file once for all ranges of a file, which come together. */
static int checkpoint_walk_range(void *argument, const struct checkpoint_range *g)
{
	struct checkpoint_walk *x = argument;
	struct checkpoint_file f;

	if (x->some && x->rank == g->rank && x->number == g->file)
		return 0;
	if (cold_ends(&x->run->cold))
		return -ECANCELED;
	x->some = true;
	x->rank = g->rank;
	x->number = g->file;
	checkpoint_file(&x->run->shape, g->rank, g->file, &f);
	x->object = (struct object){.size = 0};
	marker_file_key(x->run->options->folder, x->run->number, &f, x->object.key);
	return x->file(x);
}

static int checkpoint_drop_file(struct checkpoint_walk *x)
{
	int64_t stayed = store_evict(&x->run->store, &x->object, 0, 0);

	/* The reader reports a missing file when it comes to it. */
	if (stayed < 0 && stayed != -ENOENT)
		return err_set(x->err, (int)stayed, "%s/%s: its pages could not be dropped: %s",
			       x->run->store.uri, x->object.key, request_status_text((int)stayed));
	if (stayed > 0)
		x->run->cold.stayed_bytes += (uint64_t)stayed;
	return 0;
}

static int checkpoint_look_file(struct checkpoint_walk *x)
{
	struct queue *q = &x->run->side;
	struct request req = {.op = REQ_OPEN, .object = &x->object};

	if (queue_do(q, &req) < 0)
		return 0; /* the reader reports it */
	residency_look(&x->residency, &x->run->store, &x->object, 0, x->object.size);
	req = (struct request){.op = REQ_CLOSE, .object = &x->object};
	queue_do(q, &req);
	return 0;
}

static int checkpoint_cold_drop(struct checkpoint_run *r, struct err *err)
{
	struct checkpoint_walk x = {.run = r, .file = checkpoint_drop_file, .err = err};
	int rc;

	if (r->options->cold.drop == DROP_CACHES)
		return cold_drop_caches(&r->cold, err);
	rc = checkpoint_read_walk(r, checkpoint_walk_range, &x);
	return group_agree(r->ctx->group, rc == -ECANCELED ? 0 : rc, err);
}

/* All checkpoints at once, before the first one is read. */
static int checkpoint_cold_drop_all(struct checkpoint_run *r, struct err *err)
{
	uint64_t number = r->number;
	int rc = 0;

	if (r->dropped)
		return 0;
	r->dropped = true;
	if (r->options->cold.drop == DROP_CACHES)
		return checkpoint_cold_drop(r, err);
	for (; rc == 0 && r->number < r->options->count; r->number++)
		rc = checkpoint_cold_drop(r, err);
	r->number = number;
	return rc;
}

/* Before checkpoint r->number is read, in none of its times: drops it from the page cache where the
 * job asks for it, and looks how much of it is there. Collective. */
static int checkpoint_cold_before(struct checkpoint_run *r, struct err *err)
{
	const struct cold_options *o = &r->options->cold;
	struct checkpoint_walk x = {.run = r, .file = checkpoint_look_file, .err = err};
	uint64_t *row = r->ctx->tally->rank_row, began_ns = clock_now(r->store.clock);
	int rc = 0;

	if (o->drop != DROP_NONE)
		rc = o->when == COLD_PHASE ? checkpoint_cold_drop_all(r, err)
					   : checkpoint_cold_drop(r, err);
	row[CHECKPOINT_DROP_NS] += clock_now(r->store.clock) - began_ns;
	row[CHECKPOINT_STAYED_BYTES] = r->cold.stayed_bytes;
	if (rc < 0 || !o->evidence_bytes || !store_can(&r->store, BACKEND_CACHED))
		return rc;
	residency_init(&x.residency, o->evidence_bytes);
	checkpoint_read_walk(r, checkpoint_walk_range, &x);
	row[CHECKPOINT_RESIDENT_SAMPLED_BYTES] += x.residency.sampled_bytes;
	row[CHECKPOINT_RESIDENT_BYTES] += x.residency.resident_bytes;
	return 0;
}

int checkpoint_read_next(struct checkpoint_run *r, enum stop_reason *stopped, struct err *err)
{
	uint64_t blamed[ACCOUNTS] = {0}, *row = r->ctx->tally->rank_row, busy_ns;
	struct checkpoint_took took = {.bytes = 0};
	int rc = checkpoint_read_mark(r, err);

	if (rc == 0)
		rc = checkpoint_cold_before(r, err);
	if (rc < 0)
		return rc;
	atomic_store(&r->next_piece, 0);
	rc = checkpoint_protocol_needed(r, err);
	if (rc == 0)
		rc = repeat_begin(&r->repeat);
	r->shared_end_ns = 0;
	if (rc == 0)
		rc = checkpoint_protocol_load(r, err);
	if (rc == 0)
		rc = crew_run(&r->crew, checkpoint_read_thread, stopped, err);
	if (rc == 0)
		rc = checkpoint_pass_took(r, &took);
	if (took.last) {
		/* A thread that reads waits for the store whenever it does not compare. */
		busy_ns = took.last->verify_ns + took.last->request_ns;
		blamed[ACCOUNT_OPEN] = took.last->request_ns;
		blamed[ACCOUNT_TRANSFER] =
			took.time.own_ns > busy_ns ? took.time.own_ns - busy_ns : 0;
		repeat_account(&r->repeat, blamed, took.time.end_ns);
	}
	row[CHECKPOINT_FILES_READ] += took.files;
	row[CHECKPOINT_PAYLOAD_ERRORS] += crew_count(&r->crew, COUNT_PAYLOAD_ERRORS);
	for (uint32_t i = 0; i < r->crew.threads; i++) {
		row[CHECKPOINT_VERIFY_NS] += r->members[i].verify_ns;
		r->members[i].verify_ns = r->members[i].request_ns = 0;
	}
	if (rc == 0 && *stopped == STOP_NONE)
		checkpoint_count_read(r, &took);
	return rc;
}
