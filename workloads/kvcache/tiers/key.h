/* SPDX-License-Identifier: Apache-2.0 */
/* Names of cache entries: an id of 16 bytes, and the key that an object of a store or a row of a trace has for it. Keys
 * are those of MLPerf's benchmark, so its traces and these can be compared:
 *
 *	high   kind 8 | first 32 | second 24          low   number 64
 *
 * Pure functions; any thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_KEY_H
#define HAUL_WORKLOADS_KVCACHE_KEY_H

#include <stddef.h>

#include "workloads/kvcache/tiers/entries.h"

enum { KV_KEY_BYTES = 64, KV_KEY_SECOND_MAX = (1 << 24) - 1 };

enum kv_key_kind {
	KV_KEY_TURN, /* conv_user_{first:04}_{number}_turn_{second}: number is when the conversation began, in ms */
	KV_KEY_REQUEST,  /* user_{first:04}_req_{number:06}: a request outside of conversations */
	KV_KEY_PROMPT,   /* kv_system_{number} */
	KV_KEY_CHUNK,    /* rag_doc_{first:04}_chunk_{second} */
	KV_KEY_DOCUMENT, /* rag_doc_{first:04}: what was retrieved of it */
	KV_KEY_FILL,     /* precond_{number}: preconditioning */
	KV_KEY_STORED,   /* prepop_{number}: there before a decode-only run */
	KV_KEY_NAMED, /* the number of a name that somebody else keeps, such as the key of a trace */
	KV_KEY_KINDS
};

static inline struct kv_id kv_id_make(enum kv_key_kind kind, uint32_t first, uint32_t second,
				      uint64_t number)
{
	return (struct kv_id){(uint64_t)kind << 56 | (uint64_t)first << 24 | second, number};
}

static inline enum kv_key_kind kv_id_kind(struct kv_id id)
{
	return (enum kv_key_kind)(id.high >> 56);
}

/* Writes the key, and returns its length. Not for KV_KEY_NAMED. */
size_t kv_key_text(char out[KV_KEY_BYTES], struct kv_id id);

#endif
