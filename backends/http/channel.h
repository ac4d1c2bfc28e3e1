/* SPDX-License-Identifier: Apache-2.0 */
/* Channel of a store behind HTTP, for struct backend_ops: requests of the queue as exchanges, step
 * by step. */
#ifndef HAUL_BACKENDS_HTTP_CHANNEL_H
#define HAUL_BACKENDS_HTTP_CHANNEL_H

#include "backends/backend.h"

int http_channel_open(struct channel *c, struct err *err);
void http_channel_close(struct channel *c);
bool http_asks(const struct channel *c, const struct request *req);
void http_submit(struct channel *c, struct request *const *reqs, uint32_t n);
uint32_t http_reap(struct channel *c, struct request **done, uint32_t min, uint32_t max,
		   uint64_t deadline_ns);

#endif
