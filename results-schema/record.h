/* SPDX-License-Identifier: Apache-2.0 */
/* Record of a phase: all facts that a phase has once. The run fills it, the file holds its members
 * as attributes of /phases/N_name, and the report reads them. The list below makes both the struct
 * and the table of its members, so that they cannot differ. Does not need HDF5. */
#ifndef HAUL_RESULTS_SCHEMA_RECORD_H
#define HAUL_RESULTS_SCHEMA_RECORD_H

#include <math.h>
#include <stdbool.h>

#include "core/claim.h"
#include "core/err.h"
#include "core/member.h"

enum {
	RECORD_NAME_BYTES = 64,
	RECORD_MESSAGE_BYTES = 512,
	RECORD_SETS_MAX = 8,
	RECORD_SET_BYTES = 256,
	RECORD_SWEEP_BYTES = RECORD_SETS_MAX * RECORD_SET_BYTES
};
#define RECORD_NOT_WITHIN   UINT64_MAX
#define RECORD_NOT_TOGETHER UINT64_MAX
/* The column of a phase's rank rows that is 0 where the rank took no part. */
#define PHASE_PRESENT       "present"

/* TEXT(member, attribute, bytes), NUMBER(member, attribute), REAL(member, attribute), followed by
 * members of struct member. */
/* clang-format off */
#define PHASE_RECORD_LIST(TEXT, NUMBER, REAL) \
	TEXT(kind, "kind", RECORD_NAME_BYTES) \
	TEXT(name, "name", RECORD_NAME_BYTES) /* in the job, else the kind */ \
	TEXT(store, "store", RECORD_NAME_BYTES) /* it works on */ \
	TEXT(status, "status", RECORD_NAME_BYTES) /* done, limit, ended, interrupted, failed; running */ \
	TEXT(message, "said", RECORD_MESSAGE_BYTES) /* a sentence for the report, or "" */ \
	TEXT(proof, "samples_known", RECORD_NAME_BYTES) /* counted, by size, as planned, read; "": no samples */ \
	TEXT(proof_claim, "samples_claim", RECORD_NAME_BYTES) /* each exactly once an epoch: held, missed, unknown */ \
	TEXT(proof_evidence, "samples_evidence", CLAIM_TEXT_BYTES) /* of the claim, or "" */ \
	TEXT(proof_missing, "samples_missing", CLAIM_TEXT_BYTES) /* what would settle it, or "" */ \
	TEXT(usual, "usual", 64) /* a setting that another program takes here by default, or "" */ \
	TEXT(usual_as, "usual_as", 256) /* how sentences call it */ \
	TEXT(typed, "typed", 256) /* into other programs, to have what was measured, or "" */ \
	TEXT(error, "error", ERR_TEXT_BYTES) /* a sentence, or "" */ \
	TEXT(main_figure, "main_figure", RECORD_NAME_BYTES) /* judged by it; "": none is known */ \
	TEXT(main_hist, "main_histogram", RECORD_NAME_BYTES) /* whose quantiles /summary has */ \
	TEXT(together, "together", RECORD_SET_BYTES) /* "ranks 0-47", or "" */ \
	TEXT(sweep, "sweep", RECORD_SWEEP_BYTES) /* what the sweeps set */ \
	NUMBER(number, "number") /* from 0, in the order of publication */ \
	NUMBER(within, "within", .only_other = true, \
	       .absent = RECORD_NOT_WITHIN) /* number of the phase that it is a part of */ \
	NUMBER(entry, "entry", .only_other = true, \
	       .absent = RECORD_NOT_TOGETHER) /* of the job's phases: the same ran together */ \
	NUMBER(alone, "alone") /* 1: ran by itself, to compare */ \
	NUMBER(started_ns, "started") /* UTC */ \
	NUMBER(finished_ns, "finished") \
	NUMBER(run, "run", .absent = 1) /* of the series, from 1 */ \
	NUMBER(combination, "combination", .absent = 1) /* from 1 */ \
	NUMBER(repeat, "repeat", .absent = 1) /* of it, from 1 */ \
	NUMBER(hole_bytes, "samples_holes") /* of its files: never written, though they have the size */ \
	NUMBER(warmup, "warmup") /* 1: left out of statistics */ \
	REAL(seconds, "seconds") /* that rates are of: without a warm-up, until the last rank was done */ \
	REAL(wall_seconds, "wall_seconds") /* of the slowest rank, from the start to the end */ \
	REAL(null_au, "null_au") /* AU of the same loop without storage; NaN: none */ \
	REAL(target_au, "target_au") /* NaN: none */
