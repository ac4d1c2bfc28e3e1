/* SPDX-License-Identifier: Apache-2.0 */
/* Interfaces of ranks: which of the network interfaces that a job names carries the connections of
 * this rank. */
#ifndef HAUL_BACKENDS_HTTP_INTERFACE_H
#define HAUL_BACKENDS_HTTP_INTERFACE_H

#include "backends/backend.h"
#include "backends/http/wire/local_end.h"

enum { INTERFACES_MAX = 64 };

/* Whether the job names any: without it the system chooses. */
bool interfaces_named(const struct texts *names);

/* Refuses a list that no node could serve. path is that of the option. */
int interfaces_check(const struct texts *names, const char *path, struct err *err);

/* "hsn0, hsn1"; what does not fit is left out. */
void interfaces_print(const struct texts *names, char *text, size_t bytes);

/* Deals interfaces out to the ranks of a node, in their order: each gets, of those near its cores
 * (of all, where none is near), the one that the fewest ranks have, and of these the first. near:
 * [ranks], a bit for each interface. */
void interfaces_deal(const uint64_t *near, uint32_t ranks, uint32_t count, uint32_t *chosen);

/* This rank's interface, found on this node. Collective over store->node. Errors name the
 * interface. */
int interface_choose(const struct store *store, const struct texts *names, struct local_end *out,
		     struct err *err);

#endif
