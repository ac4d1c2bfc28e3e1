/* SPDX-License-Identifier: Apache-2.0 */
/* Transport on libcurl: its multi interface driven by epoll, one easy handle for each exchange at
 * once. Bytes that come are copied once, from libcurl's buffer into the consumer's. */
#include "backends/http/curl/transport.h"

#include <curl/curl.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "backends/http/curl/ahead.h"
#include "backends/http/curl/internal.h"
#include "backends/http/wire/certificate.h"
#include "core/clock_wait.h"
#include "core/numbers.h"
#include "core/time_ns.h"

/* How a transfer on libcurl ended, in haul's terms. */

/* Why a certificate was not accepted. */
static const char *curl_tls_reason(CURL *e, CURLcode code)
{
	const char *refusal;
	long result = 0;

	if (code == CURLE_SSL_CACERT_BADFILE)
		return CERTIFICATE_NO_BUNDLE;
	curl_easy_getinfo(e, CURLINFO_SSL_VERIFYRESULT, &result);
	refusal = certificate_refusal(result);
	if (refusal)
		return refusal;
	return code == CURLE_PEER_FAILED_VERIFICATION ? CERTIFICATE_OTHER_HOST : CERTIFICATE_NO_TLS;
}

static void curl_classify_tls(CURL *e, struct exchange *x, CURLcode code, long os)
{
	/* A server that dies in the handshake looks like this. */
	if (code == CURLE_SSL_CONNECT_ERROR && (os == ECONNRESET || os == EPIPE))
		exchange_fail(x, (int)-os, REQ_FAULT_CONNECT, "it broke in the handshake");
	else
		exchange_fail(x, -EPROTO, REQ_FAULT_TLS, curl_tls_reason(e, code));
}

/* The request went out, and libcurl ran out of room for a line of the answer's head: 7.88 calls
 * that no memory. */
static bool curl_line_too_long(const struct curl_handle *h, CURLcode code)
{
#if LIBCURL_VERSION_NUM >= 0x080600
	if (code == CURLE_TOO_LARGE)
		return true;
#endif
	return code == CURLE_OUT_OF_MEMORY && h->sendings;
}

/* What came back is not an answer of HTTP/1.x. */
static bool curl_not_http(const struct curl_handle *h, CURLcode code)
{
	return code == CURLE_WEIRD_SERVER_REPLY || code == CURLE_FILESIZE_EXCEEDED ||
	       (code == CURLE_UNSUPPORTED_PROTOCOL && h->sendings);
}

static void curl_classify(const struct curl_handle *h, CURLcode code)
{
	struct exchange *x = h->exchange;
	long os = 0;

	curl_easy_getinfo(h->easy, CURLINFO_OS_ERRNO, &os);
	if (curl_line_too_long(h, code)) {
		exchange_fail(x, -EPROTO, REQ_FAULT_OTHER,
			      "a line in the head of the answer is too long");
		return;
	}
	if (curl_not_http(h, code)) {
		exchange_fail(x, -EPROTO, REQ_FAULT_BROKEN, "the answer is not HTTP/1.1");
		return;
	}
	switch (code) {
	case CURLE_OK:
		break;
	case CURLE_COULDNT_RESOLVE_HOST:
		exchange_fail(x, -EHOSTUNREACH, REQ_FAULT_CONNECT, "its name is not known");
		break;
	case CURLE_COULDNT_CONNECT:
		exchange_fail(x, os ? (int)-os : -ECONNREFUSED, REQ_FAULT_CONNECT, NULL);
		break;
	case CURLE_OPERATION_TIMEDOUT:
		exchange_fail(x, -ETIMEDOUT, REQ_FAULT_CONNECT, NULL);
		break;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_ISSUER_ERROR:
		curl_classify_tls(h->easy, x, code, os);
		break;
	case CURLE_OUT_OF_MEMORY:
		exchange_fail(x, -ENOMEM, REQ_FAULT_OTHER, NULL);
		break;
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_FAILED_INIT:
		exchange_fail(x, -EINVAL, REQ_FAULT_OTHER, "libcurl takes no such request");
		break;
	default: /* less than a whole answer was received or sent */
		exchange_fail(x, -ECONNRESET, REQ_FAULT_BROKEN, "the connection broke");
	}
}

