/* SPDX-License-Identifier: Apache-2.0 */
/* Results of a simulation: see output.h. */
#include "simulate/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/group/lone.h"
#include "core/utf8.h"
#include "plan/plan.h"
#include "results-schema/results.h"
#include "workloads/target.h"

struct output {
	const struct simulate_case *c;
	const char *cores;
	struct results *results;
	struct lone_group lone;
	struct group *group;
	uint64_t number;
	double now; /* in virtual time, of the seed */
};

static int output_describe(struct output *out, const struct job_phase *phase,
			   const struct simulated *s, uint32_t seed, struct phase_record *r)
{
	struct phase_store stores[PHASE_STORES_MAX];
	uint32_t count;

	phase_record_init(r);
	utf8_copy(r->kind, sizeof(r->kind), phase->section->name);
	utf8_copy(r->name, sizeof(r->name), phase->name);
	utf8_copy(r->status, sizeof(r->status), "simulated");
	if (plan_phase_stores(out->c->job, phase, out->c->ranks, stores, &count, NULL) == 0)
		utf8_copy(r->store, sizeof(r->store), stores[0].store->name);
	r->number = out->number++;
	r->run = r->repeat = seed + 1;
	r->combination = 1;
	r->seconds = s->seconds;
	r->started_ns = (uint64_t)(out->now * 1e9);
	r->finished_ns = (uint64_t)((out->now + s->seconds) * 1e9);
	return 0;
}

static int output_publish_within(struct output *out, const struct phase_record *around,
				 struct simulated *s, struct err *err)
{
	struct results_phase phase = {
		.record = *around, .tally = &s->tally, .rank_rows = s->rank_rows};

	phase.record.within = around->number;
	phase.record.number = out->number++;
	phase.record.seconds = s->seconds;
	utf8_copy(phase.record.kind, sizeof(phase.record.kind), "checkpoint");
	utf8_copy(phase.record.name, sizeof(phase.record.name), "checkpoint");
	phase.record.message[0] = '\0';
	return results_publish(out->results, &phase, err);
}

static int output_publish(struct output *out, uint32_t seed, uint32_t i, struct err *err)
{
	const struct simulate_case *c = out->c;
	struct simulated *s = c->phases[(size_t)seed * c->job->phase_count + i];
	struct target_result targets[TARGETS_MAX];
	struct results_phase phase = {0};
	const char *cores = "";
	char limit[256];
	int rc;

	if (!s)
		return 0;
	phase.tally = &s->tally;
	phase.rank_rows = s->rank_rows;
	phase.targets = targets;
	output_describe(out, &c->job->phases[i], s, seed, &phase.record);
	simulate_limit(c, i, s, limit);
	if (s->tally.rank_row[TALLY_BYTES_READ])
		cores = out->cores;
	snprintf(phase.record.message, sizeof(phase.record.message), "%s%s%s%s", limit,
		 s->together ? "; requests of a sample were reckoned together" : "",
		 *cores ? "; " : "", cores);
	rc = workload_targets(&c->job->phases[i], &s->tally, out->group, targets,
			      &phase.target_count, err);
	if (rc == 0)
		rc = results_publish(out->results, &phase, err);
	if (rc == 0 && s->within)
		rc = output_publish_within(out, &phase.record, s->within, err);
	out->now += s->seconds;
	return rc;
}

static int output_create(struct output *out, const struct simulate_output *o, struct err *err)
{
	const struct simulate_case *c = out->c;
	struct results_head head = {
		.version = o->version,
		.build = o->build,
		.command_line = o->command_line,
		.job_name = c->job->name,
		.ranks = c->ranks,
		.nodes = c->nodes,
		.runs = c->seeds,
		.rank_rows_max = UINT32_MAX,
		.gather_bytes_max = UINT64_MAX,
		.simulated = o->storage,
	};
	struct rank_row *ranks = calloc(c->ranks, sizeof(*ranks));
	struct node_row *nodes = calloc(c->nodes, sizeof(*nodes));
	char *text = job_text(c->job, plan_schema());
	int rc = ranks && nodes && text ? 0 : err_set(err, -ENOMEM, "no memory for the results");

	for (uint32_t i = 0; rc == 0 && i < c->ranks; i++)
		ranks[i].place = c->places[i];
	for (uint32_t i = 0; rc == 0 && i < c->nodes; i++)
		snprintf(nodes[i].host, sizeof(nodes[i].host), "simulated%u", i);
	head.job_text = text;
	if (rc == 0)
		rc = results_create(&out->results, o->path, o->force, NULL, out->group, &head,
				    nodes, ranks, err);
	free(text);
	free(ranks);
	free(nodes);
	return rc;
}

static int output_write_stores(struct output *out, struct err *err)
{
	const struct job *job = out->c->job;
	struct store_facts *rows = calloc(job->store_count + 1, sizeof(*rows));
	int rc;

	if (!rows)
		return err_set(err, -ENOMEM, "no memory for the results");
	for (uint32_t i = 0; i < job->store_count; i++) {
		const struct store_options *o = job->stores[i].options;

		utf8_copy(rows[i].name, sizeof(rows[i].name), job->stores[i].name);
		utf8_copy(rows[i].uri, sizeof(rows[i].uri), o->uri.count ? o->uri.items[0] : "");
		utf8_copy(rows[i].engine, sizeof(rows[i].engine), "simulated");
		rows[i].nodes = out->c->nodes;
	}
	rc = results_set_stores(out->results, rows, job->store_count);
	free(rows);
	return rc;
}

int simulate_write(const struct simulate_output *o, const struct simulate_case *c, struct err *err)
{
	struct output out = {.c = c, .cores = o->cores};
	int rc;

	out.group = lone_group_init(&out.lone, 0, c->ranks);
	rc = output_create(&out, o, err);
	if (rc < 0)
		return rc;
	rc = output_write_stores(&out, err);
	for (uint32_t seed = 0; seed < c->seeds && rc == 0; seed++) {
		out.now = 0;
		for (uint32_t i = 0; i < c->job->phase_count && rc == 0; i++)
			rc = output_publish(&out, seed, i, err);
	}
	if (rc == 0)
		rc = results_finish(out.results, RESULTS_DONE, "", err);
	else
		results_discard(out.results);
	results_free(out.results);
	return rc;
}
