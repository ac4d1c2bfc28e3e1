/* SPDX-License-Identifier: Apache-2.0 */
/* One request and its answer, waited for: for metadata services and token servers, not for the data
 * path. And whole small files. */
#ifndef HAUL_BACKENDS_HTTP_AUTH_FETCH_H
#define HAUL_BACKENDS_HTTP_AUTH_FETCH_H

#include "backends/http/auth/credentials.h"

/* By the transport of the source. headers: NULL-terminated, or NULL. body: a text, or NULL. The
 * body of the answer goes to out, terminated. -EPROTO: the status is not 200; -EMSGSIZE: the body
 * did not fit. */
int fetch_text(const struct credential_source *s, enum http_method method, const char *url,
	       const char *const *headers, const char *body, char *out, size_t size,
	       struct err *err);

/* Reads a whole file as text, terminated. The caller frees it. -EFBIG: it is longer than max
 * bytes. */
int file_text(const char *name, size_t max, char **out);

#endif
