/* SPDX-License-Identifier: Apache-2.0 */
/* Transport on libcurl, for the store that chooses it. */
#ifndef HAUL_BACKENDS_HTTP_CURL_TRANSPORT_H
#define HAUL_BACKENDS_HTTP_CURL_TRANSPORT_H

#include "backends/http/wire/transport.h"

extern const struct transport_ops transport_curl;

/* Tunes the C library's heap for libcurl, for the whole process. Once, before any transport is
 * opened. */
void curl_process_begin(void);

#endif
