#include "workloads/load/cut.h"

#include <string.h>

/* A module is what the name says before its last dot: "q_proj" in "model.layers.0.self_attn.q_proj.weight". */
struct cut_module {
	const char *name;
	enum load_cut cut;
};

/* The names that models on the Hugging Face Hub, Megatron and Meta give to them. */
static const struct cut_module cut_modules[] = {
	/* embeddings and output layers */
	{"embed_tokens", LOAD_ROWS},
	{"word_embeddings", LOAD_ROWS},
	{"tok_embeddings", LOAD_ROWS},
	{"embed_in", LOAD_ROWS},
	{"embed_out", LOAD_ROWS},
	{"wte", LOAD_ROWS},
	{"lm_head", LOAD_ROWS},
	{"output_layer", LOAD_ROWS},
	/* attention */
	{"q_proj", LOAD_ROWS},
	{"wq", LOAD_ROWS},
	{"k_proj", LOAD_KV_ROWS},
	{"v_proj", LOAD_KV_ROWS},
	{"wk", LOAD_KV_ROWS},
	{"wv", LOAD_KV_ROWS},
	{"qkv_proj", LOAD_ROWS},
	{"query_key_value", LOAD_ROWS},
	{"linear_qkv", LOAD_ROWS},
	{"Wqkv", LOAD_ROWS},
	{"W_pack", LOAD_ROWS},
	{"q_b_proj", LOAD_ROWS},
	{"kv_b_proj", LOAD_ROWS},
	/* feed-forward layers and experts */
	{"gate_proj", LOAD_ROWS},
	{"up_proj", LOAD_ROWS},
	{"gate_up_proj", LOAD_ROWS},
	{"dense_h_to_4h", LOAD_ROWS},
	{"linear_fc1", LOAD_ROWS},
	{"fc1", LOAD_ROWS},
	{"fc_in", LOAD_ROWS},
	{"w1", LOAD_ROWS},
	{"w3", LOAD_ROWS},
};

/* What of a module has a row for each row of its matrix, or for each block of them. Packed weights of AWQ and GPTQ are
 * transposed, and not among them. */
static const char *const cut_members[] = {"weight", "bias", "weight_scale", "weight_scale_inv"};

static bool cut_is(const char *text, const char *end, const char *name)
{
	return (size_t)(end - text) == strlen(name) && memcmp(text, name, strlen(name)) == 0;
}

enum load_cut load_cut_by_name(const char *name)
{
	const char *member = strrchr(name, '.'), *module;
	bool known = false;

	if (!member)
		return LOAD_WHOLE;
	for (unsigned i = 0; i < sizeof(cut_members) / sizeof(cut_members[0]); i++)
		known = known || strcmp(member + 1, cut_members[i]) == 0;
	for (module = member; module > name && module[-1] != '.'; module--)
		;
	for (unsigned i = 0; known && i < sizeof(cut_modules) / sizeof(cut_modules[0]); i++)
		if (cut_is(module, member, cut_modules[i].name))
			return cut_modules[i].cut;
	return LOAD_WHOLE;
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
