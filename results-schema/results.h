/* SPDX-License-Identifier: Apache-2.0 */
/* Results file of a run, results.h5, written through parallel HDF5.
 *
 * The file is published as a whole after each phase: results_publish copies it to FILE.part, rank 0
 * adds the phase and reserves room for every byte of it, all ranks add their rows, and the copy is
 * closed, synced and renamed. A reader sees either every finished phase or the state before. All
 * ranks agree before and after each step, so a rank that fails ends the publication on all of them.
 * It does not know any workload: columns come from struct tally_schema.
 *
 * Of a series, and of a job of many phases, the file has one link per phase into a side file
 * (side_files.h), which is published in the same way just before it. */
#ifndef HAUL_RESULTS_SCHEMA_RESULTS_H
#define HAUL_RESULTS_SCHEMA_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/answer.h"
#include "core/client/client.h"
#include "core/err.h"
#include "core/group/group.h"
#include "core/measure/store_facts.h"
#include "core/measure/tally.h"
#include "core/rank_place.h"
#include "core/target.h"
#include "results-schema/record.h"

enum { RESULTS_TEXT = 128 };

/* Rows of /nodes and of /ranks: fixed records, gathered by rank 0. */
struct node_row {
	char host[64], cpu[RESULTS_TEXT], kernel[64];
	/* names of the interfaces and disks that are counted */
	char nics[RESULTS_TEXT], rdma[RESULTS_TEXT], disks[RESULTS_TEXT];
	uint64_t cores, memory_bytes, numa_nodes;
	uint64_t nic_bytes_per_s, rdma_bytes_per_s; /* all their links together; 0: unknown */
	int64_t clock_offset_ns;                    /* add to this node's clock to get node 0's */
	uint64_t clock_error_ns;
};
struct rank_row {
	struct rank_place place;
	char cores_found[RESULTS_TEXT]; /* the binding as read back, list form "1-8" */
	uint64_t run_ns,
		runnable_ns; /* of the whole run: on a core, and waiting for one (/proc/self/schedstat) */
};

/* /summary has this behind the name of a phase that ran by itself to be compared. */
#define RESULTS_ALONE ", alone"

/* What is kept of the file of an interrupted series that goes on: the first phases, of whole runs.
 * The others are taken out, and what follows is added behind. */
struct results_kept {
	uint64_t phases, runs, times; /* times: how often it was gone on with before */
	double seconds;               /* that were measured before */
};

struct results_head { /* rank 0 only */
	const char *version, *build, *command_line, *job_text, *job_name;
	uint64_t started_utc_ns;
	/* The same moment on the monotonic clock (clock_kernel_ns), from which durations follow
	 * whatever the wall clock does; 0: the moment of results_create */
	uint64_t started_ns;
	uint32_t ranks, nodes;
	/* room in /summary for names of phases and for what sweeps set, with their ends; 0: all
	 * that a row may have */
	uint32_t name_bytes, sweep_bytes;
	/* the number of runs that the series should have, and of phases in each; 0: 1. With side
	 * files where there is more than one run, or where there are many phases; these are joined
	 * by results_finish */
	uint32_t runs, phases;
	enum answer_type answer;         /* to the question that the run was asked */
	const struct results_kept *kept; /* NULL: the file is a new one */
	uint32_t
		rank_rows_max; /* up to this number of ranks histograms have a row per rank, above it one per node; 0: 1,024 */
	uint32_t client_nodes_max; /* of more nodes the client's rows are folded; 0: 1,000 */
	/* Of a phase with rows of more bytes in all, ranks write in parallel; rank 0 writes alone
	 * below; 0: 32 MiB. */
	uint64_t gather_bytes_max;
	/* What the storage was taken to be, of phases that were simulated: the file says so, its times are those
	 * of the simulation, and the calling process stands for all ranks (group: core/group/lone.h; comm NULL).
	 * NULL: they ran. */
	const char *simulated;
};

/* Place of a phase in a series of runs. All zeros: the only run. */
struct results_run {
	uint32_t run;         /* from 1, in the order of runs */
	uint32_t combination; /* of the sweeps' values, from 1 */
	uint32_t repeat; /* within the combination, from 1; warm-up runs are counted separately */
	bool warmup;
	const char *const *sets; /* what the sweeps set for it: "train.batch=4" */
	uint32_t set_count;
};

struct results_phase {
	/* used on rank 0; main_hist, sweep, null_au and target_au are filled in here */
	struct phase_record record;
	const char *const *sets; /* what the sweeps set; used on rank 0 */
	uint32_t set_count;
	const struct target_result *targets; /* used on rank 0 */
	uint32_t target_count;
	struct tally *tally; /* this rank's; may be changed (folded, merged) by the call */
	/* On the first rank of each node what the node did meanwhile, likewise; NULL on the others,
	 * or on all. */
	struct client_series *client;
	/* Of a simulation: the rows of all ranks, [ranks][measures of the schema], whose sum tally is. */
	const uint64_t *rank_rows;
	/* The phase still runs: the next publication replaces it, and must be of the same phase. */
	bool running;
	uint64_t
		requests; /* of all ranks so far, of a phase that runs: results_interim tells them */
};

