/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on names: stat, create, rename there and back, a listing page by page, and delete. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "workloads/io/work.h"

enum names_step {
	STEP_ONLY,
	STEP_CREATED,
	STEP_CLOSED,
	STEP_THERE,
	STEP_BACK,
	STEP_PAGE,
	STEP_MANY,
	STEP_DROPPED
};

static const char not_there[] = "is not there, though it was written";

static void io_names_send(struct io_thread *t, struct io_slot *slot, enum request_op op,
			  enum names_step step)
{
	slot->s.req =
		(struct request){.op = op, .object = &slot->name->object, .due_ns = slot->s.due_ns};
	io_send(t, slot, step);
}

/* An entry of the folder. What haul itself keeps there does not count. */
static int io_names_entry(struct request *req, const char *name, uint64_t size)
{
	struct io_name *folder = req->user;

	(void)size;
	folder->entries += name[0] != '.' && name[strlen(name) - 1] != '/';
	return 0;
}

static void io_names_page(struct io_thread *t, struct io_slot *slot, uint32_t step)
{
	slot->s.req = (struct request){.op = REQ_LIST,
				       .object = &slot->name->object,
				       .listing = &slot->name->listing,
				       .user = slot->name,
				       .due_ns = slot->s.due_ns};
	io_send(t, slot, step);
}

void io_names_list(struct io_thread *t, struct io_slot *slot, uint32_t step)
{
	struct io_name *n = slot->name;

	io_set_folder(t->work->set, t->share.rank, n->object.key);
	n->listing.entry = io_names_entry;
	n->listing.names = true;
	if (!n->listing.more)
		n->listing.marker[0] = '\0';
	n->entries = 0;
	io_names_page(t, slot, step);
}

void io_names_listed_page(struct io_thread *t, struct io_slot *slot)
{
	if (slot->s.req.answer.status < 0) {
		slot->name->listing.more = false;
		io_end(t, slot, slot->s.req.answer.status, NULL);
		return;
	}
	t->entries += io_inside(t, slot, slot->name->entries);
	io_end(t, slot, 0, NULL);
}

/* Several deletes by one request; each of them is an operation that takes its own turn. */
static void io_names_begin_batch(struct io_thread *t, struct io_slot *slot)
{
	const struct io_work *work = t->work;
	uint64_t most = t->limit - slot->number;
	uint32_t n = (uint32_t)(most < work->options->batch ? most : work->options->batch);
	struct io_name *name = slot->name;
	struct io_item item;

	strcpy(name->keys[0].key, name->object.key);
	for (uint32_t i = 1; i < n; i++) {
		io_take(t, slot, &item);
		io_set_key(work->set, t->share.rank, item.object, name->keys[i].key);
	}
	io_names_send(t, slot, REQ_DELETE, STEP_MANY);
	slot->s.req.batch.keys = name->keys;
	slot->s.req.batch.count = n;
}

static void io_names_begin(struct io_thread *t, struct io_slot *slot)
{
	struct io_name *n = slot->name;

	memset(n->object.state, 0, sizeof(n->object.state));
	io_set_key(t->work->set, t->share.rank, slot->item.object, n->object.key);
	switch (t->work->options->operation) {
	case IO_DO_STAT:
		io_names_send(t, slot, REQ_STAT, STEP_ONLY);
		return;
	case IO_DO_CREATE:
		/* Where nothing is written in place, an empty object is published. */
		io_names_send(t, slot, t->work->in_place ? REQ_UPDATE : REQ_BEGIN, STEP_CREATED);
		slot->s.req.begin.empty = true;
		return;
	case IO_DO_RENAME:
		strcpy(n->target, n->object.key);
		io_set_renamed(n->target);
		io_names_send(t, slot, REQ_RENAME, STEP_THERE);
		slot->s.req.target = n->target;
		return;
	case IO_DO_LIST:
		n->listing.more = false;
		n->listing.parts = (uint32_t)t->work->options->parts;
		n->listing.part = (uint32_t)slot->item.object;
		io_names_list(t, slot, STEP_PAGE);
		return;
	default:
		if (n->keys)
			io_names_begin_batch(t, slot);
		else
			io_names_send(t, slot, REQ_DELETE, STEP_ONLY);
	}
}

/* Each of several deletes is done or has failed by itself. */
static void io_names_answered_each(struct io_thread *t, struct io_slot *slot)
{
	const struct io_work *work = t->work;

	for (uint32_t i = 0; i < slot->s.req.batch.count; i++, slot->number++) {
		const struct request_key *k = &slot->s.req.batch.keys[i];
		bool absent = k->status == -ENOENT;

		t->absent += absent;
		if (absent && work->strict)
			meter_error(&t->member->meter);
		if (!k->status || (absent && !work->strict)) {
			io_count(t, slot);
			continue;
		}
		strcpy(slot->name->object.key, k->key);
		io_fails(t, slot, k->status,
			 absent   ? not_there
			 : k->why ? k->why
				  : request_status_text(k->status));
	}
	io_let_go(t, slot);
}

