/* SPDX-License-Identifier: Apache-2.0 */
/* Sampler: watches a node while a phase runs. One thread on the node's first rank takes a row per
 * second (core/client/client.h). The other ranks have no sampler. Every function is for the main
 * thread. */
#ifndef HAUL_RANKS_NODE_SAMPLER_H
#define HAUL_RANKS_NODE_SAMPLER_H

#include "core/client/source.h"
#include "core/group/group.h"
#include "core/log.h"

struct sampler;

/* When the next row is due after one that was due and was taken at last_ns. On a busy machine the
 * thread may be late by whole seconds; those rows are left out, and the others stay on full
 * seconds. */
#define SAMPLER_TICK_NS UINT64_C(1000000000)
static inline uint64_t sampler_due_after(uint64_t due_ns, uint64_t last_ns)
{
	uint64_t late_ns = last_ns > due_ns ? last_ns - due_ns : 0;

	return due_ns + (late_ns / SAMPLER_TICK_NS + 1) * SAMPLER_TICK_NS;
}

/* Collective over the node. *out is NULL on all but its first rank. Call it when the ranks are
 * bound. */
int sampler_open(struct sampler **out, struct group *node, const struct log *log, struct err *err);
void sampler_close(struct sampler *s);

/* Starts a new series. A node that cannot be watched is warned of once, and has no rows. */
void sampler_start(struct sampler *s);

/* The series so far, including a last row. The caller may fold it. It is valid until the next
 * start. */
struct client_series *sampler_stop(struct sampler *s);

const struct client_facts *sampler_facts(const struct sampler *s);

#endif
