/* SPDX-License-Identifier: Apache-2.0 */
/* A channel of an object store aside from the queues: a few requests, one after the other, that are
 * waited for and are in no count. One thread, but `over` may be set by any. */
#ifndef HAUL_BACKENDS_HTTP_ASIDE_H
#define HAUL_BACKENDS_HTTP_ASIDE_H

#include "backends/http/slot.h"

struct aside {
	struct store *store;
	struct channel channel;
	_Atomic bool over; /* nothing is waited for any longer */
};

int aside_open(struct aside *a, const struct store *store, struct err *err);
void aside_close(struct aside *a);
/* Its channel's own; NULL: an attempt took too long, and there is no memory for a new one. */
struct http_channel *aside_channel(const struct aside *a);
/* Carries the request out, with a few attempts. Returns its status; -ENOMEM, -ETIMEDOUT. */
int aside_ask(struct aside *a, struct request *req);

#endif
