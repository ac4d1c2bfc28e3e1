/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/channel.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "backends/http/body.h"
#include "backends/http/dialect.h"
#include "backends/http/fault.h"
#include "backends/http/kept.h"
#include "backends/http/listing.h"
#include "backends/http/sum.h"
#include "backends/http/upload.h"

enum { REDIRECTS_MAX = 4 };
/* Larger than what any of the stores takes. */
#define OBJECT_BYTES_MAX (UINT64_C(1) << 50)

static int channel_slots_open(struct http_channel *ch, uint32_t depth)
{
	ch->slots = calloc(depth, sizeof(*ch->slots));
	ch->free = calloc(depth, sizeof(struct http_slot *));
	ch->ready = calloc(depth, sizeof(struct request *));
	ch->ended = calloc(depth, sizeof(struct exchange *));
	if (!ch->slots || !ch->free || !ch->ready || !ch->ended)
		return -ENOMEM;
	for (uint32_t i = 0; i < depth; i++) {
		ch->slots[i].channel = ch;
		ch->slots[i].exchange.user = &ch->slots[i];
		ch->slots[i].exchange.place = body_place;
		ch->slots[i].exchange.consume = body_consume;
		if (ch->store->options->checksum != SUM_NONE && sum_open(&ch->slots[i].sum) < 0)
			return -ENOMEM;
		ch->free[ch->free_count++] = &ch->slots[i];
	}
	return 0;
}

static int channel_memory_open(struct http_channel *ch, uint32_t depth)
{
	int rc = channel_slots_open(ch, depth);

	if (rc == 0)
		rc = sum_open(&ch->sum);
	if (rc == 0)
		rc = uploads_open(ch, depth);
	return rc;
}

int http_channel_open(struct channel *c, struct err *err)
{
	struct http_store *http = c->store->state;
	struct transport_options options = http->transport_options;
	struct http_channel *ch = calloc(1, sizeof(*ch));
	int rc;

	if (!ch)
		return err_set(err, -ENOMEM, "no memory for a queue of depth %u", c->depth);
	c->state = ch;
	ch->channel = c;
	ch->store = http;
	atomic_fetch_add(&http->depth, c->depth);
	options.together = &http->depth;
	options.depth = c->depth;
	options.connections = c->depth * http->servers.count;
	rc = channel_memory_open(ch, c->depth);
	if (rc < 0)
		err_set(err, rc, "no memory for a queue of depth %u", c->depth);
	else
		rc = sign_v4_open(&ch->v4, err);
	if (rc == 0)
		rc = http_transport_open(http, &ch->transport, &options, err);
	if (rc < 0)
		http_channel_close(c);
	return rc;
}

void http_channel_close(struct channel *c)
{
	struct http_channel *ch = c->state;

	if (!ch)
		return;
	if (ch->transport)
		http_transport_close(ch->store, ch->transport);
	atomic_fetch_sub(&ch->store->depth, c->depth);
	for (uint32_t i = 0; ch->slots && i < c->depth; i++) {
		xml_close(ch->slots[i].xml);
		sum_close(&ch->slots[i].sum);
	}
	uploads_close(ch);
	OPENSSL_cleanse(&ch->credentials, sizeof(ch->credentials));
	sign_v4_close(&ch->v4);
	sum_close(&ch->sum);
	free(ch->slots);
	free(ch->free);
	free(ch->ready);
	free(ch->ended);
	free(ch);
	c->state = NULL;
}

/* A key that has no answer of its own gets that of the request. */
static void channel_answer_keys(const struct request *req)
{
	for (uint32_t i = 0; i < request_keys(req); i++) {
		struct request_key *k = &req->batch.keys[i];

		if (k->status != -EINPROGRESS)
			continue;
		k->status = req->answer.status;
		k->why = req->answer.why;
	}
}

static void channel_finish(struct http_slot *s)
{
	struct http_channel *ch = s->channel;

	channel_answer_keys(s->req);
	ch->free[ch->free_count++] = s;
	ch->ready[ch->ready_count++] = s->req;
}

/* The address that the slot connects to: slots are spread over all of a server's, and an attempt
 * after a failure goes to the next. */
static const struct address *channel_address(const struct http_slot *s)
{
	const struct server *v = slot_server(s);
	uint64_t number = (uint64_t)(s - s->channel->slots) + s->req->answer.attempts - 1;

	return v->address_count && !s->redirected_to[0] ? &v->addresses[number % v->address_count]
							: NULL;
}

