/* SPDX-License-Identifier: Apache-2.0 */
/* Client-side limits: whether the machines that ran the ranks were the limit, judged by their
 * client-side rows (core/client/client.h).
 *
 * A node is judged by the time in which ranks waited for storage, where the phase tells when that
 * was, else by the whole phase. */
#ifndef HAUL_REPORT_CLIENT_SIDE_H
#define HAUL_REPORT_CLIENT_SIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "results-schema/results_read.h"

/* Shares are fractions of 1: of the cores' time (busy, haul: of the ranks' cores) or of the clock's
 * time. NaN: unknown. */
struct client_means {
	double busy, haul, steal, iowait, cpu_waited, throttled, memory_stalled, dirty_limited;
	/* Threads of haul that were ready and had no core, on average, for each core of the ranks;
	 * NaN: not measured. */
	double starved;
	/* Bytes per second. */
	double nic_in, nic_out, rdma_in, rdma_out, loopback, disk_read, disk_written;
};

struct client_node {
	double seconds;                     /* time that readings cover */
	struct client_means whole, waiting; /* waiting: while ranks waited for storage */
	double memory_available, cached;    /* bytes: the least available, the most cached */
	double busy_starved; /* waiting.busy, unless no thread of haul was seen to wait for cores */
	double nic_share, rdma_share; /* of the links' speed, while ranks waited */
	double sampler;               /* share of one core that the readings took */
};

enum client_limit {
	CLIENT_LIMIT_NONE,
	CLIENT_LIMIT_CPU,
	CLIENT_LIMIT_NIC,
	CLIENT_LIMIT_RDMA,
	CLIENT_LIMIT_MEMORY
};
enum { CLIENT_SENTENCES = 6, CLIENT_SENTENCE_BYTES = 320 };

struct client_side {
	uint32_t node_count;
	struct client_node *nodes;
	bool weighed;            /* waiting differs from whole */
	enum client_limit limit; /* the first limit that applies */
	uint32_t message_count;
	char message[CLIENT_SENTENCES][CLIENT_SENTENCE_BYTES];
};

/* Returns false where nothing is known or there is no memory. Call client_side_free after true. */
bool client_side_of(const struct results_file *f, const struct results_phase_read *p,
		    struct client_side *c);
void client_side_free(struct client_side *c);

const char *client_limit_name(enum client_limit limit); /* "cpu"; NULL: none */

const char *client_host(const struct results_file *f, uint32_t node); /* "?": not known */

/* Shorter phases are not judged, because the kernel counts processor time in ticks of 10 ms. */
extern const double client_shortest_s;

#endif
