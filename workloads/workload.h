/* SPDX-License-Identifier: Apache-2.0 */
/* Workload: one kind of phase. It declares its options and measures in tables, checks and sizes a
 * phase for the plan without MPI, and runs it on a group of ranks. */
#ifndef HAUL_WORKLOADS_WORKLOAD_H
#define HAUL_WORKLOADS_WORKLOAD_H

#include "backends/backend.h"
#include "core/claim.h"
#include "core/clock.h"
#include "core/group/group.h"
#include "core/job/job.h"
#include "core/log.h"
#include "core/measure/tally.h"
#include "core/rank_place.h"
#include "core/stop.h"

/* What a phase needs of the machine, for `haul plan`. Rates are 0 where there are none. */
struct demand {
	uint64_t steps_per_epoch, epochs; /* 0 where there are no steps */
	double bytes, bytes_per_rank;     /* expected to be moved in the phase */
	/* the rate that AU 100 % needs, all ranks; INFINITY: compute is 0 */
	double bytes_per_second;
	double opens_per_second;
	double target;        /* target AU, 0: none */
	double seconds;       /* if fed; of an epoch where there are epochs */
	double total_seconds; /* the same of the whole phase, cut by its steps and its limit */
	/* Of an epoch and of the AU, on a store whose answers are known beforehand (backend_model);
	 * 0: unknown. */
	double expected_seconds, expected_au;
	double seconds_limit;     /* it ends then; 0: when its work is done */
	uint64_t memory_per_rank; /* bytes of buffers */
	/* Where ranks need unequal shares, memory_per_rank is that of the rank that needs most. The
	 * ranks of a node then need that many bytes less together than if each needed as much, also
	 * on the node that needs most. */
	uint64_t memory_uneven;
	uint64_t files, samples, samples_dropped; /* a epoch's tail */
	/* New on the store of the phase that is sized: see there. */
	double space_bytes;
	uint64_t inodes;
	uint32_t note_count;
	char notes[8][128]; /* sentences to read before a large run */
};

/* A store of a phase, and what the phase needs of it. The plan refuses a store that lacks it and
 * adds up what is new on the store. Results name the store by its role. */
enum { PHASE_STORES_MAX = 16, PHASE_ROLE_BYTES = 32, PHASE_WHY_BYTES = 256 };
struct phase_store {
	const struct job_store *store;
	/* requests in flight per queue that the job asks for; 0: as many as the store takes */
	uint64_t depth;
	const char *depth_option; /* the option that says so, for messages; NULL: none */
	/* New bytes and inodes on the store, all ranks. sized: those of the demand, since to know them
	 * takes longer than a phase may ask each time it is published. */
	double space_bytes;
	uint64_t inodes;
	bool sized;
	uint32_t needs; /* enum backend_capability bits */
	bool verifies;  /* the job asks for all bytes to be compared */
	/* What the store itself tells of its space, where it was asked (plan_ask_space): 1 if
	 * free_bytes are there, a negative errno if not, 0: it was not asked. */
	int told;
	double free_bytes;
	char told_why[PHASE_WHY_BYTES];
	char role[PHASE_ROLE_BYTES]; /* "data", "evaluation", "checkpoint", the name of a tier */
	/* An object that exists once part of the data has been made; then it cannot be told from
	 * here how much is new. "": none */
	char begun[OBJECT_KEY_BYTES];
};

/* What a workload reports in a plan besides its demand: figures of the whole phase, and tables, for
 * example with a row per rank. The text shows distinct rows with their counts, JSON all of them. */
struct plan_total {
	const char *name; /* "parameters" */
	const char *unit; /* "bytes", "s", "fraction", "" for counts */
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
	char note[192]; /* a sentence to read before the run; "": none */
};

static inline void plan_total_add(struct plan_told *out, const char *name, const char *unit,
				  double value)
{
	out->totals[out->total_count++] = (struct plan_total){name, unit, value};
}

/* Figures of a phase that is running, over all ranks and since its beginning. What it does not have
 * is 0, or NULL. */
struct progress_figures {
	const char *work;                    /* "train", "generate" */
	uint64_t epoch, epochs, step, steps; /* of a training; epochs 0: it is none */
	uint64_t items, items_total; /* files, operations, requests that are done, of all of them */
	const char *items_name;
	bool percent;         /* the fraction of the phase is known */
	double au, hit_share; /* 0 ... 1; NaN: unknown */
	uint64_t bytes, p99_ns;
	bool removed; /* the bytes are those of objects that were removed: nothing moves them, so they have no rate */
	uint64_t wall_ns; /* the time in which the bytes were moved; 0: since the phase began */
};

/* Bytes per second; elapsed_s: since the phase began. */
static inline double progress_rate(const struct progress_figures *f, double elapsed_s)
{
	return f->wall_ns ? (double)f->bytes * 1e9 / (double)f->wall_ns
			  : (double)f->bytes / elapsed_s;
}