/* An answer that is XML comes: its reader is there, at its beginning. */
static int channel_xml_begin(struct http_slot *s)
{
	if (!s->xml)
		return xml_open(&s->xml, s->channel->store->dialect->element, s);
	xml_reset(s->xml);
	return 0;
}

/* Time that a step takes goes into publish_ns where it makes an object visible. */
static bool channel_publishes(const struct http_slot *s)
{
	return s->step == STEP_COMPLETE || (s->step == STEP_PUT && s->req->op == REQ_COMMIT);
}

/* Whether the step decides if an upload is there. */
static bool channel_decides_upload(const struct http_slot *s)
{
	return (s->step == STEP_BEGIN || s->step == STEP_COMPLETE || s->step == STEP_ABANDON) &&
	       upload_of(s);
}

static int channel_make(struct http_slot *s)
{
	int rc = slot_reads_xml(s) ? channel_xml_begin(s) : 0;

	return rc < 0 ? rc : s->channel->store->dialect->make(s);
}

/* Begins the exchange of a step. Where the request is over, or the step cannot be made, it is
 * finished. */
static void channel_step(struct http_slot *s, enum http_step step)
{
	struct http_channel *ch = s->channel;
	struct exchange *x = &s->exchange;
	int rc;

	if (step == STEP_OVER) {
		channel_finish(s);
		return;
	}
	if (transport_gives_up(ch->transport)) {
		exchange_give_up(x);
		fault_of_exchange(s);
		channel_finish(s);
		return;
	}
	s->step = step;
	s->text_used = 0;
	s->error_in_content = false;
	s->sum.kind = SUM_NONE;
	s->sum_sent[0] = '\0';
	s->started_bytes = s->req->answer.done_bytes;
	x->supply = NULL;
	/* While it puts parts together, S3 sends a space now and then. */
	x->may_trickle = step == STEP_COMPLETE;
	credentials_renew(&ch->store->credentials, &ch->credentials);
	s->used = (struct credential_use){ch->credentials.generation, ch->credentials.c.expires};
	rc = channel_make(s);
	if (rc < 0) {
		s->req->answer.status = rc;
		s->req->answer.fault = REQ_FAULT_OTHER;
		channel_finish(s);
		return;
	}
	if (channel_decides_upload(s))
		upload_asked(s);
	s->step_ns = channel_publishes(s) ? clock_now(ch->channel->store->clock) : 0;
	x->address = channel_address(s);
	ch->transport->ops->start(ch->transport, x);
}

/* A folder holds nothing by itself: it is gone with its last object. */
static bool channel_names_folder(const struct object *o)
{
	size_t n = strnlen(o->key, OBJECT_KEY_BYTES);

	return n == 0 || o->key[n - 1] == '/';
}

bool http_asks(const struct channel *c, const struct request *req)
{
	const struct http_channel *ch = c->state;

	switch (req->op) {
	case REQ_OPEN:
		return ch->store->options->head_on_open;
	case REQ_CLOSE:
		return false;
	case REQ_READ:
		return req->length > req->answer.done_bytes;
	case REQ_DELETE:
		return req->batch.count || !channel_names_folder(req->object);
	case REQ_BEGIN:
	case REQ_COMMIT:
	case REQ_ABORT:
		return upload_asks(ch, req);
	default:
		return true;
	}
}

static enum http_step channel_delete(struct http_slot *s)
{
	struct request *req = s->req;

	if (!req->batch.count && channel_names_folder(req->object))
		return slot_refuse(s, -ENOENT, NULL);
	if (!req->batch.count)
		return STEP_DELETE;
	s->keys_answered = 0;
	for (uint32_t i = 0; i < req->batch.count; i++) {
		if (req->batch.keys[i].again)
			req->batch.keys[i].status = -EINPROGRESS;
	}
	if (!s->channel->store->dialect->deleted)
		return slot_refuse(s, -ENOTSUP, NULL);
	return STEP_DELETE_MANY;
}

/* The first step of a request. */
static enum http_step channel_first(struct http_slot *s)
{
	struct request *req = s->req;

	req->answer.status = 0;
	if (s->channel->of_bucket)
		return req->op == REQ_DELETE ? STEP_DROP : STEP_MAKE;
	switch (req->op) {
	case REQ_OPEN:
		if (s->channel->store->options->head_on_open)
			return STEP_HEAD;
		req->object->state[0] = OBJECT_OPEN;
		return STEP_OVER;
	case REQ_CLOSE:
		return upload_close(s);
	case REQ_READ:
		return req->length == req->answer.done_bytes ? STEP_OVER : STEP_GET;
	case REQ_STAT:
		return STEP_HEAD;
	case REQ_DELETE:
		return channel_delete(s);
	case REQ_BEGIN:
		return upload_begin(s);
	case REQ_WRITE:
		return upload_write(s);
	case REQ_COMMIT:
		return upload_commit(s);
	case REQ_ABORT:
		return upload_abort(s);
	case REQ_LIST:
		return listing_begin(s);
	default:
		return slot_refuse(s, -ENOTSUP, NULL);
	}
}

