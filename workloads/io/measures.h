/* What the phase io counts, and the way from its threads to its tally. */
#ifndef HAUL_WORKLOADS_IO_MEASURES_H
#define HAUL_WORKLOADS_IO_MEASURES_H

#include "workloads/io/work.h"

/* Adds what this rank's threads have done, once they rest. first_ns: when the first thread of any rank had done its
 * part. */
void io_measure(const struct crew *crew, const struct io_work *work, uint64_t first_ns,
		struct tally *t);

#endif
