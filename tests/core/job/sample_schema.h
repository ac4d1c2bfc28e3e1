/* SPDX-License-Identifier: Apache-2.0 */
/* Sample job schema for tests of core: the keys of real jobs, in tables that belong to the
 * tests. */
#ifndef HAUL_TESTS_CORE_JOB_SAMPLE_SCHEMA_H
#define HAUL_TESTS_CORE_JOB_SAMPLE_SCHEMA_H

#include "core/job/job.h"
#include "core/option/option.h"

struct sample_store {
	struct texts uri;
	uint64_t transfer;
	uint64_t timeout_ns;
	uint64_t bandwidth, rank_bandwidth, latency_ns; /* sim only */
	double failure_rate;
	struct factors slow_ranks;
	bool direct; /* file only */
	uint32_t fsync;
};

struct sample_dataset {
	char store[JOB_NAME_BYTES];
	uint32_t format;
	uint64_t files, samples_per_file, sample_bytes, sample_bytes_stdev;
	char folder[32];
};

struct sample_loader {
	uint32_t kind;
	uint64_t workers, prefetch, depth;
};

struct sample_evaluation {
	uint64_t every;
	char dataset[JOB_NAME_BYTES];
	uint64_t batch;
};

struct sample_tier {
	char store[JOB_NAME_BYTES];
	uint64_t capacity;
	struct sample_loader reader;
};

struct sample_train {
	uint64_t epochs, steps, seconds_ns, batch;
	struct draw compute, preprocess;
	struct sample_loader loader;
	uint32_t shuffle, verify;
	bool hold;
	struct texts tags;
	struct sample_evaluation evaluation;
	struct sample_tier tiers[4];
	uint32_t tier_count;
};

/* Stores file and sim; phases generate (no options) and train. */
const struct job_schema *sample_schema(void);

/* A job that uses most of the schema. */
extern const char sample_job[];

#endif
