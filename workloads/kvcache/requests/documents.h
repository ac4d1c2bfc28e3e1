/* Documents for retrieval (RAG): their sizes and chunks as functions of a number, and the draw of the chunks that a
 * request reads. Owned by the request source. */
#ifndef HAUL_WORKLOADS_KVCACHE_DOCUMENTS_H
#define HAUL_WORKLOADS_KVCACHE_DOCUMENTS_H

#include "core/content/random.h"
#include "workloads/kvcache/requests/source_options.h"
#include "workloads/model/kv_model.h"

struct kv_documents {
	const struct kv_rag_options *options;
	uint64_t seed;
	uint64_t tokens_min, tokens_max, chunk_tokens;
	uint64_t *weights; /* [chunks + 1]: [n] is the sum of the weights of the first n chunks */
};

/* What a request reads of a document. */
struct kv_retrieval {
	uint32_t document, count; /* count 0: nothing */
	uint32_t chunks[KV_RETRIEVED_MAX];
};

/* Returns 0, -EINVAL (a document has more than KV_CHUNKS_MAX chunks) or -ENOMEM, with a sentence. */
int kv_documents_open(struct kv_documents *d, const struct kv_rag_options *options,
		      const struct kv_model *model, uint64_t seed, const char *path,
		      struct err *err);
void kv_documents_close(struct kv_documents *d);

uint64_t kv_document_chunks(const struct kv_documents *d, uint32_t document);
uint64_t kv_document_chunk_tokens(const struct kv_documents *d, uint32_t document, uint32_t chunk);

/* Draws chunks of the document, without repetition, in the order in which they are read. */
void kv_documents_retrieve(const struct kv_documents *d, uint32_t document, struct random *r,
			   struct kv_retrieval *out);
/* Tokens of all of them. */
uint64_t kv_retrieval_tokens(const struct kv_documents *d, const struct kv_retrieval *r);

#endif