static void curl_measure(CURL *e, struct exchange *x)
{
	curl_off_t down = 0, up = 0;
	long heads = 0, asked = 0, connects = 0;

	curl_easy_getinfo(e, CURLINFO_SIZE_DOWNLOAD_T, &down);
	curl_easy_getinfo(e, CURLINFO_SIZE_UPLOAD_T, &up);
	curl_easy_getinfo(e, CURLINFO_HEADER_SIZE, &heads);
	curl_easy_getinfo(e, CURLINFO_REQUEST_SIZE, &asked);
	curl_easy_getinfo(e, CURLINFO_NUM_CONNECTS, &connects);
	x->wire_bytes = (uint64_t)down + (uint64_t)up + (uint64_t)heads + (uint64_t)asked;
	x->connections = (uint32_t)connects;
}

/* Sets status, fault and reason of the handle's exchange, which libcurl ended with code, and the
 * bytes and connections that it took. A fault that is set already, and what a callback of the
 * exchange returned, count more than code. Once per exchange, before the handle goes on to
 * another. */
static void curl_outcome(struct curl_handle *h, CURLcode code)
{
	struct exchange *x = h->exchange;

	curl_measure(h->easy, x);
	if (x->fault != REQ_FAULT_NONE || h->ended == EXCHANGE_ENOUGH)
		return;
	/* The first sending broke; the second was denied. */
	if (h->sendings && code == CURLE_COULDNT_CONNECT)
		code = CURLE_RECV_ERROR;
	if (h->ended < 0)
		x->status = h->ended;
	else
		curl_classify(h, code);
}

enum {
	CURL_EVENTS = 64,
	CURL_RECEIVED_BYTES = 12 << 20, /* of all exchanges under way */
	CURL_SENT_BYTES = 8 << 20,
	CURL_BUFFER_MIN = 16 << 10, /* libcurl's own least, of what is sent */
	CURL_BUFFER_MAX = 512 << 10
};
#define CURL_CHECK_NS (100 * NS_PER_MS)

static int curl_transport_open(struct transport **out, const struct transport_options *options,
			       struct err *err);
static void curl_transport_close(struct transport *base);
static void curl_transport_start(struct transport *base, struct exchange *x);
static uint32_t curl_transport_poll(struct transport *base, struct exchange **ended, uint32_t min,
				    uint32_t max, uint64_t deadline_ns);

const struct transport_ops transport_curl = {
	.name = "libcurl",
	.copies = 1,
	.copies_tls = 2,
	.open = curl_transport_open,
	.close = curl_transport_close,
	.start = curl_transport_start,
	.poll = curl_transport_poll,
};

/* libcurl frees its buffers after each exchange. The heap keeps that memory: fetching its pages
 * back from the kernel would cost as much as the exchange. */
void curl_process_begin(void)
{
	mallopt(M_MMAP_THRESHOLD, 4 * CURL_BUFFER_MAX);
	mallopt(M_TRIM_THRESHOLD, 4 * CURL_RECEIVED_BYTES);
}

static int curl_handles_open(struct curl_transport *t)
{
	uint32_t depth = t->base.options.depth;

	t->handles = calloc(depth, sizeof(*t->handles));
	t->free = calloc(depth, sizeof(struct curl_handle *));
	t->ended = calloc(depth, sizeof(struct exchange *));
	t->moved = calloc(depth, sizeof(struct curl_handle *));
	t->watched = calloc(CURL_SOCKETS_MAX, sizeof(*t->watched));
	t->idle = calloc(CURL_SOCKETS_MAX, sizeof(*t->idle));
	t->user = calloc(CURL_SOCKETS_MAX, sizeof(struct curl_handle *));
	t->kept = calloc(CURL_SOCKETS_MAX, sizeof(*t->kept));
	if (!t->handles || !t->free || !t->ended || !t->moved || !t->watched || !t->idle ||
	    !t->user || !t->kept)
		return -ENOMEM;
	for (uint32_t i = 0; i < depth; i++) {
		struct curl_handle *h = &t->handles[i];

		h->owner = t;
		h->easy = curl_easy_init();
		if (!h->easy)
			return -ENOMEM;
		curl_handle_set(h);
		t->free[t->free_count++] = h;
	}
	return 0;
}

static int curl_transport_open(struct transport **out, const struct transport_options *options,
			       struct err *err)
{
	struct curl_transport *t;
	int rc;

