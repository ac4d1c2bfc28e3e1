#include "workloads/model/model.h"

#include <errno.h>
#include <inttypes.h>

/* Known models: vocabulary, hidden, feed-forward, layers, heads, key-value heads. Sources: MLPerf Storage's
 * checkpointing workloads (llama3_*), DLIO's llama_7b, and the models' own configurations. */
/* clang-format off */
#define MODEL_NAMES(X) \
	X(CUSTOM,      "custom",      0,      0,     0,     0,   0,   0) \
	X(LLAMA3_8B,   "llama3_8b",   128256, 4096,  14336, 32,  32,  8) \
	X(LLAMA3_70B,  "llama3_70b",  128256, 8192,  28672, 80,  128, 8) \
	X(LLAMA3_405B, "llama3_405b", 128256, 16384, 53248, 126, 128, 8) \
	X(LLAMA3_1T,   "llama3_1t",   128256, 25872, 98304, 128, 192, 32) \
	X(LLAMA_7B,    "llama_7b",    32000,  4096,  11008, 32,  32,  32)
/* clang-format on */

#define MODEL_NAME(id, name, ...) MODEL_NAME_##id,
enum model_name { MODEL_NAMES(MODEL_NAME) MODEL_NAME_COUNT };
#undef MODEL_NAME

#define MODEL_NAME(id, name, ...) name,
static const char *const model_names[] = {MODEL_NAMES(MODEL_NAME) NULL};
#undef MODEL_NAME

static const uint64_t dimensions[MODEL_NAME_COUNT][6] = {
#define MODEL_NAME(id, name, ...) {__VA_ARGS__},
	MODEL_NAMES(MODEL_NAME)
#undef MODEL_NAME
};

#define MODEL_TYPE(id, name, bits) name,
const char *const model_type_names[] = {MODEL_TYPES(MODEL_TYPE) NULL};
#undef MODEL_TYPE

#define MODEL_TYPE(id, name, bits) bits,
static const uint8_t type_bits[] = {MODEL_TYPES(MODEL_TYPE)};
#undef MODEL_TYPE

static void model_preset(void *into)
{
	struct model *m = into;
	const uint64_t *d = dimensions[m->name];

	m->vocabulary = d[0];
	m->hidden = d[1];
	m->feed_forward = d[2];
	m->layers = d[3];
	m->heads = d[4];
	m->kv_heads = d[5];
}

const struct option model_options[] = {
	OPT_CHOICE("name", struct model, name, .choices = model_names, .preset = model_preset,
		   .help = "a known model; keys given beside it win"),
	OPT_U64("vocabulary", struct model, vocabulary, .max = 1ull << 32,
		.help = "words that the model knows"),
	OPT_U64("hidden", struct model, hidden, .max = 1ull << 24,
		.help = "size of a hidden state"),
	OPT_U64("feed_forward", struct model, feed_forward, .max = 1ull << 26,
		.help = "inner size of the feed-forward part of a layer"),
	OPT_U64("layers", struct model, layers, .max = 1ull << 16, .help = "transformer layers"),
	OPT_U64("heads", struct model, heads, .max = 1ull << 16, .help = "attention heads"),
	OPT_U64("kv_heads", struct model, kv_heads, .max = 1ull << 16,
		.help = "heads of keys and values, fewer than heads where several share them"),
	OPT_CHOICE("weights", struct model, weights, .def = MODEL_FP16, .choices = model_type_names,
		   .help = "number format of the weights"),
	OPT_CHOICE("optimizer", struct model, optimizer, .def = MODEL_FP32,
		   .choices = model_type_names, .help = "number format of the optimizer's states"),
	OPT_BYTES(
		"bytes", struct model, bytes, .max = 1ull << 60,
		.help = "a model of no known shape: its size, weights and all; 0: by its dimensions"),
	OPT_END};

const char *model_type_name(enum model_type type)
{
	return model_type_names[type];
}

uint64_t model_type_bytes(enum model_type type, uint64_t count)
{
	return (count * type_bits[type] + 7) / 8;
}

int model_check(const struct model *m, const char *path, struct err *err)
{
	const struct {
		const char *key;
		uint64_t value;
	} needed[] = {
		{"vocabulary", m->vocabulary},
		{"hidden", m->hidden},
		{"feed_forward", m->feed_forward},
		{"layers", m->layers},
		{"heads", m->heads},
		{"kv_heads", m->kv_heads},
	};

	if (m->bytes)
		return 0;
	for (unsigned i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!needed[i].value)
			return err_set(
				err, -EINVAL,
				"%s/%s: is missing; name a known model, or give all dimensions, or \"bytes\"",
				path, needed[i].key);
	if (m->heads > m->hidden)
		return err_set(err, -EINVAL,
			       "%s/heads: %" PRIu64 " heads do not fit a hidden state of %" PRIu64,
			       path, m->heads, m->hidden);
	if (m->kv_heads > m->heads)
		return err_set(err, -EINVAL,
			       "%s/kv_heads: must be at most heads = %" PRIu64 ", is %" PRIu64,
			       path, m->heads, m->kv_heads);
	return 0;
}

uint64_t model_parameters(const struct model *m)
{
	uint64_t h = m->hidden, f = m->feed_forward, d;

	if (m->bytes)
		return m->bytes;
	/* Keys (or values) of one token: whole heads. */
	d = h / m->heads * m->kv_heads;
	return 2 * m->vocabulary * h +
	       m->layers * (h + h * (h + 2 * d) + h * h + h + h * 2 * f + h * f) + h;
}
