/* Key-value cache of a transformer: see kv_model.h. */
#include "workloads/model/kv_model.h"

#include <errno.h>
#include <inttypes.h>

/* Known models: layers, hidden, heads, KV heads, head dimension, attention, compressed rank, rope dimension. Source: the
 * models' own configurations, as MLPerf's key-value cache benchmark has them. It counts all layers of the gpt-oss models
 * as full attention, and so do these. */
/* clang-format off */
#define KV_MODEL_NAMES(X) \
	X(CUSTOM,        "custom",                0,  0,    0,   0,   0,   KV_GQA, 0,   0) \
	X(TINY_1B,       "tiny-1b",               12, 1024, 8,   4,   128, KV_GQA, 0,   0) \
	X(MISTRAL_7B,    "mistral-7b",            32, 4096, 32,  8,   128, KV_GQA, 0,   0) \
	X(LLAMA2_7B,     "llama2-7b",             32, 4096, 32,  32,  128, KV_MHA, 0,   0) \
	X(LLAMA31_8B,    "llama3.1-8b",           32, 4096, 32,  8,   128, KV_GQA, 0,   0) \
	X(LLAMA31_70B,   "llama3.1-70b-instruct", 80, 8192, 64,  8,   128, KV_GQA, 0,   0) \
	X(DEEPSEEK_V3,   "deepseek-v3",           61, 7168, 128, 0,   0,   KV_MLA, 512, 64) \
	X(QWEN3_32B,     "qwen3-32b",             64, 5120, 64,  8,   128, KV_GQA, 0,   0) \
	X(GPT_OSS_120B,  "gpt-oss-120b",          36, 2880, 64,  8,   64,  KV_GQA, 0,   0) \
	X(GPT_OSS_20B,   "gpt-oss-20b",           24, 2880, 64,  8,   64,  KV_GQA, 0,   0)
/* clang-format on */

#define KV_MODEL_NAME(id, name, ...) KV_MODEL_NAME_##id,
enum kv_model_name { KV_MODEL_NAMES(KV_MODEL_NAME) KV_MODEL_NAME_COUNT };
#undef KV_MODEL_NAME

#define KV_MODEL_NAME(id, name, ...) name,
static const char *const kv_model_names[] = {KV_MODEL_NAMES(KV_MODEL_NAME) NULL};
#undef KV_MODEL_NAME

static const struct kv_shape {
	uint64_t layers, hidden, heads, kv_heads, head_dim;
	enum kv_attention attention;
	uint64_t kv_rank, rope_dim;
} kv_shapes[KV_MODEL_NAME_COUNT] = {
#define KV_MODEL_NAME(id, name, ...) {__VA_ARGS__},
	KV_MODEL_NAMES(KV_MODEL_NAME)
#undef KV_MODEL_NAME
};

static const char *const kv_attention_names[] = {"mha", "gqa", "mla", NULL};

/* Bytes of one token, and of the state of one layer: beyond any model, and far from an overflow. */
static const uint64_t kv_token_bytes_max = 1u << 30, kv_state_bytes_max = 1ull << 40;

static void kv_model_preset(void *into)
{
	struct kv_model *m = into;
	const struct kv_shape *s = &kv_shapes[m->name];

	m->layers = s->layers;
	m->hidden = s->hidden;
	m->heads = s->heads;
	m->kv_heads = s->kv_heads;
	m->head_dim = s->head_dim;
	m->attention = s->attention;
	m->kv_rank = s->kv_rank;
	m->rope_dim = s->rope_dim;
}

