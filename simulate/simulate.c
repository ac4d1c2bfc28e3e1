/* SPDX-License-Identifier: Apache-2.0 */
/* Phases in virtual time: see simulate.h. */
#include "simulate/simulate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/measure/window.h"
#include "core/numbers.h"
#include "workloads/checkpoint/checkpoint.h"
#include "workloads/io/io.h"
#include "workloads/train/train.h"

/* The simulated_kinds of phases that can be simulated. */
static const struct {
	const struct workload *workload;
	int (*simulate)(const struct simulation *s, const struct job_phase *phase,
			struct simulated *out, struct err *err);
} simulated_kinds[] = {
	{&train_workload, simulate_train},
	{&io_workload, simulate_io},
	{&checkpoint_workload, simulate_checkpoint},
};

static int simulated_find_kind(const struct job_phase *phase)
{
	for (unsigned i = 0; i < COUNT(simulated_kinds); i++)
		if (phase->section->owner == simulated_kinds[i].workload)
			return (int)i;
	return -1;
}

int simulate_check(const struct job_phase *phase, struct err *err)
{
	if (simulated_find_kind(phase) < 0)
		return err_set(
			err, -ENOTSUP,
			"%s: phases of this kind are not simulated; train, io and checkpoint are",
			phase->path);
	if (phase->together)
		return err_set(
			err, -ENOTSUP,
			"%s: phases that run at the same time are not simulated; name one with "
			"--only",
			phase->path);
	return 0;
}

int simulated_init(struct simulated **out, const struct tally_schema *schema,
		   const uint32_t *rows_max, uint32_t ranks, struct err *err)
{
	struct simulated *s = calloc(1, sizeof(*s));
	int rc = s ? tally_init(&s->tally, schema, rows_max, err)
		   : err_set(err, -ENOMEM, "no memory for a phase");

	*out = s;
	if (rc < 0)
		return rc;
	s->ranks = ranks;
	s->rank_rows = calloc((size_t)ranks * schema->rank.measure_count, sizeof(*s->rank_rows));
	return s->rank_rows ? 0
			    : err_set(err, -ENOMEM, "no memory for the rows of %u ranks", ranks);
}

void simulated_free(struct simulated *s)
{
	if (!s)
		return;
	simulated_free(s->within);
	if (s->tally.schema)
		tally_free(&s->tally);
	free(s->rank_rows);
	free(s);
}

/* The rows of all ranks, merged. */
static void simulated_merge_ranks(struct simulated *s)
{
	const struct columns *c = &s->tally.schema->rank;

	memcpy(s->tally.rank_row, s->rank_rows, c->measure_count * sizeof(uint64_t));
	for (uint32_t i = 1; i < s->ranks; i++)
		columns_merge(c, s->tally.rank_row, simulated_row(s, i));
}

static int simulated_stores_open(const struct simulation *s, struct simulated *out, struct err *err)
{
	uint32_t n = s->job->store_count;
	int rc = 0;

	out->stores = calloc(n + 1, sizeof(*out->stores));
	if (!out->stores)
		return err_set(err, -ENOMEM, "no memory for %u stores", n);
	for (uint32_t i = 0; i < n && rc == 0; i++)
		rc = virtual_store_open(&out->stores[i], &s->job->stores[i], &s->storage[i],
					s->places, s->ranks, s->nodes, s->seed, err);
	return rc;
}

static void simulated_stores_close(const struct simulation *s, struct simulated *out)
{
	for (uint32_t i = 0; out->stores && i < s->job->store_count; i++)
		virtual_store_close(&out->stores[i]);
	free(out->stores);
	out->stores = NULL;
}

int simulate_phase(const struct simulation *s, const struct job_phase *phase,
		   struct simulated **out, struct err *err)
{
	int kind = simulated_find_kind(phase), rc = simulate_check(phase, err);
	uint32_t rows_max[TALLY_TABLES_MAX] = {0};
	const struct workload *w;

	*out = NULL;
	if (rc < 0)
		return rc;
	w = simulated_kinds[kind].workload;
	if (w->rows)
		w->rows(phase, rows_max);
	rc = simulated_init(out, w->schema, rows_max, s->ranks, err);
	if (rc == 0)
		rc = simulated_stores_open(s, *out, err);
	if (rc == 0)
		rc = simulated_kinds[kind].simulate(s, phase, *out, err);
	if (*out)
		simulated_stores_close(s, *out);
	if (rc < 0)
		return rc;
	simulated_merge_ranks(*out);
	if ((*out)->within)
		simulated_merge_ranks((*out)->within);
	return 0;
}

struct virtual_store *simulated_store(const struct simulation *s, const struct simulated *out,
				      const struct job_store *store)
{
	return &out->stores[store - s->job->stores];
}

/* Requests that are a part of what was asked for, as in workloads/common/meter.c. */
static const uint32_t simulated_parts = 1u << REQ_OPEN | 1u << REQ_CLOSE | 1u << REQ_BEGIN |
					1u << REQ_COMMIT | 1u << REQ_ABORT | 1u << REQ_UPDATE;

void simulated_count(struct simulated *out, uint32_t rank, const struct sim_ask *ask,
		     const struct sim_answer *answer)
{
	struct timeline *t = out->tally.timeline;
	uint64_t *row = simulated_row(out, rank), bytes;

	row[TALLY_STORE_REQUESTS]++;
	row[TALLY_ERRORS] += answer->failed;
	out->errors += answer->failed;
	if (!out->counts_operations && !(simulated_parts >> ask->op & 1) &&
	    window_has(out->from_ns, ask->arrival_ns, answer->done_ns)) {
		row[TALLY_OPERATIONS]++;
		timeline_add(t, answer->done_ns, SECOND_OPERATIONS, 1);
	}
	if (answer->failed || (ask->op != REQ_READ && ask->op != REQ_WRITE))
		return;
	bytes = window_share(out->from_ns, ask->arrival_ns, answer->done_ns, ask->length);
	row[ask->op == REQ_WRITE ? TALLY_BYTES_WRITTEN : TALLY_BYTES_READ] += bytes;
	timeline_spread(t, max_u64(ask->arrival_ns, out->from_ns), answer->done_ns,
			ask->op == REQ_WRITE ? SECOND_BYTES_WRITTEN : SECOND_BYTES_READ, bytes);
}