/* Sets the place of the phase in a series of runs. */
void results_set_run(struct results_phase *phase, const struct results_run *run);

/* file status, as attribute "status" of the root: "interrupted" until the last publication */
enum results_status { RESULTS_INTERRUPTED, RESULTS_DONE, RESULTS_FAILED };

struct results; /* one per rank */

/* Collective over group; comm points to the MPI_Comm that group stands on, opaque here so that this
 * header needs no MPI. Rank 0 creates the file with the job and status "interrupted"; -EEXIST
 * ("results.h5 exists; name another with --results, or say --force") unless force; -EBUSY where
 * another run that goes on has it; -EINVAL where something else than a file is there. With force an
 * older file stays in its place until the first phase is published. */
int results_create(struct results **out, const char *path, bool force, const void *comm,
		   struct group *group, const struct results_head *head,
		   const struct node_row *nodes, const struct rank_row *ranks,
		   struct err *err); /* nodes[head->nodes], ranks[head->ranks] on rank 0 */

/* Whether no other run can write this file at the same time: not where its file system has no
 * locks. Rank 0 knows. */
bool results_owned(const struct results *r);

/* Watches that a write goes on. Each publication has steps; step is called before each of them, on
 * every rank, with the bytes that the step moves at most (0: few). So a limit of time can follow
 * from them, and begins anew with each step. Set it after results_create. */
struct results_watch {
	void (*step)(void *argument, uint64_t bytes);
	/* This rank begins, or has ended, work on files that waits for no other rank. NULL: nobody
	 * needs to know. */
	void (*works)(void *argument, bool begins);
	void *argument;
};
static inline void results_step(const struct results_watch *watch, uint64_t bytes)
{
	if (watch->step)
		watch->step(watch->argument, bytes);
}
static inline void results_works(const struct results_watch *watch, bool begins)
{
	if (watch->works)
		watch->works(watch->argument, begins);
}
void results_set_watch(struct results *r, const struct results_watch *watch);

/* In a copy of a rank's process whose other ranks do not answer, between two pieces of work on
 * files: from now on this process alone writes the results, with a group in which nobody else is
 * left (core/group/lone.h). Another rank than 0 takes over the files of rank 0; a negative errno
 * with a sentence where they are not there. */
int results_set_alone(struct results *r, struct group *lone, struct err *err);
/* In such a copy, when it writes nothing more: removes the lock of the results file, also where rank 0, which
 * has it, is stopped or was killed. */
void results_give_back(const struct results *r);
/* The number of the first phase that is not in the file yet, as far as this rank knows. */
uint64_t results_next(const struct results *r);

/* Whether the last publication joins the side files of a series into the results file, and removes
 * them: where all of them have RESULTS_JOINED_BYTES at most (unless something else is set), always,
 * or never. If there is no room for it, the side files stay; where it was to be done always, it
 * also fails with a sentence. */
#define RESULTS_JOINED_BYTES UINT64_C(1000000000)
enum results_join { RESULTS_JOIN_SMALL, RESULTS_JOIN_ALWAYS, RESULTS_JOIN_NEVER };
void results_set_join(struct results *r, enum results_join join);

/* Appends a phase, or replaces the one that was still running. Collective. All ranks return the
 * same. On failure (-ENOSPC …) the file stands as it was. While a phase runs that was published,
 * what was published before it is kept beside it; each publication of the phase begins with
 * that. */
int results_publish(struct results *r, const struct results_phase *phase, struct err *err);

/* Rank 0, any time before results_finish, which writes them: replaces /ranks, because the run's
 * run_ns and runnable_ns are known only then. The rows are copied. -ENOMEM. Does nothing on other
 * ranks. */
int results_set_ranks(struct results *r, const struct rank_row *ranks);

/* Rank 0, any time: /stores, written with the next publication. The rows are copied. -ENOMEM. Does
 * nothing on other ranks. */
int results_set_stores(struct results *r, const struct store_facts *rows, uint32_t count);

/* Rank 0, any time, of a file that was begun with an answer of that type: the answer so far, and how
 * many runs that took; written with the next publication. Takes what a has, on all ranks. */
void results_set_answer(struct results *r, struct answered *a, uint32_t runs);
/* Between two phases: writes the answer so far into the published file, before anybody is told of it.
 * Collective. */
int results_publish_answer(struct results *r, struct err *err);

/* Rank 0: what the run spends on itself. The caller keeps it, and goes on counting: each
 * publication writes what it says then. */
void results_set_own(struct results *r, const struct own_times *own);

/* The last publication: status, error sentence ("" if none, rank 0's), finished, seconds. Where an
 * older file is still in its place and the run is not done, that file stays. Collective. */
int results_finish(struct results *r, enum results_status status, const char *sentence,
		   struct err *err);
/* Call instead of results_finish where the run has measured nothing: leaves the older file, or
 * none. */
void results_discard(struct results *r);
/* Rank 0: whether the path holds what this run has published, at least its head. */
bool results_stand(const struct results *r);
/* Rank 0: the requests of the phase that runs, as the file in place has them; 0 where it has none.
 * It looks at the file, so it is right in the middle of a publication, too. */
uint64_t results_interim(const struct results *r);
void results_free(struct results *r);

#endif
