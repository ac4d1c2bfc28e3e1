/* Watch over writes of results: a step that takes too long ends the run. */
#include "ranks/run/state.h"

uint64_t run_write_limit_ns(uint64_t bytes)
{
	const uint64_t second_ns = 1000000000;
	uint64_t whole = bytes / RUN_WRITE_LEAST_RATE, rest = bytes % RUN_WRITE_LEAST_RATE;

	return RUN_WRITE_LIMIT_NS + whole * second_ns + rest * second_ns / RUN_WRITE_LEAST_RATE;
}

static void write_step(void *argument, uint64_t bytes)
{
	struct run *run = argument;

	signals_watch(&run->signals, run_write_limit_ns(bytes));
}

void run_watch_write(struct run *run)
{
	const struct results_watch watch = {.step = write_step, .argument = run};

	if (run->results)
		results_set_watch(run->results, &watch);
	write_step(run, 0);
}

void run_unwatch_write(struct run *run)
{
	signals_unwatch(&run->signals);
}
