/* A trace through tiers: see through.h. */
#include "workloads/replay/through.h"

#include <errno.h>

#include "workloads/kvcache/trace/events.h"

enum { THROUGH_TIERS = 3 };

/* What the events of the tiers come to. */
struct through_sink {
	replay_take take;
	void *argument;
	struct err *err;
	int rc; /* the first error of take */
};

static void through_row(void *argument, const struct trace_row *row)
{
	struct through_sink *sink = argument;

	if (sink->rc == 0)
		sink->rc = sink->take(sink->argument, row, sink->err);
}

static int through_tiers(const struct replay_through *t, struct trace_reader *from,
			 struct through_sink *sink, uint64_t *misses, struct err *err)
{
	const struct kv_tier_rules rules[THROUGH_TIERS] = {
		kv_tier_mlperf(t->gpu, false), kv_tier_mlperf(t->cpu, false),
		kv_tier_mlperf(t->storage ? t->storage : KV_UNLIMITED, true)};
	const struct kv_policy policy = kv_policy_mlperf();
	struct trace_names names = {0};
	struct trace_events events = {.row = through_row,
				      .argument = sink,
				      .names = &names,
				      .deletes = t->deletes,
				      .promotes_whole = true,
				      .origin = {.request = TRACE_NOBODY, .user = TRACE_NOBODY}};
	struct kv_tiers tiers;
	struct through through = {
		.from = from, .tiers = &tiers, .names = &names, .events = &events};
	int rc = kv_tiers_init(&tiers, &policy, rules, THROUGH_TIERS);

	if (rc < 0)
		err_set(err, rc, "no memory for the tiers");
	tiers.event = trace_event;
	tiers.argument = &events;
	while (rc == 0 && (rc = through_next(&through, err)) > 0)
		rc = sink->rc;
	*misses = tiers.misses;
	kv_tiers_free(&tiers);
	trace_names_free(&names);
	return rc;
}

int replay_through_all(const struct replay_through *t, struct trace_reader *from, replay_take take,
		       void *argument, uint64_t *misses, struct err *err)
{
	struct through_sink sink = {.take = take, .argument = argument, .err = err};
	struct trace_row row;
	int rc = 0;

	*misses = 0;
	if (t->kind == REPLAY_THROUGH_MLPERF && from->log)
		return err_set(err, -EINVAL,
			       "is an operation log, which has no phases to go through tiers");
	if (from->log)
		return replay_log_rows(from, take, argument, err);
	if (t->kind == REPLAY_THROUGH_MLPERF)
		return through_tiers(t, from, &sink, misses, err);
	while (rc == 0 && (rc = trace_next(from, &row, err)) > 0)
		rc = take(argument, &row, err);
	return rc;
}
