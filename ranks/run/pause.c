/* Pause between two phases, as some benchmarks require: all ranks wait, and any of them may end the
 * wait. */
#include <errno.h>
#include <time.h>

#include "core/units.h"
#include "ranks/run/run.h"
#include "ranks/run/state.h"
#include "workloads/common/status_rounds.h"

enum { PAUSE_NAP_NS = 10000000 };

static enum stop_reason pause_stop(const struct run *run, uint64_t deadline_ns, uint64_t now_ns)
{
	enum stop_reason asked = stop_asked(&run->stop);

	if (deadline_ns && now_ns >= deadline_ns && asked < STOP_DEADLINE)
		asked = STOP_DEADLINE;
	return asked;
}

enum stop_reason run_pause(struct run *run, const struct run_options *options,
			   const struct job_phase *phase)
{
	uint64_t after_ns = job_phase_after_ns(phase, NULL);
	uint64_t until_ns = run->phase_end_ns + after_ns, now_ns = clock_now(&run->clock);
	uint64_t deadline_ns = options->deadline_ns ? run->start_ns + options->deadline_ns : 0;
	struct status mine = {.unfinished = 1};
	struct status_rounds rounds;
	char text[UNITS_TEXT_BYTES];

	if (!after_ns || !run->phase_end_ns)
		return STOP_NONE;
	if (run->world->rank == 0 && !options->quiet && until_ns > now_ns)
		log_say(&run->log, LOG_INFO, "%s begins in %s", phase->name,
			units_time(text, (double)(until_ns - now_ns) / 1e9));
	status_rounds_begin(&rounds, run->world, &mine);
	while (!rounds.over) {
		uint64_t nap_ns = now_ns + PAUSE_NAP_NS;

		clock_sleep_until(&run->clock,
				  nap_ns < until_ns || until_ns < now_ns ? nap_ns : until_ns);
		now_ns = clock_now(&run->clock);
		mine.unfinished = now_ns < until_ns;
		mine.stop = pause_stop(run, deadline_ns, now_ns);
		status_rounds_poll(&rounds, &mine, NULL);
	}
	return (enum stop_reason)rounds.merged.stop;
}
