/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by the files of core/job/ only. */
#ifndef HAUL_CORE_JOB_INTERNAL_H
#define HAUL_CORE_JOB_INTERNAL_H

#include <cjson/cJSON.h>

#include "core/job/job.h"

enum { JOB_POINTER_BYTES = 256, JOB_WAYS_MAX = 64 };

/* The keys of a job itself, of /cluster, and those that every phase has besides the keys of its
 * kind: where it stands by itself, and where it stands in a "together". Those that stand beside the
 * list of a "together", which fill struct job_together. */
extern const struct option *const job_tables[];
extern const struct option *const job_cluster_tables[];
extern const struct option *const job_phase_tables[];
extern const struct option *const job_member_tables[];
extern const struct option *const job_together_tables[];
#define JOB_TOGETHER "together"

/* The keys of a job that are not options; NULL-terminated. */
extern const char *const job_parts[];

/* Names of stores, data sets and phases, as a regular expression. */
#define JOB_NAME_PATTERN "^[A-Za-z0-9_-]{1,63}$"

/* The targets of a kind of phase as a table of options, which fill an array of union job_target.
 * See targets.c. */
struct job_target_options {
	struct option list[TARGETS_MAX + 1];
	const struct option *tables[2];
};
void job_target_options(struct job_target_options *o, const struct section *section);
unsigned job_target_count(const struct section *section);

/* Fills job from the tree, but for its phases. See read.c. */
int job_read(struct job *job, const struct job_schema *schema, const cJSON *root, struct err *err);

/* Fills the phases, from the list at /phases, after all else. See phases.c. */
int job_read_phases(struct job *job, const struct job_schema *schema, const cJSON *phases,
		    struct err *err);

/* Takes "base" and "set" out of the tree, before all else: what the file that "base" names has is
 * added, and then changed as "set" says. source: the file of the job. See base.c. */
int job_stand(const struct job_schema *schema, cJSON *root, const char *source, struct err *err);

/* Takes "ways" out of the tree, before any change: the stores of the way that the tree or a change
 * names take their places. See ways.c. */
int job_go_way(cJSON *root, const struct job_changes *changes, struct err *err);

/* Replaces, in the tree, options of phases that name a file of options by what the file says;
 * source: the file of the job. What has no right shape is left to job_read_phases. See expand.c. */
int job_expand(const struct job_schema *schema, cJSON *root, const char *source, struct err *err);

/* Refusals and paths that both of them use. */
int job_no_memory(const char *path, struct err *err);
int job_refuse_shape(const cJSON *item, const char *path, const char *wanted, struct err *err);
int job_check_name(const char *name, const char *path, struct err *err);
void job_member_path(char path[JOB_POINTER_BYTES], const char *where, const char *key);

/* Fills only the stores, from the object at /stores. */
int job_read_stores(struct job *job, const struct job_schema *schema, const cJSON *stores,
		    struct err *err);

/* Changes the tree as one --set asks for, and tells in pointer which value it has changed. See
 * set.c. */
int job_set(const struct job_schema *schema, cJSON *root, const char *set,
	    char pointer[JOB_POINTER_BYTES], struct err *err);

#endif
