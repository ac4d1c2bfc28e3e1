/* The one polite wait: every MPI operation in haul is non-blocking and waited for here, so that
 * waiting ranks leave the cores to I/O threads and to each other (MPICH would spin for ever). */
#ifndef HAUL_RANKS_WAIT_H
#define HAUL_RANKS_WAIT_H

#include <mpi.h>
#include <stdbool.h>

/* Waits for *request. patient: ranks outnumber cores, so sleep early; else yield for 200 us first,
 * because a sleeping peer makes large messages slow. */
void wait_for(MPI_Request *request, bool patient);

#endif
