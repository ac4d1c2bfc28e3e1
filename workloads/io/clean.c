#include "workloads/io/clean.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "workloads/common/batch_delete.h"
#include "workloads/io/set.h"

enum clean_word { REMOVED, REMOVED_BYTES, KEPT, ABSENT, WORDS };

struct clean {
	struct io_set set;
	struct store store;
	struct queue queue;
	struct batch_delete remover;
	struct group *group;
	uint64_t words[WORDS];
	struct err *err;
	int rc; /* the first error, which is in err */
};

static int say(struct clean *c, const struct request *req, int rc)
{
	if (c->rc == 0) {
		c->rc = rc;
		err_set(c->err, rc, "%s/%s: %s", c->store.uri, req->object->key, request_text(req));
	}
	return rc;
}

static void removed(void *clean, const struct request *req, uint64_t bytes)
{
	struct clean *c = clean;

	if (request_failed(req)) {
		say(c, req, req->answer.status);
		return;
	}
	c->words[REMOVED]++;
	c->words[REMOVED_BYTES] += bytes;
}

/* As it was made, or less of it where a run ended early. */
static bool is_ours(const struct io_set *s, uint64_t bytes)
{
	uint64_t whole = s->size * (s->layout == IO_OBJECTS ? 1 : s->ranks);

	return s->complete ? bytes == whole : bytes <= whole;
}

static int remove_object(struct clean *c, const char *key)
{
	struct object o = {0};
	struct request req = {.op = REQ_STAT, .object = &o};
	int rc;

	snprintf(o.key, sizeof(o.key), "%s", key);
	rc = queue_do(&c->queue, &req);
	if (rc == -ENOENT)
		return rc;
	if (rc < 0)
		return say(c, &req, rc);
	if (is_ours(&c->set, req.answer.done_bytes))
		batch_delete_add(&c->remover, key, req.answer.done_bytes);
	else
		c->words[KEPT]++;
	return 0;
}

/* An object that a rename was interrupted at has its other name. */
static void remove_one(struct clean *c, uint64_t rank, uint64_t object)
{
	char key[OBJECT_KEY_BYTES];
	int rc;

	io_set_key(&c->set, rank, object, key);
	rc = remove_object(c, key);
	if (rc != -ENOENT)
		return;
	io_set_renamed(key);
	if (remove_object(c, key) == -ENOENT)
		c->words[ABSENT]++;
}

static int remove_all(struct clean *c, struct err *err)
{
	const struct io_set *s = &c->set;
	uint64_t size = c->group->size;

	for (uint64_t rank = c->group->rank; rank < s->ranks; rank += size) {
		for (uint64_t i = 0; i < s->objects && (s->layout == IO_OBJECTS || !rank); i++)
			remove_one(c, rank, i);
		if (s->folder_per_rank) {
			batch_delete_flush(&c->remover);
			io_set_remove_folder(s, rank, &c->queue);
		}
	}
	batch_delete_flush(&c->remover);
	return group_agree(c->group, c->rc, err);
}

static int clean_set(struct clean *c, struct err *err)
{
	struct group *g = c->group;
	bool found = false;
	int rc = 0;

	if (g->rank == 0) {
		rc = io_set_load(&c->set, &c->queue, err);
		found = rc == 0;
		rc = rc == -ENOENT ? 0 : rc;
	}
	rc = group_agree(g, rc, err);
	if (rc == 0)
		rc = group_broadcast(g, &found, sizeof(found));
	if (rc < 0 || !found)
		return rc;
	rc = group_broadcast(g, &c->set, sizeof(c->set));
	if (rc == 0)
		rc = remove_all(c, err);
	/* While anything of it is kept, so is the description. */
	if (rc == 0)
		rc = group_allreduce(g, MERGE_SUM, c->words, WORDS);
	if (rc == 0 && g->rank == 0 && !c->words[KEPT])
		io_set_remove(&c->set, &c->queue);
	return rc;
}

/* A phase before this one has the same folder: it is clean. */
static bool cleaned(const struct job *job, const struct job_phase *phase)
{
	const struct io_options *o = phase->options;

	for (const struct job_phase *p = job->phases; p < phase; p++) {
		const struct io_options *other = p->options;

		if (p->section == phase->section && strcmp(p->store, phase->store) == 0 &&
		    strcmp(other->folder, o->folder) == 0)
			return true;
	}
	return false;
}

int io_clean(const struct job *job, const struct job_phase *phase, const struct rank_place *place,
	     struct group *group, struct group *node, struct clock *clock, const struct log *log,
	     struct clean_counts *counts, struct err *err)
{
	const struct io_options *o = phase->options;
	struct clean c = {.group = group, .err = err};
	const struct job_store *described;
	int rc;

	if (cleaned(job, phase))
		return 0;
	rc = io_store(job, phase, &described, err);
	if (rc == 0)
		rc = store_open(&c.store, described,
				&(struct store_opener){.place = place,
						       .all = group,
						       .node = node,
						       .clock = clock,
						       .log = log,
						       .seed = job->seed},
				err);
	if (rc < 0) {
		c.store.ops = NULL;
		return group_agree(group, rc, err);
	}
	io_set_of(&c.set, o, job->seed, group->size);
	rc = queue_open(&c.queue, &c.store, 1, err);
	if (rc == 0)
		rc = batch_delete_open(&c.remover, &c.queue, removed, &c, err);
	rc = group_agree(group, rc, err);
	if (rc == 0 && store_can(&c.store, BACKEND_PERSISTENT | BACKEND_CONTENT))
		rc = clean_set(&c, err);
	counts->removed += c.words[REMOVED];
	counts->removed_bytes += c.words[REMOVED_BYTES];
	counts->kept += c.words[KEPT];
	counts->absent += c.words[ABSENT];
	counts->complete = rc == 0;
	batch_delete_close(&c.remover);
	queue_close(&c.queue);
	store_close(&c.store);
	return rc;
}
