/* Keys of MLPerf's key-value cache benchmark: the flags of its command line and the keys of its config.yaml, and where each of
 * them goes. Constant data. */
#ifndef HAUL_IMPORT_KVCACHE_KEYS_H
#define HAUL_IMPORT_KVCACHE_KEYS_H

#include <stdbool.h>

enum kvc_kind { KVC_NUMBER, KVC_TEXT, KVC_BOOL, KVC_RANGE, KVC_ANY };

/* How a key becomes part of the job. */
enum kvc_way {
	KVC_COPY,    /* to `to` of the phase */
	KVC_SPECIAL, /* parts.c does it */
	KVC_CHANGED, /* the same as KVC_COPY, with a finding */
	KVC_LEFT     /* a finding */
};

struct kvc_key {
	const char *path; /* "num-users"; "decode.batch_size"; "*": any one part; "**": any parts */
	enum kvc_kind kind;
	enum kvc_way way;
	const char *to;  /* "users", "rag.documents" */
	const char *why; /* of a finding */
};
extern const struct kvc_key kvc_keys[]; /* ends with a path of NULL */

/* The key of a path, or NULL. */
const struct kvc_key *kvc_key_find(const char *path);

#endif