	*out = NULL;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(err, -ENOMEM, "libcurl does not start");
	t = calloc(1, sizeof(*t));
	if (!t) {
		curl_global_cleanup();
		return transport_not_opened(-ENOMEM, options, err);
	}
	t->base = (struct transport){.ops = &transport_curl, .options = *options};
	t->shares = curl_version_info(CURLVERSION_NOW)->version_num >= 0x080700;
	t->ahead = curl_ahead_possible();
	t->timer_ns = UINT64_MAX;
	t->now_ns = clock_now(options->clock);
	t->multi = curl_multi_init();
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	rc = t->epoll < 0 ? -errno : !t->multi ? -ENOMEM : curl_handles_open(t);
	if (rc < 0) {
		curl_transport_close(&t->base);
		return transport_not_opened(rc, options, err);
	}
	curl_sockets_set(t);
	*out = &t->base;
	return 0;
}

static void curl_transport_close(struct transport *base)
{
	struct curl_transport *t = (struct curl_transport *)base;

	for (uint32_t i = 0; t->handles && i < base->options.depth; i++) {
		if (t->handles[i].exchange)
			curl_multi_remove_handle(t->multi, t->handles[i].easy);
		curl_easy_cleanup(t->handles[i].easy);
	}
	curl_multi_cleanup(t->multi);
	if (t->epoll >= 0)
		close(t->epoll);
	free(t->handles);
	free(t->free);
	free(t->ended);
	free(t->moved);
	free(t->watched);
	free(t->idle);
	free(t->user);
	free(t->kept);
	free(t);
	curl_global_cleanup();
}

/* Buffer of one exchange: large, so that content takes few calls, and smaller where many go on at
 * once. */
static long curl_buffer_bytes(const struct curl_transport *t, uint64_t all)
{
	const struct transport_options *o = &t->base.options;
	uint64_t bytes = all / (o->together ? atomic_load(o->together) : o->depth);

	if (bytes > CURL_BUFFER_MAX)
		return CURL_BUFFER_MAX;
	return bytes < CURL_BUFFER_MIN ? CURL_BUFFER_MIN : (long)bytes;
}

/* libcurl allocates both buffers when an exchange begins, and frees them at its end. Answers to
 * writes are short. */
static void curl_buffers_set(struct curl_handle *h, const struct exchange *x)
{
	long receive = x->method != HTTP_GET ? CURL_BUFFER_MIN
		       : h->owner->shares    ? CURL_BUFFER_MAX
					     : curl_buffer_bytes(h->owner, CURL_RECEIVED_BYTES);

	curl_easy_setopt(h->easy, CURLOPT_BUFFERSIZE, receive);
	if (x->send_bytes)
		curl_easy_setopt(h->easy, CURLOPT_UPLOAD_BUFFERSIZE,
				 curl_buffer_bytes(h->owner, CURL_SENT_BYTES));
}

/* libcurl writes it as "::" and the address: whatever the host of the URL. */
static void curl_address_set(struct curl_handle *h, const struct address *a)
{
	const char *text = a ? a->text : "";

	if (strcmp(h->connect_to[0] ? h->connect_to + 2 : "", text) == 0)
		return;
	h->connect_to[0] = '\0';
	if (a) {
		memcpy(h->connect_to, "::", 2);
		memcpy(h->connect_to + 2, text, strlen(text) + 1);
		h->to = (struct curl_slist){.data = h->connect_to};
	}
	curl_easy_setopt(h->easy, CURLOPT_CONNECT_TO, a ? &h->to : NULL);
}

static void curl_end(struct curl_transport *t, struct curl_handle *h, CURLcode code);

static void curl_transport_start(struct transport *base, struct exchange *x)
{
	struct curl_transport *t = (struct curl_transport *)base;
	struct curl_handle *h = t->free[--t->free_count];

	exchange_begin(x);
	h->exchange = x;
	h->sent_bytes = 0;
	h->ended = 0;
	h->sendings = 0;
	h->socket = -1;
	h->head_bytes = 0;
	h->connected = false;
	h->ahead = t->ahead && strncmp(x->url, "https:", 6) == 0;
	curl_easy_setopt(h->easy, CURLOPT_URL, x->url);
	curl_address_set(h, x->address);
	curl_request_set(h->easy, x, h->headers);
	curl_buffers_set(h, x);
	t->active++;
	if (curl_multi_add_handle(t->multi, h->easy) != CURLM_OK)
		curl_end(t, h, CURLE_FAILED_INIT);
}

static void curl_end(struct curl_transport *t, struct curl_handle *h, CURLcode code)
{
	struct exchange *x = h->exchange;

	curl_outcome(h, code);
	curl_multi_remove_handle(t->multi, h->easy);
	if (!curl_quiet(t, h->socket) && x->status == 0)
		exchange_fail(x, -EPROTO, REQ_FAULT_BROKEN,
			      "bytes came behind the end of the server's answer");
	h->exchange = NULL;
	t->free[t->free_count++] = h;
	t->active--;
	t->ended[t->ended_count++] = x;
}

