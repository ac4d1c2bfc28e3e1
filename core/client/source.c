/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a node that are read again and again: see source.h. */
#include "core/client/source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/proc.h"
#include "core/time_ns.h"

/* SOURCE_BYTES: /proc/stat of 1,024 cores and 16,384 interrupts is larger, but its cores come first
 * and take less than this. */
enum { SOURCE_BYTES = 128 << 10, SOURCE_COUNTERS = 64, SOURCE_PATH_BYTES = 512 };

/* A file with one number. */
struct counter {
	int fd;
	enum client_column column;
	uint64_t unit, last; /* bytes */
};

enum source_file {
	FILE_STAT,
	FILE_MEMINFO,
	FILE_VMSTAT,
	FILE_NET,
	FILE_DISKS,
	FILE_CPU_PRESSURE,
	FILE_MEMORY_PRESSURE,
	FILE_CPU_QUOTA,
	FILES
};

/* A process may have 1,024 open files, and there may be hundreds of ranks: of so many, the files of threads stay open. */
enum { WATCHED_WITH_FILES = 16 };

struct client_source {
	const char *root; /* used while the source is opened */
	struct client_facts facts;
	struct client_cores cores;
	uint64_t tick_ns, page_bytes;
	int fd[FILES];
	uint32_t counter_count;
	struct counter counters[SOURCE_COUNTERS];
	uint32_t clock_count;
	clockid_t *clocks;           /* of the ranks' processes */
	struct sched_watch *threads; /* [clock_count], of the ranks' processes */
	char *text;                  /* [SOURCE_BYTES] */
	uint64_t last[CLIENT_COLUMNS];
};

static void find_nics(struct client_source *s);
static void find_disks(struct client_source *s);
static void find_infiniband(struct client_source *s);
static void find_slingshot(struct client_source *s);

