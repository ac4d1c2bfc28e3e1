/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the profile mlperf-v3: see source_options.h. */
#include "workloads/kvcache/requests/source_options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/file_read.h"
#include "core/numbers.h"
#include "core/time_ns.h"
#include "core/uri.h"
#include "workloads/model/kv_model.h"

enum { SOURCE_PATH_BYTES = 256, SOURCE_CONTEXT = 16384 };

static const struct kv_template source_templates[] = {
	{"chatbot", 1, 512, 4096, 50, 200, 100 * NS_PER_MS, 500 * NS_PER_MS},
	{"coding", 1, 4096, 25000, 100, 500, 200 * NS_PER_MS, 1000 * NS_PER_MS},
	{"document", 1, 4096, 16384, 200, 800, 300 * NS_PER_MS, 1500 * NS_PER_MS},
};

static const struct kv_class source_classes[KV_CLASSES_OF_MLPERF] = {
	{"interactive", 0.15, 3, 50 * NS_PER_MS, 100 * NS_PER_MS, 150 * NS_PER_MS, 200 * NS_PER_MS},
	{"responsive", 0.35, 2, 100 * NS_PER_MS, 200 * NS_PER_MS, 350 * NS_PER_MS, 500 * NS_PER_MS},
	{"batch", 0.5, 1, 1000ull * NS_PER_MS, 5000ull * NS_PER_MS, 7500ull * NS_PER_MS,
	 10000ull * NS_PER_MS},
};

static const char *const source_modes[] = {"both", "prefill", "decode", NULL};
static const char *const source_orders[] = {"zipf", "uniform", NULL};

#define TOKENS(n, type, member, default_, text) \
	OPT_U64(n, type, member, .def = (default_), .min = 1, .max = KV_TOKENS_MAX, .help = text)

static const struct option template_options[] = {
	OPT_TEXT("name", struct kv_template, name, .required = true, .help = "what it is called"),
	OPT_REAL("share", struct kv_template, share, .def_real = 1, .max_real = 1e9,
		 .help = "share of the users, in proportion to the other templates"),
	TOKENS("context_min", struct kv_template, context_min, 512,
	       "shortest context of a user; a request of the user has between a quarter of it and all"),
	TOKENS("context_max", struct kv_template, context_max, 4096,
	       "longest context of a user, and of a request"),
	TOKENS("generate_min", struct kv_template, generate_min, 50, "fewest tokens generated"),
	TOKENS("generate_max", struct kv_template, generate_max, 200, "most tokens generated"),
	OPT_TIME("think_min", struct kv_template, think_min_ns, .def = 100 * NS_PER_MS, .min = 1000,
		 .max = 13 * NS_PER_D, .help = "shortest time between two requests of a user"),
	OPT_TIME("think_max", struct kv_template, think_max_ns, .def = 500 * NS_PER_MS, .min = 1000,
		 .max = 13 * NS_PER_D, .help = "longest time between two requests of a user"),
	OPT_END};

static const struct option class_options[] = {
	OPT_TEXT("name", struct kv_class, name, .required = true, .help = "what it is called"),
	OPT_REAL("share", struct kv_class, share, .def_real = 1, .max_real = 1e9,
		 .help = "share of the users, in proportion to the other classes"),
	OPT_U64("priority", struct kv_class, priority, .def = 1, .max = 1000,
		.help = "requests of a higher one are served first"),
	OPT_TIME("p95", struct kv_class, p95_ns,
		 .help = "target of the 95th percentile of latency; 0: none"),
	OPT_TIME("p99", struct kv_class, p99_ns, .help = "the same of the 99th; 0: none"),
	OPT_TIME("p99.9", struct kv_class, p999_ns, .help = "the same of the 99.9th; 0: none"),
	OPT_TIME("p99.99", struct kv_class, p9999_ns, .help = "the same of the 99.99th; 0: none"),
	OPT_END};

