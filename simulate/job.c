/* SPDX-License-Identifier: Apache-2.0 */
/* All phases of a job in virtual time: see job.h. */
#include "simulate/job.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/plan.h"

enum { THREADS_MAX = 256 };

bool simulate_leaves_out(const struct job_phase *phase)
{
	const struct workload *w = phase->section->owner;

	return w->generating;
}

int simulate_case_open(struct simulate_case *c, const struct job *job, uint32_t ranks,
		       uint32_t nodes, uint32_t seeds, const struct sim_options *storage,
		       struct err *err)
{
	uint32_t per_node = (ranks + nodes - 1) / nodes, simulated = 0;
	uint32_t *node_of = calloc(ranks, sizeof(*node_of));
	int rc = 0;

	*c = (struct simulate_case){.job = job, .ranks = ranks, .nodes = nodes, .seeds = seeds};
	c->storage = calloc(job->store_count + 1, sizeof(*c->storage));
	c->places = calloc(ranks, sizeof(*c->places));
	c->phases = calloc((size_t)seeds * job->phase_count + 1, sizeof(struct simulated *));
	if (!node_of || !c->storage || !c->places || !c->phases)
		rc = err_set(err, -ENOMEM, "no memory for %u ranks", ranks);
	for (uint32_t i = 0; rc == 0 && i < ranks; i++)
		node_of[i] = i / per_node;
	if (rc == 0)
		rc = plan_places(job, node_of, ranks, c->places, err);
	free(node_of);
	if (rc < 0)
		return rc;
	memcpy(c->storage, storage, job->store_count * sizeof(*storage));
	for (uint32_t i = 0; i < job->phase_count && rc == 0; i++) {
		if (simulate_leaves_out(&job->phases[i]))
			continue;
		simulated++;
		rc = simulate_check(&job->phases[i], err);
	}
	return rc < 0 || simulated ? rc : err_set(err, -EINVAL, "the job has no phase to simulate");
}

void simulate_case_close(struct simulate_case *c)
{
	for (size_t i = 0; c->phases && i < (size_t)c->seeds * c->job->phase_count; i++)
		simulated_free(c->phases[i]);
	free(c->phases);
	free(c->storage);
	free(c->places);
	memset(c, 0, sizeof(*c));
}

/* ---- seeds side by side ---- */

struct pool {
	struct simulate_case *cases;
	uint32_t count;
	_Atomic uint64_t next;
	pthread_mutex_t lock; /* of rc and err of the cases */
};

static void cases_run_seed(struct pool *pool, struct simulate_case *c, uint32_t seed)
{
	const struct job *job = c->job;
	const struct simulation s = {.job = job,
				     .places = c->places,
				     .ranks = c->ranks,
				     .nodes = c->nodes,
				     .seed = job->seed + seed,
				     .storage = c->storage};
	struct err err = {0};
	int rc = 0;

	for (uint32_t i = 0; i < job->phase_count && rc == 0; i++)
		if (!simulate_leaves_out(&job->phases[i]))
			rc = simulate_phase(&s, &job->phases[i],
					    &c->phases[(size_t)seed * job->phase_count + i], &err);
	if (rc == 0)
		return;
	pthread_mutex_lock(&pool->lock);
	if (c->rc == 0) {
		c->rc = rc;
		c->err = err;
	}
	pthread_mutex_unlock(&pool->lock);
}

/* The largest cases come last in the list, and begin first, so that no core waits for one at the end. */
static void *cases_pool_work(void *argument)
{
	struct pool *pool = argument;
	uint64_t all = 0, i;

	for (uint32_t k = 0; k < pool->count; k++)
		all += pool->cases[k].seeds;
	while ((i = atomic_fetch_add(&pool->next, 1)) < all) {
		uint64_t left = all - 1 - i;
		uint32_t k = 0;

		for (; left >= pool->cases[k].seeds; k++)
			left -= pool->cases[k].seeds;
		cases_run_seed(pool, &pool->cases[k], (uint32_t)left);
	}
	return NULL;
}

static uint32_t cases_cores(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > THREADS_MAX ? THREADS_MAX : (uint32_t)n;
}

int simulate_cases(struct simulate_case *cases, uint32_t count, uint32_t threads, struct err *err)
{
	struct pool pool = {.cases = cases, .count = count};
	pthread_t ids[THREADS_MAX];
	uint32_t made = 0;

	pthread_mutex_init(&pool.lock, NULL);
	threads = threads ? threads : cases_cores();
	while (made + 1 < threads && made < THREADS_MAX &&
	       pthread_create(&ids[made], NULL, cases_pool_work, &pool) == 0)
		made++;
	cases_pool_work(&pool);
	while (made)
		pthread_join(ids[--made], NULL);
	pthread_mutex_destroy(&pool.lock);
	for (uint32_t i = 0; i < count; i++) {
		if (cases[i].rc == 0)
			continue;
		*err = cases[i].err;
		return cases[i].rc;
	}
	return 0;
}

