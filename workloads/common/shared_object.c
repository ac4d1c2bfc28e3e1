/* SPDX-License-Identifier: Apache-2.0 */
/* Shared object: see shared_object.h. */
#include "workloads/common/shared_object.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Keeps the error for the phase, unless an earlier request of this thread has failed. */
static int shared_object_fail(struct crew_thread *w, const struct request *req, int rc,
			      const char *text, struct err *err)
{
	crew_fail(w, req, rc, text);
	return err_set(err, rc, "%s", w->err.text);
}

/* What rank 0 sends to the others. */
struct begun {
	struct shared_version version;
	char uri[URI_BYTES];
};

/* Each rank may have a URI of its own. */
static int shared_object_check_uri(const struct shared_object *s, const char *first,
				   const struct crew_thread *w, struct err *err)
{
	const char *uri = w->crew->store->uri;

	if (strcmp(uri, first) == 0)
		return 0;
	return err_set(err, -EINVAL, "%s/%s: rank 0 has %s, and one object cannot be in both", uri,
		       s->object.key, first);
}

static int shared_object_begin_one(struct shared_object *s, struct shared_version *version,
				   uint64_t part, struct crew_thread *w, struct err *err)
{
	struct request req = {.op = REQ_BEGIN,
			      .object = &s->object,
			      .length = s->length,
			      .begin.part = part,
			      .begin.shared = version};
	int rc = queue_do(&w->queue, &req);

	s->begun = rc == 0;
	return rc < 0 ? shared_object_fail(w, &req, rc, request_text(&req), err) : 0;
}

int shared_object_begin(struct shared_object *s, uint64_t length, uint64_t part,
			struct crew_thread *w, struct group *g, struct err *err)
{
	struct begun begun = {0};
	bool whole = false;
	int rc = 0;

	s->length = length;
	s->begun = false;
	if (g->rank == 0) {
		memcpy(begun.uri, w->crew->store->uri, sizeof(begun.uri));
		rc = shared_object_begin_one(s, &begun.version, part, w, err);
	}
	rc = group_agree(g, rc, err);
	if (rc < 0)
		return rc;
	rc = group_broadcast(g, &begun, sizeof(begun));
	if (rc == 0)
		rc = shared_object_check_uri(s, begun.uri, w, err);
	if (rc == 0 && g->rank != 0)
		rc = shared_object_begin_one(s, &begun.version, part, w, err);
	rc = group_agree(g, rc, err);
	if (rc < 0)
		shared_object_end(s, &whole, w, g, NULL);
	return rc;
}

static int shared_object_publish(struct shared_object *s, struct crew_thread *w, struct err *err)
{
	struct request req = {.op = REQ_COMMIT, .object = &s->object, .length = s->length};
	char text[FAILURE_TEXT_BYTES];
	int rc = queue_do(&w->queue, &req);

	if (rc == 0 && req.answer.done_bytes == s->length)
		return 0;
	/* The request itself succeeded, so this error has to be recorded here. */
	if (rc == 0)
		meter_error(&w->meter);
	snprintf(text, sizeof(text), "%s", request_text(&req));
	if (rc == 0 || rc == -ENODATA)
		snprintf(text, sizeof(text),
			 "%s%sthe store has %" PRIu64 " bytes of it, not %" PRIu64,
			 req.answer.why ? req.answer.why : "", req.answer.why ? ": " : "",
			 req.answer.done_bytes, s->length);
	return shared_object_fail(w, &req, rc ? rc : -EIO, text, err);
}

static int shared_object_drop(struct shared_object *s, struct crew_thread *w, struct err *err)
{
	struct request req = {.op = REQ_ABORT, .object = &s->object};
	int rc = queue_do(&w->queue, &req);

	return rc < 0 ? shared_object_fail(w, &req, rc, request_text(&req), err) : 0;
}

static int shared_object_end_one(struct shared_object *s, bool whole, struct crew_thread *w,
				 struct group *g, struct err *err)
{
	int rc;

	if (!s->begun)
		return 0;
	s->begun = false;
	if (g->rank != 0)
		return queue_do(&w->queue,
				&(struct request){.op = REQ_CLOSE, .object = &s->object});
	if (!whole)
		return shared_object_drop(s, w, err);
	rc = shared_object_publish(s, w, err);
	if (rc < 0 && s->object.state[0])
		shared_object_drop(s, w, NULL);
	return rc;
}

int shared_object_end(struct shared_object *s, bool *whole, struct crew_thread *w, struct group *g,
		      struct err *err)
{
	uint64_t all = *whole && s->begun;
	int rc = group_allreduce(g, MERGE_MIN, &all, 1), ended;

	ended = shared_object_end_one(s, rc == 0 && all, w, g, err);
	rc = group_agree(g, rc < 0 ? rc : ended, err);
	*whole = rc == 0 && all;
	return rc;
}
