/* A channel: requests of the queue as exchanges, step by step. */
#include <errno.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "backends/http/http.h"

static int slots_open(struct http_channel *ch, uint32_t depth)
{
	ch->slots = calloc(depth, sizeof(*ch->slots));
	ch->free = calloc(depth, sizeof(struct slot *));
	ch->ready = calloc(depth, sizeof(struct request *));
	ch->ended = calloc(depth, sizeof(struct exchange *));
	if (!ch->slots || !ch->free || !ch->ready || !ch->ended)
		return -ENOMEM;
	for (uint32_t i = 0; i < depth; i++) {
		ch->slots[i].channel = ch;
		ch->slots[i].exchange.user = &ch->slots[i];
		ch->slots[i].exchange.consume = body_consume;
		if (ch->store->options->checksum != SUM_NONE && sum_open(&ch->slots[i].sum) < 0)
			return -ENOMEM;
		ch->free[ch->free_count++] = &ch->slots[i];
	}
	return 0;
}

int http_channel_open(struct channel *c, struct err *err)
{
	struct http_store *http = c->store->state;
	struct transport_options options = http->transport;
	struct http_channel *ch = calloc(1, sizeof(*ch));
	int rc = -ENOMEM;

	if (ch) {
		c->state = ch;
		ch->channel = c;
		ch->store = http;
		atomic_fetch_add(&http->depth, c->depth);
		options.together = &http->depth;
		options.depth = c->depth;
		options.connections = c->depth * http->servers.count;
		rc = slots_open(ch, c->depth);
		if (rc == 0)
			rc = sum_open(&ch->sum);
		if (rc == 0)
			rc = sign_v4_open(&ch->v4, err);
		if (rc == 0)
			rc = uploads_open(ch, c->depth);
	}
	if (rc < 0)
		err_set(err, rc, "no memory for a queue of depth %u", c->depth);
	else
		rc = transport_curl.open(&ch->transport, &options, err);
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
		ch->transport->ops->close(ch->transport);
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

/* What became of a request as a whole became of each key that has no answer of its own. */
static void settle_keys(const struct request *req)
{
	for (uint32_t i = 0; i < request_keys(req); i++) {
		struct request_key *k = &req->batch.keys[i];

		if (k->status != -EINPROGRESS)
			continue;
		k->status = req->answer.status;
		k->why = req->answer.why;
	}
}

static void finish(struct slot *s)
{
	struct http_channel *ch = s->channel;

	settle_keys(s->req);
	ch->free[ch->free_count++] = s;
	ch->ready[ch->ready_count++] = s->req;
}

void slot_target(struct slot *s, enum http_method method)
{
	const struct http_store *http = s->channel->store;
	const struct server *v = slot_server(s);
	struct http_request *r = &s->request;
	char host[SERVER_HOST_BYTES + BUCKET_BYTES];
	struct text t = text_in(host, sizeof(host));
	const char *rest = strstr(s->elsewhere, "://");

	if (rest) {
		http_request_begin(r, s->buffer, sizeof(s->buffer), method,
				   strncmp(s->elsewhere, "https", 5) == 0 ? "https" : "http",
				   rest + 3);
		return;
	}
	http_request_begin(r, s->buffer, sizeof(s->buffer), method, v->tls ? "https" : "http",
			   v->host);
	if (!http->virtual_host)
		return;
	text_add(&t, http->bucket);
	text_add_char(&t, '.');
	text_add(&t, v->host);
	r->host = http_request_keep(r, host, t.used);
}

/* The address that the slot's connections go to: slots spread over all, an attempt after a failure
 * goes to the next. */
static const struct address *address_of(const struct slot *s)
{
	const struct server *v = slot_server(s);
	uint64_t number = (uint64_t)(s - s->channel->slots) + s->req->answer.attempts - 1;

	return v->address_count && !s->elsewhere[0] ? &v->addresses[number % v->address_count]
						    : NULL;
}

/* For an answer that is a list: the reader is there, at its beginning. */
static int list_open(struct slot *s)
{
	if (!s->xml)
		return xml_open(&s->xml, s->channel->store->dialect->element, s);
	xml_reset(s->xml);
	return 0;
}

/* Begins the step's exchange; where that cannot be, the io is over. */
void slot_step(struct slot *s, enum http_step what)
{
	struct http_channel *ch = s->channel;
	struct exchange *x = &s->exchange;
	int rc;

	s->step = what;
	s->small_used = 0;
	s->embedded = false;
	s->sum.kind = SUM_NONE;
	s->sum_sent[0] = '\0';
	s->started_bytes = s->req->answer.done_bytes;
	x->produce = NULL;
	credentials_renew(&ch->store->credentials, &ch->credentials);
	rc = slot_lists(s) ? list_open(s) : 0;
	if (rc == 0)
		rc = ch->store->dialect->make(s);
	if (rc < 0) {
		s->req->answer.status = rc;
		s->req->answer.fault = REQ_FAULT_OTHER;
		finish(s);
		return;
	}
	x->address = address_of(s);
	ch->transport->ops->start(ch->transport, x);
}

void slot_done(struct slot *s, int status)
{
	s->req->answer.status = status;
	finish(s);
}

/* No folder holds anything by itself: it is gone with its last object. */
static bool names_folder(const struct object *o)
{
	size_t n = strnlen(o->key, OBJECT_KEY_BYTES);

	return n == 0 || o->key[n - 1] == '/';
}

bool http_asks(const struct channel *c, const struct request *req)
{
	const struct http_channel *ch = c->state;
	const struct upload *u;

	switch (req->op) {
	case REQ_OPEN:
		return ch->store->options->head_on_open;
	case REQ_CLOSE:
		return false;
	case REQ_READ:
		return req->length > req->answer.done_bytes;
	case REQ_DELETE:
		return req->batch.count || !names_folder(req->object);
	case REQ_BEGIN:
		return ch->store->dialect->begins && !upload_whole(ch, req) &&
		       !(req->begin.shared && req->begin.shared->id[0]);
	case REQ_ABORT:
		u = (const struct upload *)(uintptr_t)req->object->state[0];
		return u && !u->joined &&
		       (u->published || (u->id[0] && ch->store->dialect->begins));
	default:
		return true;
	}
}

static void list(struct slot *s)
{
	/* What an attempt before gave is not given again. */
	s->listed = 0;
	s->skip = s->req->answer.done_bytes;
	s->req->listing->more = false;
	slot_step(s, STEP_LIST);
}

static void delete_many(struct slot *s)
{
	struct request *req = s->req;

	s->answered = 0;
	for (uint32_t i = 0; i < req->batch.count; i++) {
		if (req->batch.keys[i].again)
			req->batch.keys[i].status = -EINPROGRESS;
	}
	if (s->channel->store->dialect->deleted)
		slot_step(s, STEP_DELETE_MANY);
	else
		slot_done(s, -ENOTSUP);
}

static void start(struct slot *s)
{
	struct request *req = s->req;

	switch (req->op) {
	case REQ_OPEN:
		if (s->channel->store->options->head_on_open) {
			slot_step(s, STEP_HEAD);
			break;
		}
		req->object->state[0] = OBJECT_OPEN;
		slot_done(s, 0);
		break;
	case REQ_CLOSE:
		upload_close(s);
		break;
	case REQ_READ:
		if (req->length == req->answer.done_bytes)
			slot_done(s, 0);
		else
			slot_step(s, STEP_GET);
		break;
	case REQ_STAT:
		slot_step(s, STEP_HEAD);
		break;
	case REQ_DELETE:
		if (req->batch.count)
			delete_many(s);
		else if (names_folder(req->object))
			slot_done(s, -ENOENT);
		else
			slot_step(s, STEP_DELETE);
		break;
	case REQ_BEGIN:
		upload_begin(s);
		break;
	case REQ_WRITE:
		upload_write(s);
		break;
	case REQ_COMMIT:
		upload_commit(s);
		break;
	case REQ_ABORT:
		upload_abort(s);
		break;
	case REQ_LIST:
		list(s);
		break;
	default:
		slot_done(s, -ENOTSUP);
	}
}

/* The answer of a step that succeeded: the io is over, or the next step begins. */
static void succeed(struct slot *s)
{
	const struct http_answer *a = &s->exchange.answer;
	struct request *req = s->req;

	req->answer.status = 0;
	req->answer.why = NULL;
	switch (s->step) {
	case STEP_HEAD:
		req->object->size = a->length == ANSWER_UNKNOWN ? 0 : a->length;
		if (req->op == REQ_OPEN)
			req->object->state[0] = OBJECT_OPEN;
		else
			req->answer.done_bytes = req->object->size;
		break;
	case STEP_GET:
		if (req->answer.done_bytes == req->length)
			break;
		/* A whole answer, and short: so is the object. */
		req->answer.status = -ENODATA;
		req->answer.fault = REQ_FAULT_OTHER;
		break;
	case STEP_DELETE_MANY:
		s->channel->store->dialect->deleted(s);
		break;
	default:
		break;
	}
	if (upload_succeeds(s))
		finish(s);
}

/* Elsewhere, signed anew: the same step again. False: not followed. */
static bool redirect(struct slot *s)
{
	const struct http_answer *a = &s->exchange.answer;
	const char *rest = strstr(a->location, "://");
	size_t n;

	if ((a->status != 307 && a->status != 308 && a->status != 302 && a->status != 301) ||
	    !rest || s->redirects++ >= REDIRECTS_MAX)
		return false;
	/* Never from TLS to none. */
	if (slot_server(s)->tls && strncmp(a->location, "https://", 8) != 0)
		return false;
	n = (size_t)(rest - a->location) + 3;
	n += strcspn(a->location + n, "/?");
	if (n >= sizeof(s->elsewhere))
		return false;
	memcpy(s->elsewhere, a->location, n);
	s->elsewhere[n] = '\0';
	slot_step(s, s->step);
	return true;
}

/* An error may come in an answer that is a success by its status. */
static bool small_answer(const struct slot *s)
{
	return s->embedded || (s->step != STEP_GET && s->step != STEP_HEAD && s->step != STEP_LIST);
}

/* What was to be dropped is not there, which is as well; or an attempt before has published it, and its
 * answer was lost: the size will tell. */
static bool gone(const struct slot *s)
{
	if (s->exchange.answer.status != 404)
		return false;
	return s->step == STEP_ABANDON || (s->step == STEP_DELETE && s->req->op == REQ_ABORT) ||
	       (s->step == STEP_COMPLETE && s->req->answer.attempts > 1);
}

/* For reasons that only a body names. */
static bool denied(uint16_t status)
{
	return status == 400 || status == 401 || status == 403;
}

static int settle_list(struct slot *s)
{
	int rc = xml_end(s->xml);

	if (rc == -EPROTO) {
		s->req->answer.why =
			s->step == STEP_LIST ? "the list is no XML" : "the answer is no XML";
		s->req->answer.fault = REQ_FAULT_OTHER;
	}
	return rc;
}

static void count(const struct slot *s)
{
	struct endpoint_counts *c = &s->channel->channel->counts[s->req->answer.endpoint];
	uint16_t status = s->exchange.answer.status;

	c->requests++;
	c->status[s->exchange.status < 0 || status >= ENDPOINT_STATUSES ? 0 : status]++;
}

static void ended(struct slot *s)
{
	struct exchange *x = &s->exchange;
	struct request *req = s->req;
	int rc = 0;

	count(s);
	req->answer.wire_bytes += x->wire_bytes;
	req->answer.connections += x->connections;
	req->answer.protocol_status = x->answer.status;
	if (!req->answer.first_byte_ns)
		req->answer.first_byte_ns = x->first_byte_ns;
	s->small[s->small_used] = '\0';
	if (x->status < 0) {
		fault_of_exchange(s);
	} else if (x->answer.status < 200 || x->answer.status >= 300) {
		if (redirect(s))
			return;
		if (gone(s)) {
			succeed(s);
			return;
		}
		if (s->step == STEP_HEAD && denied(x->answer.status)) {
			slot_step(s, STEP_EXPLAIN);
			return;
		}
		fault_of_answer(s);
	} else if (s->step == STEP_EXPLAIN) {
		req->answer.status = -EACCES;
		req->answer.fault = REQ_FAULT_DENIED;
		req->answer.why = "a GET is allowed, a HEAD is not";
	} else {
		if (slot_lists(s))
			rc = settle_list(s);
		if (rc == 0 && small_answer(s))
			rc = fault_in_success(s);
		if (rc == 0 && s->step == STEP_GET)
			rc = slot_sum_compare(s);
		if (rc == 0 && s->channel->store->dialect->read)
			rc = s->channel->store->dialect->read(s);
		if (rc == 0) {
			succeed(s);
			return;
		}
		req->answer.status = rc;
		req->answer.fault =
			req->answer.fault ? req->answer.fault : (uint8_t)REQ_FAULT_OTHER;
	}
	finish(s);
}

static void work(struct http_channel *ch, uint32_t min, uint64_t deadline_ns)
{
	uint32_t n = ch->transport->ops->poll(ch->transport, ch->ended, min, ch->channel->depth,
					      deadline_ns);

	for (uint32_t i = 0; i < n; i++)
		ended(ch->ended[i]->user);
}

void http_submit(struct channel *c, struct request *const *reqs, uint32_t n)
{
	struct http_channel *ch = c->state;

	for (uint32_t i = 0; i < n; i++) {
		struct slot *s = ch->free[--ch->free_count];

		s->req = reqs[i];
		s->redirects = 0;
		s->elsewhere[0] = '\0';
		start(s);
	}
	/* So that requests go out now, whenever the caller comes to reap. */
	work(ch, 0, 0);
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
		/* An exchange that ends may lead to another: its io is not ready for that. */
		work(ch, n < min ? 1 : 0, deadline_ns);
		if (!ch->ready_count && (n >= min || clock_now(c->store->clock) >= deadline_ns ||
					 ch->free_count == c->depth))
			return n;
	}
}
