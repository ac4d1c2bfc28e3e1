/* What Linux says of a node in /proc, as numbers. Text comes as the kernel gave it, or as anything: no
 * zero at its end is needed, a last line without its end is left out, what is missing leaves the reading
 * as it was, figures too large stand at the largest. Counters are those since boot (proc(5), the kernel's
 * Documentation/admin-guide/iostats.rst and accounting/psi.rst). Pure functions. */
#ifndef HAUL_CORE_CLIENT_PARSE_H
#define HAUL_CORE_CLIENT_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/client/client.h"

enum { CLIENT_CORES = 8192, CLIENT_NAMES = 128, CLIENT_NAME_BYTES = 32 };

/* A set of cores, as sched_getaffinity fills it. */
struct client_cores {
	unsigned long bits[CLIENT_CORES / (8 * sizeof(unsigned long))];
};
bool client_cores_has(const struct client_cores *cores, uint64_t core);

/* Interfaces or disks: those whose figures are added up. */
struct client_names {
	uint32_t count;
	char name[CLIENT_NAMES][CLIENT_NAME_BYTES];
};

/* /proc/stat; times stand there in ticks. cores: for the columns of the ranks' cores. */
void client_parse_stat(const char *text, size_t length, uint64_t tick_ns,
		       const struct client_cores *cores, uint64_t reading[CLIENT_COLUMNS]);

/* /proc/meminfo. A kernel too old for MemAvailable: free and cached together. */
void client_parse_meminfo(const char *text, size_t length, uint64_t reading[CLIENT_COLUMNS]);

/* /proc/vmstat: where the kernel begins to slow writers, half-way between its two thresholds. */
void client_parse_vmstat(const char *text, size_t length, uint64_t page_bytes,
			 uint64_t reading[CLIENT_COLUMNS]);

/* /proc/net/dev and /proc/diskstats, the sums over the names given. */
void client_parse_net(const char *text, size_t length, const struct client_names *nics,
		      uint64_t reading[CLIENT_COLUMNS]);
void client_parse_disks(const char *text, size_t length, const struct client_names *disks,
			uint64_t reading[CLIENT_COLUMNS]);

/* /proc/pressure/…: the line "some", into column. */
void client_parse_pressure(const char *text, size_t length, enum client_column column,
			   uint64_t reading[CLIENT_COLUMNS]);

/* /proc/self/cgroup: the path of the group whose quota of processor time holds, cut to size. *old: of the
 * hierarchy of cpu alone (version 1). false: there is none. */
bool client_parse_cgroup(const char *text, size_t length, char *path, size_t size, bool *old);

/* Its cpu.stat, of either version. */
void client_parse_throttled(const char *text, size_t length, uint64_t reading[CLIENT_COLUMNS]);

/* The number at the text's beginning; what stands behind it ("@1700000000.5", " Gb/sec") does not
 * matter. false: there is none, or it is negative. */
bool client_parse_number(const char *text, size_t length, uint64_t *value);

#endif
