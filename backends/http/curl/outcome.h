/* How an exchange on libcurl ended: what its transport tells its caller. */
#ifndef HAUL_BACKENDS_HTTP_CURL_OUTCOME_H
#define HAUL_BACKENDS_HTTP_CURL_OUTCOME_H

#include <curl/curl.h>

#include "backends/http/wire/transport.h"

/* Status, fault and reason of x, which e carried and curl ended with code, and the bytes and connections
 * that it took. A fault that stands there already, and the error of a callback of x (x->ended), go before
 * code. Once, before e goes on to another exchange. */
void curl_outcome(CURL *e, struct exchange *x, CURLcode code);

/* Of a fault that haul and not curl found: status is a negative errno; why is a constant sentence. */
void exchange_fail(struct exchange *x, int status, enum request_fault fault, const char *why);

#endif
