/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a phase that loads a model, what is refused, and what it asks of the machine. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "core/key.h"
#include "core/numbers.h"
#include "workloads/common/crew.h"
#include "workloads/common/piece_reader.h"
#include "workloads/common/repeat.h"
#include "workloads/load/hand.h"
#include "workloads/load/load.h"

enum {
	LOAD_COUNT_MAX = 10000,
	LOAD_TENSOR_MAX = 1 << 20,
	LOAD_HISTOGRAMS = 3,
	LOAD_PATH_BYTES = 96
};

static const char *const load_readers_names[] = {"each", "first", NULL};

/* X(name, members of the row). Threads, bytes of a read and memory are the defaults of the program. Sources, as of September
 * 2026: vLLM's LoadConfig, SGLang's server arguments, safetensors' bindings, RunAI's streamer,
 * fastsafetensors and InstantTensor. */
/* clang-format off */
#define LOAD_RING(count, chunk_mib, buffers_mib) \
	.threads = (count), .chunk = (uint64_t)(chunk_mib) << 20, .buffers = (uint64_t)(buffers_mib) << 20
#define LOAD_PATTERNS(X) \
	X("streamer", .reads = LOAD_READS_ROWS, LOAD_RING(1, 8, 128), \
	  .vllm = "--load-format runai_streamer", .sglang = "--load-format runai_streamer") \
	X("distributed", .reads = LOAD_READS_FILE, .dealt = true, LOAD_RING(16, 2, 32), \
	  .vllm = "--load-format runai_streamer --model-loader-extra-config '{\"distributed\": true}'") \
	X("slices", .reads = LOAD_READS_STRIPS, LOAD_RING(8, 8, 128), \
	  .transformers = "safetensors 0.9 with backend=\"read_file\"") \
	X("eager", .reads = LOAD_READS_FILE, .by_file = true, .whole = true, LOAD_RING(1, 8, 8), \
	  .vllm = "--safetensors-load-strategy eager") \
	X("lazy", .reads = LOAD_READS_ROWS, .by_file = true, .touch = true, LOAD_RING(1, 8, 8), \
	  .vllm = "--safetensors-load-strategy lazy", .sglang = "its default", .transformers = "its default") \
	X("prefetch", .reads = LOAD_READS_ROWS, .by_file = true, .touch = true, .ahead = true, LOAD_RING(8, 16, 128), \
	  .vllm = "--safetensors-load-strategy prefetch", .sglang = "--weight-loader-prefetch-checkpoints") \
	X("shared", .reads = LOAD_READS_FILE, .direct = true, .dealt = true, LOAD_RING(8, 16, 128), \
	  .vllm = "--load-format instanttensor") \
	X("sharded", .reads = LOAD_READS_ROWS, .by_file = true, .touch = true, .own = true, LOAD_RING(1, 8, 8), \
	  .vllm = "--load-format sharded_state", .sglang = "--load-format sharded_state")
#define LOAD_PATTERN_NAME(called, ...) called,
#define LOAD_PATTERN_ROW(called, ...) {.name = (called), __VA_ARGS__},
/* clang-format on */
static const char *const load_pattern_names[] = {LOAD_PATTERNS(LOAD_PATTERN_NAME) NULL};
const struct load_pattern load_patterns[] = {LOAD_PATTERNS(LOAD_PATTERN_ROW)};

/* Sets the options at into to those of its pattern. */
static void load_preset(void *into)
{
	struct load_options *o = into;

	o->threads = load_pattern(o)->threads;
	o->chunk = load_pattern(o)->chunk;
	o->buffers = load_pattern(o)->buffers;
}

