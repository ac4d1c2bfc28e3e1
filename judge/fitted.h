/* SPDX-License-Identifier: Apache-2.0 */
/* Fitted: the part of the verb "validate" that simulates. Where a submitter has published three or more results of a
 * workload, the storage that gives the largest of them its AU predicts the AU of the smaller ones. One result tells one
 * number of its storage, so there are three such stores: the whole of it is the limit, each node, or each stream. */
#ifndef HAUL_JUDGE_FITTED_H
#define HAUL_JUDGE_FITTED_H

#include "report/validation.h"

/* The file of a job of the catalogue: 0, or a negative errno with a sentence. */
typedef int (*fitted_find_fn)(const char *job, char *path, unsigned size, struct err *err);

/* Adds a row for each prediction to v->published, with its match, which has room for PUBLISHED_MAX; and v->fits. */
int fitted_add(struct validation *v, struct published *p, fitted_find_fn find, struct err *err);

#endif