static const struct option conversation_options[] = {
	OPT_BOOL("enabled", struct kv_conversation_options, enabled, .def = true,
		 .help = "requests belong to conversations, whose earlier turns are read again"),
	OPT_REAL("end", struct kv_conversation_options, end, .def_real = 0.2, .max_real = 1,
		 .help = "probability that a conversation ends before the next request"),
	OPT_U64("turns", struct kv_conversation_options, turns, .def = 50, .min = 1,
		.max = KV_TURNS_MAX, .help = "the most turns of a conversation"),
	OPT_U64("held", struct kv_conversation_options, held, .max = KV_USERS_MAX,
		.help = "conversations that a rank remembers; the least recent one is forgotten; "
			"0: all"),
	OPT_END};

static const struct option prefix_options[] = {
	OPT_BOOL("enabled", struct kv_prefix_options, enabled, .def = true,
		 .help = "some requests begin with a system prompt that many share"),
	OPT_REAL("probability", struct kv_prefix_options, probability, .def_real = 0.2,
		 .max_real = 1, .help = "share of the requests that do"),
	OPT_U64("prompts", struct kv_prefix_options, prompts, .def = 3, .min = 1, .max = 1 << 20,
		.help = "how many prompts there are"),
	TOKENS("tokens_min", struct kv_prefix_options, tokens_min, 5,
	       "tokens of the shortest prompt"),
	TOKENS("tokens_max", struct kv_prefix_options, tokens_max, 9,
	       "tokens of the longest prompt"),
	OPT_U64("shortest", struct kv_prefix_options, shortest, .max = KV_TOKENS_MAX,
		.help = "shorter prompts are not cached"),
	OPT_END};

static const struct option rag_options[] = {
	OPT_U64("documents", struct kv_rag_options, documents, .max = 1 << 24,
		.help = "documents that are cut into chunks before the first request; 0: no "
			"retrieval"),
	OPT_U64("held", struct kv_rag_options, held, .max = 1 << 24,
		.help = "the most documents there are; the first ones are deleted for later ones; 0: all"),
	OPT_U64("tokens_min", struct kv_rag_options, tokens_min, .max = KV_TOKENS_MAX,
		.help = "tokens of the shortest document; 0: 4000, or 1024 for a large model"),
	OPT_U64("tokens_max", struct kv_rag_options, tokens_max, .max = KV_TOKENS_MAX,
		.help = "tokens of the longest document; 0: 12000, or 4096 for a large model"),
	TOKENS("chunk_tokens", struct kv_rag_options, chunk_tokens, 512, "tokens of a chunk"),
	OPT_BYTES("chunk_bytes", struct kv_rag_options, chunk_bytes, .def = 256 << 20, .min = 1,
		  .help = "a chunk has fewer tokens if it would be larger"),
	OPT_U64("retrieved", struct kv_rag_options, retrieved, .def = 5, .min = 1,
		.max = KV_RETRIEVED_MAX, .help = "chunks of a document that a request reads"),
	TOKENS("generate_min", struct kv_rag_options, generate_min, 50,
	       "fewest tokens that a request for a document generates"),
	TOKENS("generate_max", struct kv_rag_options, generate_max, 200,
	       "most tokens that a request for a document generates"),
	OPT_REAL("probability", struct kv_rag_options, probability, .def_real = 0.1, .max_real = 1,
		 .help = "share of the requests that retrieve; as many are followed by a request "
			 "for a document"),
	OPT_CHOICE("order", struct kv_rag_options, order, .choices = source_orders,
		   .help = "zipf: earlier chunks are likelier; uniform: all are alike"),
	OPT_END};

