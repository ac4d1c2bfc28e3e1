/* SPDX-License-Identifier: Apache-2.0 */
/* Parts that the leaves of an exported tree have in common. */
#ifndef HAUL_REPORT_MLPERF_LEAF_H
#define HAUL_REPORT_MLPERF_LEAF_H

#include "core/err.h"
#include "report/mlperf/mlperf.h"
#include "report/phase.h"

/* Folders and files of an exported tree, each of which bears a mark. After the first error nothing
 * more is written. */

struct cJSON;

enum { PLACE_BYTES = 4096, PLACE_MARK_BYTES = 160 };

struct tree_folder {
	char path[PLACE_BYTES];
	const char *mark; /* the sentence that each file has */
	int *rc;          /* shared by all places of a tree */
	struct err *err;
};

/* The folder below another, "a/b", which is made. */
struct tree_folder place_below(const struct tree_folder *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Writes a file. The JSON gets the key "haul" with the mark, unless it has one of its own for it,
 * and is freed; a text begins with the mark, as a comment. NULL: no memory. */
void place_json(const struct tree_folder *p, const char *name, struct cJSON *json);
void place_marked_json(const struct tree_folder *p, const char *name, struct cJSON *json);
void place_text(const struct tree_folder *p, const char *name, const char *text);

enum { LEAF_STAMP_BYTES = 32 };
#define SECOND_NS 1e9

/* The name that mlpstorage has for the model, else the phase's. */
const char *leaf_model(const struct mlperf_phase *p);

/* Whether the phase came to its end. */
bool leaf_is_done(const struct mlperf_phase *p);

/* Names of leaves: the second in which a phase began, or the next one that is free. last: of the
 * leaf before, 0: none. */
void leaf_stamp(char stamp[LEAF_STAMP_BYTES], const struct mlperf_phase *p, uint64_t *last);
/* A time as Python writes it: "2026-07-04T05:01:06.695935". */
void leaf_time(char text[LEAF_STAMP_BYTES], uint64_t utc_ns);

/* Mean and standard deviation of a list of numbers, as numpy computes them. */
double leaf_mean(const struct cJSON *list);
double leaf_stdev(const struct cJSON *list);

/* DLIO's summary: all but its metrics, which are the object "metric" of it. */
struct cJSON *leaf_summary(const struct mlperf_phase *p);

/* The key "hostname" of DLIO's files: the first host. */
void leaf_hostname(struct cJSON *to, const struct mlperf_phase *p);

/* The files that a leaf of DLIO's has beside its figures. benchmark: "training"; command: "run". */
void leaf_files(const struct tree_folder *leaf, const struct mlperf_export *e,
		const struct mlperf_phase *p, const char *benchmark, const char *command,
		const char *stamp);

/* One of them, which a leaf may have alone. */
void leaf_metadata(const struct tree_folder *leaf, const struct mlperf_export *e,
		   const struct mlperf_phase *p, const char *benchmark, const char *command,
		   const char *stamp);

/* Whether phase i is for that purpose, and the first of its model among those. */
bool leaf_is_first(const struct mlperf_export *e, uint32_t i, enum purpose purpose);

/* The kinds of leaves. */
void leaf_trainings(const struct tree_folder *system, const struct mlperf_export *e);
void leaf_checkpoints(const struct tree_folder *system, const struct mlperf_export *e);
void leaf_caches(const struct tree_folder *system, const struct mlperf_export *e);

#endif
