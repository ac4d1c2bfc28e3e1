/* SPDX-License-Identifier: Apache-2.0 */
/* The class (core/rule/class.h) of a workload of DLIO's. */
#ifndef HAUL_IMPORT_DLIO_CLASS_H
#define HAUL_IMPORT_DLIO_CLASS_H

#include <stdbool.h>

#include "core/rule/class.h"

struct cJSON;

/* The class of a tree of DLIO's keys, as its file and its overrides give them. trains: it is a
 * training; otherwise it is a checkpointing. false: there was no memory. */
bool class_of(struct workload_class *out, const struct cJSON *tree, bool trains);

/* The keys of the tree that count, sorted: a list of texts, which the caller frees. NULL: no
 * memory. */
struct cJSON *class_keys(const struct cJSON *tree, bool trains);

#endif