static const struct option arrivals_options[] = {
	OPT_TEXT(
		"file", struct kv_arrivals_options, file, .def_text = "",
		.help = "a trace of BurstGPT, Azure's inference service, Mooncake or Qwen, LMCache's log of lookups or storage trace (.lct), or ShareGPT's conversations, plain or "
			"compressed by zstd or gzip; the ranks share its rows; ${VARIABLE} stands for that of "
			"the environment"),
	OPT_REAL("speed", struct kv_arrivals_options, speed, .def_real = 1, .min_real = 0.001,
		 .max_real = 1e6, .help = "times as fast as they were recorded"),
	OPT_TIME("from", struct kv_arrivals_options, from_ns, .max = 13000 * NS_PER_D,
		 .help = "requests before this time of the trace are left out"),
	OPT_TIME("window", struct kv_arrivals_options, window_ns, .max = 13000 * NS_PER_D,
		 .help = "requests so long after that time, or later, are left out; 0: none"),
	OPT_U64("cycles", struct kv_arrivals_options, cycles, .def = 1,
		.help = "times that the file is read, with new entries each time; 0: as long as the "
			"phase lasts"),
	OPT_U64("context_max", struct kv_arrivals_options, context_max, .max = KV_TOKENS_MAX,
		.help = "longer contexts are cut to this number of tokens; 0: to 16384, profile "
			"serving: never"),
	OPT_U64("generate_max", struct kv_arrivals_options, generate_max, .max = KV_TOKENS_MAX,
		.help = "longer answers are cut to this number of tokens; 0: none"),
	OPT_REAL(
		"rate", struct kv_arrivals_options, rate, .max_real = 1e9,
		.help = "conversations: requests per second of all ranks, since these have no times"),
	OPT_U64("characters", struct kv_arrivals_options, characters, .def = 4, .min = 1,
		.max = 1024, .help = "conversations: characters of a text per token"),
	OPT_U64("conversations", struct kv_arrivals_options, conversations,
		.help = "conversations: how many of the first ones are used; 0: all"),
	OPT_BOOL("lenient", struct kv_arrivals_options, lenient,
		 .help = "rows that are wrong are left out, and counted by the plan"),
	OPT_END};

const struct option kv_source_options_table[] = {
	OPT_U64("users", struct kv_source_options, users, .def = 100, .min = 1, .max = KV_USERS_MAX,
		.help = "users of a rank"),
	OPT_LIST("templates", struct kv_source_options, templates, template_count,
		 .table = template_options,
		 .help = "kinds of users; none: chatbot, coding and document, as MLPerf has them"),
	OPT_LIST("classes", struct kv_source_options, classes, class_count, .table = class_options,
		 .help = "classes of service; none: interactive, responsive and batch"),
	OPT_TABLE("arrivals", struct kv_source_options, arrivals, .table = arrivals_options,
		  .help = "recorded requests in place of those of users"),
	TOKENS("prefill_from", struct kv_source_options, prefill_from, 10000,
	       "requests with so long a context are only written, and not read for decoding"),
	TOKENS("decode_batch", struct kv_source_options, decode_batch, 32,
	       "tokens that are generated between two reads of an entry"),
	OPT_BOOL(
		"decode_reads", struct kv_source_options, decode_reads, .def = true,
		.help = "a request reads its entry while it decodes, once per decode_batch, as in MLPerf's "
			"benchmark; false: servers that keep it in the memory of accelerators, so it "
			"reads only what was there before it, once"),
	OPT_CHOICE("mode", struct kv_source_options, mode, .choices = source_modes,
		   .help = "prefill: entries are written and not read for decoding; decode: what "
			   "is there from the beginning is read"),
	OPT_U64("stored_per_user", struct kv_source_options, stored_per_user, .def = 10, .min = 1,
		.max = 1 << 20, .help = "decode: entries that are there from the beginning"),
	TOKENS("stored_tokens", struct kv_source_options, stored_tokens, 2048,
	       "decode: tokens of each of them"),
	OPT_TABLE("conversation", struct kv_source_options, conversation,
		  .table = conversation_options, .help = "conversations of several turns"),
	OPT_TABLE("prefix", struct kv_source_options, prefix, .table = prefix_options,
		  .help = "system prompts"),
	OPT_TABLE("rag", struct kv_source_options, rag, .table = rag_options,
		  .help = "retrieval of documents"),
	OPT_END};

/* The first error counts. */
static void source_check_range(int *rc, const char *path, const char *key, uint64_t least,
			       uint64_t most, struct err *err)
{
	if (*rc == 0 && least > most)
		*rc = err_set(err, -EINVAL, "%s/%s_max: must be at least %s_min", path, key, key);
}

static int source_check_templates(const struct kv_source_options *o, const char *path,
				  struct err *err)
{
	double shares = 0;
	int rc = 0;

