/* SPDX-License-Identifier: Apache-2.0 */
/* The verb "doctor": what works on this machine. Facilities are probed by using them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/io_uring.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "backends/backend.h"
#include "cli/cli.h"
#include "core/client/source.h"
#include "core/clock.h"
#include "core/numbers.h"
#include "core/proc.h"
#include "core/units.h"
#include "ranks/mpi/library.h"
#include "ranks/run/run.h"
#include "results-schema/library.h"

/* The part of the verb "doctor" about variables of the environment. */

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

/* Prints a line for each variable that is set and known to spoil a run, with the reason; one line if there is none. */
static void doctor_environment(void)
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

/* Each probe uses a facility, and reports what it found and what follows from it. */
struct probe {
	char found[128];
	char verdict[64]; /* "ok", or what to do */
};

enum {
	BLOCK_BYTES = 4096,
	HUGE_BYTES = 2 << 20,
	SLEEPS = 50,
	SLEEP_NS = 50000,
	STEAL_NS = 200000000
};

static void __attribute__((format(printf, 2, 3))) found(struct probe *p, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(p->found, sizeof(p->found), format, args);
	va_end(args);
}

static void probe_verdict(struct probe *p, const char *text)
{
	snprintf(p->verdict, sizeof(p->verdict), "%s", text);
}

static void probe_io_uring(struct probe *p)
{
	struct io_uring_params parameters;
	long ring;

	memset(&parameters, 0, sizeof(parameters));
	ring = syscall(__NR_io_uring_setup, 4, &parameters);
	if (ring < 0) {
		found(p, "%s", errno == ENOSYS ? "the kernel does not have it" : strerror(errno));
		probe_verdict(p, errno == ENOSYS   ? "engine psync replaces uring"
				 : errno == ENOMEM ? "ulimit -l unlimited"
						   : "kernel.io_uring_disabled=0");
		return;
	}
	close((int)ring);
	found(p, "works; used by \"engine\": \"uring\"");
}

/* This process's memory in transparent huge pages. */
static uint64_t huge_bytes(void)
{
	return proc_bytes("/proc/self/smaps_rollup", "AnonHugePages");
}

/* Whether memory that is advised to use huge pages really gets them. */
static bool probe_gets_huge(void)
{
	uint64_t before = huge_bytes(), after;
	size_t length = 4 * (size_t)HUGE_BYTES;
	void *map = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		return false;
	madvise(map, length, MADV_HUGEPAGE);
	memset(map, 1, length);
	after = huge_bytes();
	munmap(map, length);
	return after > before;
}

static void probe_huge_pages(struct probe *p)
{
	FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
	char line[64] = "", *open, *close_;

	if (file && !fgets(line, sizeof(line), file))
		line[0] = '\0';
	if (file)
		fclose(file);
	open = strchr(line, '[');
	close_ = open ? strchr(open, ']') : NULL;
	if (close_)
		*close_ = '\0';
	if (probe_gets_huge()) {
		found(p, "transparent, by %s",
		      open && strcmp(open + 1, "always") == 0 ? "default" : "madvise");
		return;
	}
	found(p, "none given (transparent_hugepage: %s)", open ? open + 1 : "unknown");
	probe_verdict(p, "direct reads take twice as long without them");
}

/* Reads only the second half of a KiB, which works only where blocks are 512 bytes. */
static void direct_block(struct probe *p, int fd, void *block, const char *folder)
{
	unsigned bytes;

	if (pwrite(fd, block, BLOCK_BYTES, 0) != BLOCK_BYTES ||
	    pread(fd, block, BLOCK_BYTES, 0) != BLOCK_BYTES) {
		found(p, "%.90s: %s", folder, strerror(errno));
		probe_verdict(p, "not with \"direct\": true here");
		return;
	}
	bytes = pread(fd, block, 512, 512) == 512 ? 512 : BLOCK_BYTES;
	found(p, "%.90s: %u-byte blocks", folder, bytes);
}

static void probe_direct(struct probe *p)
{
	char folder[100] = ".", name[] = ".haul-doctor-XXXXXX";
	void *block = NULL;
	int fd;

	if (!getcwd(folder, sizeof(folder)))
		strcpy(folder, "this folder");
	if (posix_memalign(&block, BLOCK_BYTES, BLOCK_BYTES) != 0) {
		found(p, "no memory");
		return;
	}
	memset(block, 0, BLOCK_BYTES);
	fd = mkstemp(name);
	if (fd < 0) {
		found(p, "%.90s: cannot create a file here: %s", folder, strerror(errno));
		probe_verdict(p, "try it in another folder");
		goto out_free;
	}
	unlink(name);
	if (fcntl(fd, F_SETFL, O_DIRECT) < 0) {
		found(p, "%.90s: %s", folder, strerror(errno));
		probe_verdict(p, "not with \"direct\": true here");
	} else {
		direct_block(p, fd, block, folder);
	}
	close(fd);
out_free:
	free(block);
}

static void probe_memory_lock(struct probe *p)
{
	char size[UNITS_TEXT_BYTES];
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0) {
		found(p, "%s", strerror(errno));
		return;
	}
	if (limit.rlim_cur == RLIM_INFINITY) {
		found(p, "unlimited");
		return;
	}
	units_bytes_binary(size, (double)limit.rlim_cur);
	found(p, "%s: registered buffers are limited", size);
	probe_verdict(p, "ulimit -l unlimited");
}

