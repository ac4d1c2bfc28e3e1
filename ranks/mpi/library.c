/* SPDX-License-Identifier: Apache-2.0 */
/* Name of the MPI library: see library.h. */
#include "ranks/mpi/library.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "ranks/mpi/polite.h"

/* Copies the value of the line "<label> <value>" from a text of several lines. */
static void library_field(const char *text, const char *label, char *out, size_t bytes)
{
	const char *at = strstr(text, label);
	size_t n;

	out[0] = '\0';
	if (!at)
		return;
	at += strlen(label);
	at += strspn(at, " \t");
	n = strcspn(at, "\n");
	snprintf(out, bytes, "%.*s", (int)n, at);
}

bool mpi_library(char text[MPI_LIBRARY_BYTES])
{
	char whole[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "", version[64], device[40];
	int length = 0;

	MPI_Get_library_version(whole, &length);
	library_field(whole, "MPICH Version:", version, sizeof(version));
	library_field(whole, "MPICH Device:", device, sizeof(device));
	if (version[0])
		snprintf(text, MPI_LIBRARY_BYTES, "MPICH %s%s%s%s", version, device[0] ? " (" : "",
			 device, device[0] ? ")" : "");
	else /* other libraries give their name in the first line */
		snprintf(text, MPI_LIBRARY_BYTES, "%.*s", (int)strcspn(whole, ",\n"), whole);
	return true;
}

bool mpi_built(char text[MPI_LIBRARY_BYTES])
{
#if defined(I_MPI_VERSION)
	snprintf(text, MPI_LIBRARY_BYTES, "Intel MPI %s", I_MPI_VERSION);
#elif defined(MPICH_VERSION)
	snprintf(text, MPI_LIBRARY_BYTES, "MPICH %s", MPICH_VERSION);
#elif defined(OMPI_MAJOR_VERSION)
	snprintf(text, MPI_LIBRARY_BYTES, "Open MPI %d.%d.%d", OMPI_MAJOR_VERSION,
		 OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION);
#else
	snprintf(text, MPI_LIBRARY_BYTES, "of standard %d.%d", MPI_VERSION, MPI_SUBVERSION);
#endif
	return true;
}

bool mpi_waits(char text[MPI_LIBRARY_BYTES])
{
	char name[MPI_LIBRARY_BYTES];

	mpi_library(name); /* so that the library is there */
	snprintf(text, MPI_LIBRARY_BYTES, "%s",
		 polite_interposed() ? "yield to other ranks: polls of UCX are slowed down"
				     : "yield by the library's own settings, if it has any");
	return true;
}
