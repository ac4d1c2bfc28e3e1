/* SPDX-License-Identifier: Apache-2.0 */
/* The verb "version": the versions of this program and of the libraries that it was built with.
 * It opens none of them: `haul doctor` names the MPI library that runs have. */
#include <hwloc.h>
#include <stdio.h>

#include "backends/backend.h"
#include "cli/cli.h"
#include "haul_build.h"
#include "import/yaml/tree.h"
#include "ranks/mpi/library.h"
#include "ranks/run/run.h"
#include "report/mlperf/mlperf.h"
#include "results-schema/library.h"

static int version_run(const struct call *call)
{
	char mpi[MPI_LIBRARY_BYTES], hdf5[HDF5_LIBRARY_BYTES];
	unsigned hwloc = HWLOC_API_VERSION;
	bool runs = mpi_built(mpi);

	(void)call;
	hdf5_library(hdf5);
	printf("haul %s (%s)\n", HAUL_VERSION, HAUL_BUILD);
	printf("MPI    %s\n", mpi);
	printf("HDF5   %s\n", hdf5);
	printf("hwloc  %u.%u\n", hwloc >> 16, hwloc >> 8 & 255);
	printf("built  %s\n", __VERSION__);
	if (!runs)
		printf("lacks  haul run, generate and clean: built without MPI\n");
	for (const struct backend_part *part = backend_parts(); part->name; part++)
		if (part->built)
			printf("with   %s\n", part->name);
		else
			printf("lacks  %s: built without %s\n", part->name, part->needs);
	if (yaml_tree_built())
		printf("with   haul import dlio\n");
	else
		printf("lacks  haul import dlio: built without libyaml\n");
	if (mlperf_workbook_built())
		printf("with   haul export --xlsx\n");
	else
		printf("lacks  haul export --xlsx: built without libxlsxwriter\n");
	return EXIT_DONE;
}

const struct verb version_verb = {
	.name = "version",
	.arguments = "",
	.help = "shows the versions of this program and of its libraries",
	.example = "haul version",
	.run = version_run,
};
