/* SPDX-License-Identifier: Apache-2.0 */
/* Parsers of what Linux reports about a node in /proc. Input is text of any kind: it needs no zero
 * byte at its end, a last line without newline is ignored, a missing figure leaves the reading
 * unchanged, and a figure that is too large counts as the largest. Counters are those since boot.
 * Sources: proc(5), the kernel's Documentation/admin-guide/iostats.rst and accounting/psi.rst. Pure
 * functions. */
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

/* Interfaces or disks whose figures are added up. */
struct client_names {
	uint32_t count;
	char name[CLIENT_NAMES][CLIENT_NAME_BYTES];
};

/* /proc/stat, whose times are in ticks. cores: the ranks' cores, which have columns of their
 * own. */
void client_parse_stat(const char *text, size_t length, uint64_t tick_ns,
		       const struct client_cores *cores, uint64_t reading[CLIENT_COLUMNS]);

/* /proc/meminfo. On a kernel too old for MemAvailable, it counts as free plus cached. */
void client_parse_meminfo(const char *text, size_t length, uint64_t reading[CLIENT_COLUMNS]);

/* /proc/vmstat: where the kernel begins to slow writers down, half-way between its two
 * thresholds. */
void client_parse_vmstat(const char *text, size_t length, uint64_t page_bytes,
			 uint64_t reading[CLIENT_COLUMNS]);

/* /proc/net/dev and /proc/diskstats: the sums over the given names. */
void client_parse_net(const char *text, size_t length, const struct client_names *nics,
		      uint64_t reading[CLIENT_COLUMNS]);
void client_parse_disks(const char *text, size_t length, const struct client_names *disks,
			uint64_t reading[CLIENT_COLUMNS]);

/* /proc/pressure/…: puts the line "some" into column. */
void client_parse_pressure(const char *text, size_t length, enum client_column column,
			   uint64_t reading[CLIENT_COLUMNS]);

/* /proc/self/cgroup: the path of the group whose quota of processor time applies, cut to size.
 * *old: it is in the hierarchy of cpu alone (version 1). Returns false where there is none. */
bool client_parse_cgroup(const char *text, size_t length, char *path, size_t size, bool *old);

/* cpu.stat of that group, of either version. */
void client_parse_throttled(const char *text, size_t length, uint64_t reading[CLIENT_COLUMNS]);

/* The number at the beginning of text; what follows it ("@1700000000.5", " Gb/sec") is ignored.
 * Returns false where there is no number or it is negative. */
bool client_parse_number(const char *text, size_t length, uint64_t *value);

#endif
