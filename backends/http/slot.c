/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/slot.h"

#include <string.h>

void slot_request_begin(struct http_slot *s, enum http_method method)
{
	const struct http_store *http = s->channel->store;
	const struct server *v = slot_server(s);
	struct http_request *r = &s->request;
	char host[SERVER_HOST_BYTES + BUCKET_BYTES];
	struct text t = text_in(host, sizeof(host));
	const char *rest = strstr(s->redirected_to, "://");

	if (rest) {
		http_request_begin(r, s->buffer, sizeof(s->buffer), method,
				   strncmp(s->redirected_to, "https", 5) == 0 ? "https" : "http",
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

enum http_step slot_refuse(struct http_slot *s, int status, const char *why)
{
	s->req->answer.status = status;
	s->req->answer.why = why;
	return STEP_OVER;
}
