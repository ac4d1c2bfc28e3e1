/* The verb "doctor": what works on this machine. Facilities are probed by using them. */
#include <errno.h>
#include <stdio.h>

#include "backends/backend.h"
#include "cli/cli.h"
#include "cli/probe.h"
#include "core/numbers.h"
#include "ranks/mpi/library.h"
#include "ranks/run/run.h"
#include "results-schema/library.h"

static void doctor_row(const char *what, const struct probe *p)
{
	cli_pad(what, 12);
	cli_pad(p->found, 56);
	printf("%s%s\n", p->found[0] ? " " : "", p->verdict);
}

static void probe_libraries(void)
{
	struct probe mpi = {.verdict = "ok"}, hdf5 = {.verdict = "ok"};
	char text[MPI_LIBRARY_BYTES], h5[HDF5_LIBRARY_BYTES];

	if (!mpi_library(text))
		snprintf(mpi.verdict, sizeof(mpi.verdict), "build it with MPI to run jobs");
	hdf5_library(h5);
	snprintf(mpi.found, sizeof(mpi.found), "%.100s", text);
	snprintf(hdf5.found, sizeof(hdf5.found), "%s", h5);
	doctor_row("MPI", &mpi);
	if (mpi_waits(text)) {
		snprintf(mpi.found, sizeof(mpi.found), "%.100s", text);
		doctor_row("MPI waits", &mpi);
	}
	doctor_row("HDF5", &hdf5);
}

/* Lists only what is missing, because the probes that follow show the rest. */
static void doctor_print_missing(void)
{
	for (const struct backend_part *part = backend_parts(); part->name; part++) {
		struct probe p = {.verdict = ""};

		if (part->built)
			continue;
		snprintf(p.found, sizeof(p.found), "has no %s", part->name);
		snprintf(p.verdict, sizeof(p.verdict), "build it with %s", part->needs);
		doctor_row("this haul", &p);
	}
}

/* Libraries that stores open when they run. Without one, only that store does not work. */
static void doctor_print_stores(void)
{
	for (const struct backend_ops *const *b = backend_table(); *b; b++) {
		struct probe p = {.verdict = "ok"};
		char found[BACKEND_LIBRARY_BYTES], what[URI_SCHEME_BYTES + 4];
		struct err err;
		int rc;

		if (!(*b)->library)
			continue;
		rc = (*b)->library(found, &err);
		if (rc < 0) {
			snprintf(found, sizeof(found), "%s",
				 rc == -ENOENT ? "no library" : "another library");
			snprintf(p.verdict, sizeof(p.verdict),
				 "only %s:// needs it: see docs/stores.md", (*b)->scheme);
		}
		snprintf(p.found, sizeof(p.found), "%s", found);
		snprintf(what, sizeof(what), "%s://", (*b)->scheme);
		doctor_row(what, &p);
	}
}

static int doctor_run(const struct call *call)
{
	static const struct {
		const char *what;
		void (*probe)(struct probe *p);
	} probes[] = {
		{"io_uring", probe_io_uring},     {"huge pages", probe_huge_pages},
		{"O_DIRECT", probe_direct},       {"memory lock", probe_memory_lock},
		{"Slurm, PBS", probe_schedulers}, {"clock", probe_clock},
	};
	unsigned i;

	(void)call;
	probe_libraries();
	doctor_print_missing();
	doctor_print_stores();
	for (i = 0; i < COUNT(probes); i++) {
		struct probe p = {.verdict = "ok"};

		probes[i].probe(&p);
		doctor_row(probes[i].what, &p);
	}
	return EXIT_DONE;
}

const struct verb doctor_verb = {
	.name = "doctor",
	.arguments = "",
	.help = "shows what works on this machine, and what would improve it",
	.example = "cd /scratch && haul doctor",
	.run = doctor_run,
};