/* Progress of a phase, for people (the progress line) and for programs (--live). Made often by rank
 * 0's main thread, so it must be cheap. */
struct progress {
	double fraction;             /* of the whole phase, 0 ... 1 */
	const struct status *merged; /* of the last status round */
	/* Fills the figures. Called only where they are shown. */
	void (*figures)(const struct progress *p, struct progress_figures *out);
	const void *phase; /* owned by the phase, for figures */
};

struct cpu_time {
	uint64_t user_ns, system_ns;
};
/* Of the process so far. */
struct cpu_time cpu_time_process(void);
struct snapshot;

/* What a phase knows of the samples that it read. word: "counted", "by size", "as planned", "read"; "":
 * it has none. */
struct phase_proof {
	char word[16];
	struct claim claim; /* that each was read exactly once in an epoch */
	uint64_t hole_bytes;
};

struct phase_context {
	const struct job *job;
	const struct job_phase *phase;
	const struct rank_place *place;
	struct group *group; /* the group of this phase */
	struct group *node;  /* the ranks of this node: for store_open, and before work begins */
	struct clock *clock;
	const struct log *log;
	struct stop *stop; /* requested from outside; checked at every status round */
	/* Told by the main thread: the phase should be over since then, by its own limit of time,
	 * but calls from before that have not come back on this rank. 0: they have. NULL: nobody
	 * needs to know. */
	void (*overdue)(void *overdue_argument, uint64_t since_ns);
	void *overdue_argument;
	struct store_process *process; /* what stores keep from phase to phase; NULL: nothing */
	uint64_t deadline_ns;          /* 0: none; a time of clock */
	/* The command that removes what the job makes, for sentences. NULL: not known. */
	const char *clean;
	/* A file that the job has the phase write (a trace) may replace one that is there: --force,
	 * or an earlier run of the series made it. */
	bool replaces;
	void (*progress)(void *progress_argument,
			 const struct progress *p); /* NULL except on rank 0 */
	void *progress_argument;
	/* Called once by run (workload_begin), on all ranks, when all is over that is not part of
	 * the phase (opening stores, a null run): outside measurements (processor time, the node's
	 * counters) start again, and phases that run at the same time wait here until all have
	 * come. What the phase measures begins after it. NULL: nobody measures. */
	void (*measure_from)(void *measure_from_argument);
	void *measure_from_argument;
	/* Takes the time of null passes before that. NULL: nobody asks. */
	uint64_t *null_ns;
	/* Processor time of a warm-up within the measurements of outside, in which nothing else
	 * counts, and of removing what the phase has made: it is taken off. Filled by run. */
	struct cpu_time uncounted;
	/* See workload_part. NULL: nobody publishes parts. */
	struct tally *(*part)(struct phase_context *ctx, const char *kind, const char *name,
			      const struct tally_schema *schema, const char *store,
			      struct err *err);
	void *part_argument;
	/* Publishes the phase while it goes on, with so_far for its figures, which the call may
	 * change. Workloads take a snapshot that often (common/snapshot.h). Collective.
	 * publish_every_ns 0: nobody asks for it. */
	uint64_t publish_every_ns;
	void (*publish)(void *publish_argument, struct tally *so_far);
	void *publish_argument;
	struct tally *tally; /* made by the caller (workload_tally) */
	bool counted;        /* filled by run: the tally is complete; what is left is to close */
	struct snapshot *
		snapshot; /* open while the phase counts beside its tally (common/snapshot.h), else NULL */
	struct op_log *op_log; /* workload_store_open gives it to the phase's stores; NULL: none */
	/* [job->store_count]: workload_store_open records here what is in effect. NULL: not
	 * needed. */
	struct store_facts *stores;
	struct phase_proof proof; /* filled by run, the same on every rank */
	/* Filled by run, for the answer of --tune: a setting of the phase that another program takes by
	 * default where it has run ("pattern=lazy"), how sentences call that ("vLLM's default here
	 * (…)"), and what to type to have what was measured. "": nothing. */
	char usual[64], usual_as[256], typed[256];
	char message
		[512]; /* filled by run: a sentence for the report ("412 of 512 files were whole already") */
};

/* Results of `haul clean` over all ranks, the same on every rank. */
enum { CLEAN_TEXT_BYTES = 4096 };
struct clean_counts {
	uint64_t removed, removed_bytes; /* objects */
	uint64_t versions;               /* of them, those that the store keeps as versions */
	uint64_t parts;                  /* unfinished files removed */
	uint64_t uploads;                /* unfinished uploads dropped */
	uint64_t kept;                   /* left because they are not as haul made them */
	uint64_t absent;                 /* were not there */
	uint64_t remain;                 /* not looked at, or not removed, because of a stop */
	uint64_t folders;                /* removed because they were empty */
	uint64_t failed;                 /* could not be removed */
	uint64_t buckets;                /* the same; on rank 0 */
	uint64_t unmade;                 /* data sets that nobody has made */
	/* On rank 0: one of those that were left, a folder that stays, with what it holds, and
	 * where the first data set would be that nobody has made. "": there is none. */
	char kept_name[CLEAN_TEXT_BYTES], holds[CLEAN_TEXT_BYTES], unmade_name[CLEAN_TEXT_BYTES];
};

