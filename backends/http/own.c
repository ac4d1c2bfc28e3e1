/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/http.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/http/aside.h"
#include "backends/http/dialect.h"
#include "backends/http/upload.h"
#include "core/clock.h"
#include "core/clock_wait.h"
#include "core/owner.h"
#include "core/time_ns.h"

enum { LEASE_S = 60, LEASE_RENEW_S = 15, LEASE_TRIES = 3, LEASE_LOOK_MS = 1000 };

struct lease {
	struct aside aside;
	struct object object;
	char text[OWNER_OBJECT_BYTES];
	char version
		[ANSWER_GENERATION_BYTES]; /* the store's name of what was written or read last */
	bool bare;                         /* the store compares entity tags without their quotes */
	int64_t age_s;                     /* of what was read last; -1: the store does not tell */
	pthread_t thread;
	sem_t quit;
	bool lost; /* the thread's, until it has ended */
};

void own_condition(const struct http_slot *s, struct http_request *r)
{
	const char *generation = s->channel->store->dialect->generation_header;
	const char *only_if = s->channel->only_if;

	if (!only_if)
		return;
	if (generation) {
		http_request_header(r, generation, only_if[0] ? only_if : "0");
	} else if (only_if[0]) {
		http_request_header(r, "if-match", only_if);
	} else {
		http_request_header(r, "if-none-match", "*");
	}
}

static void lease_close(struct lease *l)
{
	aside_close(&l->aside);
	sem_destroy(&l->quit);
	free(l);
}

/* A store that asks to slow down says nothing of who has the lease. */
static int lease_ask(struct lease *l, struct request *req)
{
	int rc = aside_ask(&l->aside, req);

	return rc == -EAGAIN || rc == -EBUSY ? -EIO : rc;
}

/* Whether the condition did not hold. */
static bool lease_refused(const struct request *req)
{
	return req->answer.protocol_status == 412 || req->answer.protocol_status == 409;
}

/* Writes the object. only_if: the version that must stand there, as the condition has it; "": none. *refused: another does. */
static int lease_put(struct lease *l, const char *only_if, bool *refused)
{
	struct request begin = {
		.op = REQ_BEGIN, .object = &l->object, .length = OWNER_OBJECT_BYTES};
	struct request put = {.op = REQ_WRITE,
			      .object = &l->object,
			      .data = l->text,
			      .buffer_bytes = OWNER_OBJECT_BYTES,
			      .length = OWNER_OBJECT_BYTES};
	struct http_channel *ch = aside_channel(&l->aside);
	const struct upload *u;
	int rc = lease_ask(l, &begin);

	*refused = false;
	if (rc < 0)
		return rc;
	ch->only_if = only_if;
	rc = lease_ask(l, &put);
	*refused = rc < 0 && lease_refused(&put);
	if (aside_channel(&l->aside) != ch || !ch)
		goto out;
	ch->only_if = NULL;
	u = &ch->uploads[0];
	if (rc == 0)
		snprintf(l->version, sizeof(l->version), "%s",
			 ch->store->dialect->generation_header ? u->version : u->etag);
	atomic_store(&ch->uploads[0].used, false);
out:
	memset(l->object.state, 0, sizeof(l->object.state));
	/* It does not know the header, or not beside the others. */
	if (rc < 0 && (put.answer.protocol_status == 501 || put.answer.protocol_status == 400))
		rc = -ENOLCK;
	return rc;
}

/* Writes the object in the place of the version that was written or read last. RFC 9110 has entity tags in quotes. Ceph (16 to
 * 18) compares them as they come with what it keeps without quotes: so where a store refuses the first form, it is asked by the
 * second one, which a store that keeps to the RFC refuses, too. */
static int lease_replace(struct lease *l, bool *refused)
{
	bool generation = aside_channel(&l->aside) &&
			  aside_channel(&l->aside)->store->dialect->generation_header;
	char bare[ANSWER_GENERATION_BYTES], quoted[ANSWER_GENERATION_BYTES + 2];
	int rc;

	snprintf(bare, sizeof(bare), "%s", l->version);
	snprintf(quoted, sizeof(quoted), "\"%s\"", l->version);
	rc = lease_put(l, generation || l->bare ? bare : quoted, refused);
	if (!*refused || generation || l->bare)
		return rc;
	rc = lease_put(l, bare, refused);
	l->bare = rc == 0;
	*refused |= rc == -ENOLCK;
	return rc;
}

/* What stands there, and for how long. */
static int lease_read(struct lease *l, char text[OWNER_OBJECT_BYTES])
{
	struct object o = l->object;
	struct request req = {.op = REQ_READ,
			      .object = &o,
			      .data = text,
			      .buffer_bytes = OWNER_OBJECT_BYTES,
			      .length = OWNER_OBJECT_BYTES};
	const struct http_channel *ch;
	const struct http_answer *a;
	int64_t now, made;
	const char *etag;
	int rc;

	memset(text, 0, OWNER_OBJECT_BYTES);
	rc = lease_ask(l, &req);
	if (rc < 0)
		return rc;
	ch = aside_channel(&l->aside);
	a = &ch->slots[0].exchange.answer;
	now = answer_date(a);
	made = answer_modified(a);
	l->age_s = now && made ? now - made : -1;
	etag = a->etag[0] == '"' ? a->etag + 1 : a->etag;
	if (ch->store->dialect->generation_header)
		snprintf(l->version, sizeof(l->version), "%s", a->version);
	else
		snprintf(l->version, sizeof(l->version), "%.*s", (int)strcspn(etag, "\""), etag);
	return 0;
}

