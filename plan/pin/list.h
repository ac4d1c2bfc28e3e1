/* SPDX-License-Identifier: Apache-2.0 */
/* Core lists: cluster.cores such as "1-8:9-16:17,19", one set per local rank, PUs by the numbers of
 * the operating system (as in the launchers' --cpu-bind=list). Stateless. */
#ifndef HAUL_PLAN_PIN_LIST_H
#define HAUL_PLAN_PIN_LIST_H

#include <hwloc.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

enum { PIN_LIST_PU_MAX = 65535 };

/* Reads one set, such as "1-8,17", and moves *text behind it. With set NULL it only checks. False:
 * there is no set at *text, which then stands where it ends being one. */
bool pin_list_read(const char **text, hwloc_bitmap_t set);

/* Reads the whole list, which must have at least `ranks` sets, and copies the set of rank. With set
 * NULL it only checks. Returns -EINVAL with "/cluster/cores: sentence". */
int pin_list_set(const char *list, uint32_t rank, uint32_t ranks, hwloc_bitmap_t set,
		 struct err *err);

/* Reads cluster.reserved_cores, "0,52" or "none". With set NULL it only checks. Returns -EINVAL
 * with "/cluster/reserved_cores: sentence". */
int pin_list_reserved(const char *text, hwloc_bitmap_t set, struct err *err);

#endif
