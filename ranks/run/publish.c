/* Publication of a phase, and of the phases within it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/op_log/op_log.h"
#include "core/utf8.h"
#include "plan/plan.h"
#include "ranks/run/phase_run.h"
#include "ranks/run/run.h"

#define NANO 1e9

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

void phase_parts_free(struct phase_run *p)
{
	for (uint32_t i = 0; i < p->part_count; i++) {
		tally_free(&p->parts[i]->tally);
		free(p->parts[i]);
	}
	free(p->parts);
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

/* The time that the slowest rank spent in the phase, by its own measurement. What precedes it (a
 * null run) does not belong to the phase. */
static double tally_seconds(const struct tally *t, struct group *group)
{
	uint64_t wall = t->rank_row[TALLY_WALL_NS];

	group_allreduce(group, MERGE_MAX, &wall, 1);
	return (double)wall / NANO;
}

/* A phase that makes data runs once per series, so it is never a warm-up, whichever run it belongs
 * to. */
void phase_set_run(const struct run *run, const struct workload *workload,
		   struct results_phase *phase)
{
	results_set_run(phase, &run->at);
	if (workload->generating)
		phase->record.warmup = 0;
}

static void describe_together(const struct phase_run *p, struct phase_record *r)
{
	const struct job_phase *phase = p->ctx.phase;
	bool by_node = phase->set.nodes[0] != '\0';

	if (!phase->together)
		return;
	snprintf(r->together, sizeof(r->together), "%s %.240s", by_node ? "nodes" : "ranks",
		 by_node ? phase->set.nodes : phase->set.ranks);
	r->entry = phase->together->entry;
	r->alone = p->alone;
}

/* What does not depend on how the phase ends. t: its figures. */
static void describe_any(struct run *run, const struct phase_run *p, const struct tally *t,
			 struct phase_record *r)
{
	struct phase_store stores[PHASE_STORES_MAX];
	uint32_t store_count;

	phase_record_init(r);
	r->started_ns = p->started_ns;
	utf8_copy(r->kind, sizeof(r->kind), p->ctx.phase->section->name);
	utf8_copy(r->name, sizeof(r->name), p->ctx.phase->name);
	describe_together(p, r);
	if (plan_phase_stores(&run->job, p->ctx.phase, run->world->size, stores, &store_count,
			      NULL) == 0)
		utf8_copy(r->store, sizeof(r->store), stores[0].store->name);
	r->seconds = tally_seconds(t, p->ctx.group);
}

void phase_describe(struct run *run, const struct phase_run *p, const struct err *failure,
		    struct phase_record *r)
{
	describe_any(run, p, &p->tally, r);
	r->finished_ns = p->finished_ns;
	utf8_copy(r->message, sizeof(r->message), p->ctx.message);
	utf8_copy(r->status, sizeof(r->status), phase_status(p));
	utf8_copy(r->error, sizeof(r->error), p->rc < 0 ? failure->text : "");
}

/* Facts of the phase hold for its parts, except what they are and when they took place. */
static int publish_part(struct run *run, struct phase_part *part,
			const struct results_phase *around, struct err *err)
{
	struct results_phase phase = {.record = around->record, .tally = &part->tally};
	struct phase_record *r = &phase.record;

	results_set_run(&phase, &run->at);
	r->warmup = around->record.warmup;
	r->within = around->record.number;
	r->number = run->published++;
	memcpy(r->kind, part->kind, sizeof(r->kind));
	memcpy(r->name, part->name, sizeof(r->name));
	memcpy(r->store, part->store, sizeof(r->store));
	r->message[0] = '\0';
	r->error[0] = '\0';
	if (part->tally.started_ns)
		r->started_ns = part->tally.started_ns;
	if (part->tally.finished_ns)
		r->finished_ns = part->tally.finished_ns;
	r->seconds = tally_seconds(&part->tally, run->world);
	return results_publish(run->results, &phase, err);
}

int phase_publish_described(struct run *run, const struct run_options *options,
			    struct results_phase *phase, struct phase_run *parts, struct err *err)
{
	int rc;

	phase->record.number = run->published++;
	run_watch_write(run);
	rc = run_record_stores(run, err);
	if (rc == 0)
		rc = results_publish(run->results, phase, err);
	for (uint32_t i = 0; rc == 0 && parts && i < parts->part_count; i++)
		rc = publish_part(run, parts->parts[i], phase, err);
	run_unwatch_write(run);
	if (rc < 0)
		err_wrap(err, rc, "%s", options->results ? options->results : "results.h5");
	return rc;
}

int phase_publish(struct run *run, const struct run_options *options, struct phase_run *p,
		  const struct err *failure, struct err *err)
{
	struct results_phase phase = {.tally = &p->tally,
				      .client = p->client,
				      .targets = p->targets,
				      .target_count = p->target_count};

	phase_describe(run, p, failure, &phase.record);
	phase_set_run(run, p->workload, &phase);
	return phase_publish_described(run, options, &phase, p, err);
}

/* Fills in what whoever runs the phase counts. */
static void publish_count(const struct phase_run *p, struct tally *so_far)
{
	const struct op_log *log = p->run->op_log;

	watch_so_far(&p->watch, so_far->rank_row);
	if (log)
		so_far->rank_row[TALLY_OP_LOG_DROPPED] = op_log_dropped(log) - p->log_dropped;
}

void phase_publish_running(void *phase_run, struct tally *so_far)
{
	struct phase_run *p = phase_run;
	struct run *run = p->run;
	struct results_phase phase = {.tally = so_far, .running = true};
	uint64_t began_ns = clock_now(&run->clock);
	struct err err = {0};
	int rc;

	run->measured = run->measured || phase_measured(so_far, p->ctx.group);
	if (!run->measured)
		return;
	publish_count(p, so_far);
	describe_any(run, p, so_far, &phase.record);
	utf8_copy(phase.record.status, sizeof(phase.record.status), "running");
	phase.record.finished_ns = clock_utc_ns();
	phase.record.number = run->published;
	phase_set_run(run, p->workload, &phase);
	run_watch_write(run);
	rc = run_record_stores(run, &err);
	if (rc == 0)
		rc = results_publish(run->results, &phase, &err);
	run_unwatch_write(run);
	if (rc < 0 && run->world->rank == 0)
		log_say(&run->log, LOG_WARNING, "%s goes on, but could not be published now: %s",
			p->ctx.phase->name, err.text);
	p->interim_count += rc == 0;
	p->interim_ns += clock_now(&run->clock) - began_ns;
}
