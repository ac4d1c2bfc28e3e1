/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a request source from JSON, as a job has them. */
#ifndef HAUL_TESTS_WORKLOADS_KVCACHE_SOURCE_FIXTURE_H
#define HAUL_TESTS_WORKLOADS_KVCACHE_SOURCE_FIXTURE_H

#include "workloads/kvcache/requests/source.h"

/* Fills options (and the defaults) from a JSON object. Returns what the check returns. */
int source_options_read(struct kv_source_options *o, const char *json, struct err *err);

/* The same for options that must be right, and opens a source of llama3.1-8b with them. */
struct source_fixture {
	struct kv_source_options options;
	struct model model;
	struct kv_source source;
};
void source_fixture_open(struct source_fixture *f, const char *json, uint64_t seed);

#endif