const struct option load_options_table[] = {
	OPT_CHOICE(
		"pattern", struct load_options, pattern, .choices = load_pattern_names,
		.preset = load_preset,
		.help = "how the model is read, as programs do it, with their threads, chunk and buffers unless they are given, too: see docs/load-model.md"),
	OPT_TEXT("folder", struct load_options, folder, .def_text = "",
		 .help = "where the model's *.safetensors and its index lie in the store"),
	OPT_U64("count", struct load_options, count, .def = 1, .min = 1, .max = LOAD_COUNT_MAX,
		.help = "times that the model is loaded"),
	OPT_TIME("pause", struct load_options, pause_ns, .def = 0, .usual = 3600000000000,
		 .help = "time before the model is loaded again; it is in no figure"),
	OPTION_NULL_PASSES(struct load_options, null_passes),
	OPT_U64("tensor", struct load_options, tensor, .def = 0, .max = LOAD_TENSOR_MAX,
		.help = "ranks that share a model, each of which reads its shard; 0: cluster.tensor"),
	OPT_U64("pipeline", struct load_options, pipeline, .def = 1, .min = 1,
		.max = LOAD_TENSOR_MAX,
		.help = "stages of the pipeline: each has its share of the layers"),
	OPT_U64("experts", struct load_options, experts, .def = 0, .max = LOAD_TENSOR_MAX,
		.help = "ranks that divide the experts, each of which has whole ones; a multiple of \"tensor\" or a divisor of it; 0: ranks cut each expert, as all else"),
	OPT_U64("kv_heads", struct load_options, kv_heads, .def = 0, .max = LOAD_TENSOR_MAX,
		.help = "heads of keys and values that the model has: where they are fewer than \"tensor\", ranks share them; 0: not fewer"),
	OPT_TABLE(
		"model", struct load_options, model, .table = model_options,
		.help = "the model, which says what kv_heads are and how many bytes it has; left out: its "
			"files say it when they are read"),
	OPT_CHOICE(
		"readers", struct load_options, readers, .choices = load_readers_names,
		.help = "each: every rank reads its shard; first: the first of the ranks that share a model reads all of it, and the others of its node get it from that rank"),
	OPT_BYTES("buffers", struct load_options, buffers, .def = 128 << 20, .min = PIECE_BYTES_MIN,
		  .max = 1ull << 40,
		  .help = "memory per rank through which the model streams, however large it is"),
	OPT_BYTES("chunk", struct load_options, chunk, .def = 8 << 20, .min = PIECE_BYTES_MIN,
		  .max = 1ull << 32, .help = "bytes of a read"),
	OPTION_THREADS(struct load_options, threads, PIECES_MAX,
		       "threads per rank that share the reads"),
	OPT_BYTES(
		"gap", struct load_options, gap, .def = 4096, .max = 128 << 20,
		.help = "slices: ranges with at most so many bytes between them are read as one, unless more than twice the bytes needed were read then"),
	OPT_BYTES(
		"readahead", struct load_options, readahead, .def = 128 << 10,
		.min = PIECE_BYTES_MIN, .max = 1 << 30,
		.help = "lazy, prefetch and sharded on a store that is a model: bytes that a page fault fetches; elsewhere the kernel decides"),
	OPTION_ON_ERROR(struct load_options, on_error),
	OPTION_COLD(struct load_options, cold),
	OPT_END,
};

static uint64_t load_tensor(const struct job *job, const struct load_options *o)
{
	uint64_t tensor = o->tensor ? o->tensor : job->cluster.tensor;

	return tensor ? tensor : 1;
}

uint64_t load_sharers(const struct job *job, const struct load_options *o)
{
	return max_u64(load_tensor(job, o), o->experts) * o->pipeline;
}

void load_part(const struct job *job, const struct load_options *o, uint64_t rank,
	       struct load_part *out)
{
	uint64_t tensor = load_tensor(job, o), lanes = max_u64(tensor, o->experts);
	uint64_t lane = rank % load_sharers(job, o) % lanes, cuts;

	*out = (struct load_part){.tensor = 1};
	if (o->readers == LOAD_READERS_FIRST || load_pattern(o)->own)
		return;
	cuts = o->experts && o->experts < tensor ? tensor / o->experts : 1;
	*out = (struct load_part){.tensor = tensor,
				  .rank = lane % tensor,
				  .kv_heads = o->kv_heads,
				  .experts = o->experts,
				  .expert_rank = o->experts ? lane / cuts % o->experts : 0,
				  .expert_tensor = cuts,
				  .expert_tensor_rank = lane % cuts,
				  .stages = o->pipeline,
				  .stage = rank % load_sharers(job, o) / lanes};
	if (!o->kv_heads && o->model.layers)
		out->kv_heads = model_kv_heads(&o->model);
}

/* What a pattern cannot have beside it. */
static int load_check_pattern(const struct job *job, const struct load_options *o,
			      const struct job_store *store, const char *path, struct err *err)
{
	const struct load_pattern *p = load_pattern(o);
	const struct backend_ops *ops = store->section->owner;
	uint64_t tensor = load_tensor(job, o);

	if (o->readers == LOAD_READERS_FIRST &&
	    (p->by_file || p->dealt || o->pipeline > 1 || o->experts))
		return err_set(
			err, -EINVAL,
			"%s/readers: \"first\" reads all of the model for its group by \"streamer\" "
			"or \"slices\", without stages or shares of experts",
			path);
	if (o->experts && o->experts % tensor && tensor % o->experts)
		return err_set(err, -EINVAL,
			       "%s/experts: %" PRIu64
			       " is neither a multiple nor a divisor of %" PRIu64
			       ", the ranks that cut tensors",
			       path, o->experts, tensor);
	if (p->touch && !(ops->capabilities & BACKEND_MAPS))
		return err_set(
			err, -EINVAL,
			"%s/pattern: \"%s\" maps files, and store \"%s\" (%s://) has none that can be "
			"mapped; take streamer, distributed or slices",
			path, p->name, store->name, ops->scheme);
	return 0;
}

