/* SPDX-License-Identifier: Apache-2.0 */
/* How a transfer on libcurl ended, in haul's terms. */
#ifndef HAUL_BACKENDS_HTTP_CURL_OUTCOME_H
#define HAUL_BACKENDS_HTTP_CURL_OUTCOME_H

#include "backends/http/curl/internal.h"

/* Sets status, fault and reason of the handle's exchange, which libcurl ended with code, and the
 * bytes and connections that it took. A fault that is set already, and what a callback of the
 * exchange returned, count more than code. Once per exchange, before the handle goes on to
 * another. */
void curl_outcome(struct curl_handle *h, CURLcode code);

#endif
