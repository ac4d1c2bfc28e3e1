/* SPDX-License-Identifier: Apache-2.0 */
/* Calibrate: the model of a store from what was measured of it: results of haul assess, or of phases that read (io,
 * train) and that work on names, on one node or some.
 *
 * Of plain reads, whose requests have one size in a phase:
 *
 *	latencies      of the phase with the smallest reads: their distribution
 *	stream         of the phase with the largest reads: bytes per time of a fast one, without that latency
 *	node           bytes per second and node of the phases whose reads held each other up, of those about as fast
 *	               as the fastest together: the greatest rate alone would be the luckiest one
 *	opens          the greatest rate of a phase that works on names alone, if its requests did
 *	open_latency   the median of opens
 *
 * Of a training, whose requests differ in size, only the mean is known: `stream` is its bytes by the time of its
 * reads, and no limit of a node follows, since compute holds its reads back.
 *
 * Requests held each other up where they took half as long again as a fast one: else no limit was met, and a greater
 * rate may be possible. What the whole store carries is not known from one node: `bandwidth` stays as it is. */
#ifndef HAUL_SIMULATE_CALIBRATE_H
#define HAUL_SIMULATE_CALIBRATE_H

#include "backends/sim/model.h"
#include "simulate/job.h"

enum { CALIBRATE_FILES_MAX = 16, CALIBRATION_CORES_BYTES = 512 };

struct calibration {
	uint64_t cores; /* of a node; 0: not known */
	/* Of the phase that read fastest: bytes per second of a node; seconds of cores that a byte took of the ranks, and of
	 * all that ran on the node; threads of haul that were ready and had no core, for each core. */
	double rate, cpu_s_per_byte, busy_s_per_byte, starved;
};

/* Into options, over what they say, from all files together. -EINVAL with a sentence where one has no reads. */
int calibrate(struct sim_options *into, const char *const *paths, uint32_t count,
	      struct calibration *out, struct err *err);

/* A model from measurements holds as far as the cores of its nodes do, which is told by the processor time of its
 * fastest reads: by that of haul, and of all programs where haul's threads had waited for a core. Whether that is more than a node may have, and a sentence that says so. */
bool calibration_cores(const struct calibration *from, const struct simulate_case *c,
		       char text[CALIBRATION_CORES_BYTES]);

#endif
