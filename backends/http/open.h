/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, describing and closing a store behind HTTP. */
#ifndef HAUL_BACKENDS_HTTP_OPEN_H
#define HAUL_BACKENDS_HTTP_OPEN_H

#include "backends/http/dialect.h"

/* For struct backend_ops: a dialect's own open calls http_open. */
int http_open(struct store *store, const struct dialect *dialect, struct err *err);
void http_close(struct store *store);
void http_describe(const struct store *store, struct store_facts *facts);
void http_process_begin(void);

#endif
