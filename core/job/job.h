/* SPDX-License-Identifier: Apache-2.0 */
/* Job: the contents of a JSON job file, typed, within bounds, with defaults.
 *
 * core knows the shape of a job (cluster, stores, data sets, phases). What a store, a data set or a
 * phase may contain comes from a struct job_schema, which plan/ assembles from the tables of their
 * owners. */
#ifndef HAUL_CORE_JOB_JOB_H
#define HAUL_CORE_JOB_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/arena.h"
#include "core/err.h"
#include "core/number_set.h"
#include "core/option/option.h"
#include "core/target.h"

enum {
	JOB_NAME_BYTES = 64,
	JOB_ABOUT_BYTES = 128,
	JOB_STORES_MAX = 16,
	JOB_DATASETS_MAX = 16,
	JOB_PHASES_MAX = 256,
	JOB_TOGETHER_MAX = 16, /* phases that run at the same time */
	JOB_SET_BYTES = 256,
	JOB_TEXT_MAX = 4 << 20,
	JOB_DEPTH_MAX = 32,
	JOB_RUNS_MAX = 1000, /* of a series */
	JOB_VALUES_MAX = 1 << 17,
	SECTION_TABLES = 4
};

struct job;
struct job_phase;

/* One kind of store, data set or phase: a struct and the tables that fill it. */
struct section {
	const char *name; /* a phase's kind ("train"), a store's scheme ("file") */
	const char *help;
	const struct option *tables[SECTION_TABLES]; /* NULL-terminated */
	size_t size;                                 /* size of the struct that the tables fill */
	const struct target *targets; /* of a phase: each is also an option; NULL: none */
	/* Of a phase: fills in options that were left out and that its stores decide. NULL: there
	 * are none. */
	void (*complete)(const struct job *job, struct job_phase *phase);
	const void *owner; /* const struct workload * or const struct backend_ops * */
};

struct job_schema {
	const struct section *const *stores; /* NULL-terminated, chosen by the URI's scheme */
	const struct section *dataset;
	const struct section *const *phases; /* NULL-terminated, chosen by the key */
};

struct job_cluster {
	uint64_t ranks;          /* the least number that the job wants; 0: any number */
	uint64_t ranks_per_node; /* 0: as launched */
	uint64_t memory;         /* of a node; 0: as much as this one has */
	uint64_t gpus;           /* per node; 0: as many as ranks per node */
	uint64_t tensor, pipeline;
	uint32_t pin;    /* enum pin in plan/pin/pin.h: none, core, numa, tile, nic, list */
	char cores[512]; /* pin list: "1-8:9-16:…", one set per local rank */
	char reserved_cores
		[128]; /* "0,52": cut out of every slice; "none"; "": what is known of the node */
};

struct job_store {
	char name[JOB_NAME_BYTES];
	const struct section *section;
	void *options;
};

struct job_dataset {
	char name[JOB_NAME_BYTES]; /* "" for /dataset */
	void *options;
};

/* The value of a target in the job: see job_target. */
union job_target {
	uint64_t whole; /* ns, bytes per second */
	double real;    /* fractions and plain numbers */
};

/* When phases that run at the same time end: with the first of them, or each with its own work. */
enum job_until { JOB_UNTIL_FIRST, JOB_UNTIL_ALL };

/* Phases that run at the same time, each on ranks of its own: what they share. */
struct job_together {
	uint32_t entry; /* its index in "phases" */
	uint32_t until; /* enum job_until */
	bool alone;     /* each of them also runs by itself before, on the same ranks */
	uint64_t after_ns;
};

/* The ranks of a phase that runs together with others. */
struct job_set {
	char ranks[JOB_SET_BYTES], nodes[JOB_SET_BYTES]; /* as given; one of them is "" */
	struct number_set numbers;                       /* of ranks, or of nodes */
	/* How many they are; the most of them on a node; on how many nodes: see plan_sets. */
	uint32_t rank_count, ranks_per_node, node_count;
};