const struct option kv_model_options[] = {
	OPT_CHOICE("name", struct kv_model, name, .choices = kv_model_names,
		   .preset = kv_model_preset, .help = "a known model; keys given beside it win"),
	OPT_CHOICE("attention", struct kv_model, attention, .def = KV_GQA,
		   .choices = kv_attention_names,
		   .help = "mha: a key and a value per head; gqa: per group of heads; mla: one "
			   "compressed vector"),
	OPT_CHOICE("type", struct kv_model, type, .def = MODEL_FP16, .choices = model_type_names,
		   .help = "number format of keys and values"),
	OPT_U64("layers", struct kv_model, layers, .max = 1 << 16, .help = "transformer layers"),
	OPT_U64("hidden", struct kv_model, hidden, .max = 1 << 24,
		.help = "size of a hidden state"),
	OPT_U64("heads", struct kv_model, heads, .max = 1 << 16, .help = "attention heads"),
	OPT_U64("kv_heads", struct kv_model, kv_heads, .max = 1 << 16,
		.help = "heads of keys and values; 0 with mha: as many as heads"),
	OPT_U64("head_dim", struct kv_model, head_dim, .max = 1 << 16,
		.help = "numbers of a head; 0: hidden / heads"),
	OPT_U64("kv_rank", struct kv_model, kv_rank, .max = 1 << 20,
		.help = "mla: size of the compressed keys and values"),
	OPT_U64("rope_dim", struct kv_model, rope_dim, .max = 1 << 20,
		.help = "mla: size of the part of a key that holds its position"),
	OPT_U64("window_layers", struct kv_model, window_layers, .max = 1 << 16,
		.help = "layers that keep only the tokens of a sliding window"),
	OPT_U64("window", struct kv_model, window, .max = KV_TOKENS_MAX,
		.help = "tokens of the sliding window"),
	OPT_U64("state_layers", struct kv_model, state_layers, .max = 1 << 16,
		.help = "layers that keep a state of fixed size instead of keys and values"),
	OPT_BYTES("state_bytes", struct kv_model, state_bytes, .max = 1ull << 40,
		  .help = "size of the state of such a layer, per sequence"),
	OPT_END};

static uint64_t kv_model_full_layers(const struct kv_model *m)
{
	return m->layers - m->window_layers - m->state_layers;
}

/* Numbers that a layer keeps of a token, in these KV heads. */
static uint64_t kv_model_numbers(const struct kv_model *m, uint64_t kv_heads)
{
	return m->attention == KV_MLA ? m->kv_rank + m->rope_dim : 2 * kv_heads * m->head_dim;
}

static int kv_model_missing(const char *path, const char *key, struct err *err)
{
	return err_set(err, -EINVAL,
		       "%s/%s: is missing; name a known model, or give all dimensions", path, key);
}

/* The dimensions of keys and values. */
static int kv_model_check_heads(struct kv_model *m, const char *path, struct err *err)
{
	if (m->attention == KV_MLA) {
		if (!m->kv_rank)
			return kv_model_missing(path, "kv_rank", err);
		if (m->kv_heads || m->head_dim)
			return err_set(err, -EINVAL,
				       "%s/%s: a model with the attention \"mla\" does not have it",
				       path, m->kv_heads ? "kv_heads" : "head_dim");
		return 0;
	}
	if (m->kv_rank || m->rope_dim)
		return err_set(err, -EINVAL,
			       "%s/%s: only a model with the attention \"mla\" has it", path,
			       m->kv_rank ? "kv_rank" : "rope_dim");
	if (!m->kv_heads && m->attention == KV_MHA)
		m->kv_heads = m->heads;
	if (!m->kv_heads)
		return kv_model_missing(path, "kv_heads", err);
	if (m->attention == KV_MHA && m->heads && m->kv_heads != m->heads)
		return err_set(err, -EINVAL,
			       "%s/kv_heads: \"mha\" has as many as heads, which is %" PRIu64
			       "; fewer are \"gqa\"",
			       path, m->heads);
	if (m->heads && m->kv_heads > m->heads)
		return err_set(err, -EINVAL,
			       "%s/kv_heads: must be at most heads = %" PRIu64 ", is %" PRIu64,
			       path, m->heads, m->kv_heads);
	if (!m->head_dim && m->heads)
		m->head_dim = m->hidden / m->heads;
	return m->head_dim ? 0 : kv_model_missing(path, "head_dim", err);
}