static int lease_delete(struct lease *l)
{
	struct request req = {.op = REQ_DELETE, .object = &l->object};

	return lease_ask(l, &req);
}

/* Another lease stands there. 0: it was taken over, or is this one; -EAGAIN: it is gone; -EEXIST: it is no lease; -EBUSY. */
static int lease_contest(struct lease *l, struct owner *owner)
{
	char text[OWNER_OBJECT_BYTES];
	bool refused;
	int rc = lease_read(l, text);

	if (rc == -ENOENT)
		return -EAGAIN;
	if (rc < 0 && rc != -ENODATA)
		return rc;
	/* The answer to a write that succeeded was lost. */
	if (memcmp(text, l->text, sizeof(text)) == 0)
		return 0;
	if (!owner_text_is(text, sizeof(text)))
		return -EEXIST;
	owner_text_who(owner->who, text, sizeof(text));
	if (!owner_text_ended(text, sizeof(text)) && (l->age_s < 0 || l->age_s <= LEASE_S)) {
		size_t n = strlen(owner->who);

		if (l->age_s >= 0)
			snprintf(owner->who + n, sizeof(owner->who) - n,
				 " (a lease of %d s, renewed %lld s ago)", LEASE_S,
				 (long long)l->age_s);
		return -EBUSY;
	}
	rc = lease_replace(l, &refused);
	return refused ? -EBUSY : rc;
}

/* Whether the store heeds conditions: another one must not be made beside it. */
static int lease_prove(struct lease *l)
{
	char version[ANSWER_GENERATION_BYTES];
	bool refused;

	memcpy(version, l->version, sizeof(version));
	if (lease_put(l, "", &refused) == 0) {
		lease_delete(l);
		return -ENOLCK;
	}
	memcpy(l->version, version, sizeof(version));
	return 0;
}

static int lease_take(struct lease *l, struct owner *owner)
{
	bool refused;
	int rc = -EAGAIN;

	for (int i = 0; rc == -EAGAIN && i < LEASE_TRIES; i++) {
		rc = lease_put(l, "", &refused);
		if (rc == 0)
			return lease_prove(l);
		if (refused)
			rc = lease_contest(l, owner);
	}
	if (rc == -EAGAIN)
		snprintf(owner->who, sizeof(owner->who), "another process");
	return rc == -EAGAIN ? -EBUSY : rc;
}

static void *lease_keep(void *lease)
{
	struct lease *l = lease;
	bool refused;

	for (;;) {
		clock_sem_wait(&l->quit, clock_kernel_ns() + LEASE_RENEW_S * NS_PER_S);
		if (atomic_load(&l->aside.over) || l->lost)
			return NULL;
		lease_replace(l, &refused);
		l->lost = refused;
		if (refused)
			log_say(l->aside.store->log, LOG_WARNING,
				"%s/%s: another run has taken this folder over, because its lease was "
				"not renewed in time",
				l->aside.store->uri, l->object.key);
	}
}

static void lease_drop(struct owner *owner)
{
	struct lease *l = owner->lease;

	atomic_store(&l->aside.over, true);
	sem_post(&l->quit);
	pthread_join(l->thread, NULL);
	atomic_store(&l->aside.over, false);
	if (!l->lost && aside_channel(&l->aside))
		lease_delete(l);
	lease_close(l);
}

static struct lease *lease_new(const struct store *store, const char *folder, struct err *err)
{
	struct lease *l = calloc(1, sizeof(*l));
	size_t n = strlen(folder);

	if (!l) {
		err_set(err, -ENOMEM, "no memory for a lock");
		return NULL;
	}
	sem_init(&l->quit, 0, 0);
	snprintf(l->object.key, sizeof(l->object.key), "%.*s%s",
		 (int)(n && folder[n - 1] == '/' ? n - 1 : n), folder, OWNER_ENDING);
	owner_text(l->text);
	if (aside_open(&l->aside, store, err) == 0)
		return l;
	lease_close(l);
	return NULL;
}

int http_own(const struct store *store, const char *folder, struct owner *owner, struct err *err)
{
	struct lease *l = lease_new(store, folder, err);
	int rc = l ? lease_take(l, owner) : -ENOMEM;

	if (!l)
		return rc;
	if (rc == 0)
		rc = -pthread_create(&l->thread, NULL, lease_keep, l);
	if (rc == 0) {
		owner->lease = l;
		owner->drop = lease_drop;
		return 0;
	}
	if (rc == -ENOLCK)
		err_set(err, rc, "%s/%s: the store heeds no conditions such as If-None-Match",
			store->uri, l->object.key);
	else if (rc == -EEXIST)
		rc = err_set(
			err, -EINVAL,
			"%s/%s: is an object that haul did not make, where haul locks one of its own; move it",
			store->uri, l->object.key);
	else
		err_set(err, rc, "%s/%s: %s", store->uri, l->object.key,
			rc == -EBUSY ? owner->who : strerror(-rc));
	owner->look_ms = LEASE_LOOK_MS;
	lease_close(l);
	return rc;
}
