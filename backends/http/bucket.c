/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/bucket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backends/http/aside.h"

static const char mark_name[] = ".haul-bucket";
static const char mark_text[] =
	"haul made this bucket, and removes it when nothing else is in it.\n";

/* The bucket as a store of its own, without a prefix, and a channel to it. */
struct bucket {
	struct store store;
	struct aside aside;
};

static int bucket_open(struct bucket *b, const struct store *store, struct err *err)
{
	int rc;

	memset(b, 0, sizeof(*b));
	b->store = *store;
	b->store.all = b->store.node = NULL;
	b->store.process = NULL;
	b->store.state = NULL;
	b->store.endpoints = NULL;
	b->store.root[strcspn(b->store.root, "/")] = '\0';
	rc = store->ops->open(&b->store, err);
	if (rc < 0)
		return rc;
	rc = aside_open(&b->aside, &b->store, err);
	if (rc < 0)
		store->ops->close(&b->store);
	return rc;
}

static void bucket_close(struct bucket *b)
{
	aside_close(&b->aside);
	b->store.ops->close(&b->store);
}

/* A request for the bucket itself. */
static int bucket_ask(struct bucket *b, enum request_op op)
{
	struct object none = {0};
	struct request req = {.op = op, .object = &none};
	struct http_channel *ch = aside_channel(&b->aside);
	int rc;

	ch->of_bucket = true;
	rc = aside_ask(&b->aside, &req);
	ch = aside_channel(&b->aside);
	if (ch)
		ch->of_bucket = false;
	return rc;
}

static int bucket_mark(struct bucket *b)
{
	struct object mark = {0};
	struct request begin = {.op = REQ_BEGIN, .object = &mark, .length = sizeof(mark_text) - 1};
	struct request put = {.op = REQ_WRITE,
			      .object = &mark,
			      .data = (void *)(uintptr_t)mark_text,
			      .buffer_bytes = sizeof(mark_text) - 1,
			      .length = sizeof(mark_text) - 1};
	struct request commit = {.op = REQ_COMMIT, .object = &mark};
	int rc;

	snprintf(mark.key, sizeof(mark.key), "%s", mark_name);
	rc = aside_ask(&b->aside, &begin);
	if (rc == 0)
		rc = aside_ask(&b->aside, &put);
	return rc < 0 ? rc : aside_ask(&b->aside, &commit);
}

struct bucket_contents {
	bool marked;
	uint32_t others;
};

static int bucket_entry(struct request *req, const char *name, uint64_t size)
{
	struct bucket_contents *c = req->user;

	(void)size;
	if (strcmp(name, mark_name) == 0)
		c->marked = true;
	else
		c->others++;
	return 0;
}

/* What its first page has; uploads: which are open. */
static int bucket_list(struct bucket *b, bool uploads, struct bucket_contents *c)
{
	struct listing listing = {.entry = bucket_entry, .uploads = uploads};
	struct object all = {0};
	struct request req = {
		.op = REQ_LIST, .object = &all, .length = 2, .listing = &listing, .user = c};
	int rc = aside_ask(&b->aside, &req);

	/* More than a page is more than the mark. */
	c->others += rc == 0 && listing.more;
	return rc;
}

static int bucket_fail(const struct store *store, int rc, const char *what, struct err *err)
{
	return err_set(err, rc, "%s: the bucket cannot be %s: %s", store->uri, what, strerror(-rc));
}

int bucket_make(const struct store *store, struct err *err)
{
	const struct http_options *o = store->options;
	struct bucket_contents c = {0};
	struct bucket b;
	int rc;

	if (!o->create_bucket)
		return 0;
	rc = bucket_open(&b, store, err);
	if (rc < 0)
		return rc;
	/* -ENXIO: there is none. What else is wrong, the phase will say. */
	rc = bucket_list(&b, false, &c) == -ENXIO ? bucket_ask(&b, REQ_WRITE) : -EBUSY;
	if (rc == 0) {
		rc = bucket_mark(&b);
		log_say(store->log, LOG_INFO, "%s: made the bucket", store->uri);
	}
	bucket_close(&b);
	/* -EBUSY: it is there, or has come meanwhile; then it is another's. */
	return rc == 0 || rc == -EBUSY ? 0 : bucket_fail(store, rc, "made", err);
}

int bucket_drop(const struct store *store, struct err *err)
{
	const struct http_options *o = store->options;
	struct bucket_contents c = {0};
	struct object mark = {0};
	struct request drop = {.op = REQ_DELETE, .object = &mark};
	struct bucket b;
	int rc;

	if (!o->create_bucket)
		return 0;
	rc = bucket_open(&b, store, err);
	if (rc < 0)
		return rc;
	snprintf(mark.key, sizeof(mark.key), "%s", mark_name);
	if (bucket_list(&b, false, &c) == 0 && c.marked && !c.others &&
	    bucket_list(&b, true, &c) == 0 && !c.others && aside_ask(&b.aside, &drop) == 0) {
		rc = bucket_ask(&b, REQ_DELETE);
		if (rc < 0)
			bucket_mark(&b);
		else
			rc = 1;
	}
	bucket_close(&b);
	return rc < 0 && rc != -EBUSY ? bucket_fail(store, rc, "removed", err) : rc > 0;
}