/* What a phase tries for itself, one load after the other: each round is a row of a table of its
 * tally, and found is the most that it may be. */
enum { ROUNDS_LIMITS = 3 };
struct phase_rounds {
	const char *load; /* an option of the phase: "users" */
	uint32_t table;
	uint32_t next;        /* the column of the load of the rounds after the row */
	uint64_t first, most; /* of a rank that has rows: its first load, and the greatest */
	uint32_t limit_count;
	struct {
		const char *path;         /* an option: "autoscaling.read_p95" */
		const char *label, *unit; /* as those of a target */
		uint32_t column;
		double asked;
	} limits[ROUNDS_LIMITS];
};

struct workload {
	struct section section; /* name, help, options; section.owner is this workload */
	const struct tally_schema *schema;
	/* Sets how many rows the tables of this phase have at most, in the order of the schema,
	 * where its options say so; others stay 0, which stands for that of their kind. NULL:
	 * none. */
	void (*rows)(const struct job_phase *phase, uint32_t rows_max[TALLY_TABLES_MAX]);
	/* The histogram that this phase is judged by, where its options make it another one than
	 * the schema's. NULL: they never do. */
	uint32_t (*main_hist)(const struct job_phase *phase);
	/* The histograms that a phase with these options may fill, as bits; and sets how many rows
	 * its tables by texts have. NULL: any, and none. */
	uint64_t (*hists)(const struct job_phase *phase, uint32_t named[TALLY_TABLES_MAX]);
	/* Whether a phase with these options searches, round by round, for the greatest load that
	 * keeps its limits, and what its rounds are. NULL: none does. */
	bool (*rounds)(const struct job_phase *phase, struct phase_rounds *out);
	/* Whether a phase with these options leaves all data as it finds them, so that it can be
	 * repeated without what made them. NULL: none does, or generating phases make them. */
	bool (*leaves)(const struct job_phase *phase);
	/* Whether it makes what phases of its folder read, such as an index: see series_makes_once. NULL:
	 * none does. */
	bool (*builds)(const struct job_phase *phase);
	enum purpose purpose;
	bool generating; /* `haul generate` runs it */
	bool snapshots;  /* its phases can be published while they run (common/snapshot.h) */

	/* The stores that the phase uses, at least one. Results name the first one. Returns 0, or
	 * -EINVAL with the path of the phase. */
	int (*stores)(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		      struct phase_store out[PHASE_STORES_MAX], uint32_t *count, struct err *err);

	/* Checks rules that an option table cannot express, for this number of ranks. */
	int (*check)(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		     struct err *err);
	int (*size)(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		    uint32_t ranks_per_node, struct demand *out, struct err *err);
	/* Gives each option that says "as others do" (0, "", an empty list) what it stands for on so
	 * many ranks, so that jobs which mean the same have the same options. Not for jobs that run.
	 * NULL: each option stands for itself. */
	void (*settle)(const struct job *job, struct job_phase *phase, uint32_t ranks);
	/* Samples that all ranks together take of that data set in a step, for data sets that grow
	 * with the number of ranks; 0: the phase does not read it in steps. NULL: it never does. */
	uint64_t (*step_samples)(const struct job *job, const struct job_phase *phase,
				 const struct job_dataset *dataset, uint32_t ranks);
	/* Adds figures and tables for the plan to out, in the arena. places: [ranks]. NULL: there
	 * are none. */
	int (*tell)(const struct job *job, const struct job_phase *phase,
		    const struct rank_place *places, uint32_t ranks, struct arena *arena,
		    struct plan_told *out, struct err *err);

	/* How a phase runs, on every rank of its group (workload_run). run: the phase's state on
	 * this rank, run_bytes of zeros at first. open and work are collective, and return 0, or
	 * the negative errno that all ranks agreed on with a sentence in err.
	 *
	 * open: stores, memory, threads; keeps ctx. work: all that the phase is there for; *stopped
	 * tells why it ended early (STOP_NONE, STOP_LIMIT: it did not). measure: results go into
	 * ctx->tally, also after an error or a stop, and where open has failed; NULL: work has done
	 * that. say: sentences for the report, after work without an error; NULL: work has said
	 * them. close: frees what there is, also after an error. */
	size_t run_bytes;
	int (*open)(void *run, struct phase_context *ctx, struct err *err);
	int (*work)(void *run, enum stop_reason *stopped, struct err *err);
	void (*measure)(void *run);
	void (*say)(void *run);
	void (*close)(void *run);

