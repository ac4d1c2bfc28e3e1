/* A workload: one kind of phase. It declares its options and measures in tables, checks and sizes a
 * phase for the plan without MPI, and runs it on a group of ranks. */
#ifndef HAUL_WORKLOADS_WORKLOAD_H
#define HAUL_WORKLOADS_WORKLOAD_H

#include "backends/backend.h"
#include "core/clock.h"
#include "core/group/group.h"
#include "core/job/job.h"
#include "core/log.h"
#include "core/measure/tally.h"
#include "core/rank_place.h"
#include "core/stop.h"

/* What a phase asks of the machine, for `haul plan`. Rates are 0 where there are none. */
struct demand {
	uint64_t steps_per_epoch, epochs; /* 0 where there are no steps */
	double bytes, bytes_per_rank;     /* moved in the phase, expected */
	double bytes_per_second; /* that AU 100 % needs, all ranks; INFINITY: compute is 0 */
	double opens_per_second;
	double target;        /* target AU, 0: none */
	double seconds;       /* if fed; of an epoch where there are epochs */
	double total_seconds; /* the same of the whole phase, cut by its steps and its limit */
	/* Of an epoch and of the AU, on a store whose answers are known beforehand (backend_model); 0: unknown. */
	double expected_seconds, expected_au;
	double seconds_limit;                     /* it ends then; 0: when its work is done */
	uint64_t memory_per_rank;                 /* bytes of buffers */
	uint64_t files, samples, samples_dropped; /* a epoch's tail */
	uint32_t note_count;
	char notes[8][128]; /* sentences worth reading before a large run */
};

/* A store of a phase, and what the phase asks of it. The plan refuses what it lacks, adds up what is new on it, and
 * results name it by its role. */
enum { PHASE_STORES_MAX = 16, PHASE_ROLE_BYTES = 32 };
struct phase_store {
	char role[PHASE_ROLE_BYTES]; /* "data", "evaluation", "checkpoint", the name of a tier */
	const struct job_store *store;
	uint32_t needs; /* enum backend_capability bits */
	uint64_t
		depth; /* requests in flight per queue that the job asks for; 0: as many as the store has */
	bool verifies;      /* the job asks for all bytes to be compared */
	double space_bytes; /* new on the store, all ranks */
	uint64_t inodes;
	/* An object that exists once part of that has been made: what is new can then not be told from here. "": none */
	char begun[OBJECT_KEY_BYTES];
};

/* What a workload tells in a plan beside its demand: figures of the whole phase, and tables such as a row for each
 * rank. The text shows distinct rows with their counts, JSON all of them. */
struct plan_total {
	const char *name; /* "parameters" */
	const char *unit; /* "bytes", "s", "" for counts */
	double value;
};
struct plan_column {
	const char *name, *unit;
};
struct plan_rows {
	const char *name; /* what a row stands for: "ranks" */
	const struct plan_column *columns;
	uint32_t column_count;
	uint64_t row_count;
	uint64_t *cells; /* [row_count][column_count] */
};
enum { PLAN_TOTALS_MAX = 16, PLAN_TABLES_MAX = 4 };
struct plan_told {
	uint32_t total_count, table_count;
	struct plan_total totals[PLAN_TOTALS_MAX];
	struct plan_rows tables[PLAN_TABLES_MAX];
};

/* Live figures of a phase for the progress line; made on rank 0's main thread, cheap, often. */
struct progress {
	double fraction;             /* of the whole phase, 0 ... 1 */
	const struct status *merged; /* of the last status round */
	/* What the phase is doing, as text of at most so many bytes: "train 2/5 · step 13/100 · AU 93.1 %". Only
	 * called where the line is shown. elapsed_s: since the phase began. */
	void (*text)(const struct progress *p, double elapsed_s, char *out, size_t bytes);
	const void *phase; /* the phase's own, for text */
};

