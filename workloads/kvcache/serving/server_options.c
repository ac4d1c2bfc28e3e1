/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/kvcache/serving/server_options.h"

#include "core/time_ns.h"
#include "workloads/kvcache/requests/prompts.h"
#include "workloads/kvcache/serving/layout.h"

static const char *const arrive_names[] = {[KV_ARRIVE_CLOSED] = "closed",
					   [KV_ARRIVE_POISSON] = "poisson",
					   [KV_ARRIVE_CONSTANT] = "constant",
					   NULL};
static const char *const fetch_names[] = {
	[KV_FETCH_ALL] = "all", [KV_FETCH_PAYS] = "pays", [KV_FETCH_NEVER] = "never", NULL};

/* What the program does by itself; the options after it may say otherwise. */
static void layout_preset(void *into)
{
	struct kv_server_options *o = into;

	o->lookups = kv_layouts[o->layout].lookups;
}

const struct option kv_server_options_table[] = {
	OPT_CHOICE(
		"layout", struct kv_server_options, layout, .choices = kv_layout_names,
		.preset = layout_preset,
		.help = "names, files and lookups of blocks: haul's own, or those of LMCache's fs, fs_native, "
			"s3 and raw_block adapters, of vLLM's file-system tier and disk backend, or of "
			"Mooncake's offset allocator and buckets"),
	OPT_TEXT(
		"model_name", struct kv_server_options, model, .def_text = "",
		.help = "the name of the model in the names of blocks, such as meta-llama/Llama-3.1-8B; "
			"left out: that of the option model"),
	OPT_U64("block_tokens", struct kv_server_options, block_tokens, .max = 1 << 20,
		.help = "tokens of a block, which is one object of the store; 0: those of the blocks "
			"that a trace names, else 256"),
	OPT_CHOICE("arrive", struct kv_server_options, arrive, .choices = arrive_names,
		   .help = "closed: a user asks again when it has been answered and has thought; "
			   "poisson, constant: requests arrive at a rate, whoever waits"),
	OPT_REAL(
		"rate", struct kv_server_options, rate, .max_real = 1e6,
		.help = "requests per second that arrive at a rank, of arrive poisson and constant"),
	OPT_U64("queue", struct kv_server_options, queue, .max = 1 << 20,
		.help = "requests of a rank that may wait to be served; those that come then are "
			"turned away, and counted; 0: no limit"),
	OPT_U64("lookups", struct kv_server_options, lookups, .max = 1 << 20,
		.help = "lookups of a request at a time, the first one that misses ends them; 1: one "
			"after the other; 0: all at once"),
	OPT_BOOL(
		"layered", struct kv_server_options, layered,
		.help = "a layer of the model is computed as soon as its part of all blocks has come, "
			"while those of later layers still come"),
	OPT_U64("prefill_tokens_per_second", struct kv_server_options, prefill, .max = 1 << 30,
		.help = "tokens of a prompt that an accelerator computes per second, where the cache "
			"does not have them; 0: computing takes no time"),
	OPT_CHOICE(
		"fetch", struct kv_server_options, fetch, .choices = fetch_names,
		.help = "all: what the store has is fetched; pays: unless recomputing it would have "
			"been faster, by the fetches so far; never: all is recomputed"),
	OPT_BYTES(
		"fetch_bytes", struct kv_server_options, fetch_bytes, .max = 1ull << 50,
		.help = "bytes of blocks of a request that are fetched at a time; the next ones begin "
			"when all of these have come; 0: as many as threads have room for"),
	OPT_BYTES(
		"memory", struct kv_server_options, memory, .max = 1ull << 60,
		.help = "bytes of blocks that a rank keeps in memory in front of the store; they are "
			"only counted, no byte is moved"),
	OPT_U64("pending", struct kv_server_options, pending, .def = 1024, .max = 1 << 20,
		.help = "blocks of a rank that may wait to be written, behind the requests; what "
			"comes then is dropped, and counted"),
	OPT_BOOL("answers", struct kv_server_options, answers,
		 .help = "the blocks of generated tokens are written, too"),
	OPT_U64("decode_ranks", struct kv_server_options, decode_ranks, .max = UINT32_MAX,
		.help = "so many of the last ranks decode: each waits until the store has the blocks of "
			"a prompt that a rank of the first half has computed, and fetches them; half of "
			"the ranks, or 0"),
	OPT_TIME("hand_over", struct kv_server_options, hand_over_ns, .def = 10 * NS_PER_S,
		 .max = 13 * NS_PER_D,
		 .help = "a decoding rank computes what the store does not have after this time"),
	OPT_U64("context_max", struct kv_server_options, context_max, .def = 1 << 17, .min = 1,
		.max = 1 << 24, .help = "a conversation ends before its prompt has more tokens"),
	OPT_TIME(
		"restart", struct kv_server_options, restart_ns, .max = 13 * NS_PER_D,
		.help = "at this time of the phase each server ends what is under way, loses its memory, and "
			"starts anew: it reads what the layout's program reads then, while requests wait; 0: "
			"never"),
	OPT_TIME(
		"good", struct kv_server_options, good_ns, .max = 13 * NS_PER_D,
		.help = "goodput counts requests whose first token comes within this time; 0: all"),
	OPT_END};
