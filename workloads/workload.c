/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for all workloads: see workload.h. */
#include "workloads/workload.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/numbers.h"
#include "core/time_ns.h"

/* Between the time when all know that all are there and the beginning of the work. */
static const uint64_t start_ahead_ns = 20 * NS_PER_MS;

int workload_tally(const struct workload *w, const struct job_phase *phase, struct tally *tally,
		   struct err *err)
{
	uint32_t rows_max[TALLY_TABLES_MAX] = {0};
	int rc;

	if (w->rows)
		w->rows(phase, rows_max);
	rc = tally_init(tally, w->schema, rows_max, err);
	if (rc == 0 && w->main_hist)
		tally->main_hist = w->main_hist(phase);
	return rc;
}

int workload_run(const struct workload *w, struct phase_context *ctx, enum stop_reason *stopped,
		 struct err *err)
{
	void *run = calloc(1, w->run_bytes);
	int rc = run ? 0 : err_set(err, -ENOMEM, "no memory for the phase");

	*stopped = STOP_NONE;
	timeline_init(ctx->tally->timeline, clock_now(ctx->clock));
	rc = group_agree(ctx->group, rc, err);
	if (rc < 0 || !run) {
		*stopped = STOP_ERROR;
		goto out_free;
	}
	rc = w->open(run, ctx, err);
	if (rc == 0)
		rc = w->work(run, stopped, err);
	/* What a store gave up because the run was to end is no error of the phase. */
	if (rc == -ECANCELED) {
		*stopped = STOP_SIGNAL;
		if (ctx->stop && stop_asked(ctx->stop) > STOP_LIMIT)
			*stopped = stop_asked(ctx->stop);
		workload_say(ctx, "%s", err->text);
		*err = (struct err){0};
		rc = 0;
	}
	if (rc < 0)
		*stopped = STOP_ERROR;
	if (w->measure)
		w->measure(run);
	/* After the measures: sentences quote them. */
	if (rc == 0 && w->say)
		w->say(run);
	ctx->counted = true;
	w->close(run);
out_free:
	free(run);
	return rc;
}

struct tally *workload_part(struct phase_context *ctx, const char *kind, const char *name,
			    const struct tally_schema *schema, const char *store, struct err *err)
{
	if (ctx->part)
		return ctx->part(ctx, kind, name, schema, store, err);
	err_set(err, -ENOTSUP, "no results are kept of %s", kind);
	return NULL;
}

int phase_store_find(const struct job *job, const struct job_phase *phase,
		     const struct job_store **store, struct err *err)
{
	*store = phase->store[0]         ? job_find_store(job, phase->store)
		 : job->store_count == 1 ? &job->stores[0]
					 : NULL;
	return *store ? 0 : err_set(err, -EINVAL, "%s: needs a \"store\"", phase->path);
}

struct phase_store *phase_store_add(struct phase_store out[PHASE_STORES_MAX], uint32_t *count,
				    const char *role, const struct job_store *store)
{
	struct phase_store *s = &out[(*count)++];

	memset(s, 0, sizeof(*s));
	snprintf(s->role, sizeof(s->role), "%s", role);
	s->store = store;
	return s;
}

uint64_t workload_begin(const struct phase_context *ctx)
{
	uint64_t now_ns;

	if (ctx->measure_from)
		ctx->measure_from(ctx->measure_from_argument);
	now_ns = clock_now(ctx->clock);
	timeline_init(ctx->tally->timeline, now_ns);
	return now_ns;
}

void demand_note(struct demand *out, const char *format, ...)
{
	va_list arguments;

	if (out->note_count == COUNT(out->notes))
		return;
	va_start(arguments, format);
	vsnprintf(out->notes[out->note_count++], sizeof(out->notes[0]), format, arguments);
	va_end(arguments);
}

void workload_say(struct phase_context *ctx, const char *format, ...)
{
	size_t used = strlen(ctx->message);
	va_list arguments;

	if (used)
		used += (size_t)snprintf(ctx->message + used, sizeof(ctx->message) - used, "; ");
	if (used >= sizeof(ctx->message))
		return;
	va_start(arguments, format);
	vsnprintf(ctx->message + used, sizeof(ctx->message) - used, format, arguments);
	va_end(arguments);
}

static int workload_open(const struct phase_context *ctx, const struct job_store *described,
			 bool constant, struct store *store, struct err *err)
{
	const struct store_opener by = {.place = ctx->place,
					.all = ctx->group,
					.node = ctx->node,
					.clock = ctx->clock,
					.log = ctx->log,
					.stop = ctx->stop,
					.process = ctx->process,
					.seed = ctx->job->seed,
					.constant = constant};
	int rc = store_open(store, described, &by, err);

	if (rc == 0)
		store->op_log = ctx->op_log;
	if (rc == 0 && ctx->stores)
		store_describe(
			store, described,
			&ctx->stores[job_find_store(ctx->job, described->name) - ctx->job->stores]);
	return rc;
}

int workload_store_open(const struct phase_context *ctx, const struct job_store *described,
			struct store *store, struct err *err)
{
	int rc = workload_open(ctx, described, false, store, err);

	if (rc < 0 || !store->ops->root_make)
		return rc;
	if (ctx->group->rank == 0)
		rc = store->ops->root_make(store, err);
	rc = group_agree(ctx->group, rc, err);
	if (rc < 0)
		store_close(store);
	return rc;
}

int workload_store_open_to_clean(const struct phase_context *ctx, const struct job_store *described,
				 struct store *store, struct err *err)
{
	return workload_open(ctx, described, false, store, err);
}

int workload_store_open_to_read(const struct phase_context *ctx, const struct job_store *described,
				struct store *store, struct err *err)
{
	return workload_open(ctx, described, true, store, err);
}

int start_line(struct phase_context *ctx, bool first, uint64_t *start_ns)
{
	uint64_t ahead_ns;
	int rc = group_barrier(ctx->group);

	if (rc < 0)
		return rc;
	*start_ns = first ? workload_begin(ctx) : clock_now(ctx->clock);
	ahead_ns = *start_ns + start_ahead_ns;
	if (ctx->node && group_allreduce(ctx->node, MERGE_MAX, &ahead_ns, 1) == 0)
		*start_ns = ahead_ns;
	return 0;
}

void workload_uncount(struct phase_context *ctx, struct cpu_time from)
{
	struct cpu_time now = cpu_time_process();

	ctx->uncounted.user_ns += now.user_ns - from.user_ns;
	ctx->uncounted.system_ns += now.system_ns - from.system_ns;
}

struct cpu_time cpu_time_process(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (struct cpu_time){(uint64_t)used.ru_utime.tv_sec * NS_PER_S +
					 (uint64_t)used.ru_utime.tv_usec * NS_PER_US,
				 (uint64_t)used.ru_stime.tv_sec * NS_PER_S +
					 (uint64_t)used.ru_stime.tv_usec * NS_PER_US};
}