int kv_model_check(struct kv_model *m, const char *path, struct err *err)
{
	int rc;

	if (!m->layers)
		return kv_model_missing(path, "layers", err);
	rc = kv_model_check_heads(m, path, err);
	if (rc < 0)
		return rc;
	if (m->window_layers + m->state_layers > m->layers)
		return err_set(err, -EINVAL, "%s/%s: there are only %" PRIu64 " layers in all",
			       path, m->state_layers ? "state_layers" : "window_layers", m->layers);
	if (!m->window_layers != !m->window)
		return kv_model_missing(path, m->window ? "window_layers" : "window", err);
	if (!m->state_layers != !m->state_bytes)
		return kv_model_missing(path, m->state_bytes ? "state_layers" : "state_bytes", err);
	if (kv_model_token_bytes(m) > kv_token_bytes_max)
		return err_set(err, -EINVAL, "%s: a token has more than 1 GiB", path);
	if (m->state_layers * m->state_bytes > kv_state_bytes_max)
		return err_set(err, -EINVAL, "%s/state_bytes: a sequence has more than 1 TiB",
			       path);
	return 0;
}

uint64_t kv_model_token_bytes(const struct kv_model *m)
{
	return model_type_bytes(m->type,
				(m->layers - m->state_layers) * kv_model_numbers(m, m->kv_heads));
}

/* Bytes of a sequence in these KV heads, without the states. */
static uint64_t kv_model_heads_bytes(const struct kv_model *m, uint64_t tokens, uint64_t kv_heads)
{
	uint64_t seen = tokens < m->window ? tokens : m->window;
	uint64_t kept = kv_model_full_layers(m) * tokens + m->window_layers * seen;

	return model_type_bytes(m->type, kept * kv_model_numbers(m, kv_heads));
}

uint64_t kv_model_bytes(const struct kv_model *m, uint64_t tokens)
{
	return kv_model_heads_bytes(m, tokens, m->kv_heads) + m->state_layers * m->state_bytes;
}

/* The KV heads of a rank: from *first to before the returned one. */
static uint64_t kv_model_shard_heads(const struct kv_model *m, uint64_t tensor, uint64_t rank,
				     uint64_t *first)
{
	uint64_t end = (rank + 1) * m->kv_heads / tensor;

	*first = rank * m->kv_heads / tensor;
	return end > *first ? end : *first + 1;
}

uint64_t kv_model_shard_bytes(const struct kv_model *m, uint64_t tokens, uint64_t tensor,
			      uint64_t rank)
{
	uint64_t first, end;

	if (m->attention == KV_MLA)
		return kv_model_bytes(m, tokens);
	end = kv_model_shard_heads(m, tensor, rank, &first);
	return kv_model_heads_bytes(m, tokens, end - first) +
	       m->state_layers * m->state_bytes / tensor;
}

uint64_t kv_model_shard_most(const struct kv_model *m, uint64_t tokens, uint64_t tensor)
{
	if (m->attention == KV_MLA)
		return kv_model_bytes(m, tokens);
	return kv_model_heads_bytes(m, tokens, (m->kv_heads + tensor - 1) / tensor) +
	       m->state_layers * m->state_bytes / tensor;
}

uint64_t kv_model_shard_of(const struct kv_model *m, uint64_t most_bytes, uint64_t sequences,
			   uint64_t tensor, uint64_t rank)
{
	uint64_t states = m->state_layers * m->state_bytes / tensor * sequences, first, end;

	if (m->attention == KV_MLA)
		return most_bytes;
	end = kv_model_shard_heads(m, tensor, rank, &first);
	/* Each head of a sequence has the same bytes. */
	return (most_bytes - states) / ((m->kv_heads + tensor - 1) / tensor) * (end - first) +
	       states;
}

bool kv_model_shard_writes(const struct kv_model *m, uint64_t tensor, uint64_t rank)
{
	uint64_t first, before;

	if (rank == 0)
		return true;
	if (m->attention == KV_MLA)
		return false;
	kv_model_shard_heads(m, tensor, rank, &first);
	return first >= kv_model_shard_heads(m, tensor, rank - 1, &before);
}

uint64_t kv_model_shard_writer(const struct kv_model *m, uint64_t tensor, uint64_t rank)
{
	while (!kv_model_shard_writes(m, tensor, rank))
		rank--;
	return rank;
}
