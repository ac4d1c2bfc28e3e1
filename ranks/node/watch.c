/* Machine use of a phase: see watch.h. */
#include "ranks/node/watch.h"

#include <sys/resource.h>

static uint64_t watch_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

void watch_begin(void *watch)
{
	struct watch *w = watch;
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	w->user_ns = watch_ns(used.ru_utime);
	w->system_ns = watch_ns(used.ru_stime);
	sampler_start(w->sampler);
}

void watch_so_far(const struct watch *w, uint64_t *rank_row)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	rank_row[TALLY_CPU_USER_NS] = watch_ns(used.ru_utime) - w->user_ns;
	rank_row[TALLY_CPU_SYSTEM_NS] = watch_ns(used.ru_stime) - w->system_ns;
}

struct client_series *watch_end(const struct watch *w, uint64_t *rank_row)
{
	watch_so_far(w, rank_row);
	return sampler_stop(w->sampler);
}
