/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/native/internal.h"

bool spin_now(struct spin *s)
{
	if (!s->pass)
		return true;
	s->pass--;
	return false;
}

/* In vain counts twice, so the level falls only where two times out of three or more succeed. */
void spin_said(struct spin *s, bool came)
{
	if (came && s->level)
		s->level--;
	if (!came)
		s->level = s->level + 2 < SPIN_LEVEL_MAX ? (uint8_t)(s->level + 2) : SPIN_LEVEL_MAX;
	s->pass = (uint8_t)((1u << s->level) - 1);
}
