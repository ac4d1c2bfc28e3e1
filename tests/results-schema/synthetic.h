/* SPDX-License-Identifier: Apache-2.0 */
/* Synthetic workload: made-up tables, and tallies in which a test can compute every figure. */
#ifndef HAUL_TESTS_RESULTS_SYNTHETIC_H
#define HAUL_TESTS_RESULTS_SYNTHETIC_H

#include "core/client/client.h"
#include "core/measure/account.h"
#include "core/measure/tally.h"

/* clang-format off */
#define SYN_LIST(X, BLOCK) \
	X(SYN_SAMPLES, "samples", "", SUM, "samples", .role = ROLE_ITEMS) \
	BLOCK(SYN_ACCOUNTS, ACCOUNTS, ACCOUNT_MEASURES) \
	X(SYN_AU_COMPUTE, "au_compute_ns", "ns", SUM, "compute, warm-up excluded") \
	X(SYN_AU_WALL, "au_wall_ns", "ns", SUM, "wall, warm-up excluded") \
	X(SYN_LEAST, "least", "", MIN, "a minimum")
#define SYN_EPOCH_LIST(X) \
	X(SYN_E_SAMPLES, "samples", "", SUM, "samples") \
	X(SYN_E_ID_SUM, "id_sum", "id", SUM, "sum of ids") \
	X(SYN_E_ID_HASH, "id_hash", "id", SUM, "sum of hashed ids") \
	X(SYN_E_WALL, "wall_ns", "ns", MAX, "wall")
/* A table whose rows have names, which differ between ranks, and everything that a table can
 * have. */
#define SYN_TIER_LIST(X) \
	X(SYN_T_HITS, "hits", "", SUM, "hits") \
	X(SYN_T_FIRST, "first_ns", "ns", MIN, "the first of them", .counted_by = "hits") \
	X(SYN_T_MOST, "most_bytes", "bytes", MAX, "the largest")
/* clang-format on */

enum synthetic_measure {
	SYN_BEFORE = TALLY_COMMON - 1,
	SYN_LIST(MEASURE_ENUM, MEASURE_BLOCK_ENUM) SYN_MEASURES
};
enum synthetic_epoch { SYN_EPOCH_LIST(MEASURE_ENUM) SYN_E_MEASURES };
enum synthetic_tier { SYN_TIER_LIST(MEASURE_ENUM) SYN_T_MEASURES };
/* Stalls of rank 0 beside one of each rank: more than 2^32 - 1. */
#define SYN_MANY (UINT64_C(1) << 33)

enum synthetic_hist { SYN_READ, SYN_WRITE, SYN_STALL, SYN_HISTS };
enum synthetic_table { SYN_EPOCHS, SYN_TIERS, SYN_TABLES };
enum { SYN_TIERS_MAX = 4, SYN_STEPS = 5000 };

extern const struct tally_schema synthetic_schema;

/* Fills a rank's tally of a training phase with two epochs, and of a generating phase without
 * epochs. In the training, each rank hits the tier "shared" once, in 1,000 ns and with the answer
 * 200. It hits its own tier ("tier R" on rank R) R + 1 times, in (R + 1) us and with the answer 500
 * + R % 50. There is room for SYN_TIERS_MAX tiers. Step i of SYN_STEPS spends i + rank ns on
 * loading. */
void synthetic_train(struct tally *t, uint32_t rank);
void synthetic_generate(struct tally *t, uint32_t rank);

/* Fills a node's rows of five seconds; on odd nodes a row is two seconds. A quarter of the cores'
 * time was idle, and in second s node + s bytes arrived. */
void synthetic_client(struct client_series *s, uint32_t node);

#endif
