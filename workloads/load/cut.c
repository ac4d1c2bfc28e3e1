#include "workloads/load/cut.h"

#include <string.h>

#include "core/numbers.h"

/* A module is what the name says before its last dot: "q_proj" in "model.layers.0.self_attn.q_proj.weight". These are the names that
 * models on the Hugging Face Hub, Megatron and Meta give to those that are cut by rows: embeddings and output layers,
 * attention, feed-forward layers and experts. */
/* clang-format off */
static const char *const cut_rows[] = {
	"embed_tokens", "word_embeddings", "tok_embeddings", "embed_in", "embed_out", "wte", "lm_head", "output_layer",
	"q_proj", "wq", "qkv_proj", "query_key_value", "linear_qkv", "Wqkv", "W_pack", "q_b_proj", "kv_b_proj",
	"gate_proj", "up_proj", "gate_up_proj", "dense_h_to_4h", "linear_fc1", "fc1", "fc_in", "w1", "w3"};
/* clang-format on */
/* Keys and values, of which there may be fewer heads than ranks. */
static const char *const cut_kv_rows[] = {"k_proj", "v_proj", "wk", "wv"};

/* What of a module has a row for each row of its matrix, or for each block of them. Packed weights of AWQ and GPTQ are
 * transposed, and not among them. */
static const char *const cut_members[] = {"weight", "bias", "weight_scale", "weight_scale_inv"};

static bool cut_among(const char *const *names, size_t count, const char *text, size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(names[i]) == length && memcmp(names[i], text, length) == 0)
			return true;
	return false;
}

enum load_cut load_cut_by_name(const char *name)
{
	const char *member = strrchr(name, '.'), *module;
	size_t length;

	if (!member || !cut_among(cut_members, COUNT(cut_members), member + 1, strlen(member + 1)))
		return LOAD_WHOLE;
	for (module = member; module > name && module[-1] != '.'; module--)
		;
	length = (size_t)(member - module);
	if (cut_among(cut_kv_rows, COUNT(cut_kv_rows), module, length))
		return LOAD_KV_ROWS;
	return cut_among(cut_rows, COUNT(cut_rows), module, length) ? LOAD_ROWS : LOAD_WHOLE;
}

static uint64_t cut_row(uint64_t rows, uint64_t i, uint64_t parts)
{
	return (uint64_t)((unsigned __int128)rows * i / parts);
}

void load_cut(const struct safetensors_tensor *t, const struct load_part *part, uint64_t *begin,
	      uint64_t *end)
{
	enum load_cut cut = load_cut_by_name(t->name);
	uint64_t rows = t->dimensions ? t->shape[0] : 0, bytes = t->end - t->begin;
	uint64_t parts = part->tensor, i = part->rank, row_bytes;

	*begin = t->begin;
	*end = t->end;
	if (cut == LOAD_KV_ROWS && part->kv_heads && part->kv_heads < parts) {
		i = cut_row(part->kv_heads, i, parts);
		parts = part->kv_heads;
	}
	/* A scale of the whole matrix has fewer rows than ranks; rows of numbers smaller than a byte may have no bytes of
	 * their own. */
	if (cut == LOAD_WHOLE || t->dimensions > 2 || !rows || rows < parts || bytes % rows)
		return;
	row_bytes = bytes / rows;
	*begin = t->begin + cut_row(rows, i, parts) * row_bytes;
	*end = t->begin + cut_row(rows, i + 1, parts) * row_bytes;
}
