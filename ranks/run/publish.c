/* SPDX-License-Identifier: Apache-2.0 */
/* Publication of a phase: see publish.h. */
#include "ranks/run/publish.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"
#include "plan/plan.h"
#include "ranks/run/driver.h"
#include "ranks/run/run.h"
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

	watchdog_write(&run->watchdog, run_write_limit_ns(bytes));
	if (bytes > atomic_load(&run->watchdog.write_bytes))
		atomic_store(&run->watchdog.write_bytes, bytes);
}

static void write_works(void *argument, bool begins)
{
	struct run *run = argument;

	watchdog_pen(&run->watchdog, begins);
}

void run_watch_write(struct run *run)
{
	const struct results_watch watch = {
		.step = write_step, .works = write_works, .argument = run};

	if (run->results)
		results_set_watch(run->results, &watch);
	write_step(run, 0);
}

void run_unwatch_write(struct run *run)
{
	watchdog_write(&run->watchdog, 0);
}

/* Moves the rows that differ to the front, in order of first appearance. Returns how many there
 * are. */
static uint32_t stores_fold(struct store_facts *rows, uint32_t count)
{
	const size_t same = offsetof(struct store_facts, nodes); /* bytes that are compared */
	uint32_t kept = 0, k;

	for (uint32_t i = 0; i < count; i++) {
		if (!rows[i].nodes)
			continue;
		for (k = 0; k < kept && memcmp(&rows[k], &rows[i], same) != 0; k++)
			;
		if (k < kept)
			rows[k].nodes += rows[i].nodes;
		else
			rows[kept++] = rows[i];
	}
	return kept;
}

/* Gives the run->stores of all nodes to the results: the first rank of each node reports them, and
 * equal rows of several nodes become one. Collective. */
static int publish_stores(struct run *run, struct err *err)
{
	uint32_t stores = run->job.store_count;
	struct store_facts *rows = NULL;
	int rc = 0;

	if (run->world->rank == 0) {
		rows = calloc((size_t)run->nodes.count * stores + 1, sizeof(*rows));
		if (!rows)
			rc = err_set(err, -ENOMEM, "no memory for the record of the stores");
	}
	rc = group_agree(run->world, rc, err);
	if (rc == 0 && run->nodes.leaders)
		rc = group_gather(run->nodes.leaders, run->stores, stores * sizeof(*run->stores),
				  rows);
	if (rc == 0 && rows &&
	    results_set_stores(run->results, rows, stores_fold(rows, run->nodes.count * stores)) <
		    0)
		rc = err_set(err, -ENOMEM, "no memory for the record of the stores");
	free(rows);
	return group_agree(run->world, rc, err);
}

/* The time that the slowest rank spent in the phase, by its own measurement. What precedes it (a
 * null run) does not belong to the phase. */
static double tally_seconds(const struct tally *t, struct group *group)
{
	uint64_t wall = t->rank_row[TALLY_WALL_NS];

	group_allreduce(group, MERGE_MAX, &wall, 1);
	return (double)wall / 1e9;
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
static void describe_any(const struct phase_run *p, const struct tally *t, struct phase_record *r)
{
	struct run *run = p->run;
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

void phase_describe(const struct phase_run *p, const struct tally *t, const struct err *failure,
		    struct phase_record *r)
{
	describe_any(p, t, r);
	r->finished_ns = p->finished_ns;
	utf8_copy(r->message, sizeof(r->message), p->ctx.message);
	if (series_runs(&p->run->series) > 1 && !p->workload->generating &&
	    series_makes_once(&p->run->job, p->ctx.phase, &p->run->driver->options->filter)) {
		size_t n = strlen(r->message);

		snprintf(r->message + n, sizeof(r->message) - n,
			 "%smade once: all runs of the series read it", n ? "; " : "");
	}
	utf8_copy(r->proof, sizeof(r->proof), p->ctx.proof.word);
	if (r->proof[0]) {
		utf8_copy(r->proof_claim, sizeof(r->proof_claim),
			  claim_words[p->ctx.proof.claim.state]);
		utf8_copy(r->proof_evidence, sizeof(r->proof_evidence),
			  p->ctx.proof.claim.evidence);
		utf8_copy(r->proof_missing, sizeof(r->proof_missing), p->ctx.proof.claim.missing);
	}
	r->hole_bytes = p->ctx.proof.hole_bytes;
	utf8_copy(r->usual, sizeof(r->usual), p->ctx.usual);
	utf8_copy(r->usual_as, sizeof(r->usual_as), p->ctx.usual_as);
	utf8_copy(r->typed, sizeof(r->typed), p->ctx.typed);
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
	r->proof[0] = r->proof_claim[0] = r->proof_evidence[0] = r->proof_missing[0] = '\0';
	r->hole_bytes = 0;
	r->error[0] = '\0';
	if (part->tally.started_ns)
		r->started_ns = part->tally.started_ns;
	if (part->tally.finished_ns)
		r->finished_ns = part->tally.finished_ns;
	r->seconds = tally_seconds(&part->tally, run->world);
	return results_publish(run->results, &phase, err);
}

int phase_publish(struct run *run, const struct job_phase *of, struct results_phase *phase,
		  struct phase_run *p, struct err *err)
{
	int rc;

	results_set_run(phase, &run->at);
	/* What runs once per series is never a warm-up, whichever run it belongs to. */
	if (series_makes_once(&run->job, of, &run->driver->options->filter))
		phase->record.warmup = 0;
	phase->record.number = run->published;
	run->published += !phase->running;
	run_watch_write(run);
	rc = publish_stores(run, err);
	if (rc == 0)
		rc = results_publish(run->results, phase, err);
	for (uint32_t i = 0; rc == 0 && p && !phase->running && i < p->part_count; i++)
		rc = publish_part(run, p->parts[i], phase, err);
	run_unwatch_write(run);
	return rc;
}

void phase_publish_running(void *phase_run, struct tally *so_far)
{
	struct phase_run *p = phase_run;
	struct run *run = p->run;
	struct results_phase phase = {.tally = so_far, .running = true};
	uint64_t began_ns = clock_now(&run->clock), requests;
	struct err err = {0};
	int rc;

	requests = phase_requests(so_far, p->ctx.group);
	run->measured = run->measured || requests;
	if (!run->measured)
		return;
	phase.requests = requests;
	phase_count(p, so_far->rank_row);
	describe_any(p, so_far, &phase.record);
	utf8_copy(phase.record.status, sizeof(phase.record.status), "running");
	phase.record.finished_ns = phase_utc_ns(p);
	rc = phase_publish(run, p->ctx.phase, &phase, p, &err);
	if (rc < 0 && run->world->rank == 0)
		log_say(&run->log, LOG_WARNING, "%s goes on, but could not be published now: %s",
			p->ctx.phase->name, err.text);
	p->interim_count += rc == 0;
	if (rc == 0)
		p->interim_requests = requests;
	p->interim_ns += clock_now(&run->clock) - began_ns;
}
