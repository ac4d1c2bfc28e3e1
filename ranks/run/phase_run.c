/* SPDX-License-Identifier: Apache-2.0 */
/* A phase on this rank: see phase_run.h. */
#include "ranks/run/phase_run.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "backends/op_log/op_log.h"
#include "core/time_ns.h"
#include "core/utf8.h"
#include "ranks/run/driver.h"
#include "ranks/run/run.h"

int phase_prepare(struct run *run, const struct run_options *options, struct job_phase *phase,
		  struct phase_run *p, struct err *err)
{
	p->run = run;
	p->workload = phase->section->owner;
	p->ctx = (struct phase_context){
		.job = &run->job,
		.phase = phase,
		.place = &run->place,
		.clock = &run->clock,
		.log = &run->log,
		.stop = &run->stop,
		.overdue = watchdog_overdue,
		.overdue_argument = &run->watchdog,
		.clean = options->clean,
		.replaces = options->force || run->at.run > 1,
		.process = &run->stores_keep,
		.deadline_ns = options->deadline_ns ? run->start_ns + options->deadline_ns : 0,
		.tally = &p->tally,
		.op_log = run->op_log,
		.stores = run->stores,
		.null_ns = &p->null_ns,
	};
	return workload_tally(p->workload, phase, &p->tally, err);
}

void phase_close(struct phase_run *p)
{
	for (uint32_t i = 0; i < p->part_count; i++) {
		tally_free(&p->parts[i]->tally);
		free(p->parts[i]);
	}
	free(p->parts);
	if (p->tally.schema)
		tally_free(&p->tally);
}

uint64_t phase_utc_ns(const struct phase_run *p)
{
	return p->utc_ns + clock_kernel_ns() + (uint64_t)p->run->nodes.offset_ns;
}

static uint64_t phase_time_ns(const struct timeval *one, const struct timeval *more)
{
	return (uint64_t)(one->tv_sec + more->tv_sec) * NS_PER_S +
	       (uint64_t)(one->tv_usec + more->tv_usec) * NS_PER_US;
}

/* With what was used before this process became the copy that has the last words. */
static void phase_cpu_ns(const struct run *run, uint64_t *user_ns, uint64_t *system_ns)
{
	const struct rusage *before = &run->watchdog.used;
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	*user_ns = phase_time_ns(&used.ru_utime, &before->ru_utime);
	*system_ns = phase_time_ns(&used.ru_stime, &before->ru_stime);
}

void phase_count_from(struct phase_run *p)
{
	p->started_ns = phase_utc_ns(p);
	phase_cpu_ns(p->run, &p->user_ns, &p->system_ns);
	sampler_start(p->run->sampler);
}

void phase_count(const struct phase_run *p, uint64_t *rank_row)
{
	const struct op_log *log = p->run->op_log;
	uint64_t user_ns, system_ns;

	phase_cpu_ns(p->run, &user_ns, &system_ns);
	rank_row[TALLY_CPU_USER_NS] = user_ns - p->user_ns - p->ctx.uncounted.user_ns;
	rank_row[TALLY_CPU_SYSTEM_NS] = system_ns - p->system_ns - p->ctx.uncounted.system_ns;
	if (log)
		rank_row[TALLY_OP_LOG_DROPPED] = op_log_dropped(log) - p->log_dropped;
}

int phase_judge(struct phase_run *p, struct err *err)
{
	const struct target *by = driver_judges(p->run, p->ctx.phase);
	struct err own = {0};
	int rc = workload_targets(p->ctx.phase, &p->tally, p->ctx.group, p->targets,
				  &p->target_count, &own);

	p->judged = (struct target_result){.found = NAN};
	if (rc == 0 && by)
		rc = workload_judge(p->ctx.phase->section, by, &p->tally, p->ctx.group, &p->judged,
				    &own);
	if (rc < 0 && p->rc == 0) {
		*err = own;
		p->rc = own.code;
	}
	return p->rc;
}

uint64_t phase_requests(const struct tally *t, struct group *group)
{
	const uint64_t *row = t->rank_row;
	uint64_t sum = t->failure_count;

	if (row[TALLY_STORE_REQUESTS] > row[TALLY_ERRORS])
		sum += row[TALLY_STORE_REQUESTS];
	group_allreduce(group, MERGE_SUM, &sum, 1);
	return sum;
}

struct tally *phase_part(struct phase_context *ctx, const char *kind, const char *name,
			 const struct tally_schema *schema, const char *store, struct err *err)
{
	struct phase_run *p = ctx->part_argument;
	struct phase_part **parts = realloc(p->parts, (p->part_count + 1) * sizeof(*parts));
	struct phase_part *part = calloc(1, sizeof(*part));
	int rc = 0;

	if (parts)
		p->parts = parts;
	if (!parts || !part)
		rc = err_set(err, -ENOMEM, "no memory for the results of %s", kind);
	if (rc == 0)
		rc = tally_init(&part->tally, schema, NULL, err);
	rc = group_agree(ctx->group, rc, err);
	if (rc < 0) {
		if (part && part->tally.schema)
			tally_free(&part->tally);
		free(part);
		return NULL;
	}
	utf8_copy(part->kind, sizeof(part->kind), kind);
	utf8_copy(part->name, sizeof(part->name), name && *name ? name : kind);
	utf8_copy(part->store, sizeof(part->store), store);
	p->parts[p->part_count++] = part;
	return &part->tally;
}

const char *phase_status(const struct phase_run *p)
{
	if (p->rc < 0)
		return "failed";
	return p->stopped == STOP_LIMIT          ? "limit"
	       : p->stopped == STOP_OTHERS_ENDED ? "ended"
	       : p->stopped == STOP_NONE         ? "done"
						 : "interrupted";
}
