/* SPDX-License-Identifier: Apache-2.0 */
/* Scaling table of a plan: one job on several numbers of nodes, each a row, in closed form. It
 * answers how much each number of nodes asks for, and what a storage system and network cards of
 * known speed let it come to. Plain data, any thread. */
#ifndef HAUL_PLAN_SCALING_H
#define HAUL_PLAN_SCALING_H

#include "plan/plan.h"

/* Speeds in bytes per second, as they are given on the command line; 0: not given. */
struct scaling_limits {
	double nic_per_node; /* of all network cards of a node together */
	double storage;      /* of the whole storage system, reads and writes alike */
};

/* What one number of nodes asks for, in the first phase that has steps. NAN: it does not apply, or
 * a limit is not given. */
struct scaling_row {
	double nodes, ranks, files, global_batch;
	double data_bytes;       /* of the data set that the phase reads */
	double bytes_per_second; /* that AU 100 % needs, of all nodes */
	double node_rate;        /* the same, of each node */
	double worker_rate;      /* the same, of one reading worker: bytes per second */
	double au; /* within the limits: what they deliver over what AU 100 % needs, at most 1 */
	double epoch_seconds, generate_seconds;
	double cached_share; /* of reads that a node's page cache may answer: its memory over the data set, at most 1; 0 in a cold
				training */
	double node_hours;   /* generation and training; NAN unless both are known */
};

/* The row of a plan that was made for the number of nodes. */
void scaling_row(struct scaling_row *row, const struct plan *plan,
		 const struct scaling_limits *limits);

/* The largest number of nodes that keeps that AU within the limits, where each node asks for as
 * much as those of row do; UINT64_MAX: any number does. 0: not even one. */
uint64_t scaling_nodes_max(const struct scaling_row *row, const struct scaling_limits *limits,
			   double au);

/* As a table for people, or as JSON. target: AU to keep; 0: 0.9. The caller frees it; NULL: no
 * memory. */
char *scaling_text(const struct scaling_row *rows, uint32_t count,
		   const struct scaling_limits *limits, double target);
char *scaling_json(const struct scaling_row *rows, uint32_t count,
		   const struct scaling_limits *limits, double target);

/* The JSON before it is printed. The caller owns it. */
struct cJSON;
struct cJSON *scaling_object(const struct scaling_row *rows, uint32_t count,
			     const struct scaling_limits *limits, double target);

/* Numbers of nodes: "8", "1,2,8", "1,2,4,...,512" (or with one ellipsis character): the numbers
 * before the dots double, or grow by the same factor or difference as the last two, up to the
 * number behind them. Returns how many there are, at most max; -EINVAL with a sentence. */
int scaling_parse_nodes(const char *text, uint32_t *nodes, uint32_t max, struct err *err);

/* "25 GB/s" or "8x25GB/s". */
int scaling_parse_rate(const char *text, double *bytes_per_second, struct err *err);

#endif
