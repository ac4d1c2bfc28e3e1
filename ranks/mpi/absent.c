/* SPDX-License-Identifier: Apache-2.0 */
/* In place of library.c where haul is built without MPI (HAUL_MPI=OFF). */
#include <stdio.h>

#include "ranks/mpi/library.h"

bool mpi_library(char text[MPI_LIBRARY_BYTES])
{
	snprintf(text, MPI_LIBRARY_BYTES, "none");
	return false;
}

bool mpi_built(char text[MPI_LIBRARY_BYTES])
{
	return mpi_library(text);
}

bool mpi_waits(char text[MPI_LIBRARY_BYTES])
{
	text[0] = '\0';
	return false;
}
