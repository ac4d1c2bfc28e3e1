/* SPDX-License-Identifier: Apache-2.0 */
/* What a store behind HTTP is made of: for the dialects s3, azure and gcs. Not for workloads. */
#ifndef HAUL_BACKENDS_HTTP_HTTP_H
#define HAUL_BACKENDS_HTTP_HTTP_H

#include "backends/http/body.h"
#include "backends/http/channel.h"
#include "backends/http/dialect.h"
#include "backends/http/fault.h"
#include "backends/http/listing.h"
#include "backends/http/open.h"
#include "backends/http/own.h"
#include "backends/http/sum.h"
#include "backends/http/upload.h"

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
