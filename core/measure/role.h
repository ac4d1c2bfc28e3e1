/* SPDX-License-Identifier: Apache-2.0 */
/* Roles: what a column or a histogram means, whatever its workload calls it. A role is declared
 * beside its column in the workload's table and stored as an attribute in results.h5, so that a
 * report can ask for "the byte rate" of any phase without knowing a column's name.
 *
 * Within one row of measures and figures each role occurs at most once, except the roles of
 * accounts. */
#ifndef HAUL_CORE_MEASURE_ROLE_H
#define HAUL_CORE_MEASURE_ROLE_H

/* clang-format off */
#define ROLE_LIST(X) \
	X(NONE, "") \
	/* Shares of the time in which an accelerator computes, 0 to 1. */ \
	X(UTILISATION, "utilisation") \
	X(UTILISATION_WITHOUT_SKEW, "utilisation_without_skew") \
	X(UTILISATION_MLPERF, "utilisation_mlperf") \
	X(UTILISATION_NULL, "utilisation_null") /* of the same loop without storage */ \
	/* Rates over the phase: until its last thread had done its part, or its first one. */ \
	X(BYTE_RATE, "byte_rate") \
	X(BYTE_RATE_FIRST, "byte_rate_first_done") \
	X(BYTE_RATE_SLOWEST, "byte_rate_slowest_rank") /* of its own part */ \
	X(BYTE_RATE_NULL, "byte_rate_null") /* of the same loop without storage */ \
	X(OPERATION_RATE, "operation_rate") \
	X(OPERATION_RATE_FIRST, "operation_rate_first_done") \
	X(ITEM_RATE, "item_rate") /* samples, blocks of a cache, requests served */ \
	X(ITEMS, "items") \
	X(ITEMS_DROPPED, "items_dropped") /* of each epoch, that fill no step */ \
	X(ITEMS_LEFT, "items_left") /* begun or due, and not finished when the phase ended */ \
	/* Of a cache. */ \
	X(USERS_CARRIED, "users_carried") \
	X(HIT_RATE, "hit_rate") \
	X(READ_RATE, "read_rate") \
	X(WRITE_RATE, "write_rate") \
	X(ENTRY_READ_RATE, "entry_read_rate") /* without entries that move between tiers */ \
	X(ENTRY_WRITE_RATE, "entry_write_rate") \
	X(TOKEN_RATE, "token_rate") \
	X(WAITED_TOKEN_RATE, "waited_token_rate") /* over the time that requests waited for the cache */ \
	X(READ_P95, "read_p95_slowest_rank") /* entries, of the rank where it was the longest */ \
	X(WRITE_P95, "write_p95_slowest_rank") \
	X(READ_DEVICE_P95, "read_device_p95_slowest_rank") /* of them, the part that is the store's */ \
	X(WRITE_DEVICE_P95, "write_device_p95_slowest_rank") \
	X(MEMORY_P95, "memory_p95_slowest_rank") \
	X(CPU_PER_BYTE, "cpu_per_byte") /* processor seconds for 10^9 bytes */ \
	X(MEMORY, "memory") /* of the rank that had most for bytes that are read or written */ \
	X(CACHED, "cached_share") /* of the bytes looked at: what the page cache had */ \
	X(STARVED, "starved") /* threads that were ready without a core, on average */ \
	/* Where the time of a rank went: see account.h. */ \
	X(ACCOUNT_COMPUTE, "account_compute") \
	X(ACCOUNT_STORAGE, "account_storage") \
	X(ACCOUNT_OTHER, "account") \
	X(MEASURED_TIME, "measured_time") /* the part of it that utilisation counts, added over ranks */ \
	X(ALL_TIME, "all_time") /* all of it, added over ranks */ \
	X(RANK_DONE, "rank_done") /* when a rank had done its part */ \
	X(EVALUATION, "evaluation") /* 1 in rows that stand apart from the others of their table */ \
	/* Histograms. */ \
	X(READ_LATENCY, "read_latency") \
	X(WRITE_LATENCY, "write_latency") \
	X(REQUEST_LATENCY, "request_latency") /* of what users ask for */ \
	X(READ_DEVICE_LATENCY, "read_device_latency") /* of entries of a cache, the part that is the store's */ \
	X(WRITE_DEVICE_LATENCY, "write_device_latency")
/* clang-format on */

enum role {
#define ROLE_ENUM(id, name) ROLE_##id,
	ROLE_LIST(ROLE_ENUM)
#undef ROLE_ENUM
		ROLES
};

/* Of a kind of phase: the part of an AI workload that its phases stand for. Its workload declares it;
 * in results the roles of its columns tell it. */
enum purpose {
	PURPOSE_OTHER,
	PURPOSE_DATA, /* makes what others read */
	PURPOSE_TRAINING,
	PURPOSE_CHECKPOINTS,
	PURPOSE_CACHE, /* of keys and values */
	PURPOSE_SEARCH /* among vectors */
};

/* "byte_rate"; "" for ROLE_NONE. */
const char *role_name(enum role role);

/* ROLE_NONE for a name that is not known here: files of a newer haul may hold such names. */
enum role role_of(const char *name);

#endif
