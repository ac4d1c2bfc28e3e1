/* SPDX-License-Identifier: Apache-2.0 */
/* One transfer on libcurl: its callbacks, and the settings that hold for every exchange. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "backends/http/curl/ahead.h"
#include "backends/http/curl/internal.h"
#include "core/numbers.h"
#include "core/time_ns.h"

#define CURL_IDLE_MAX_S 3600L

static int curl_on_sending(void *handle, char *to, char *from, int to_port, int from_port)
{
	struct curl_handle *h = handle;

	(void)to;
	(void)from;
	(void)to_port;
	(void)from_port;
	h->connected = true;
	stall_begin(&h->exchange->stall, h->owner->now_ns);
	return h->sendings++ ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

void curl_note_moved(struct curl_handle *h)
{
	struct curl_transport *t = h->owner;

	if (!h->ahead || h->moved)
		return;
	h->moved = true;
	t->moved[t->moved_count++] = h;
}

static size_t curl_on_header(char *line, size_t size, size_t n, void *handle)
{
	struct curl_handle *h = handle;
	struct exchange *x = h->exchange;

	stall_move(&x->stall, size * n, h->owner->now_ns);
	curl_note_moved(h);
	h->head_bytes += (uint32_t)(size * n);
	if (h->head_bytes > ANSWER_HEAD_BYTES) {
		exchange_fail(x, -EPROTO, REQ_FAULT_OTHER, "the head of the answer is too long");
		return 0;
	}
	if (!x->first_byte_ns)
		x->first_byte_ns = clock_now(h->owner->base.options.clock);
	answer_line(&x->answer, line, size * n);
	return size * n;
}

static size_t curl_on_body(char *data, size_t size, size_t n, void *handle)
{
	struct curl_handle *h = handle;
	struct exchange *x = h->exchange;
	int rc = x->consume ? x->consume(x, data, size * n) : 0;

	stall_move(&x->stall, size * n, h->owner->now_ns);
	x->received_bytes += size * n;
	curl_note_moved(h);
	if (rc == 0)
		return size * n;
	h->ended = rc;
	return 0; /* fewer than came: libcurl ends the transfer */
}

static size_t curl_on_send(char *to, size_t size, size_t n, void *handle)
{
	struct curl_handle *h = handle;
	struct exchange *x = h->exchange;
	uint64_t room = size * n, left = x->send_bytes - h->sent_bytes, bytes;
	const void *from;
	int rc;

	room = min_u64(room, left);
	for (left = room; left; left -= bytes) {
		rc = x->supply(x, h->sent_bytes, &from, &bytes);
		if (rc < 0) {
			h->ended = rc;
			return CURL_READFUNC_ABORT;
		}
		bytes = min_u64(bytes, left);
		memcpy(to + (room - left), from, bytes);
		h->sent_bytes += bytes;
	}
	stall_move(&x->stall, room, h->owner->now_ns);
	return room;
}

/* For the second sending that curl_on_sending refuses. */
static int curl_on_seek(void *handle, curl_off_t to, int origin)
{
	(void)handle;
	return to == 0 && origin == SEEK_SET ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

static void curl_callbacks_set(struct curl_handle *h)
{
	CURL *e = h->easy;

	curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, curl_on_sending);
	curl_easy_setopt(e, CURLOPT_PREREQDATA, h);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, curl_on_header);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, h);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, curl_on_body);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, h);
	curl_easy_setopt(e, CURLOPT_READFUNCTION, curl_on_send);
	curl_easy_setopt(e, CURLOPT_READDATA, h);
	curl_easy_setopt(e, CURLOPT_SEEKFUNCTION, curl_on_seek);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, curl_on_open);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, h);
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETFUNCTION, curl_on_close);
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETDATA, h->owner);
}

void curl_handle_set(struct curl_handle *h)
{
	const struct transport_options *o = &h->owner->base.options;
	CURL *e = h->easy;

	curl_easy_setopt(e, CURLOPT_PRIVATE, h);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(e, CURLOPT_PROXY, "");
	curl_easy_setopt(e, CURLOPT_USERAGENT, "haul");
	curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(e, CURLOPT_MAXAGE_CONN, CURL_IDLE_MAX_S);
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)(o->connect_ns / NS_PER_MS));
	curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, o->insecure ? 0L : 1L);
	curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, o->insecure ? 0L : 2L);
	if (o->ca)
		curl_easy_setopt(e, CURLOPT_CAINFO, o->ca);
	if (h->owner->ahead)
		curl_ahead_set(e, &h->owner->records);
	curl_callbacks_set(h);
}

/* The headers of the exchange, without those that libcurl would add. */
static void curl_headers_set(CURL *easy, const struct exchange *x, struct curl_slist *nodes)
{
	static const char *const left_out[CURL_REQUEST_OWN] = {
		"Accept:", "Expect:", "Content-Type:"};
	uint32_t n = 0;

	for (uint32_t i = 0; i < x->header_count; i++)
		nodes[n++].data = (char *)x->headers[i];
	/* libcurl adds the others only with a body. */
	for (uint32_t i = 0;
	     i < (x->method == HTTP_PUT || x->method == HTTP_POST ? CURL_REQUEST_OWN : 1); i++) {
		uint32_t k;

		for (k = 0; k < x->header_count; k++) {
			if (strncasecmp(x->headers[k], left_out[i], strlen(left_out[i])) == 0)
				break;
		}
		if (k == x->header_count)
			nodes[n++].data = (char *)left_out[i];
	}
	for (uint32_t i = 0; i < n; i++)
		nodes[i].next = i + 1 < n ? &nodes[i + 1] : NULL;
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, nodes);
}

static void curl_method_set(CURL *e, const struct exchange *x)
{
	curl_easy_setopt(e, CURLOPT_HTTPGET, 1L);
	curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, x->method == HTTP_DELETE ? "DELETE" : NULL);
	if (x->method == HTTP_HEAD)
		curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
	if (x->method == HTTP_PUT) {
		curl_easy_setopt(e, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(e, CURLOPT_INFILESIZE_LARGE, (curl_off_t)x->send_bytes);
	}
	if (x->method == HTTP_POST) {
		curl_easy_setopt(e, CURLOPT_POST, 1L);
		curl_easy_setopt(e, CURLOPT_POSTFIELDS, NULL);
		curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)x->send_bytes);
	}
}

void curl_request_set(CURL *easy, const struct exchange *x, struct curl_slist *nodes)
{
	curl_headers_set(easy, x, nodes);
	curl_method_set(easy, x);
}
