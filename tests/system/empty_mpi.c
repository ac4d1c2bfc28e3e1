/* SPDX-License-Identifier: Apache-2.0 */
/* A process that begins and ends MPI and does nothing else: what MPI itself opens. */
#include <mpi.h>

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Finalize();
	return 0;
}
