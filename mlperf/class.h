/* SPDX-License-Identifier: Apache-2.0 */
/* The class (core/rule/class.h) of a workload in DLIO's keys, by the keys that its benchmark
 * counts. */
#ifndef HAUL_MLPERF_CLASS_H
#define HAUL_MLPERF_CLASS_H

#include "mlperf/editions.h"

/* The class of a tree of DLIO's keys, as its file and its overrides give them. benchmark: that of
 * the latest edition ("training"). false: there was no memory. In a build without libcrypto the
 * class has no hash. */
bool class_of(struct workload_class *out, const struct edition_workload *benchmark,
	      const struct cJSON *tree);

/* The keys of the tree that count, sorted: a list of texts, which the caller frees. NULL: no
 * memory. */
struct cJSON *class_keys(const struct edition_workload *benchmark, const struct cJSON *tree);

#endif
