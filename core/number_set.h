/* SPDX-License-Identifier: Apache-2.0 */
/* Number set: a set of whole numbers written as "0-47,60", such as the ranks or nodes on which a
 * phase runs. Pure functions, any thread. */
#ifndef HAUL_CORE_NUMBER_SET_H
#define HAUL_CORE_NUMBER_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

enum { NUMBER_SET_RANGES = 64 };

struct number_range {
	uint32_t first, last;
};
struct number_set {
	uint32_t count;
	struct number_range ranges[NUMBER_SET_RANGES]; /* ascending, apart from each other */
};

/* Ranges may come in any order, but must not overlap. -EINVAL with a sentence that does not name
 * the place. */
int number_set_parse(struct number_set *set, const char *text, struct err *err);

bool number_set_has(const struct number_set *set, uint32_t number);
uint64_t number_set_size(const struct number_set *set);
uint32_t number_set_last(const struct number_set *set); /* of a set that is not empty */

/* Whether two sets have a number in common; *number is the first of them. */
bool number_sets_meet(const struct number_set *a, const struct number_set *b, uint32_t *number);

#endif
