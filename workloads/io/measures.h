/* What the phase io counts, and the way from its threads to its tally. */
#ifndef HAUL_WORKLOADS_IO_MEASURES_H
#define HAUL_WORKLOADS_IO_MEASURES_H

#include "workloads/io/work.h"

/* Adds what a thread has counted beside its meter: once it rests, or by itself. */
void io_count_thread(const struct crew_thread *w, struct tally *t);

/* Adds what this rank's threads have done, once they rest. first_ns: when the first thread of any rank had done its
 * part. */
void io_measure(const struct crew *crew, struct io_work *work, uint64_t first_ns, struct tally *t);

/* What of the phase's measures no thread counts, while they work. */
void io_measure_so_far(const struct io_work *work, struct tally *t);

#endif
