/* SPDX-License-Identifier: Apache-2.0 */
/* Test rig for stores: see rig.h. */
#include "tests/backends/rig.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backends/node_block.h"
#include "tests/libs/doubles/fake_clock.h"

void rig_init(struct rig *r)
{
	*r = (struct rig){.place = {.ranks = 1, .nodes = 1, .local_ranks = 1}, .seed = 42};
	clock_init_fake(&r->own_clock, 1000000000);
	r->clock = &r->own_clock;
	log_init(&r->log, -1, LOG_ERROR, 0, 1);
}

int rig_open(struct rig *r, const char *json)
{
	cJSON *object = cJSON_Parse(json);
	const cJSON *uri = cJSON_GetObjectItem(object, "uri");
	char scheme[URI_SCHEME_BYTES];
	const struct backend_ops *ops;
	int rc;

	if (cJSON_IsArray(uri))
		uri = cJSON_GetArrayItem(uri, 0);
	rc = uri_scheme(cJSON_GetStringValue(uri), scheme, &r->err);
	ops = rc == 0 ? backend_find(scheme) : NULL;
	if (!ops) {
		cJSON_Delete(object);
		return -ENOENT;
	}
	strcpy(r->described.name, "s");
	r->described.section = &ops->section;
	r->described.options = arena_alloc(&r->arena, ops->section.size);
	rc = options_parse(ops->section.tables, r->described.options, object, "/stores/s",
			   &r->arena, &r->err);
	cJSON_Delete(object);
	if (rc == 0 && r->node)
		rc = node_blocks_reserve(r->node, &r->described, 1, &r->err);
	if (rc < 0)
		return rc;
	return store_open(&r->store, &r->described,
			  &(struct store_opener){.place = &r->place,
						 .all = r->all,
						 .node = r->node,
						 .clock = r->clock,
						 .log = &r->log,
						 .stop = r->stop,
						 .process = r->process,
						 .seed = r->seed,
						 .constant = r->constant},
			  &r->err);
}

void rig_close(struct rig *r)
{
	store_close(&r->store);
	arena_free(&r->arena);
}

int rig_do(struct queue *q, struct object *o, enum request_op op, uint64_t offset, uint64_t length,
	   void *data, uint64_t *done_bytes)
{
	struct request req = {
		.op = op, .object = o, .offset = offset, .length = length, .data = data};
	int status = queue_do(q, &req);

	/* For whoever reads why a test has failed; many tests ask for what must fail. */
	if (status < 0)
		fprintf(stderr, "%s of %s: %s; %u attempts, the last answer %u\n",
			request_op_name(op), o->key, request_text(&req), req.answer.attempts,
			req.answer.protocol_status);
	if (done_bytes)
		*done_bytes = req.answer.done_bytes;
	return status;
}

int rig_put(struct queue *q, const char *key, const void *data, uint64_t length)
{
	struct object o = {0};
	int rc;

	snprintf(o.key, sizeof(o.key), "%s", key);
	rc = rig_do(q, &o, REQ_BEGIN, 0, length, NULL, NULL);
	if (rc < 0)
		return rc;
	rc = rig_do(q, &o, REQ_WRITE, 0, length, (void *)data, NULL);
	if (rc == 0)
		return rig_do(q, &o, REQ_COMMIT, 0, 0, NULL, NULL);
	rig_do(q, &o, REQ_ABORT, 0, 0, NULL, NULL);
	return rc;
}

int rig_get(struct queue *q, const char *key, void *data, uint64_t length)
{
	struct object o = {0};
	int rc, closed;

	snprintf(o.key, sizeof(o.key), "%s", key);
	rc = rig_do(q, &o, REQ_OPEN, 0, 0, NULL, NULL);
	if (rc < 0)
		return rc;
	rc = rig_do(q, &o, REQ_READ, 0, length, data, NULL);
	closed = rig_do(q, &o, REQ_CLOSE, 0, 0, NULL, NULL);
	return rc < 0 ? rc : closed;
}

struct queue_latency rig_latency_of(struct rig_latency *l, enum request_op op)
{
	return (struct queue_latency){&l->service[op], &l->response[op], &l->retried[op],
				      &l->first[op]};
}

void rig_record(struct queue *q, struct rig_latency *l)
{
	memset(l, 0, sizeof(*l));
	for (int op = 0; op < REQ_OPS; op++) {
		struct queue_latency latency = rig_latency_of(l, (enum request_op)op);

		queue_record(q, (enum request_op)op, &latency);
	}
}
