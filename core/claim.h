/* SPDX-License-Identifier: Apache-2.0 */
/* Claims: whether something that a sentence says is so, by which evidence, and what would settle it
 * where the evidence is missing. Headlines, targets, rules and answers are made from claims, so that no
 * output can say more than another, or more than is known.
 *
 *	claim_begin(&c);
 *	for (each part)
 *		claim_add(&c, state of the part, its evidence, what would settle it);
 *
 * A claim is held where all of its parts are, and there is at least one. Without evidence it is
 * unknown, and what is unknown is never held, met or closed, and never ends with status 0 where
 * somebody asked for it (claim_holds). Plain data; any thread. */
#ifndef HAUL_CORE_CLAIM_H
#define HAUL_CORE_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

enum claim_state { CLAIM_HELD, CLAIM_MISSED, CLAIM_UNKNOWN, CLAIM_STATES };
extern const char *const claim_words[CLAIM_STATES]; /* "held", "missed", "unknown" */

enum { CLAIM_TEXT_BYTES = 256 };

struct claim {
	enum claim_state state;
	uint32_t parts[CLAIM_STATES];    /* how many of them are in each state */
	char evidence[CLAIM_TEXT_BYTES]; /* of the first part that decides the state */
	char missing[CLAIM_TEXT_BYTES];  /* what would settle the first unknown part; "": nothing */
};

/* Nothing is known yet. */
void claim_begin(struct claim *c);

/* evidence: by what the part is held or missed, or why it is unknown. missing: what would settle it
 * where it is unknown. Either may be NULL. */
void claim_add(struct claim *c, enum claim_state state, const char *evidence, const char *missing);

/* The state of two claims together: missed if one is, else unknown if one is. */
static inline enum claim_state claim_both(enum claim_state a, enum claim_state b)
{
	if (a == CLAIM_MISSED || b == CLAIM_MISSED)
		return CLAIM_MISSED;
	return a == CLAIM_UNKNOWN || b == CLAIM_UNKNOWN ? CLAIM_UNKNOWN : CLAIM_HELD;
}

/* The only state that is a success. */
static inline bool claim_holds(enum claim_state state)
{
	return state == CLAIM_HELD;
}

#endif
