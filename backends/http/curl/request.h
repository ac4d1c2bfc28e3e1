/* SPDX-License-Identifier: Apache-2.0 */
/* The request of an exchange, handed to libcurl: method, length of the body, and headers, none of
 * libcurl's own among them. */
#ifndef HAUL_BACKENDS_HTTP_CURL_REQUEST_H
#define HAUL_BACKENDS_HTTP_CURL_REQUEST_H

#include <curl/curl.h>

#include "backends/http/wire/exchange.h"

enum {
	CURL_REQUEST_OWN = 3, /* headers of libcurl's own that are left out */
	CURL_REQUEST_HEADERS = EXCHANGE_HEADERS + CURL_REQUEST_OWN
};

/* nodes: [CURL_REQUEST_HEADERS]; they point to the exchange's lines until it ends. */
void curl_request_set(CURL *easy, const struct exchange *x, struct curl_slist *nodes);

#endif
