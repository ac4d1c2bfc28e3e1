/* SPDX-License-Identifier: Apache-2.0 */
/* Place of one run: see place.h. */
#include "workloads/common/place.h"

#include <errno.h>
#include <time.h>

#include "backends/store.h"
#include "core/clock.h"
#include "core/clock_wait.h"
#include "core/time_ns.h"

enum { PLACE_LOOK_MS = 100 };

/* Rank 0. Where nothing can be written there, the phase will say so, if it has anything to
 * write. */
static int place_try(struct place *p, const struct store *store, const char *folder,
		     struct err *err)
{
	uint64_t now_ns = clock_kernel_ns();
	int rc = 0;

	if (now_ns < p->next_ns)
		rc = -EBUSY;
	else if (store->ops->own)
		rc = store->ops->own(store, folder, &p->owner, err);
	if (now_ns >= p->next_ns)
		p->next_ns = now_ns + p->owner.look_ms * NS_PER_MS;

	if (rc == -ENOLCK)
		log_say(store->log, LOG_WARNING,
			"%s, so nothing keeps another run from writing there", err->text);
	if (rc == -EBUSY)
		err_set(err, rc,
			"%s/%s: another run writes there: %s; wait for it, or use another folder",
			store->uri, folder, p->owner.who);
	return rc == -EBUSY || rc == -ELOOP || rc == -EINVAL ? rc : 0;
}

int place_take(struct place *p, const struct store *store, const char *folder, struct group *group,
	       struct err *err)
{
	return group_agree(group, group->rank == 0 ? place_try(p, store, folder, err) : 0, err);
}

/* Ranks rest, and hear of a reason to end. */
static int place_rest(const struct phase_context *ctx, enum stop_reason *stopped)
{
	struct status mine = {.unfinished = 1}, merged;
	int rc;

	clock_nap(PLACE_LOOK_MS * NS_PER_MS);
	mine.stop = ctx->stop ? stop_asked(ctx->stop) : STOP_NONE;
	if (!mine.stop && ctx->deadline_ns && clock_now(ctx->clock) >= ctx->deadline_ns)
		mine.stop = STOP_DEADLINE;
	rc = group_status(ctx->group, &mine, &merged);
	*stopped = rc == 0 ? (enum stop_reason)merged.stop : STOP_NONE;
	return rc;
}

int place_wait(struct place *p, const struct store *store, const char *folder,
	       const struct phase_context *ctx, enum stop_reason *stopped, struct err *err)
{
	bool told = false;
	int rc;

	*stopped = STOP_NONE;
	for (;;) {
		struct err why = {0};

		rc = place_take(p, store, folder, ctx->group, &why);
		if (rc != -EBUSY) {
			if (rc < 0)
				*err = why;
			return rc;
		}
		if (!told && ctx->group->rank == 0)
			log_say(ctx->log, LOG_WARNING, "waiting: %s", why.text);
		told = true;
		rc = place_rest(ctx, stopped);
		if (rc < 0 || *stopped != STOP_NONE)
			return rc;
	}
}

void place_give(struct place *p)
{
	owner_drop(&p->owner);
}