/* clang-format on */

struct phase_record {
#define RECORD_TEXT(member, attribute, bytes, ...) char member[bytes];
#define RECORD_NUMBER(member, attribute, ...)      uint64_t member;
#define RECORD_REAL(member, attribute, ...)        double member;
	PHASE_RECORD_LIST(RECORD_TEXT, RECORD_NUMBER, RECORD_REAL)
#undef RECORD_TEXT
#undef RECORD_NUMBER
#undef RECORD_REAL
};

extern const struct member phase_record_members[];
extern const size_t phase_record_member_count;

/* A rate over the whole phase: of kinds that have no figure of their own for it. NaN: no time has
 * passed, or nothing is counted. */
static inline double results_rate(double count, double seconds)
{
	return seconds > 0 ? count / seconds : (double)NAN;
}

/* An empty record: texts are "", numbers have the value for a missing attribute, reals are NaN. */
void phase_record_init(struct phase_record *r);

/* What a run spends on itself, by the clock of rank 0: attributes of the root of results.h5. The
 * list below makes the numbers, the attributes, and what is said of them. Needs no HDF5. */

enum own_when { OWN_BEFORE, OWN_BETWEEN, OWN_AFTER, OWN_WHENS };

/* X(number, name, when, words for a sentence, meaning) */
/* clang-format off */
#define OWN_TIME_LIST(X) \
	X(OWN_MPI, "mpi", OWN_BEFORE, "MPI_Init", "from the start of the program until MPI has started on all ranks") \
	X(OWN_NODES, "nodes", OWN_BEFORE, "nodes and cores", "which ranks share a node, and which cores they have") \
	X(OWN_JOB, "job", OWN_BEFORE, "the job", "reading the job, checking and planning it, and handing it to all ranks") \
	X(OWN_STORES, "stores", OWN_BEFORE, "looking at the stores", "looking at the stores before the first byte") \
	X(OWN_CLOCKS, "clocks", OWN_BEFORE, "aligning clocks", "aligning the clocks of the nodes") \
	X(OWN_FILE, "file", OWN_BEFORE, "making the results file", "making the files that the run writes: results, operation log") \
	X(OWN_OPEN, "open", OWN_BETWEEN, "opening", "of all phases: what goes before their work, such as opening stores and making queues") \
	X(OWN_NULL, "null", OWN_BETWEEN, "null passes", "of all phases: null passes (`null_passes`, `null_steps`)") \
	X(OWN_PUBLISH, "publish", OWN_BETWEEN, "publishing", "of all phases: from the end of their work until they are in the file") \
	X(OWN_END, "end", OWN_AFTER, "the end", "from the last phase to the last write of the file, which cannot count itself; MPI_Finalize comes later still")
/* clang-format on */

enum own_time {
#define OWN_TIME_NUMBER(number, ...) number,
	OWN_TIME_LIST(OWN_TIME_NUMBER)
#undef OWN_TIME_NUMBER
		OWN_TIMES
};

struct own_times {
	double seconds[OWN_TIMES];
};

struct own_time_kind {
	const char *name, *words, *help;
	enum own_when when;
};
extern const struct own_time_kind own_time_kinds[OWN_TIMES];

/* The attributes, which are called own_NAME. */
extern const struct member own_time_members[OWN_TIMES];

/* All NaN: a file that was written before they were measured. */
void own_times_init(struct own_times *t);
bool own_times_known(const struct own_times *t);

#endif