struct job_phase {
	char name[JOB_NAME_BYTES];  /* as given, or the kind */
	char store[JOB_NAME_BYTES]; /* as given, or "" */
	uint64_t after_ns;          /* pause between the end of the phase before it and its start */
	/* NULL: it runs by itself, on all ranks. Phases that run at the same time have the same and
	 * follow each other here. */
	const struct job_together *together;
	struct job_set set; /* where it runs together with others */
	const struct section *section;
	void *options;
	union job_target *targets; /* one for each of section->targets, in their order */
	char path[64]; /* "/phases/1/train", "/phases/1/together/0/train", for messages */
};

struct job {
	char name[JOB_NAME_BYTES], way[JOB_NAME_BYTES];
	char about[JOB_ABOUT_BYTES];
	uint64_t seed;
	uint64_t stall_limit_ns; /* a wait that lasts longer is logged; 0: none is */
	uint64_t repeat, warmup; /* of its series; repeat 0: it has none */
	uint64_t ranks; /* that take part in phases which make no data, from rank 0 on; 0: all */
	struct job_cluster cluster;
	uint32_t store_count, dataset_count, phase_count;
	struct job_store stores[JOB_STORES_MAX];
	struct job_dataset datasets[JOB_DATASETS_MAX];
	/* [phase_count]; a job without phases can be planned but not run */
	struct job_phase *phases;
	struct arena arena;
};

/* Parses text (length bytes, not necessarily terminated). source names it in messages ("job.json").
 * sets are "path=value" strings of --set, applied in order ("phases.1.train.batch=4"). A value is
 * JSON or bare text. Data sets and phases may also be named: "train.batch=4". Returns -EINVAL with
 * "source: /json/path: sentence"; the job is then empty. */
int job_parse(struct job *job, const struct job_schema *schema, const char *source,
	      const char *text, size_t length, const char *const *sets, unsigned set_count,
	      struct err *err);
int job_load(struct job *job, const struct job_schema *schema, const char *path,
	     const char *const *sets, unsigned set_count, struct err *err);

/* The same in two steps, for a job that is parsed several times with different changes. items are
 * strings as for --set. The last `swept` of them belong to a sweep, and messages say so. The caller
 * frees *text. */
struct job_changes {
	const char *const *items;
	unsigned count, swept;
	const char *option; /* that has named them; NULL: --sweep */
};

/* Writes a line for each way of the job: its name, and behind tabs the variables that it wants
 * set. */
int job_write_ways(FILE *out, const char *source, const char *text, size_t length, struct err *err);

int job_read_file(const char *path, char **text, size_t *length, struct err *err);
int job_parse_changed(struct job *job, const struct job_schema *schema, const char *source,
		      const char *text, size_t length, const struct job_changes *changes,
		      struct err *err);
void job_free(struct job *job);

/* A job of one store, which needs no phases: uri is the store, and sets are its options as
 * "key=value" strings. Returns -EINVAL with a sentence; the job is then empty. */
int job_parse_store(struct job *job, const struct job_schema *schema, const char *uri,
		    const char *const *sets, unsigned set_count, struct err *err);

/* The resolved job as JSON text, with defaults filled in and ${VARIABLE} unexpanded. Parsing it
 * gives the same job. The caller frees it. NULL: no memory. */
char *job_text(const struct job *job, const struct job_schema *schema);

/* The JSON Schema of jobs, and the reference as text. The caller frees them. */
char *job_json_schema(const struct job_schema *schema);
char *job_reference(const struct job_schema *schema);

/* The value of a target of the phase: of section->targets[i], or of the target of that name (in
 * nanoseconds, bytes per second or a fraction, as its unit says). NaN: the job does not ask for
 * it. */
double job_target_at(const struct job_phase *phase, unsigned i);
double job_target(const struct job_phase *phase, const char *name);

/* The pause between that phase and the one before it (NULL: there is none). */
uint64_t job_phase_after_ns(const struct job_phase *phase, const struct job_phase *before);

/* The options of "cluster", for completion. */
const struct option *job_cluster_options(void);

const struct job_store *job_find_store(const struct job *job, const char *name);
const struct job_dataset *job_find_dataset(const struct job *job, const char *name);

#endif
