/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads that mlpstorage has files of DLIO for. */
#ifndef HAUL_IMPORT_MLPSTORAGE_WORKLOADS_H
#define HAUL_IMPORT_MLPSTORAGE_WORKLOADS_H

#include <stdbool.h>

/* Names of the models, NULL-terminated. */
extern const char *const workloads_trained[];
extern const char *const workloads_saved[];

/* Names of the indexes of vector databases, the usual one first, NULL-terminated. */
extern const char *const workloads_indexes[];

/* The accelerators that a trained model has, NULL-terminated. */
const char *const *workloads_accelerators(const char *model);

/* The trained model whose samples have that many bytes; NULL: none has. */
const char *workloads_of_sample(double bytes);

/* The text of DLIO's workload file of a model of workloads_trained; without an accelerator, of its
 * generation. The caller frees it. NULL: no memory, or there is no such workload. */
char *workloads_training(const char *model, const char *accelerator);

/* The same for a model of workloads_saved. */
char *workloads_checkpointing(const char *model);

/* Ranks of one data-parallel replica of a model of workloads_saved, and of the whole mesh of a
 * closed submission. */
void workloads_mesh(const char *model, unsigned *replica, unsigned *whole);

#endif
