/* SPDX-License-Identifier: Apache-2.0 */
/* Editions of MLPerf Storage as data: what the catalogue's folder "editions" says of each edition's
 * benchmarks and workloads. For each edition:
 *
 *	3.0/training.json		a benchmark: its class, and what a submission may change
 *	3.0/training/unet3d.json	a workload: its parameters as the edition's own file has them,
 *					with the changes and the class of each accelerator
 *
 * A file may name a "base", another edition: members that it lacks are those of the same file
 * there. A benchmark of caches has "options" in place of workloads.
 *
 * Read once, then const; any thread. */
#ifndef HAUL_MLPERF_EDITIONS_H
#define HAUL_MLPERF_EDITIONS_H

#include <stdbool.h>

#include "core/err.h"
#include "core/measure/measure.h"
#include "core/rule/class.h"

struct cJSON;
struct editions;

enum { EDITION_NAME_BYTES = 24, EDITION_WORKLOADS_MAX = 128 };

/* A workload, or, with an empty name, a benchmark. */
struct edition_workload {
	char edition[EDITION_NAME_BYTES];   /* "3.0" */
	char benchmark[EDITION_NAME_BYTES]; /* "training", "checkpointing", "kvcache", "vectordb" */
	char name[EDITION_NAME_BYTES];      /* "unet3d" */
	struct cJSON *file;
	const struct editions *of;
};

/* The benchmark whose phases have that purpose; NULL: its files have no workloads, or it is of none. */
const char *edition_benchmark_of(enum purpose purpose);

/* Reads all editions of a folder, of one benchmark, or of all (NULL). Errno of reading a file, or -EINVAL, with its path and a
 * sentence. The caller calls editions_free, whatever is returned; NULL is nothing. */
int editions_read(struct editions **out, const char *folder, const char *benchmark,
		  struct err *err);
void editions_free(struct editions *e);

/* NULL: there is none. name "": the benchmark. */
const struct edition_workload *edition_find(const struct editions *e, const char *edition,
					    const char *benchmark, const char *name);
/* The same in the latest edition that has it. */
const struct edition_workload *edition_latest(const struct editions *e, const char *benchmark,
					      const char *name);
/* Workload i of the edition's benchmark, in the order of their names; NULL: it has not so many. */
const struct edition_workload *edition_workload(const struct editions *e, const char *edition,
						const char *benchmark, unsigned i);

/* A member of the workload, else of its benchmark; NULL: neither has it. */
const struct cJSON *edition_member(const struct edition_workload *w, const char *key);

/* Names of its workloads, or of a workload's accelerators, and NULL behind them. */
void edition_names(const struct editions *e, const char *edition, const char *benchmark,
		   const char *names[EDITION_WORKLOADS_MAX]);
void edition_accelerators(const struct edition_workload *w,
			  const char *names[EDITION_WORKLOADS_MAX]);

/* Whether the edition takes no submission of it. accelerator NULL: of none. */
bool edition_is_whatif(const struct edition_workload *w, const char *accelerator);

/* A workload's parameters, on that accelerator where it is not NULL. generates: those that make
 * its data set. The caller frees them (cJSON_Delete). NULL: no memory. */
struct cJSON *edition_parameters(const struct edition_workload *w, const char *accelerator,
				 bool generates);

/* Sets the value at "a.b.c" of the tree, in place of what is there; it takes the value. */
void edition_set(struct cJSON *tree, const char *path, struct cJSON *value);

/* What a submission may change: the benchmark's list "closed" or "open", with the workload's own.
 * An object by the changed key; each value may have bounds. The caller frees it. NULL: no
 * memory. */
struct cJSON *edition_list(const struct edition_workload *w, const char *list);

/* Says which published workload has the class: "unet3d on b200", and the editions that have results
 * of it, "2.0, 3.0". Both are "" where none has it. */

void edition_of_class(const struct editions *e, const char *hash, char of[CLASS_SAID_BYTES],
		      char in[CLASS_SAID_BYTES]);

#endif
