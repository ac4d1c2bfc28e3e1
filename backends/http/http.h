/* SPDX-License-Identifier: Apache-2.0 */
/* What a store behind HTTP is made of: for the dialects s3, azure and gcs. Not for workloads. */
#ifndef HAUL_BACKENDS_HTTP_HTTP_H
#define HAUL_BACKENDS_HTTP_HTTP_H

#include "backends/http/body.h"
#include "backends/http/channel.h"
#include "backends/http/dialect.h"
#include "backends/http/fault.h"
#include "backends/http/listing.h"
#include "backends/http/slot.h"
#include "backends/http/sum.h"
#include "backends/http/upload.h"

/* Opening, describing and closing a store behind HTTP. */

/* For struct backend_ops: a dialect's own open calls http_open. */
int http_open(struct store *store, const struct dialect *dialect, struct err *err);
void http_close(struct store *store);
void http_describe(const struct store *store, struct store_facts *facts);
void http_process_begin(void);

/* Owner of a folder of an object store: for struct backend_ops, see own.
 *
 * There are no locks of a kernel, so an object beside the folder, "FOLDER.haul-owner", stands for
 * one. It is made only where there is none (If-None-Match: *), and is a lease: a thread renews it
 * (If-Match), and another process takes it over once it has not been renewed for LEASE_S seconds by
 * the clock of the store, or at once where it is on the machine of a process that has ended. All that
 * goes over a channel of its own, so nothing of it is in any count. A store that heeds no conditions
 * is found out, and -ENOLCK. */

int http_own(const struct store *store, const char *folder, struct owner *owner, struct err *err);

/* For dialects: adds the condition of the channel to a PUT. */
void own_condition(const struct http_slot *s, struct http_request *r);

#define HTTP_CAPABILITIES \
	(BACKEND_CONTENT | BACKEND_RANGES | BACKEND_FIRST_BYTE | BACKEND_ATOMIC_COMMIT | \
	 BACKEND_PERSISTENT | BACKEND_MANY_NODES | BACKEND_MISSING_IS_ERROR | BACKEND_DEPTH | \
	 BACKEND_STREAMS | BACKEND_LIST | BACKEND_DISCARD | BACKEND_SHARED | BACKEND_WRITES)

/* All of a store's backend_ops but its name, its limits, what checks it and what opens it. */
#define HTTP_OPERATIONS \
	.transfer = HTTP_TRANSFER, .depth_max = QUEUE_DEPTH_MAX, .range = http_range, \
	.part = http_part, .in_flight = http_in_flight, .process_begin = http_process_begin, \
	.close = http_close, .describe = http_describe, .channel_open = http_channel_open, \
	.channel_close = http_channel_close, .asks = http_asks, .submit = http_submit, \
	.reap = http_reap, .own = http_own

#endif
