/* SPDX-License-Identifier: Apache-2.0 */
/* Name and habits of the MPI library that this program runs on, for `haul version` and `haul
 * doctor`. May be called without MPI_Init. */
#ifndef HAUL_RANKS_MPI_LIBRARY_H
#define HAUL_RANKS_MPI_LIBRARY_H

#include <stdbool.h>

enum { MPI_LIBRARY_BYTES = 128 };

/* "MPICH 4.0.2 (ch4:ucx)". False: haul is built without MPI, and the text is "none". */
bool mpi_library(char text[MPI_LIBRARY_BYTES]);

/* "MPICH 4.0.2": the one that haul was built with, without opening the library. False: as above. */
bool mpi_built(char text[MPI_LIBRARY_BYTES]);

/* How blocking calls of the library leave the core to others (polite.h). False: haul is built
 * without MPI. */
bool mpi_waits(char text[MPI_LIBRARY_BYTES]);

#endif
