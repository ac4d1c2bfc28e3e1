/* SPDX-License-Identifier: Apache-2.0 */
/* A process that uses MPI and HDF5 and does nothing: the baseline for haul's own memory. Prints its
 * peak resident set in KiB. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>

int main(int argc, char **argv)
{
	struct rusage usage;

	MPI_Init(&argc, &argv);
	H5open();
	getrusage(RUSAGE_SELF, &usage);
	printf("%ld\n", usage.ru_maxrss);
	H5close();
	MPI_Finalize();
	return 0;
}