	/* `haul clean`: removes exactly what phases of this kind have made for this job, as
	 * recorded in what they left beside it (a manifest, a description), and nothing else.
	 * Called on every rank of the group; ctx has no phase and no tally. Adds to counts. Returns
	 * what all ranks agree on: 0, or the first error, after everything else has been removed.
	 * NULL: this kind makes nothing. */
	int (*clean)(struct phase_context *ctx, struct clean_counts *counts, struct err *err);
};

/* The section of NAME_workload, whose options are struct NAME_options: its help, its targets (NULL:
 * none), its option tables. */
#define SECTION_OF(kind, h, its_targets, ...) \
	SECTION_DECIDED(kind, h, its_targets, NULL, __VA_ARGS__)
/* The same with options that stores decide: see struct section. */
#define SECTION_DECIDED(kind, h, its_targets, its_complete, ...) \
	{ \
		.name = #kind, .help = (h), .tables = {__VA_ARGS__, NULL}, \
		.size = sizeof(struct kind##_options), .targets = (its_targets), \
		.complete = (its_complete), .owner = &kind##_workload \
	}

/* What a phase of the job stands for. */
static inline enum purpose workload_purpose(const struct job_phase *phase)
{
	return ((const struct workload *)phase->section->owner)->purpose;
}

const struct workload *const *workload_table(void); /* NULL-terminated: workloads/table.c */
/* Their sections in the same order, NULL-terminated, for struct job_schema. */
extern const struct section *const workload_sections[];

/* Makes the tally of a phase, by its schema. */
int workload_tally(const struct workload *w, const struct job_phase *phase, struct tally *tally,
		   struct err *err);

/* Runs a phase of this kind from its opening to its closing. Collective over ctx->group. Results
 * are in ctx->tally also when it fails or is stopped. Returns and tells as the hooks open and work
 * do. */
int workload_run(const struct workload *w, struct phase_context *ctx, enum stop_reason *stopped,
		 struct err *err);

/* A phase within this one, such as the checkpoints of a training: another tally with a schema of
 * its own, which the run publishes after this phase as /phases/N_name with the attribute "within".
 * It belongs to the run and is valid until the phase has ended; the schema must live as long. name
 * NULL or "": the kind. store: the name in the job of the store that it uses; NULL: none of its
 * own. Collective; main thread. Returns NULL on all ranks alike, with a sentence, where there is no
 * memory or nobody publishes it. */
struct tally *workload_part(struct phase_context *ctx, const char *kind, const char *name,
			    const struct tally_schema *schema, const char *store, struct err *err);

/* The store that a phase names or, where it names none, the job's only one. -EINVAL with the
 * phase's path. */
int phase_store_find(const struct job *job, const struct job_phase *phase,
		     const struct job_store **store, struct err *err);

/* Sets the only store of a phase, or adds one more. Zeroes all but role and store. */
struct phase_store *phase_store_add(struct phase_store out[PHASE_STORES_MAX], uint32_t *count,
				    const char *role, const struct job_store *store);

/* The work of the phase begins: measure_from, and the timeline. Returns the time. Called once by
 * run, on all ranks of the phase, when nothing has failed. */
uint64_t workload_begin(const struct phase_context *ctx);

/* What the process has used since then is not of the phase (uncounted). */
void workload_uncount(struct phase_context *ctx, struct cpu_time from);

/* All ranks begin a piece of work at the same time: sets a time of ctx->clock at which the threads
 * of all ranks begin (clock_sleep_until). The ranks of a node agree on a time that is far enough
 * ahead that agreeing, which takes milliseconds where ranks outnumber the cores, is not part of the
 * work; a rank that gets a core later begins late. first: the phase begins with it, so that
 * workload_begin is called. Collective. */
int start_line(struct phase_context *ctx, bool first, uint64_t *start_ns);

/* Adds a sentence that should be read before a large run, as long as there is room for it. */
void demand_note(struct demand *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a sentence to ctx->message. */
void workload_say(struct phase_context *ctx, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Opens one of the job's stores for the phase (store_open), or one of its name with other options, and
 * records what is in effect on it.
 * What its objects stand in is made where the job asks for it (root_make). */
int workload_store_open(const struct phase_context *ctx, const struct job_store *described,
			struct store *store, struct err *err);
/* The same, where nothing is to be made. */
int workload_store_open_to_clean(const struct phase_context *ctx, const struct job_store *described,
				 struct store *store, struct err *err);
/* The same of a store whose objects the phase only reads: it may keep them open. */
int workload_store_open_to_read(const struct phase_context *ctx, const struct job_store *described,
				struct store *store, struct err *err);

#endif
