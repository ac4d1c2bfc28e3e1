/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor_environment.h"

#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/vfs.h>

#include "core/numbers.h"

/* Whether a value spoils a run. */
typedef bool (*harms_fn)(const char *value);

static bool harms_always(const char *value)
{
	return value[0] != '\0';
}

static bool harms_if_on(const char *value)
{
	static const char *const off[] = {"", "0", "no", "off", "false", "n", "f"};

	for (size_t i = 0; i < COUNT(off); i++)
		if (strcasecmp(value, off[i]) == 0)
			return false;
	return true;
}

/* A library that intercepts calls is a way to DAOS, which the run is to take. */
static bool harms_if_no_way(const char *value)
{
	return value[0] && !strstr(value, "libpil4dfs") && !strstr(value, "libioil");
}

static bool harms_if_chatty(const char *value)
{
	static const char *const levels[] = {"debug", "info", "trace", "dbug", "data", "func"};

	for (size_t i = 0; i < COUNT(levels); i++)
		if (strcasestr(value, levels[i]))
			return true;
	return false;
}

static bool harms_if_tcp(const char *value)
{
	return strcasestr(value, "tcp") || strcasestr(value, "sockets") || strcasestr(value, "udp");
}

static bool harms_if_binds(const char *value)
{
	return value[0] && !strstr(value, "disabled") && !strstr(value, "none");
}

static bool harms_if_darshan(const char *value)
{
	return strstr(value, "darshan") != NULL;
}

static bool harms_if_none(const char *value)
{
	return strcasecmp(value, "none") == 0 || strcasecmp(value, "nil") == 0;
}

/* A file for all ranks, on the file system of many nodes. Which the file is to be on may not be there yet. */
static bool harms_if_shared(const char *value)
{
	static const unsigned long shared[] = {
		NFS_SUPER_MAGIC,         SMB_SUPER_MAGIC,         FUSE_SUPER_MAGIC,
		CEPH_SUPER_MAGIC,        0x0BD00BD0 /* Lustre */, 0x47504653 /* GPFS */,
		0x19830326 /* BeeGFS */,
	};
	char folder[4096];
	struct statfs fs;
	char *slash;

	snprintf(folder, sizeof(folder), "%s", value);
	slash = strrchr(folder, '/');
	if (!value[0])
		return false;
	if (statfs(value, &fs) < 0 && statfs(!slash            ? "."
					     : slash == folder ? "/"
							       : (*slash = '\0', folder),
					     &fs) < 0)
		return false;
	for (size_t i = 0; i < COUNT(shared); i++)
		if ((unsigned long)fs.f_type == shared[i])
			return true;
	return false;
}

/* What is known of sites' modules and of users' profiles. What the launcher's own options replace is not here. */
static const struct {
	const char *name;
	harms_fn harms;
	const char *why;
} hazards[] = {
	{"LD_PRELOAD", harms_if_no_way,
	 "every rank loads it: what it does to files is measured, too"},
	{"LOADEDMODULES", harms_if_darshan,
	 "Darshan records each call of each rank: unload its module"},
	{"DXT_ENABLE_IO_TRACE", harms_always, "Darshan writes a trace of each call"},
	{"D_LOG_FILE", harms_if_shared,
	 "DAOS logs of all ranks go into one file on a shared file system: name one below /tmp"},
	{"D_LOG_MASK", harms_if_chatty, "DAOS logs while it is measured: ERR is enough"},
	{"DD_MASK", harms_always, "DAOS logs what it does while it is measured"},
	{"FI_LOG_LEVEL", harms_if_chatty, "libfabric prints what it does"},
	{"FI_PROVIDER", harms_if_tcp, "MPI and DAOS leave the fast network and go over TCP"},
	{"UCX_LOG_LEVEL", harms_if_chatty, "UCX prints what it does"},
	{"UCX_TLS", harms_if_tcp, "MPI leaves the fast network and goes over TCP"},
	{"MPICH_ASYNC_PROGRESS", harms_if_on, "MPI adds a thread to each rank that takes a core"},
	{"MPIR_CVAR_ASYNC_PROGRESS", harms_if_on,
	 "MPI adds a thread to each rank that takes a core"},
	{"I_MPI_ASYNC_PROGRESS", harms_if_on, "MPI adds a thread to each rank that takes a core"},
	{"I_MPI_PIN_DOMAIN", harms_always, "Intel MPI binds ranks in place of the launcher"},
	{"I_MPI_PIN_PROCESSOR_LIST", harms_always,
	 "Intel MPI binds ranks in place of the launcher"},
	{"KMP_AFFINITY", harms_if_binds,
	 "a library with OpenMP may bind the rank once more: set it to disabled"},
	{"GOMP_CPU_AFFINITY", harms_always, "a library with OpenMP may bind the rank once more"},
	{"OMP_PROC_BIND", harms_if_on,
	 "a library with OpenMP may bind the rank once more: set it to false"},
	{"MPICH_GPU_SUPPORT_ENABLED", harms_if_on,
	 "every rank loads the GPU's libraries, which haul never uses: set it to 0"},
	{"HDF5_DRIVER", harms_always, "HDF5 writes the results by another driver"},
	{"HDF5_VOL_CONNECTOR", harms_always, "HDF5 writes the results by another connector"},
	{"HDF5_USE_FILE_LOCKING", harms_if_on,
	 "a file system without locks refuses the results: set it to FALSE"},
	{"MALLOC_CHECK_", harms_if_on, "each allocation is checked"},
	{"MALLOC_PERTURB_", harms_if_on, "each allocation is filled"},
	{"SLURM_EXPORT_ENV", harms_if_none, "srun passes no variable on to the ranks"},
};

void doctor_environment(void)
{
	unsigned found = 0;

	for (size_t i = 0; i < COUNT(hazards); i++) {
		const char *value = getenv(hazards[i].name);
		bool long_list = strcmp(hazards[i].name, "LOADEDMODULES") == 0;

		if (!value || !hazards[i].harms(value))
			continue;
		found++;
		printf("environment %s%s%.120s: %s\n", hazards[i].name, long_list ? "" : "=",
		       long_list ? "" : value, hazards[i].why);
	}
	if (!found)
		printf("environment nothing that is known to spoil a run\n");
}
