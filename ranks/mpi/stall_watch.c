/* SPDX-License-Identifier: Apache-2.0 */
/* Stall watch: see stall_watch.h. */
#include "ranks/mpi/stall_watch.h"

#include "core/numbers.h"

enum { LOOKS_PER_LIMIT = 8 };
static const uint64_t look_most_ns = 1000000000;

void stall_watch_init(struct stall_watch *w, uint64_t limit_ns)
{
	*w = (struct stall_watch){.limit_ns = limit_ns};
}

/* A look that comes far too late means that the watcher did not go on in between. */
bool stall_watch_due(struct stall_watch *w, uint64_t now_ns)
{
	if (!w->limit_ns || now_ns < w->next_ns)
		return false;
	if (!w->looked_ns || now_ns - w->looked_ns > w->limit_ns / 2)
		w->since_ns = now_ns;
	w->looked_ns = now_ns;
	w->next_ns = now_ns + min_u64(w->limit_ns / LOOKS_PER_LIMIT, look_most_ns);
	return true;
}

enum stall_kind stall_watch_look(const struct stall_watch *w, struct stall_seat *s, uint64_t beat,
				 uint64_t waits_ns, uint64_t now_ns, uint64_t *elapsed_ns)
{
	enum stall_kind kind = STALL_SILENT;

	if (beat != s->beat) {
		s->beat = beat;
		s->moved_ns = now_ns;
	}
	*elapsed_ns = excess_u64(now_ns, max_u64(s->moved_ns, w->since_ns));
	if (*elapsed_ns < w->limit_ns) {
		kind = STALL_WAITS;
		*elapsed_ns = waits_ns;
	}
	if (*elapsed_ns < w->limit_ns) {
		s->next_ns = 0;
		return STALL_NONE;
	}
	if (*elapsed_ns < s->next_ns)
		return STALL_NONE;
	s->next_ns = 2 * *elapsed_ns;
	return kind;
}
