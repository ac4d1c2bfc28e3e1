/* SPDX-License-Identifier: Apache-2.0 */
/* Table of workloads: every kind of phase. See workload.h. */
#include "workloads/workload.h"

#include <stddef.h>

#include "workloads/checkpoint/checkpoint.h"
#include "workloads/generate/generate.h"
#include "workloads/io/io.h"
#include "workloads/kvcache/kvcache.h"
#include "workloads/load/load.h"
#include "workloads/replay/replay.h"
#include "workloads/train/train.h"
#include "workloads/vector/vector.h"

#define WORKLOAD_LIST(X) \
	X(generate) X(train) X(io) X(checkpoint) X(load) X(kvcache) X(replay) X(vector)

#define WORKLOAD_KIND(name)    &name##_workload,
#define WORKLOAD_SECTION(name) &name##_workload.section,
static const struct workload *const workloads[] = {WORKLOAD_LIST(WORKLOAD_KIND) NULL};
const struct section *const workload_sections[] = {WORKLOAD_LIST(WORKLOAD_SECTION) NULL};

const struct workload *const *workload_table(void)
{
	return workloads;
}
