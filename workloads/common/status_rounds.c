/* SPDX-License-Identifier: Apache-2.0 */
/* Rolling status rounds: see status_rounds.h. */
#include "workloads/common/status_rounds.h"

#include <string.h>

void status_rounds_begin(struct status_rounds *r, struct group *g, const struct status *mine)
{
	r->group = g;
	r->open = true;
	r->over = false;
	memset(&r->merged, 0, sizeof(r->merged));
	group_status_post(g, mine);
}

bool status_rounds_poll(struct status_rounds *r, const struct status *mine, bool *fresh)
{
	if (fresh)
		*fresh = false;
	if (r->over)
		return true;
	if (!group_status_test(r->group, &r->merged))
		return false;
	if (fresh)
		*fresh = true;
	if (r->merged.stop || !r->merged.unfinished) {
		r->over = true;
		r->open = false;
		return true;
	}
	group_status_post(r->group, mine);
	return false;
}