void io_names_answered(struct io_thread *t, struct io_slot *slot)
{
	bool strict = t->work->strict && !t->mix.lost; /* the object must be there */
	const struct io_work *work = t->work;
	const struct request *req = &slot->s.req;
	char text[FAILURE_TEXT_BYTES];
	uint64_t size;

	if (req->answer.status == -ENOENT) {
		t->absent++;
		if (!strict) {
			io_end(t, slot, 0, NULL);
			return;
		}
		meter_error(&t->member->meter);
		io_end(t, slot, -ENOENT, not_there);
		return;
	}
	if (req->answer.status == 0 && req->op == REQ_STAT && strict &&
	    work->options->verify != VERIFY_NONE) {
		size = io_set_bytes(work->set, t->share.rank, slot->item.object);
		if (req->answer.done_bytes != size) {
			meter_error(&t->member->meter);
			snprintf(text, sizeof(text), "has %" PRIu64 " bytes, not %" PRIu64,
				 req->answer.done_bytes, size);
			io_end(t, slot, -EIO, text);
			return;
		}
	}
	io_end(t, slot, req->answer.status, NULL);
}

/* The object has its new name. It gets its old one back at once, so that a set is never left half
 * renamed. */
static void io_names_renamed(struct io_thread *t, struct io_slot *slot)
{
	struct io_name *n = slot->name;
	char key[OBJECT_KEY_BYTES];

	if (slot->s.req.answer.status < 0) {
		io_end(t, slot, slot->s.req.answer.status, NULL);
		return;
	}
	io_count(t, slot);
	slot->s.begin_ns = slot->s.req.answer.done_ns;
	slot->s.due_ns = 0;
	strcpy(key, n->object.key);
	strcpy(n->object.key, n->target);
	strcpy(n->target, key);
	io_names_send(t, slot, REQ_RENAME, STEP_BACK);
	slot->s.req.target = n->target;
}

static void io_names_listed(struct io_thread *t, struct io_slot *slot)
{
	const struct io_set *set = t->work->set;
	uint64_t wanted = set->objects * (set->folder_per_rank ? 1 : set->ranks);
	char text[FAILURE_TEXT_BYTES];

	if (slot->s.req.answer.status < 0) {
		if (!request_failed(&slot->s.req))
			meter_error(&t->member->meter);
		io_end(t, slot, slot->s.req.answer.status, NULL);
		return;
	}
	if (slot->name->listing.more) {
		slot->s.due_ns = 0;
		io_names_page(t, slot, STEP_PAGE);
		return;
	}
	/* The store has divided the folder into fewer parts: nothing was to be done. */
	if (slot->name->listing.vacant) {
		io_let_go(t, slot);
		return;
	}
	t->entries += io_inside(t, slot, slot->name->entries);
	/* How many are in a part is the store's own choice: see io_phase_check_parts. */
	if (!t->work->strict || t->work->options->parts > 1 || slot->name->entries == wanted) {
		io_end(t, slot, 0, NULL);
		return;
	}
	meter_error(&t->member->meter);
	snprintf(text, sizeof(text), "lists %" PRIu64 " objects, not %" PRIu64, slot->name->entries,
		 wanted);
	io_end(t, slot, -EIO, text);
}

/* An empty object is closed, or published. */
static void io_names_created(struct io_thread *t, struct io_slot *slot)
{
	char text[FAILURE_TEXT_BYTES];
	int rc = io_data_check_closed(t, &slot->s.req, text);

	if (rc == 0) {
		io_end(t, slot, 0, NULL);
		return;
	}
	io_fails(t, slot, rc, text);
	if (slot->s.req.op == REQ_COMMIT && slot->s.req.answer.status < 0)
		io_names_send(t, slot, REQ_ABORT, STEP_DROPPED);
	else
		io_let_go(t, slot);
}

static void io_names_opened(struct io_thread *t, struct io_slot *slot)
{
	if (slot->s.req.answer.status < 0)
		io_end(t, slot, slot->s.req.answer.status, NULL);
	else
		io_names_send(t, slot, t->work->in_place ? REQ_CLOSE : REQ_COMMIT, STEP_CLOSED);
}

static void io_names_back(struct io_thread *t, struct io_slot *slot)
{
	io_end(t, slot, slot->s.req.answer.status, NULL);
}

static io_step *const names_steps[] = {
	[STEP_ONLY] = io_names_answered,      [STEP_CREATED] = io_names_opened,
	[STEP_CLOSED] = io_names_created,     [STEP_THERE] = io_names_renamed,
	[STEP_BACK] = io_names_back,          [STEP_PAGE] = io_names_listed,
	[STEP_MANY] = io_names_answered_each, [STEP_DROPPED] = io_let_go,
};
const struct io_operations io_name_operations = {.begin = io_names_begin, .steps = names_steps};
