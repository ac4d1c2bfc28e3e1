/* SPDX-License-Identifier: Apache-2.0 */
/* What a run spends on itself, by the clock of rank 0: attributes of the root of results.h5. The
 * list below makes the numbers, the attributes, and what is said of them. Needs no HDF5. */
#ifndef HAUL_RESULTS_SCHEMA_OWN_TIMES_H
#define HAUL_RESULTS_SCHEMA_OWN_TIMES_H

#include <stdbool.h>

#include "core/member.h"

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
