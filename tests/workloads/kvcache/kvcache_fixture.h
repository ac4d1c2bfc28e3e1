/* SPDX-License-Identifier: Apache-2.0 */
/* Fixture for phases "kvcache" on threads of this process. */
#ifndef HAUL_TESTS_WORKLOADS_KVCACHE_KVCACHE_FIXTURE_H
#define HAUL_TESTS_WORKLOADS_KVCACHE_KVCACHE_FIXTURE_H

#include "tests/workloads/train/train_fixture.h"
#include "workloads/kvcache/kvcache.h"

/* Runs a phase with these options on stores as the job has them ("\"s\": {\"uri\": …}"). The caller
 * calls fixture_free. */
struct fixture *kvcache_run(const char *stores, const char *phase, uint32_t ranks);

/* A job with tensor groups, for fixture_run. */
struct fixture *kvcache_new(uint32_t tensor, const char *stores, const char *phase);

/* The same with users of one kind, who think for 0.8 to 1.2 s and ask for one token. A token has 1
 * MiB and a context one token, so a request writes one entry of 1 MiB and reads it twice. */
enum { ENTRY_BYTES = 1 << 20 };
struct fixture *kvcache_run_one(const char *stores, const char *phase, uint32_t ranks);
/* These users, as part of a phase whose model has 1 MiB per token. */
extern const char kvcache_one_user[];

/* Checks that the phase has succeeded on every rank, and that the accounts of each are the whole
 * time. */
void kvcache_expect_ok(const struct fixture *f);

/* A measure of a rank, of the nth tier, of the nth class. */
uint64_t kvcache_of(const struct fixture *f, uint32_t rank, unsigned measure);
uint64_t kvcache_tier(const struct fixture *f, uint32_t rank, uint32_t tier, unsigned measure);
uint64_t kvcache_class(const struct fixture *f, uint32_t rank, uint32_t class, unsigned measure);

#endif