static void curl_collect(struct curl_transport *t)
{
	struct curl_handle *h;
	CURLMsg *m;
	CURLcode code;
	int left;

	while ((m = curl_multi_info_read(t->multi, &left)) != NULL) {
		if (m->msg != CURLMSG_DONE)
			continue;
		code = m->data.result;
		h = NULL;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&h);
		curl_end(t, h, code);
	}
}

/* Ends what has stalled. Connecting has its limit in libcurl. */
static void curl_check_pace(struct curl_transport *t)
{
	const struct transport_options *o = &t->base.options;
	bool give_up;

	if (t->now_ns < t->check_ns)
		return;
	t->check_ns = t->now_ns + CURL_CHECK_NS;
	give_up = transport_gives_up(&t->base);
	for (uint32_t i = 0; i < o->depth; i++) {
		struct curl_handle *h = &t->handles[i];

		if (h->exchange && give_up) {
			exchange_give_up(h->exchange);
			curl_end(t, h, CURLE_OPERATION_TIMEDOUT);
		} else if (h->exchange && h->connected &&
			   exchange_stalled(h->exchange, &o->stall, h->sent_bytes, t->now_ns))
			curl_end(t, h, CURLE_OPERATION_TIMEDOUT);
	}
}

/* Goes on until what TLS has read ahead is used up: no event tells of it. */
static void curl_act_ahead(struct curl_transport *t)
{
	struct curl_handle *h;
	uint64_t before;
	int running;

	while (t->moved_count) {
		h = t->moved[--t->moved_count];
		h->moved = false;
		do {
			before = t->records;
			if (!h->exchange || !curl_ahead_left(h->easy))
				break;
			curl_multi_socket_action(t->multi, h->socket, CURL_CSELECT_IN, &running);
			curl_collect(t);
		} while (t->records != before);
	}
}

static void curl_act(struct curl_transport *t, const struct epoll_event *events, int n)
{
	int running;

	for (int i = 0; i < n; i++) {
		int fd = events[i].data.fd;
		int what = (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
			   (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
			   (events[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);

		/* The server ended a connection that was kept: libcurl finds out when it is about
		 * to use it. */
		if (fd < CURL_SOCKETS_MAX && t->idle[fd]) {
			curl_quiet(t, fd);
			curl_unwatch(t, fd);
		} else {
			curl_multi_socket_action(t->multi, fd, what, &running);
		}
		if (fd < CURL_SOCKETS_MAX && t->user[fd])
			curl_note_moved(t->user[fd]);
	}
	if (t->now_ns >= t->timer_ns) {
		t->timer_ns = UINT64_MAX;
		curl_multi_socket_action(t->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	}
	curl_collect(t);
	curl_act_ahead(t);
	curl_check_pace(t);
}

/* Milliseconds until something must be done, rounded up. */
static int curl_wait_ms(const struct curl_transport *t, uint64_t deadline_ns)
{
	uint64_t until = min_u64(deadline_ns, t->timer_ns);

	if (t->active && until > t->check_ns)
		until = t->check_ns;
	if (until <= t->now_ns)
		return 0;
	until = (until - t->now_ns + NS_PER_MS - 1) / NS_PER_MS;
	return (int)min_u64(until, 1000);
}

static uint32_t curl_give_back(struct curl_transport *t, struct exchange **ended, uint32_t max)
{
	uint32_t n = 0;

	while (n < max && t->ended_count)
		ended[n++] = t->ended[--t->ended_count];
	return n;
}

static uint32_t curl_transport_poll(struct transport *base, struct exchange **ended, uint32_t min,
				    uint32_t max, uint64_t deadline_ns)
{
	struct curl_transport *t = (struct curl_transport *)base;
	struct epoll_event events[CURL_EVENTS];
	uint32_t n = 0;
	int ready;

	t->now_ns = clock_now(base->options.clock);
	for (;;) {
		n += curl_give_back(t, ended + n, max - n);
		ready = clock_epoll_wait(t->epoll, events, CURL_EVENTS,
					 n >= min ? 0 : curl_wait_ms(t, deadline_ns));
		t->now_ns = clock_now(base->options.clock);
		curl_act(t, events, max_int(ready, 0));
		n += curl_give_back(t, ended + n, max - n);
		if (n >= min || !t->active || t->now_ns >= deadline_ns)
			return n;
	}
}