static bool probe_in_path(const char *name)
{
	const char *path = getenv("PATH"), *end;
	char file[4096];

	for (; path && *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		snprintf(file, sizeof(file), "%.*s/%s", (int)(end - path), path, name);
		if (access(file, X_OK) == 0)
			return true;
	}
	return false;
}

static void probe_schedulers(struct probe *p)
{
	static const char *const names[] = {"srun", "sbatch", "qsub", "mpiexec"};
	unsigned i;
	size_t used;

	for (i = 0; i < COUNT(names); i++) {
		used = strlen(p->found);
		if (probe_in_path(names[i]))
			snprintf(p->found + used, sizeof(p->found) - used, "%s%s", used ? ", " : "",
				 names[i]);
	}
	if (!p->found[0])
		found(p, "no srun, sbatch, qsub or mpiexec in PATH");
	if (!probe_in_path("mpiexec") && !probe_in_path("srun"))
		probe_verdict(p, "load an MPI module");
}

/* Thousandths of the time of all cores that the hypervisor took between two readings. */
static uint64_t steal_share(const uint64_t before[CLIENT_COLUMNS],
			    const uint64_t after[CLIENT_COLUMNS])
{
	uint64_t all = 0;

	for (unsigned i = CLIENT_CPU_USER_NS; i <= CLIENT_CPU_IDLE_NS; i++)
		all += excess_u64(after[i], before[i]);
	return all ? (excess_u64(after[CLIENT_CPU_STEAL_NS], before[CLIENT_CPU_STEAL_NS]) * 1000 +
		      all / 2) /
			       all
		   : 0;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* How late a short sleep ends: the median. */
static uint64_t oversleep_ns(struct clock *clock)
{
	uint64_t late[SLEEPS], until;
	unsigned i;

	for (i = 0; i < SLEEPS; i++) {
		until = clock_now(clock) + SLEEP_NS;
		clock_sleep_until(clock, until);
		late[i] = clock_now(clock) - until;
	}
	qsort(late, SLEEPS, sizeof(late[0]), compare_u64);
	return late[SLEEPS / 2];
}

static void probe_clock(struct probe *p)
{
	uint64_t before[CLIENT_COLUMNS] = {0}, after[CLIENT_COLUMNS] = {0}, late, start, steal;
	const pid_t self = getpid();
	struct client_source *source;
	struct clock clock;
	struct err err;

	if (client_source_open(&source, "", &self, 1, &err) < 0)
		source = NULL;
	if (source)
		client_source_read(source, before);
	clock_init(&clock);
	start = clock_now(&clock);
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	late = oversleep_ns(&clock);
	clock_sleep_until(&clock, start + STEAL_NS);
	if (source)
		client_source_read(source, after);
	client_source_close(source);
	steal = steal_share(before, after);
	found(p,
	      "steal %" PRIu64 ".%" PRIu64 " %%, timer slack %d ns, a sleep ends %" PRIu64
	      " µs late",
	      steal / 10, steal % 10, prctl(PR_GET_TIMERSLACK), (late + 500) / 1000);
	if (steal >= 10)
		probe_verdict(p, "another guest uses processor time: figures will vary");
}

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
		struct err err = {0};
		int rc, answers = 0;

		if (!(*b)->library)
			continue;
		rc = (*b)->library(found, &err);
		if (rc < 0) {
			snprintf(found, sizeof(found), "%s",
				 rc == -ENOENT ? "no library" : "another library");
			snprintf(p.verdict, sizeof(p.verdict),
				 "only %s:// needs it: see docs/stores.md", (*b)->scheme);
		} else if ((*b)->answers) {
			answers = (*b)->answers(&err);
		}
		if (answers < 0)
			probe_verdict(&p, "cannot be used:");
		snprintf(p.found, sizeof(p.found), "%s", found);
		snprintf(what, sizeof(what), "%s://", (*b)->scheme);
		doctor_row(what, &p);
		if (answers < 0)
			printf("            %s\n", err.text);
	}
}

struct doctor_args {
	bool environment;
};

static const struct option doctor_options[] = {
	OPT_BOOL("environment", struct doctor_args, environment,
		 .help = "only what is set in the environment and may spoil a run"),
	OPT_END,
};

static int doctor_run(const struct call *call)
{
	const struct doctor_args *args = call->options;
	static const struct {
		const char *what;
		void (*probe)(struct probe *p);
	} probes[] = {
		{"io_uring", probe_io_uring},     {"huge pages", probe_huge_pages},
		{"O_DIRECT", probe_direct},       {"memory lock", probe_memory_lock},
		{"Slurm, PBS", probe_schedulers}, {"clock", probe_clock},
	};
	unsigned i;

	if (args->environment) {
		doctor_environment();
		return EXIT_DONE;
	}
	probe_libraries();
	doctor_print_missing();
	doctor_print_stores();
	for (i = 0; i < COUNT(probes); i++) {
		struct probe p = {.verdict = "ok"};

		probes[i].probe(&p);
		doctor_row(probes[i].what, &p);
	}
	doctor_environment();
	return EXIT_DONE;
}

const struct verb doctor_verb = {
	.name = "doctor",
	.arguments = "",
	.help = "shows what works on this machine, and what would improve it",
	.example = "cd /scratch && haul doctor",
	.options = doctor_options,
	.options_bytes = sizeof(struct doctor_args),
	.run = doctor_run,
};
