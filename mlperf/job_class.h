/* SPDX-License-Identifier: Apache-2.0 */
/* The class (core/rule/class.h) of a phase of haul's own: that of the workload of mlpstorage that
 * it is, with each of DLIO's keys changed that the job gives another value. */
#ifndef HAUL_MLPERF_JOB_CLASS_H
#define HAUL_MLPERF_JOB_CLASS_H

#include "core/err.h"
#include "core/measure/measure.h"
#include "mlperf/editions.h"

/* What the class is of. All JSON is as haul show gives it; NULL: there is none. */
struct job_class {
	const struct editions *editions;
	enum purpose purpose; /* of the phase */
	unsigned ranks;
	const struct cJSON *keys, *dataset, *store;
};

/* 1: it has a class, 0: it is a phase of no workload of mlpstorage. -ENOMEM. In a build without
 * libcrypto the class has no hash. */
int job_class_of(struct workload_class *out, const struct job_class *phase, struct err *err);

/* The phase as DLIO's keys, of which its class is made: {"parameters": …, "keys": the names of those
 * that count, "model": mlpstorage's name}, to be freed with json_free. NULL: as 0 above. */
struct cJSON *job_class_parameters(const struct job_class *phase);

#endif
