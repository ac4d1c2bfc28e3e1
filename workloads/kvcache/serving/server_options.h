/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the profile serving: a cache server's way with blocks of tokens. */
#ifndef HAUL_WORKLOADS_KVCACHE_SERVER_OPTIONS_H
#define HAUL_WORKLOADS_KVCACHE_SERVER_OPTIONS_H

#include <stdbool.h>

#include "core/option/option.h"

enum { KV_MODEL_BYTES = 64 };
enum kv_fetch { KV_FETCH_ALL, KV_FETCH_PAYS, KV_FETCH_NEVER };

struct kv_server_options {
	uint32_t layout;            /* enum kv_layout_kind */
	char model[KV_MODEL_BYTES]; /* its name in the layout; "": that of the options */
	uint64_t block_tokens;      /* 0: those of the trace, or 256 */
	uint32_t arrive;            /* enum kv_arrival_kind */
	double rate;                /* requests per second of a rank */
	uint64_t queue;             /* requests that wait at most; 0: no limit */
	uint64_t lookups;           /* of a request at a time; 0: all */
	bool layered;
	uint64_t prefill;      /* tokens per second; 0: recomputing takes no time */
	uint32_t fetch;        /* enum kv_fetch */
	uint64_t fetch_bytes;  /* of a request at a time; 0: all of its blocks */
	uint64_t memory;       /* bytes of blocks in front of the store */
	uint64_t pending;      /* blocks that wait to be written at most */
	bool answers;          /* blocks of answers are written, too */
	uint64_t decode_ranks; /* the last ranks; 0: every rank prefills and decodes */
	uint64_t hand_over_ns; /* a decoding rank waits so long for blocks */
	uint64_t context_max;
	uint64_t restart_ns; /* the server is started anew then; 0: never */
	uint64_t good_ns;    /* the time to the first token that counts as good; 0: none */
};
extern const struct option kv_server_options_table[];

#endif
