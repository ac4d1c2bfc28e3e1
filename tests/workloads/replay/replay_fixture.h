/* SPDX-License-Identifier: Apache-2.0 */
/* Fixture for phases "replay" on threads of this process. There may be one trace at a time. */
#ifndef HAUL_TESTS_WORKLOADS_REPLAY_REPLAY_FIXTURE_H
#define HAUL_TESTS_WORKLOADS_REPLAY_REPLAY_FIXTURE_H

#include "tests/workloads/train/train_fixture.h"
#include "workloads/replay/replay.h"

/* The header of a trace, and a row: the time in seconds, "Read" or "Write", bytes, the tier, the
 * key. */
#define REPLAY_HEADER "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n"
#define REPLAY_ROW(time, operation, bytes, tier, key) \
#time "," #operation "," #bytes ",Tier-" #tier "," key ",Decode\n"

/* Writes the trace to a file of a folder that replay_fixture_end removes. Returns its path. */
const char *replay_trace(const char *text);
/* Runs a phase with that trace and these options (", \"speed\": 0") on a store, which is given by
 * its options ("\"uri\": \"mem://s\""). The caller calls fixture_free. */
struct fixture *replay_run_trace(const char *store, const char *trace, const char *options,
				 uint32_t ranks);
/* A file of the folder. */
const char *replay_path(const char *name);
int replay_fixture_begin(void);
int replay_fixture_end(void);

/* Checks that the phase has succeeded on every rank, without an error, and that all of its rows
 * were replayed. */
void replay_expect_ok(const struct fixture *f);

/* A measure of all ranks together; the same of a tier of the trace. */
uint64_t replay_of(const struct fixture *f, unsigned measure);
uint64_t replay_tier(const struct fixture *f, const char *tier, unsigned measure);

#endif
