/* SPDX-License-Identifier: Apache-2.0 */
/* Source of a node's readings: the files of /proc and /sys with counters, which stay open and are
 * read again from their beginning each time. What a machine does not have is left out and reads as
 * 0.
 *
 * A source belongs to one thread at a time. A reading allocates nothing. */
#ifndef HAUL_CORE_CLIENT_SOURCE_H
#define HAUL_CORE_CLIENT_SOURCE_H

#include <sys/types.h>

#include "core/client/parse.h"
#include "core/err.h"

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
