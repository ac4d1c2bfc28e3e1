/* SPDX-License-Identifier: Apache-2.0 */
/* Source of a node's readings: the files of /proc and /sys with counters, which stay open and are
 * read again from their beginning each time. What a machine does not have is left out and reads as
 * 0.
 *
 * A source belongs to one thread at a time. A reading allocates nothing. */
#ifndef HAUL_CORE_CLIENT_SOURCE_H
#define HAUL_CORE_CLIENT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/client/client.h"
#include "core/err.h"

/* Parsers of what Linux reports about a node in /proc. Input is text of any kind: it needs no zero
 * byte at its end, a last line without newline is ignored, a missing figure leaves the reading
 * unchanged, and a figure that is too large counts as the largest. Counters are those since boot.
 * Sources: proc(5), the kernel's Documentation/admin-guide/iostats.rst and accounting/psi.rst. Pure
 * functions. */

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

/* Facts about the node, for its row in the results. */
struct client_facts {
	struct client_names nics, disks, rdma;      /* whose bytes are added up */
	uint64_t nic_bytes_per_s, rdma_bytes_per_s; /* all links together, one way; 0: unknown */
};

struct client_source;

/* root: "" for this machine, or a folder that holds a proc and a sys. processes: those whose
 * processor time is counted and whose cores are the ranks' cores, as process ids in this process's
 * name space. */
int client_source_open(struct client_source **out, const char *root, const pid_t *processes,
		       uint32_t count, struct err *err);
void client_source_close(struct client_source *s);

/* Counters and levels of now, except what the reading itself costs. */
void client_source_read(struct client_source *s, uint64_t reading[CLIENT_COLUMNS]);

const struct client_facts *client_source_facts(const struct client_source *s);

#endif
