/* SPDX-License-Identifier: Apache-2.0 */
/* What servers would do where a phase has run: the pattern that vLLM takes by default, and what to type for the pattern of the
 * phase. */
#include <stdio.h>
#include <string.h>

#include "core/numbers.h"
#include "core/proc.h"
#include "core/units.h"
#include "workloads/load/run.h"

/* vLLM (LoadConfig, "safetensors_load_strategy") maps files, and reads them ahead where their file system, by the type of its
 * mount, is one of these, and they take at most nine tenths of the memory that is available. */
static const char *const server_networks[] = {"nfs", "nfs4", "lustre"};
enum { SERVER_TENTHS = 9 };

static uint64_t server_file_bytes(const struct load_run *r)
{
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < r->names.count; i++)
		bytes += r->headers[i].file_bytes;
	return bytes;
}

/* "lazy, since ext4 is none of nfs, nfs4 and lustre"; false: it cannot be told. */
static bool server_vllm(const struct load_run *r, const char **pattern, char *why, size_t size)
{
	uint64_t bytes = server_file_bytes(r), memory = proc_memory_bytes("MemAvailable");
	char all[UNITS_TEXT_BYTES], free_text[UNITS_TEXT_BYTES];
	struct store_facts facts;
	bool network = false;

	if (!store_can(&r->store, BACKEND_CONTENT | BACKEND_MANY_NODES) || !memory)
		return false;
	if (!store_can(&r->store, BACKEND_MAPS)) {
		*pattern = "streamer";
		snprintf(why, size, "since these are objects");
		return true;
	}
	store_describe(&r->store, r->described, &facts);
	for (size_t i = 0; i < COUNT(server_networks); i++)
		network |= strcmp(facts.file_system, server_networks[i]) == 0;
	*pattern = network && bytes / SERVER_TENTHS <= memory / 10 ? "prefetch" : "lazy";
	units_bytes_decimal(all, (double)bytes);
	units_bytes_decimal(free_text, (double)memory);
	if (network)
		snprintf(why, size, "since on %s it weighs files of %s against %s of free memory",
			 facts.file_system, all, free_text);
	else
		snprintf(why, size, "since %s is none of nfs, nfs4 and lustre",
			 *facts.file_system ? facts.file_system : "the file system");
	return true;
}

void load_servers_say(struct load_run *r)
{
	const struct load_pattern *p = r->pattern;
	const struct {
		const char *server, *settings;
	} all[] = {{"vLLM", p->vllm}, {"SGLang", p->sglang}, {"transformers", p->transformers}};
	struct phase_context *ctx = r->ctx;
	const char *usual;
	char why[160];

	if (server_vllm(r, &usual, why, sizeof(why))) {
		snprintf(ctx->usual, sizeof(ctx->usual), "pattern=%s", usual);
		snprintf(ctx->usual_as, sizeof(ctx->usual_as), "vLLM's default here (%s, %s)",
			 usual, why);
		workload_say(ctx, "%s", ctx->usual_as);
	}
	for (size_t i = 0; i < COUNT(all); i++) {
		size_t used = strlen(ctx->typed);

		if (all[i].settings)
			snprintf(ctx->typed + used, sizeof(ctx->typed) - used, "%s%s: %s",
				 used ? "; " : "", all[i].server, all[i].settings);
	}
}
