/* One request and its answer, waited for: metadata services and token servers. And whole small files.
 * Not for the data path. */
#ifndef HAUL_BACKENDS_HTTP_AUTH_FETCH_H
#define HAUL_BACKENDS_HTTP_AUTH_FETCH_H

#include "backends/http/wire/transport.h"

/* headers: NULL-terminated, or NULL. body: text, or NULL. The answer's body is put into out, terminated.
 * -EPROTO: another status than 200; -EMSGSIZE: it did not fit. */
int fetch_text(const struct transport_options *options, enum http_method method, const char *url,
	       const char *const *headers, const char *body, char *out, size_t size,
	       struct err *err);

/* A file's text, terminated. The caller frees it. -EFBIG: more than max bytes. */
int file_text(const char *name, size_t max, char **out);

#endif