static int load_check_model(const struct load_options *o, const char *phase, struct err *err)
{
	char path[LOAD_PATH_BYTES];
	int rc;

	if (!o->model.layers && !o->model.bytes)
		return 0;
	snprintf(path, sizeof(path), "%s/model", phase);
	rc = model_check(&o->model, path, err);
	if (rc < 0 || !o->kv_heads || o->model.bytes || o->kv_heads == model_kv_heads(&o->model))
		return rc;
	return err_set(err, -EINVAL,
		       "%s/kv_heads: is %" PRIu64 ", and the model has %" PRIu64 "; leave it out",
		       phase, o->kv_heads, model_kv_heads(&o->model));
}

bool load_modelled(const struct job_phase *phase, const struct job_store *store)
{
	const struct load_options *o = phase->options;
	const struct backend_ops *ops = store->section->owner;

	return !(ops->capabilities & BACKEND_CONTENT) && (o->model.layers || o->model.bytes);
}

int load_check(const struct job *job, const struct job_phase *phase, uint32_t ranks,
	       struct err *err)
{
	const struct load_options *o = phase->options;
	const struct job_store *store;
	uint64_t sharers = load_sharers(job, o);
	int rc = phase_store_find(job, phase, &store, err);

	if (rc < 0)
		return rc;
	if (o->readers == LOAD_READERS_FIRST && o->kv_heads)
		return err_set(err, -EINVAL,
			       "%s/kv_heads: with \"readers\": \"first\" no shards are read; leave "
			       "it out",
			       phase->path);
	rc = load_check_pattern(job, o, store, phase->path, err);
	if (rc < 0)
		return rc;
	if (ranks > sharers && ranks % sharers)
		return err_set(err, -EINVAL,
			       "%s/tensor: %" PRIu32 " ranks are no multiple of %" PRIu64
			       " ranks that share a model",
			       phase->path, ranks, sharers);
	rc = load_check_model(o, phase->path, err);
	if (rc < 0)
		return rc;
	rc = key_check_folder(o->folder, err);
	if (rc < 0)
		return err_wrap(err, rc, "%s/folder", phase->path);
	rc = piece_check_memory(o->buffers, o->chunk, 1, phase->path, err);
	if (rc == 0)
		rc = piece_check_threads(o->buffers, o->chunk, o->threads, "threads", phase->path,
					 err);
	return rc < 0 ? rc : cold_check(&o->cold, store, phase->path, err);
}

int load_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
	      uint32_t ranks_per_node, struct demand *out, struct err *err)
{
	const struct load_options *o = phase->options;
	uint64_t sharers = load_sharers(job, o);
	int rc = load_check(job, phase, ranks, err);

	if (rc < 0)
		return rc;
	out->memory_per_rank =
		o->buffers + (load_pattern(o)->ahead ? o->chunk : 0) +
		o->threads * (sizeof(struct crew_thread) + LOAD_HISTOGRAMS * sizeof(struct hist));
	if (o->model.layers || o->model.bytes)
		demand_note(out,
			    "the weights of the model have %" PRIu64
			    " bytes, besides the headers of its files",
			    model_weight_bytes(&o->model));
	else
		demand_note(out, "how many bytes the model has is known when its files are read");
	if (o->readers == LOAD_READERS_FIRST)
		out->memory_per_rank += load_hand_bytes((uint32_t)o->threads, o->chunk) / sharers;
	else if (ranks < sharers)
		demand_note(out,
			    "%" PRIu64 " ranks share the model: the phase has the first %" PRIu32
			    " of them, which load only their part",
			    sharers, ranks);
	cold_size(&o->cold, ranks_per_node, out);
	return 0;
}

int load_stores(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err)
{
	const struct job_store *store = NULL;
	int rc = load_check(job, phase, ranks, err);

	if (rc == 0)
		rc = phase_store_find(job, phase, &store, err);
	if (rc < 0)
		return rc;
	phase_store_add(out, count, "model", store)->needs |=
		BACKEND_RANGES | (load_modelled(phase, store) ? 0 : BACKEND_CONTENT);
	return 0;
}
