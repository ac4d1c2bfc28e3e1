/* SPDX-License-Identifier: Apache-2.0 */
/* Claims: see claim.h. */
#include "core/claim.h"

#include <string.h>

#include "core/utf8.h"

const char *const claim_words[CLAIM_STATES] = {
	[CLAIM_HELD] = "held", [CLAIM_MISSED] = "missed", [CLAIM_UNKNOWN] = "unknown"};

void claim_begin(struct claim *c)
{
	memset(c, 0, sizeof(*c));
	c->state = CLAIM_UNKNOWN;
}

void claim_add(struct claim *c, enum claim_state state, const char *evidence, const char *missing)
{
	bool first = c->parts[CLAIM_HELD] + c->parts[CLAIM_MISSED] + c->parts[CLAIM_UNKNOWN] == 0;
	enum claim_state both = first ? state : claim_both(c->state, state);

	if (first || both != c->state)
		utf8_copy(c->evidence, sizeof(c->evidence), evidence ? evidence : "");
	if (state == CLAIM_UNKNOWN && missing && !*c->missing)
		utf8_copy(c->missing, sizeof(c->missing), missing);
	c->state = both;
	c->parts[state]++;
}
