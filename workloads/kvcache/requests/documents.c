/* Documents for retrieval: see documents.h. */
#include "workloads/kvcache/requests/documents.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* A model is large, and has shorter documents, from these dimensions on. */
enum { LARGE_HIDDEN = 8192, LARGE_LAYERS = 64 };
static const uint64_t small_tokens[] = {4000, 12000}, large_tokens[] = {1024, 4096};

static uint64_t documents_weight(const struct kv_documents *d, uint64_t chunk)
{
	return d->options->order == KV_RETRIEVE_ZIPF ? (1ull << 32) / (chunk + 1) : 1;
}

int kv_documents_open(struct kv_documents *d, const struct kv_rag_options *options,
		      const struct kv_model *model, uint64_t seed, const char *path,
		      struct err *err)
{
	bool large = model->hidden >= LARGE_HIDDEN || model->layers >= LARGE_LAYERS;
	const uint64_t *tokens = large ? large_tokens : small_tokens;
	uint64_t most = options->chunk_bytes / kv_model_token_bytes(model), chunks;

	*d = (struct kv_documents){.options = options, .seed = seed};
	d->tokens_min = options->tokens_min ? options->tokens_min : tokens[0];
	d->tokens_max = options->tokens_max ? options->tokens_max : tokens[1];
	d->chunk_tokens = options->chunk_tokens < most ? options->chunk_tokens : most;
	if (!d->chunk_tokens)
		d->chunk_tokens = 1;
	if (!options->documents)
		return 0;
	chunks = (d->tokens_max + d->chunk_tokens - 1) / d->chunk_tokens;
	if (chunks > KV_CHUNKS_MAX)
		return err_set(err, -EINVAL,
			       "%s/rag/chunk_tokens: a document has up to %" PRIu64
			       " chunks; at most %d are possible",
			       path, chunks, KV_CHUNKS_MAX);
	d->weights = malloc((chunks + 1) * sizeof(*d->weights));
	if (!d->weights)
		return err_set(err, -ENOMEM, "no memory for the documents");
	d->weights[0] = 0;
	for (uint64_t i = 0; i < chunks; i++)
		d->weights[i + 1] = d->weights[i] + documents_weight(d, i);
	return 0;
}

void kv_documents_close(struct kv_documents *d)
{
	free(d->weights);
	*d = (struct kv_documents){0};
}

static uint64_t document_tokens(const struct kv_documents *d, uint32_t document)
{
	return random_between(random_at(d->seed, document, 0), d->tokens_min, d->tokens_max);
}

uint64_t kv_document_chunks(const struct kv_documents *d, uint32_t document)
{
	return (document_tokens(d, document) + d->chunk_tokens - 1) / d->chunk_tokens;
}

uint64_t kv_document_chunk_tokens(const struct kv_documents *d, uint32_t document, uint32_t chunk)
{
	uint64_t rest = document_tokens(d, document) - chunk * d->chunk_tokens;

	return rest < d->chunk_tokens ? rest : d->chunk_tokens;
}

static bool retrieval_has(const struct kv_retrieval *r, uint32_t chunk)
{
	for (uint32_t i = 0; i < r->count; i++)
		if (r->chunks[i] == chunk)
			return true;
	return false;
}

void kv_documents_retrieve(const struct kv_documents *d, uint32_t document, struct random *r,
			   struct kv_retrieval *out)
{
	uint64_t chunks = kv_document_chunks(d, document), left = d->weights[chunks];
	uint64_t wanted = d->options->retrieved < chunks ? d->options->retrieved : chunks;

	out->document = document;
	out->count = 0;
	while (out->count < wanted) {
		uint64_t at = random_between(random_next(r), 0, left - 1);
		uint32_t chunk = 0;

		for (;; chunk++) {
			if (retrieval_has(out, chunk))
				continue;
			if (at < documents_weight(d, chunk))
				break;
			at -= documents_weight(d, chunk);
		}
		out->chunks[out->count++] = chunk;
		left -= documents_weight(d, chunk);
	}
}

uint64_t kv_retrieval_tokens(const struct kv_documents *d, const struct kv_retrieval *r)
{
	uint64_t tokens = 0;

	for (uint32_t i = 0; i < r->count; i++)
		tokens += kv_document_chunk_tokens(d, r->document, r->chunks[i]);
	return tokens;
}