/* Opens a file below the root. Returns -1 where there is none. */
static int open_at(const struct client_source *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int open_at(const struct client_source *s, const char *format, ...)
{
	char path[SOURCE_PATH_BYTES];
	int n = snprintf(path, sizeof(path), "%s", s->root);
	va_list arguments;

	if (n < 0 || n >= (int)sizeof(path))
		return -1;
	va_start(arguments, format);
	vsnprintf(path + n, sizeof(path) - (size_t)n, format, arguments);
	va_end(arguments);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Reads the file from its beginning, as much of it as fits. */
static size_t read_text(const struct client_source *s, int fd)
{
	size_t length = 0;

	while (fd >= 0 && length < SOURCE_BYTES) {
		ssize_t n = pread(fd, s->text + length, SOURCE_BYTES - length, (off_t)length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		length += (size_t)n;
	}
	return length;
}

/* A container may name a group that it cannot see. Then the topmost group that it sees is used. */
static int open_quota(const struct client_source *s)
{
	int self = open_at(s, "/proc/self/cgroup"), fd = -1;
	char path[SOURCE_PATH_BYTES / 2];
	size_t length = read_text(s, self);
	bool old;

	if (self >= 0)
		close(self);
	if (length && client_parse_cgroup(s->text, length, path, sizeof(path), &old)) {
		const char *folder = old ? "/sys/fs/cgroup/cpu" : "/sys/fs/cgroup";

		fd = open_at(s, "%s%s/cpu.stat", folder, path);
		if (fd < 0)
			fd = open_at(s, "%s/cpu.stat", folder);
	}
	return fd;
}

static void open_files(struct client_source *s)
{
	static const char *const paths[FILES] = {
		[FILE_STAT] = "/proc/stat",
		[FILE_MEMINFO] = "/proc/meminfo",
		[FILE_VMSTAT] = "/proc/vmstat",
		[FILE_NET] = "/proc/net/dev",
		[FILE_DISKS] = "/proc/diskstats",
		[FILE_CPU_PRESSURE] = "/proc/pressure/cpu",
		[FILE_MEMORY_PRESSURE] = "/proc/pressure/memory",
	};

	for (int i = 0; i < FILES; i++)
		s->fd[i] = paths[i] ? open_at(s, "%s", paths[i]) : -1;
	s->fd[FILE_CPU_QUOTA] = open_quota(s);
}

/* A process that has ended or cannot be seen is left out. */
static void find_processes(struct client_source *s, const pid_t *processes, uint32_t count)
{
	struct client_cores one;

	for (uint32_t i = 0; i < count; i++) {
		if (clock_getcpuclockid(processes[i], &s->clocks[s->clock_count]) == 0)
			sched_watch_open(&s->threads[s->clock_count++], processes[i],
					 i < WATCHED_WITH_FILES ? SCHED_WATCH_THREADS : 0);
		memset(&one, 0, sizeof(one));
		if (sched_getaffinity(processes[i], sizeof(one), (cpu_set_t *)(void *)&one) < 0)
			continue;
		for (size_t w = 0; w < sizeof(one.bits) / sizeof(one.bits[0]); w++)
			s->cores.bits[w] |= one.bits[w];
	}
}

int client_source_open(struct client_source **out, const char *root, const pid_t *processes,
		       uint32_t count, struct err *err)
{
	struct client_source *s = calloc(1, sizeof(*s));
	long tick = sysconf(_SC_CLK_TCK);

	*out = NULL;
	if (s) {
		s->clocks = calloc(count + 1, sizeof(*s->clocks));
		s->threads = calloc(count + 1, sizeof(*s->threads));
		s->text = malloc(SOURCE_BYTES);
	}
	if (!s || !s->clocks || !s->threads || !s->text) {
		if (s) {
			free(s->clocks);
			free(s->threads);
			free(s->text);
		}
		free(s);
		return err_set(err, -ENOMEM, "no memory to watch the node");
	}
	s->root = root;
	s->tick_ns = NS_PER_S / (uint64_t)(tick > 0 ? tick : 100);
	s->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	open_files(s);
	find_processes(s, processes, count);
	find_nics(s);
	find_disks(s);
	find_infiniband(s);
	find_slingshot(s);
	s->root = NULL;
	*out = s;
	return 0;
}

void client_source_close(struct client_source *s)
{
	if (!s)
		return;
	for (int i = 0; i < FILES; i++)
		if (s->fd[i] >= 0)
			close(s->fd[i]);
	for (uint32_t i = 0; i < s->counter_count; i++)
		close(s->counters[i].fd);
	free(s->clocks);
	for (uint32_t i = 0; i < s->clock_count; i++)
		sched_watch_close(&s->threads[i]);
	free(s->threads);
	free(s->text);
	free(s);
}

const struct client_facts *client_source_facts(const struct client_source *s)
{
	return &s->facts;
}

static void read_processes(const struct client_source *s, uint64_t reading[CLIENT_COLUMNS])
{
	uint64_t sum = 0, waited = 0;

	for (uint32_t i = 0; i < s->clock_count; i++) {
		sum += clock_process_cpu_ns(s->clocks[i]);
		waited += sched_watch_runnable_ns(&s->threads[i]);
	}
	reading[CLIENT_HAUL_CPU_NS] = sum;
	reading[CLIENT_HAUL_WAITED_NS] = waited;
}

static void read_file(struct client_source *s, enum source_file file, uint64_t *reading)
{
	size_t length = read_text(s, s->fd[file]);

	if (!length)
		return;
	switch (file) {
	case FILE_STAT:
		client_parse_stat(s->text, length, s->tick_ns, &s->cores, reading);
		break;
	case FILE_MEMINFO:
		client_parse_meminfo(s->text, length, reading);
		break;
	case FILE_VMSTAT:
		client_parse_vmstat(s->text, length, s->page_bytes, reading);
		break;
	case FILE_NET:
		client_parse_net(s->text, length, &s->facts.nics, reading);
		break;
	case FILE_DISKS:
		client_parse_disks(s->text, length, &s->facts.disks, reading);
		break;
	case FILE_CPU_PRESSURE:
		client_parse_pressure(s->text, length, CLIENT_CPU_WAITED_NS, reading);
		break;
	case FILE_MEMORY_PRESSURE:
		client_parse_pressure(s->text, length, CLIENT_MEMORY_STALLED_NS, reading);
		break;
	case FILE_CPU_QUOTA:
		client_parse_throttled(s->text, length, reading);
		break;
	case FILES:
		break;
	}
}

/* Figures that cannot be read this time (no memory, a busy device) keep their last value: a counter
 * that fell to zero would come back as everything counted since boot. */
void client_source_read(struct client_source *s, uint64_t reading[CLIENT_COLUMNS])
{
	memcpy(reading, s->last, sizeof(s->last));
	for (int i = 0; i < FILES; i++)
		read_file(s, (enum source_file)i, reading);
	reading[CLIENT_RDMA_IN_BYTES] = 0;
	reading[CLIENT_RDMA_OUT_BYTES] = 0;
	for (uint32_t i = 0; i < s->counter_count; i++) {
		struct counter *c = &s->counters[i];

		client_parse_number(s->text, read_text(s, c->fd), &c->last);
		reading[c->column] += c->last * c->unit;
	}
	read_processes(s, reading);
	memcpy(s->last, reading, sizeof(s->last));
}

/* The number at the beginning of a file of /sys. */
static bool source_number(const struct client_source *s, const char *folder, const char *name,
			  const char *file, uint64_t *value)
{
	int fd = open_at(s, "%s/%s/%s", folder, name, file);
	bool found = fd >= 0 && client_parse_number(s->text, read_text(s, fd), value);

	if (fd >= 0)
		close(fd);
	return found;
}

/* Whether a device's folder holds this file or folder. */
static bool source_has(const struct client_source *s, const char *folder, const char *name,
		       const char *file)
{
	int fd = open_at(s, "%s/%s/%s", folder, name, file);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* The entries of a folder, sorted by name, so that every reading of a machine finds the same
 * ones. */
struct entries {
	struct dirent **entry;
	int count;
};

static int source_sees(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && strlen(entry->d_name) < CLIENT_NAME_BYTES;
}

static struct entries entries_of(const struct client_source *s, const char *folder)
{
	struct entries e = {0};
	char path[SOURCE_PATH_BYTES];

	snprintf(path, sizeof(path), "%s%s", s->root, folder);
	e.count = scandir(path, &e.entry, source_sees, alphasort);
	if (e.count < 0)
		e = (struct entries){0};
	return e;
}

static void entries_free(struct entries *e)
{
	while (e->count)
		free(e->entry[--e->count]);
	free(e->entry);
}

static void source_add_name(struct client_names *names, const char *name)
{
	if (names->count < CLIENT_NAMES)
		snprintf(names->name[names->count++], CLIENT_NAME_BYTES, "%.*s",
			 CLIENT_NAME_BYTES - 1, name);
}

/* Finds the interfaces that have a device behind them; where there are none (in a container), all
 * but the loopback. A link that is down or virtual reports no speed. */
static void find_nics(struct client_source *s)
{
	static const char folder[] = "/sys/class/net";
	struct entries all = entries_of(s, folder);
	uint64_t megabits;

	for (int i = 0; i < all.count; i++) {
		const char *name = all.entry[i]->d_name;

		if (!source_has(s, folder, name, "device"))
			continue;
		source_add_name(&s->facts.nics, name);
		if (source_number(s, folder, name, "speed", &megabits) && megabits < 100000000)
			s->facts.nic_bytes_per_s += megabits * 125000;
	}
	for (int i = 0; !s->facts.nics.count && i < all.count; i++)
		if (strcmp(all.entry[i]->d_name, "lo") != 0)
			source_add_name(&s->facts.nics, all.entry[i]->d_name);
	entries_free(&all);
}

/* Finds whole devices with hardware behind them: partitions, device mapper, md and loop devices
 * would count the same bytes again. */
static void find_disks(struct client_source *s)
{
	static const char folder[] = "/sys/block";
	struct entries all = entries_of(s, folder);

	for (int i = 0; i < all.count; i++)
		if (source_has(s, folder, all.entry[i]->d_name, "device"))
			source_add_name(&s->facts.disks, all.entry[i]->d_name);
	entries_free(&all);
}

static bool add_counter(struct client_source *s, int fd, enum client_column column, uint64_t unit)
{
	if (fd < 0)
		return false;
	if (s->counter_count == SOURCE_COUNTERS) {
		close(fd);
		return false;
	}
	s->counters[s->counter_count++] =
		(struct counter){.fd = fd, .column = column, .unit = unit};
	return true;
}

/* InfiniBand's counters are words of four bytes (Documentation/ABI/stable/sysfs-class-infiniband);
 * "rate" is in gigabits per second ("100 Gb/sec (4X EDR)"). */
static void find_infiniband(struct client_source *s)
{
	static const char folder[] = "/sys/class/infiniband";
	struct entries devices = entries_of(s, folder);
	uint64_t gigabits;

	for (int i = 0; i < devices.count; i++) {
		const char *name = devices.entry[i]->d_name;
		char path[SOURCE_PATH_BYTES];
		struct entries ports;
		bool any = false;

		snprintf(path, sizeof(path), "%s/%s/ports", folder, name);
		ports = entries_of(s, path);
		for (int p = 0; p < ports.count; p++) {
			const char *port = ports.entry[p]->d_name;

			if (!add_counter(s, open_at(s, "%s/%s/counters/port_rcv_data", path, port),
					 CLIENT_RDMA_IN_BYTES, 4))
				continue;
			add_counter(s, open_at(s, "%s/%s/counters/port_xmit_data", path, port),
				    CLIENT_RDMA_OUT_BYTES, 4);
			any = true;
			if (source_number(s, path, port, "rate", &gigabits) && gigabits < 100000)
				s->facts.rdma_bytes_per_s += gigabits * 125000000;
		}
		entries_free(&ports);
		if (any)
			source_add_name(&s->facts.rdma, name);
	}
	entries_free(&devices);
}

/* Slingshot NICs count whole octets ("12345@1700000000.5", HPE's CXI telemetry). Their network
 * interfaces report the speed. */
static void find_slingshot(struct client_source *s)
{
	static const char folder[] = "/sys/class/cxi";
	struct entries devices = entries_of(s, folder);

	for (int i = 0; i < devices.count; i++) {
		const char *name = devices.entry[i]->d_name;

		if (!add_counter(
			    s,
			    open_at(s, "%s/%s/device/telemetry/hni_sts_rx_ok_octets", folder, name),
			    CLIENT_RDMA_IN_BYTES, 1))
			continue;
		add_counter(s,
			    open_at(s, "%s/%s/device/telemetry/hni_sts_tx_ok_octets", folder, name),
			    CLIENT_RDMA_OUT_BYTES, 1);
		source_add_name(&s->facts.rdma, name);
	}
	entries_free(&devices);
}