static enum http_step channel_fail(struct http_slot *s, int status, const char *why)
{
	s->req->answer.fault = REQ_FAULT_OTHER;
	return slot_refuse(s, status, why);
}

/* A HEAD has been answered: the object's size, if it can be one. */
static enum http_step channel_sized(struct http_slot *s)
{
	const struct http_answer *a = &s->exchange.answer;
	struct request *req = s->req;
	const char *why;

	if (a->length_malformed || a->length == ANSWER_UNKNOWN)
		return channel_fail(s, -EPROTO, "the server does not say how long the object is");
	if (a->length > OBJECT_BYTES_MAX)
		return channel_fail(
			s, -EPROTO,
			sentence_keep(&s->channel->store->sentences,
				      "the server says that the object is longer than any can be",
				      "the server says that the object has %llu bytes, which no "
				      "store holds",
				      (unsigned long long)a->length));
	why = upload_disproved(s);
	if (why) {
		/* An abort must not remove what is not this version. */
		upload_of(s)->published = false;
		return channel_fail(s, -EIO, why);
	}
	req->object->size = a->length;
	if (req->op == REQ_OPEN)
		req->object->state[0] = OBJECT_OPEN;
	else
		req->answer.done_bytes = a->length;
	return upload_next(s);
}

/* The step after one that was a success. */
static enum http_step channel_next(struct http_slot *s)
{
	struct request *req = s->req;

	req->answer.status = 0;
	req->answer.why = NULL;
	switch (s->step) {
	case STEP_HEAD:
		return channel_sized(s);
	case STEP_GET:
		/* A whole answer that is short: so is the object. */
		return req->answer.done_bytes == req->length ? STEP_OVER
							     : channel_fail(s, -ENODATA, NULL);
	case STEP_DELETE_MANY:
		s->channel->store->dialect->deleted(s);
		return STEP_OVER;
	case STEP_LIST:
	case STEP_PROBE:
		return listing_next(s);
	default:
		return upload_next(s);
	}
}

/* Bytes of the scheme and "://" of a location that haul goes to: never from TLS to none. 0: it does
 * not. */
static size_t channel_follows(const struct http_slot *s, const char *location)
{
	if (strncmp(location, "https://", 8) == 0)
		return 8;
	return strncmp(location, "http://", 7) == 0 && !slot_server(s)->tls ? 7 : 0;
}

/* Whether the step is to be repeated elsewhere, signed for there. */
static bool channel_redirected(struct http_slot *s)
{
	const struct http_answer *a = &s->exchange.answer;
	size_t n = channel_follows(s, a->location);

	if ((a->status != 307 && a->status != 308 && a->status != 302 && a->status != 301) || !n ||
	    s->redirects++ >= REDIRECTS_MAX)
		return false;
	n += strcspn(a->location + n, "/?#");
	if (n >= sizeof(s->redirected_to) || !text_url_shown(a->location))
		return false;
	memcpy(s->redirected_to, a->location, n);
	s->redirected_to[n] = '\0';
	return true;
}

/* Whether an error may come in an answer that is a success by its status. */
static bool channel_may_hold_error(const struct http_slot *s)
{
	return s->error_in_content || (s->step != STEP_GET && s->step != STEP_HEAD);
}

/* What was to be dropped is not there, which is as well. Or an earlier attempt has published the
 * object and its answer was lost: the size will tell. */
static bool channel_gone(const struct http_slot *s)
{
	if (s->exchange.answer.status != 404)
		return false;
	if (s->step == STEP_COMPLETE) {
		upload_of(s)->version[0] = upload_of(s)->etag[0] = '\0';
		return s->req->answer.attempts > 1;
	}
	return s->step == STEP_ABANDON || (s->step == STEP_DELETE && s->req->op == REQ_ABORT);
}

/* For reasons that only a body names, which a HEAD does not have. */
static bool channel_unexplained(const struct http_slot *s)
{
	uint16_t status = s->exchange.answer.status;

	return s->step == STEP_HEAD && (status == 400 || status == 401 || status == 403);
}

/* The step after an answer that is not a success. One of a gateway does not say what the server
 * behind it did. */
