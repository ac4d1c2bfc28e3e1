/* SPDX-License-Identifier: Apache-2.0 */
/* Results of a planned run: see results_size.h. */
#include "simulate/results_size.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/numbers.h"
#include "results-schema/results_bytes.h"

/* 0: it is not known beforehand. */
static double phase_seconds(const struct demand *d)
{
	double seconds = d->epochs ? d->total_seconds : d->seconds;

	if (!isfinite(seconds))
		seconds = 0;
	if (d->seconds_limit <= 0)
		return seconds;
	return seconds > 0 ? fmin(seconds, d->seconds_limit) : d->seconds_limit;
}

static int add_phase(struct plan_phase *p, struct results_draft *d,
		     const struct results_bytes *head, struct err *err)
{
	const struct workload *workload = p->phase->section->owner;
	const struct backend_ops *store = p->stores[0].store->section->owner;
	uint32_t rows[TALLY_TABLES_MAX] = {0}, named[TALLY_TABLES_MAX] = {0};
	struct results_bytes bytes;
	int rc;

	if (workload->rows)
		workload->rows(p->phase, rows);
	d->kind = p->phase->section->name;
	d->name = p->phase->name;
	d->schema = workload->schema;
	d->rows = rows;
	d->named = named;
	d->hists = workload->hists ? workload->hists(p->phase, named) : UINT64_MAX;
	d->steps = p->demand.steps_per_epoch * p->demand.epochs;
	d->seconds = phase_seconds(&p->demand);
	d->commits = store->capabilities & BACKEND_PERSISTENT;
	rc = results_bytes_of(d, head, &bytes, err);
	if (rc < 0)
		return rc;
	p->results.bytes = results_bytes_all(&bytes, d->ranks, d->nodes);
	p->results.per_rank = bytes.per_rank;
	p->results.per_node = bytes.per_node;
	return 0;
}

void results_size_add(struct plan *plan, const struct job *job)
{
	char *text = job_text(job, plan_schema());
	struct results_draft draft = {.ranks = plan->ranks,
				      .nodes = plan->nodes,
				      .stores = job->store_count,
				      .job_name = job->name,
				      .job_text = text};
	uint64_t phases = 0, most = 0, whole;
	struct results_bytes head;
	struct err err = {0};
	int rc = text ? results_bytes_of(&draft, NULL, &head, &err) : -ENOMEM;

	for (uint32_t i = 0; i < plan->phase_count && rc == 0; i++) {
		rc = add_phase(&plan->phases[i], &draft, &head, &err);
		phases += plan->phases[i].results.bytes;
		most = max_u64(most, plan->phases[i].results.bytes);
	}
	free(text);
	if (rc < 0)
		return;
	whole = results_bytes_all(&head, plan->ranks, plan->nodes);
	plan->results_bytes = whole + phases;
	plan->publication_bytes = whole + (results_bytes_apart(plan->phase_count) ? most : phases);
}
