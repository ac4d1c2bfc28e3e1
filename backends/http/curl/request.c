/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/curl/request.h"

#include <string.h>
#include <strings.h>

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
