/* SPDX-License-Identifier: Apache-2.0 */
/* Fixture for phases "train": see train_fixture.h. */
#include "tests/workloads/train/train_fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/node_block.h"
#include "tests/libs/doubles/thread_group.h"

/* The schema as plan/ assembles it, from the same tables. */
static const struct job_schema *schema(const struct section **stores, const struct section **phases,
				       const struct section *store)
{
	static struct job_schema s;
	unsigned i;

	for (i = 0; backend_table()[i]; i++)
		stores[i] = &backend_table()[i]->section;
	stores[i++] = store;
	stores[i] = NULL;
	for (i = 0; workload_table()[i]; i++)
		phases[i] = &workload_table()[i]->section;
	phases[i] = NULL;
	s = (struct job_schema){.stores = stores, .dataset = &dataset_section, .phases = phases};
	return &s;
}

struct fixture *fixture_new(const char *job)
{
	return fixture_new_with(job, NULL);
}

struct fixture *fixture_new_with(const char *job, const struct section *store)
{
	static const struct section *stores[32], *phases[32];
	struct fixture *f = calloc(1, sizeof(*f));
	struct err err = {0};

	clock_init(&f->clock);
	if (job_parse(&f->job, schema(stores, phases, store), "test", job, strlen(job), NULL, 0,
		      &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		free(f);
		return NULL;
	}
	f->parsed = true;
	return f;
}

struct publisher {
	struct fixture *f;
	struct group *g;
};

static void publish(void *publisher, struct tally *so_far)
{
	struct publisher *p = publisher;

	p->f->publish(p->f, p->g, so_far);
}

/* The results of checkpoints, which a run would publish after the phase. */
static struct tally *fixture_part(struct phase_context *ctx, const char *kind, const char *name,
				  const struct tally_schema *part, const char *store,
				  struct err *err)
{
	struct fixture *f = ctx->part_argument;
	struct tally *t = &f->parts[ctx->group->rank];

	(void)kind;
	(void)name;
	(void)store;
	tally_free(t);
	return tally_init(t, part, NULL, err) < 0 ? NULL : t;
}

static int run_phase(struct fixture *f, struct group *g, struct group *node,
		     const struct rank_place *place, const struct job_phase *phase,
		     struct tally *tally, uint32_t rank)
{
	const struct workload *w = phase->section->owner;
	bool last = phase == &f->job.phases[f->job.phase_count - 1];
	struct publisher publisher = {f, g};
	struct log log = {.fd = -1};
	struct phase_context ctx = {
		.replaces = true,
		.job = &f->job,
		.phase = phase,
		.place = place,
		.group = g,
		.node = node,
		.clock = &f->clock,
		.log = &log,
		.stop = &f->stop,
		.tally = tally,
		.publish_every_ns = last ? f->publish_every_ns : 0,
		.publish = publish,
		.publish_argument = &publisher,
		.part = fixture_part,
		.part_argument = f,
	};
	const struct figure *null;
	int rc = workload_tally(w, phase, tally, &f->err[rank]);

	if (rc < 0)
		return rc;
	f->err[rank].text[0] = '\0';
	rc = workload_run(w, &ctx, &f->stopped[rank], &f->err[rank]);
	null = columns_figure(&tally->schema->rank, ROLE_UTILISATION_NULL);
	f->null_au[rank] = null ? figure_value(null, tally->rank_row) : NAN;
	if (rank == 0)
		memcpy(f->message, ctx.message, sizeof(f->message));
	return rc;
}

static struct rank_place fixture_place(const struct fixture *f, uint32_t rank, uint32_t ranks)
{
	uint32_t tensor = (uint32_t)f->job.cluster.tensor;
	uint32_t pipeline = (uint32_t)f->job.cluster.pipeline;
	uint32_t nodes = f->nodes ? f->nodes : 1, per_node = ranks / nodes;

	return (struct rank_place){
		.rank = rank,
		.ranks = ranks,
		.world_rank = rank,
		.world_ranks = ranks,
		.node = rank / per_node,
		.nodes = nodes,
		.local_rank = rank % per_node,
		.local_ranks = per_node,
		.data = rank / tensor / pipeline,
		.tensor = rank % tensor,
		.pipeline = rank / tensor % pipeline,
		.data_size = ranks / tensor / pipeline,
		.tensor_size = tensor,
		.pipeline_size = pipeline,
		.endpoint = rank,
	};
}

static int body(struct group *g, void *argument)
{
	struct fixture *f = argument;
	struct rank_place place = fixture_place(f, g->rank, g->size);
	struct group *node = NULL;
	uint32_t i, last = f->job.phase_count - 1;
	int rc = group_split(g, place.node, &node, NULL);

	if (rc == 0)
		rc = node_blocks_reserve(node, f->job.stores, f->job.store_count, &f->err[g->rank]);
	for (i = 0; i <= last && rc == 0; i++) {
		struct tally *t = &f->tallies[g->rank];

		if (i == last && f->between)
			f->between(f, g, node);
		rc = run_phase(f, g, node, &place, &f->job.phases[i], t, g->rank);
		if (i < last)
			tally_free(t);
	}
	f->rc[g->rank] = rc;
	node_blocks_free(node);
	group_free(node);
	return 0;
}

void fixture_run(struct fixture *f, uint32_t ranks)
{
	uint64_t began_ns = clock_now(&f->clock);
	struct err err = {0};

	f->ranks = ranks;
	/* As in haul itself; otherwise the machine's late wake-ups would lengthen the steps. */
	f->clock.spin = ranks <= (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	thread_group_run(ranks, body, f, &err);
	f->seconds_ns = clock_now(&f->clock) - began_ns;
}

void fixture_free(struct fixture *f)
{
	uint32_t i;

	if (!f)
		return;
	for (i = 0; i < f->ranks; i++) {
		tally_free(&f->tallies[i]);
		tally_free(&f->parts[i]);
	}
	if (f->parsed)
		job_free(&f->job);
	free(f);
}

struct fixture *fixture_of(const char *job, uint32_t ranks)
{
	struct fixture *f = fixture_new(job);

	if (f)
		fixture_run(f, ranks);
	return f;
}

uint64_t fixture_sum(const struct fixture *f, unsigned measure)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < f->ranks; i++)
		sum += f->tallies[i].rank_row[measure];
	return sum;
}

uint64_t fixture_epoch_sum(const struct fixture *f, unsigned epoch_row, unsigned measure)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < f->ranks; i++)
		sum += train_epoch_row(&f->tallies[i], epoch_row)[measure];
	return sum;
}

double fixture_au(const struct fixture *f, uint32_t rank)
{
	return figure_value(&train_schema.rank.figures[0], f->tallies[rank].rank_row);
}

bool fixture_accounts_add_up(const struct fixture *f)
{
	uint32_t i;
	int s;

	for (i = 0; i < f->ranks; i++) {
		const uint64_t *row = f->tallies[i].rank_row;
		uint64_t sum = 0;

		for (s = 0; s < ACCOUNTS; s++)
			sum += row[TRAIN_ACCOUNTS + s];
		if (!sum || sum != row[TALLY_WALL_NS])
			return false;
	}
	return true;
}