double simulate_case_au(const struct simulate_case *c)
{
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->job->phase_count && !n; i++)
		for (uint32_t seed = 0; seed < c->seeds; seed++) {
			const struct simulated *s =
				c->phases[(size_t)seed * c->job->phase_count + i];
			const struct figure *au =
				s ? columns_figure(&s->tally.schema->rank, ROLE_UTILISATION) : NULL;

			if (!au)
				continue;
			sum += figure_value(au, s->tally.rank_row);
			n++;
		}
	return n ? sum / n : NAN;
}

double simulate_case_target(const struct job *job)
{
	for (uint32_t i = 0; i < job->phase_count; i++) {
		const struct target *t = job->phases[i].section->targets;

		for (uint32_t k = 0; t && t[k].name; k++)
			if (strcmp(t[k].name, "target_au") == 0 &&
			    job->phases[i].targets[k].real > 0)
				return job->phases[i].targets[k].real;
	}
	return 0;
}

double simulate_case_rate(const struct simulate_case *c)
{
	double most = 0;

	for (uint32_t i = 0; i < c->job->phase_count; i++) {
		const struct simulated *s = c->phases[i];

		if (s && s->seconds > 0)
			most = fmax(most, (double)s->tally.rank_row[TALLY_BYTES_READ] / s->seconds);
	}
	return most;
}

/* ---- what bounds it ---- */

/* The store that the phase works on first. */
static const struct sim_options *cases_storage_of(const struct simulate_case *c,
						  const struct job_phase *phase)
{
	struct phase_store stores[PHASE_STORES_MAX];
	uint32_t count;

	if (plan_phase_stores(c->job, phase, c->ranks, stores, &count, NULL) < 0 || !count)
		return NULL;
	return &c->storage[stores[0].store - c->job->stores];
}

struct bound {
	const char *words;
	double busy; /* of the limit, on average */
};

static void cases_consider(struct bound *most, const char *words, double used, double limit)
{
	if (limit > 0 && used / limit > most->busy)
		*most = (struct bound){words, used / limit};
}

static double cases_most_of_a_node(const struct simulate_case *c, const struct simulated *s)
{
	double *bytes = calloc(c->nodes, sizeof(*bytes)), most = 0;

	for (uint32_t i = 0; bytes && i < c->ranks; i++) {
		const uint64_t *row = simulated_row(s, i);
		double *node = &bytes[c->places[i].node];

		*node += (double)(row[TALLY_BYTES_READ] + row[TALLY_BYTES_WRITTEN]);
		most = *node > most ? *node : most;
	}
	free(bytes);
	return most;
}

void simulate_limit(const struct simulate_case *c, uint32_t phase, const struct simulated *s,
		    char text[256])
{
	const struct sim_options *o = cases_storage_of(c, &c->job->phases[phase]);
	const uint64_t *row = s->tally.rank_row;
	double bytes = (double)(row[TALLY_BYTES_READ] + row[TALLY_BYTES_WRITTEN]);
	/* Of what is neither a read nor a write, half are closes, which ask nothing. */
	double asks = ((double)row[TALLY_STORE_REQUESTS] - (double)row[TALLY_OPERATIONS]) / 2;
	struct bound most = {NULL, 0};
	bool cached;

	text[0] = '\0';
	if (!o || s->seconds <= 0)
		return;
	cached = o->cached > 0;
	bytes *= cached ? 1 - o->cached : 1;
	cases_consider(&most, "bandwidth of the store", bytes / s->seconds, (double)o->bandwidth);
	cases_consider(&most, "metadata operations of the store", asks / s->seconds, o->opens);
	cases_consider(&most, "network of a node", cases_most_of_a_node(c, s) / s->seconds,
		       (double)o->node);
	cases_consider(&most, "bandwidth of a rank", bytes / c->ranks / s->seconds,
		       (double)o->rank_bandwidth);
	if (most.words && most.busy >= 0.01)
		snprintf(text, 256, "the %s would be reached first: %.0f %% of it is used",
			 most.words, 100 * most.busy);
	else
		snprintf(text, 256,
			 "no bandwidth is near its limit: latency is what is waited for");
}