struct phase_context {
	const struct job *job;
	const struct job_phase *phase;
	const struct rank_place *place;
	struct group *group; /* this phase's own */
	struct group *node;  /* the ranks of this node: for store_open, and before work begins */
	struct clock *clock;
	const struct log *log;
	struct stop *stop;    /* asked for from outside; checked at every status round */
	uint64_t deadline_ns; /* 0: none; on clock */
	void (*progress)(void *progress_argument,
			 const struct progress *p); /* NULL except on rank 0 */
	void *progress_argument;
	/* Called by run where work that is not the phase's own (a null run) lies behind it: what is
	 * watched from outside (processor time, the node's counters) starts anew. NULL: nobody watches. */
	void (*measure_from)(void *measure_from_argument);
	void *measure_from_argument;
	/* See workload_part. NULL: there is nobody to publish it. */
	struct tally *(*part)(struct phase_context *ctx, const char *kind, const char *name,
			      const struct tally_schema *schema, const char *store,
			      struct err *err);
	void *part_argument;
	struct tally *tally;   /* made by the caller (workload_tally) */
	struct op_log *op_log; /* workload_store_open gives it to the phase's stores; NULL: none */
	/* [job->store_count]: workload_store_open notes here what is in effect. NULL: not asked. */
	struct store_facts *stores;
	char message
		[256]; /* filled by run: a sentence for the report ("412 of 512 files were whole already") */
};

/* What `haul clean` did, of all ranks and the same on every rank. */
struct clean_counts {
	uint64_t removed, removed_bytes; /* objects */
	uint64_t parts;                  /* unfinished files removed */
	uint64_t kept;                   /* not as haul made them: they stay */
	uint64_t absent;                 /* were not there */
	uint64_t folders;                /* removed, empty */
	bool complete;                   /* came to the end */
};

struct workload {
	struct section section; /* name, help, options; section.owner is this workload */
	const struct tally_schema *schema;
	/* The schema made for this phase, where it depends on its options (tables, rows at most), in memory of the
	 * arena; NULL there: no memory. NULL here: schema, as it stands. */
	const struct tally_schema *(*schema_for)(const struct job_phase *phase,
						 struct arena *arena);
	bool generating; /* `haul generate` runs it */

	/* The stores that the phase works on, at least one; the first is the one that results name. Returns 0, or
	 * -EINVAL with the phase's path. */
	int (*stores)(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		      struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err);

	/* What the options say that no table can refuse, for this many ranks. */
	int (*check)(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		     struct err *err);
	int (*size)(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		    uint32_t ranks_per_node, struct demand *out, struct err *err);
	/* Figures and tables for the plan, in the arena. places: [ranks]. NULL: there are none. */
	int (*tell)(const struct job *job, const struct job_phase *phase,
		    const struct rank_place *places, uint32_t ranks, struct arena *arena,
		    struct plan_told *out, struct err *err);

	/* Runs it on every rank of the group; results are in ctx->tally also when it fails or is stopped.
	 * Returns 0, or the negative errno that all ranks agreed on with a sentence in err. *stopped says
	 * why it ended early (STOP_NONE, STOP_LIMIT: it did not). */
	int (*run)(struct phase_context *ctx, enum stop_reason *stopped, struct err *err);

	/* `haul clean`: removes exactly what phases of this kind have made for this job, by what they left beside
	 * it (a manifest, a description), and nothing else. On every rank of the group; ctx has no phase and no
	 * tally. Adds to counts. Returns what all ranks agree on: 0, or the first error met, after all that could
	 * be removed was. NULL: the kind makes nothing. */
	int (*clean)(struct phase_context *ctx, struct clean_counts *counts, struct err *err);
};

const struct workload *const *workload_table(void); /* NULL-terminated: workloads/table.c */
/* Their sections in the same order, NULL-terminated, for struct job_schema. */
extern const struct section *const workload_sections[];

/* Makes the tally of a phase, by its schema. The arena must outlive it. */
int workload_tally(const struct workload *w, const struct job_phase *phase, struct arena *arena,
		   struct tally *tally, struct err *err);

/* A phase within this one, such as the checkpoints of a training: another tally, by a schema of its own, which the run
 * publishes after this phase as /phases/N_kind with the attribute "within". It belongs to the run and stays until the
 * phase has ended; the schema must stay, too. name NULL or "": the kind. store: the store that it works on, by its name
 * in the job; NULL: none of its own. Collective; main thread. NULL on all ranks alike: no memory, or nobody publishes
 * it, with a sentence. */
struct tally *workload_part(struct phase_context *ctx, const char *kind, const char *name,
			    const struct tally_schema *schema, const char *store, struct err *err);

/* Makes out the phase's only store, or adds one more. Zeroes all but role and store. */
struct phase_store *phase_store_add(struct phase_store out[PHASE_STORES_MAX], uint32_t *count,
				    const char *role, const struct job_store *store);

/* Adds a sentence to ctx->message. */
void workload_say(struct phase_context *ctx, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Opens one of the job's stores for the phase (store_open), and notes what is in effect on it. */
int workload_store_open(const struct phase_context *ctx, const struct job_store *described,
			struct store *store, struct err *err);

#endif