	for (uint32_t i = 0; i < o->template_count; i++) {
		const struct kv_template *t = &o->templates[i];
		char where[SOURCE_PATH_BYTES];

		snprintf(where, sizeof(where), "%s/templates/%u", path, i);
		source_check_range(&rc, where, "context", t->context_min, t->context_max, err);
		source_check_range(&rc, where, "generate", t->generate_min, t->generate_max, err);
		source_check_range(&rc, where, "think", t->think_min_ns, t->think_max_ns, err);
		shares += t->share;
	}
	if (rc == 0 && !(shares > 0))
		return err_set(err, -EINVAL, "%s/templates: one must have a share of the users",
			       path);
	return rc;
}

static int source_check_classes(const struct kv_source_options *o, const char *path,
				struct err *err)
{
	double shares = 0;

	for (uint32_t i = 0; i < o->class_count; i++) {
		shares += o->classes[i].share;
		/* Results name classes. */
		for (uint32_t k = 0; k < i; k++)
			if (strcmp(o->classes[i].name, o->classes[k].name) == 0)
				return err_set(err, -EINVAL,
					       "%s/classes/%" PRIu32
					       "/name: two classes are called \"%s\"",
					       path, i, o->classes[i].name);
	}
	if (!(shares > 0))
		return err_set(err, -EINVAL, "%s/classes: one must have a share of the users",
			       path);
	return 0;
}

static int source_check_rag(const struct kv_source_options *o, const char *path, struct err *err)
{
	const struct kv_rag_options *r = &o->rag;
	char where[SOURCE_PATH_BYTES];
	int rc = 0;

	snprintf(where, sizeof(where), "%s/rag", path);
	if (!r->tokens_min != !r->tokens_max)
		return err_set(err, -EINVAL, "%s/tokens_%s: is missing; give both, or neither",
			       where, r->tokens_min ? "max" : "min");
	source_check_range(&rc, where, "tokens", r->tokens_min, r->tokens_max, err);
	source_check_range(&rc, where, "generate", r->generate_min, r->generate_max, err);
	return rc;
}

/* What is recorded has no templates; without a file there is nothing to be fast or slow. */
static int source_check_arrivals(const struct kv_source_options *o, const char *path,
				 struct err *err)
{
	const struct kv_arrivals_options *a = &o->arrivals;
	char file[URI_BYTES];
	int rc;

	if (a->file[0] && o->template_count)
		return err_set(err, -EINVAL,
			       "%s/templates: are for users, and requests come from arrivals/file",
			       path);
	if (!a->file[0] && (a->speed < 1 || a->speed > 1 || a->from_ns || a->window_ns ||
			    a->rate > 0 || a->conversations || a->cycles != 1))
		return err_set(err, -EINVAL, "%s/arrivals/file: is missing", path);
	if (!a->file[0] || uri_expand(a->file, NULL, file, NULL) < 0)
		return 0;
	rc = file_refuse_pipe(file, err);
	return rc < 0 ? err_wrap(err, rc, "%s/arrivals/file: %s", path, file) : 0;
}

int kv_source_check(struct kv_source_options *o, const char *path, struct err *err)
{
	char where[SOURCE_PATH_BYTES];
	int rc = source_check_arrivals(o, path, err);

	if (rc < 0)
		return rc;
	o->users_most = o->users;
	if (!o->arrivals.context_max)
		o->arrivals.context_max = SOURCE_CONTEXT;
	if (!o->template_count) {
		o->template_count = COUNT(source_templates);
		memcpy(o->templates, source_templates, sizeof(source_templates));
	}
	if (!o->class_count) {
		o->class_count = COUNT(source_classes);
		memcpy(o->classes, source_classes, sizeof(source_classes));
	}
	snprintf(where, sizeof(where), "%s/prefix", path);
	source_check_range(&rc, where, "tokens", o->prefix.tokens_min, o->prefix.tokens_max, err);
	if (rc == 0)
		rc = source_check_templates(o, path, err);
	if (rc == 0)
		rc = source_check_classes(o, path, err);
	if (rc == 0)
		rc = source_check_rag(o, path, err);
	if (rc == 0 && o->users * o->stored_per_user > UINT32_MAX)
		return err_set(err, -EINVAL,
			       "%s/stored_per_user: %" PRIu64 " users have more than 2^32 entries",
			       path, o->users);
	return rc;
}
