/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of a benchmark's edition, as the catalogue has them or a file of one's own. */
#ifndef HAUL_CLI_EDITION_H
#define HAUL_CLI_EDITION_H

#include "core/rule/class.h"
#include "core/rule/rule.h"
#include "mlperf/editions.h"

struct job;
struct plan;
struct results_file;

#define EDITION_USUAL "3.0"

/* Reads the file, or, where it is NULL, the edition's rules; the usual edition's where edition is
 * NULL, too. The caller frees them with edition_free, in either case. */
int edition_read(struct rules **out, const char *edition, const char *file, struct err *err);
void edition_free(struct rules *r);

/* The workloads of all editions, of one benchmark or of all (NULL), of the catalogue. -ENOENT, with a sentence, where it has none. The
 * caller calls editions_free, whatever is returned. */
int edition_data(struct editions **out, const char *benchmark, struct err *err);

/* Sizes of data sets that the usual edition asks for; none where the catalogue has no rules. */
struct rule_sizes edition_sizes(void);

/* The edition that rules are of, "3.0" of "MLPerf Storage 3.0"; "": they are of none. */
const char *edition_of_rules(const struct rules *r);

/* Whether the file is one of rules of an edition. */
bool edition_is(const char *file);

/* Classes of the phases of a plan, which keeps them. */
int class_add_to_plan(struct plan *plan, const struct job *job, struct err *err);
/* Those of the job that a results file keeps. 0 where it has none, and where a sweep ran several
 * jobs. */
uint32_t class_of_results(struct workload_class out[CLASSES_MAX], const struct results_file *f);

#endif