static enum http_step channel_refused(struct http_slot *s)
{
	uint16_t status = s->exchange.answer.status;

	if (channel_decides_upload(s) && status != 502 && status != 504)
		upload_of(s)->unanswered = false;
	if (channel_redirected(s))
		return s->step;
	if (channel_gone(s))
		return channel_next(s);
	if (channel_unexplained(s))
		return STEP_EXPLAIN;
	fault_of_answer(s);
	return STEP_OVER;
}

/* The step after an answer that is a success by its status. */
static enum http_step channel_answered(struct http_slot *s)
{
	const struct dialect *dialect = s->channel->store->dialect;
	struct request *req = s->req;
	bool refused = false;
	int rc = 0;

	if (s->step == STEP_EXPLAIN) {
		req->answer.fault = REQ_FAULT_DENIED;
		return slot_refuse(s, -EACCES, "a GET is allowed, a HEAD is not");
	}
	if (slot_reads_xml(s))
		rc = body_xml_end(s);
	if (rc == 0 && channel_may_hold_error(s)) {
		rc = fault_in_success(s);
		refused = rc < 0;
	}
	if (rc == 0 && s->step == STEP_GET)
		rc = slot_sum_compare(s);
	if (rc == 0 && dialect->read)
		rc = dialect->read(s);
	if (channel_decides_upload(s) && (rc == 0 || refused))
		upload_of(s)->unanswered = false;
	if (rc == 0)
		return channel_next(s);
	req->answer.status = rc;
	req->answer.fault = req->answer.fault ? req->answer.fault : (uint8_t)REQ_FAULT_OTHER;
	return STEP_OVER;
}

static void channel_count(const struct http_slot *s)
{
	struct endpoint_counts *c = &s->channel->channel->counts[s->req->answer.endpoint];
	uint16_t status = s->exchange.answer.status;

	c->requests++;
	c->status[s->exchange.status < 0 || status >= ENDPOINT_STATUSES ? 0 : status]++;
}

/* An exchange has ended: the step that follows. */
static enum http_step channel_ended(struct http_slot *s)
{
	struct exchange *x = &s->exchange;
	struct answer *answer = &s->req->answer;

	channel_count(s);
	answer->wire_bytes += x->wire_bytes;
	answer->connections += x->connections;
	answer->protocol_status = x->answer.status;
	if (!answer->first_byte_ns)
		answer->first_byte_ns = x->first_byte_ns;
	if (s->step_ns)
		answer->publish_ns += clock_now(s->channel->channel->store->clock) - s->step_ns;
	s->text[s->text_used] = '\0';
	if (x->status < 0) {
		/* Nobody was asked, so nothing has begun. */
		if (s->step == STEP_BEGIN && x->fault == REQ_FAULT_CONNECT)
			upload_of(s)->unanswered = false;
		fault_of_exchange(s);
		return STEP_OVER;
	}
	if (x->answer.status < 200 || x->answer.status >= 300)
		return channel_refused(s);
	return channel_answered(s);
}

static void channel_work(struct http_channel *ch, uint32_t min, uint64_t deadline_ns)
{
	uint32_t n = ch->transport->ops->poll(ch->transport, ch->ended, min, ch->channel->depth,
					      deadline_ns);

	for (uint32_t i = 0; i < n; i++) {
		struct http_slot *s = ch->ended[i]->user;

		channel_step(s, channel_ended(s));
	}
}

void http_submit(struct channel *c, struct request *const *reqs, uint32_t n)
{
	struct http_channel *ch = c->state;

	for (uint32_t i = 0; i < n; i++) {
		struct http_slot *s = ch->free[--ch->free_count];

		s->req = reqs[i];
		s->redirects = 0;
		s->redirected_to[0] = '\0';
		channel_step(s, channel_first(s));
	}
	/* So that requests go out now, whenever the caller comes to reap. */
	if (!ch->transport->ops->sends)
		channel_work(ch, 0, 0);
}

uint32_t http_reap(struct channel *c, struct request **done, uint32_t min, uint32_t max,
		   uint64_t deadline_ns)
{
	struct http_channel *ch = c->state;
	uint32_t n = 0;

	for (;;) {
		while (n < max && ch->ready_count)
			done[n++] = ch->ready[--ch->ready_count];
		if (n == max || (n && n >= min))
			return n;
		/* An exchange that ends may lead to another, and then no request is ready yet. */
		channel_work(ch, n < min ? 1 : 0, deadline_ns);
		if (!ch->ready_count && (n >= min || clock_now(c->store->clock) >= deadline_ns ||
					 ch->free_count == c->depth))
			return n;
	}
}
