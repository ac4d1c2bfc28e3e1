/* What an exchange sends, told to curl: method, length of the body, headers; none of curl's own beside. */
#ifndef HAUL_BACKENDS_HTTP_CURL_REQUEST_H
#define HAUL_BACKENDS_HTTP_CURL_REQUEST_H

#include <curl/curl.h>

#include "backends/http/wire/transport.h"

enum {
	CURL_REQUEST_OWN = 3, /* headers of curl's that are left out */
	CURL_REQUEST_HEADERS = EXCHANGE_HEADERS + CURL_REQUEST_OWN
};

/* nodes: [CURL_REQUEST_HEADERS], with the exchange's lines in them until it ends. */
void curl_request_set(CURL *easy, const struct exchange *x, struct curl_slist *nodes);

#endif
