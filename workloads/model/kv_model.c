/* SPDX-License-Identifier: Apache-2.0 */
/* Key-value cache of a transformer: see kv_model.h. */
#include "workloads/model/kv_model.h"

#include <errno.h>
#include <inttypes.h>

/* Bytes of one token, and of the state of one layer: beyond any model, and far from an overflow. */
enum { KV_SCALED = 128, KV_SCALE_BYTES = 4 };
static const uint64_t kv_token_bytes_max = 1u << 30, kv_state_bytes_max = 1ull << 40;

static uint64_t kv_model_full_layers(const struct model *m)
{
	return m->layers - m->window_layers - m->state_layers;
}

/* Numbers that a layer keeps of a token, in these KV heads. */
static uint64_t kv_model_numbers(const struct model *m, uint64_t kv_heads)
{
	return m->attention == MODEL_MLA ? m->kv_rank + m->rope_dim : 2 * kv_heads * m->head_dim;
}

int kv_model_check(struct model *m, const char *path, struct err *err)
{
	int rc;

	if (m->bytes)
		return err_set(err, -EINVAL,
			       "%s/bytes: a model of no known shape has no keys and values; name a "
			       "known model, or give its dimensions",
			       path);
	if (!m->layers)
		return model_missing(path, "layers", err);
	rc = model_check_heads(m, path, err);
	if (rc < 0)
		return rc;
	if (m->attention != MODEL_MLA && !m->head_dim && m->hidden % m->heads)
		return err_set(err, -EINVAL,
			       "%s/head_dim: hidden %" PRIu64 " / heads %" PRIu64
			       " is no whole number; give \"head_dim\"",
			       path, m->hidden, m->heads);
	if (model_published_name(m))
		return err_set(err, -EINVAL,
			       "%s/name: MLPerf's checkpoints give this model %" PRIu64
			       " heads, so its keys and values would be too small; name \"%s\"",
			       path, m->heads, model_published_name(m));
	if (m->attention != MODEL_MLA) {
		m->head_dim = model_head_dim(m);
		m->kv_heads = model_kv_heads(m);
	}
	if (m->window_layers + m->state_layers > m->layers)
		return err_set(err, -EINVAL, "%s/%s: there are only %" PRIu64 " layers in all",
			       path, m->state_layers ? "state_layers" : "window_layers", m->layers);
	if (!m->window_layers != !m->window)
		return model_missing(path, m->window ? "window_layers" : "window", err);
	if (!m->state_layers != !m->state_bytes)
		return model_missing(path, m->state_bytes ? "state_layers" : "state_bytes", err);
	if (kv_model_token_bytes(m) > kv_token_bytes_max)
		return err_set(err, -EINVAL, "%s: a token has more than 1 GiB", path);
	if (m->state_layers * m->state_bytes > kv_state_bytes_max)
		return err_set(err, -EINVAL, "%s/state_bytes: a sequence has more than 1 TiB",
			       path);
	return 0;
}

/* Bytes of the indexer's key of a token in a layer. */
static uint64_t kv_model_index_bytes(const struct model *m)
{
	uint64_t scales = m->index_type == MODEL_FP8
				  ? (m->index_dim + KV_SCALED - 1) / KV_SCALED * KV_SCALE_BYTES
				  : 0;

	return model_type_bytes(m->index_type, m->index_dim) + scales;
}

uint64_t kv_model_token_bytes(const struct model *m)
{
	uint64_t layers = m->layers - m->state_layers;

	return model_type_bytes(m->type, layers * kv_model_numbers(m, m->kv_heads)) +
	       layers * kv_model_index_bytes(m);
}

uint64_t kv_model_further_bytes(const struct model *m)
{
	return kv_model_bytes(m, 2 * m->window + 1) - kv_model_bytes(m, 2 * m->window);
}

/* Bytes of a sequence in these KV heads, without the states. */
static uint64_t kv_model_heads_bytes(const struct model *m, uint64_t tokens, uint64_t kv_heads)
{
	uint64_t seen = tokens < m->window ? tokens : m->window;
	uint64_t kept = kv_model_full_layers(m) * tokens + m->window_layers * seen;

	return model_type_bytes(m->type, kept * kv_model_numbers(m, kv_heads)) +
	       kept * kv_model_index_bytes(m);
}

uint64_t kv_model_bytes(const struct model *m, uint64_t tokens)
{
	return kv_model_heads_bytes(m, tokens, m->kv_heads) + m->state_layers * m->state_bytes;
}

/* The KV heads of a rank: from *first to before the returned one. */
static uint64_t kv_model_shard_heads(const struct model *m, uint64_t tensor, uint64_t rank,
				     uint64_t *first)
{
	uint64_t end = (rank + 1) * m->kv_heads / tensor;

	*first = rank * m->kv_heads / tensor;
	return end > *first ? end : *first + 1;
}

uint64_t kv_model_shard_most(const struct model *m, uint64_t tokens, uint64_t tensor)
{
	if (m->attention == MODEL_MLA)
		return kv_model_bytes(m, tokens);
	return kv_model_heads_bytes(m, tokens, (m->kv_heads + tensor - 1) / tensor) +
	       m->state_layers * m->state_bytes / tensor;
}

uint64_t kv_model_shard_of(const struct model *m, uint64_t most_bytes, uint64_t sequences,
			   uint64_t tensor, uint64_t rank)
{
	uint64_t states = m->state_layers * m->state_bytes / tensor * sequences, first, end;

	if (m->attention == MODEL_MLA)
		return most_bytes;
	end = kv_model_shard_heads(m, tensor, rank, &first);
	/* Each head of a sequence has the same bytes. */
	return (most_bytes - states) / ((m->kv_heads + tensor - 1) / tensor) * (end - first) +
	       states;
}

bool kv_model_shard_writes(const struct model *m, uint64_t tensor, uint64_t rank)
{
	uint64_t first, before;

	if (rank == 0)
		return true;
	if (m->attention == MODEL_MLA)
		return false;
	kv_model_shard_heads(m, tensor, rank, &first);
	return first >= kv_model_shard_heads(m, tensor, rank - 1, &before);
}

uint64_t kv_model_shard_writer(const struct model *m, uint64_t tensor, uint64_t rank)
{
	while (!kv_model_shard_writes(m, tensor, rank))
		rank--;
	return rank;
}
