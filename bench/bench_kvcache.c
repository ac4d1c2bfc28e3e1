/* SPDX-License-Identifier: Apache-2.0 */
/* Cost of the decisions of a key-value cache: ns of processor time per access at a million entries, and bytes of memory per
 * entry. Half of the accesses are hits, a quarter writes that evict or demote, and a quarter misses. Keys are ever new, and
 * hits are anywhere among the last 600,000 written. Each figure is the median of seven rounds, on one thread.
 *
 * Then the cost of giving a task to an I/O thread and of getting it back: processor time of both threads per task, with one task
 * and with several under way, and for a task that does nothing.
 *
 *	bench_kvcache */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/content/random.h"
#include "workloads/kvcache/tiers/entries.h"
#include "workloads/kvcache/tiers/tiers.h"
#include "workloads/kvcache/worker.h"

enum { REPEATS = 7, ENTRIES = 1000000, NEAR = 600000, ACCESSES = 2000000, TASKS = 100000 };

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Processor time of this thread, or of all threads. */
static double cpu_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static struct kv_id turn(uint64_t key)
{
	return kv_id_make(KV_KEY_TURN, (uint32_t)(key % 5000), (uint32_t)(key / 5000 % 50), key);
}

/* Operations of a shared tier end at once. */
static void ended(void *argument, const struct kv_event *e)
{
	static const enum kv_shared_end ends[] = {[KV_EVENT_WRITE] = KV_SHARED_WRITTEN,
						  [KV_EVENT_READ] = KV_SHARED_READ,
						  [KV_EVENT_DEMOTE] = KV_SHARED_WRITTEN,
						  [KV_EVENT_EVICT] = KV_SHARED_DELETED,
						  [KV_EVENT_DELETE] = KV_SHARED_DELETED};
	const struct kv_tiers *t = argument;
	bool writes = e->kind == KV_EVENT_WRITE || e->kind == KV_EVENT_DEMOTE;

	if (e->kind != KV_EVENT_PROMOTE && kv_tiers_shared(t, writes ? e->to : e->from))
		kv_shared_ended(t->shared, e->id, ends[e->kind]);
}

/* Makes the last tier one that is shared, though with nobody else. */
static void share(struct kv_tiers *t)
{
	struct kv_shared *s = calloc(1, kv_shared_bytes(ENTRIES));

	if (!s)
		exit(1);
	kv_shared_init(s, ENTRIES);
	kv_tiers_divide(t, s, 0, 1, 0);
	t->event = ended;
	t->argument = t;
}

static void measure(const char *name, const struct kv_policy *policy,
		    const struct kv_tier_rules *rules, uint32_t count, bool shared)
{
	struct random random = {.key = 1};
	double ns[REPEATS];
	struct kv_tiers t;
	uint64_t key = 0;

	if (kv_tiers_init(&t, policy, rules, count) < 0)
		exit(1);
	if (shared)
		share(&t);
	while (key < 3 * ENTRIES / 2)
		kv_tiers_write(&t, turn(key++), 1);
	for (int r = 0; r < REPEATS; r++) {
		double start = cpu_ns(CLOCK_THREAD_CPUTIME_ID);

		for (uint32_t i = 0; i < ACCESSES; i++) {
			if (i % 4 < 2)
				kv_tiers_read(&t, turn(key - 1 - random_next(&random) % NEAR));
			else if (i % 4 == 2)
				kv_tiers_write(&t, turn(key++), 1);
			else
				kv_tiers_read(&t, turn(key + ENTRIES));
		}
		ns[r] = (cpu_ns(CLOCK_THREAD_CPUTIME_ID) - start) / ACCESSES;
	}
	qsort(ns, REPEATS, sizeof(*ns), compare);
	printf("%-36s %6.0f ns (%.0f to %.0f)  %u entries, %.0f bytes each, %.1f %% hits\n", name,
	       ns[REPEATS / 2], ns[0], ns[REPEATS - 1], t.entries.live,
	       (double)kv_entries_memory(&t.entries) / t.entries.live,
	       100.0 * (double)t.hits / (double)(t.hits + t.misses) * 0.75);
	free(t.shared);
	kv_tiers_free(&t);
}

/* The main thread and an I/O thread, as in workloads/kvcache/worker.c. */
struct pair {
	struct kv_ring given, answers;
	struct kv_bell worker, main;
	sem_t worker_sem, main_sem;
};

static void pair_wait(struct kv_ring *r, struct kv_bell *b)
{
	kv_bell_arm(b);
	if (!kv_ring_has(r))
		sem_wait(b->sem);
	kv_bell_disarm(b);
}

/* Gives everything back, until it gets the number TASKS. */
static void *pair_work(void *argument)
{
	struct pair *p = argument;
	uint32_t number;

	for (;;) {
		if (!kv_ring_take(&p->given, &number)) {
			pair_wait(&p->given, &p->worker);
			continue;
		}
		if (number == TASKS)
			return NULL;
		kv_ring_post(&p->answers, number);
		kv_bell_ring(&p->main);
	}
}

static void pair_give(struct pair *p, uint32_t number)
{
	kv_ring_post(&p->given, number);
	kv_bell_ring(&p->worker);
}

static void pair_run(struct pair *p, uint32_t depth)
{
	uint32_t given = 0, ended = 0, number;

	while (ended < TASKS) {
		while (given < TASKS && given - ended < depth)
			pair_give(p, given++);
		pair_wait(&p->answers, &p->main);
		while (kv_ring_take(&p->answers, &number))
			ended++;
	}
}

static void measure_hand_over(uint32_t depth)
{
	struct pair p = {.worker = {.asleep = false}};
	double ns[REPEATS];
	pthread_t thread;

	sem_init(&p.worker_sem, 0, 0);
	sem_init(&p.main_sem, 0, 0);
	p.worker.sem = &p.worker_sem;
	p.main.sem = &p.main_sem;
	if (kv_ring_open(&p.given, depth) < 0 || kv_ring_open(&p.answers, depth) < 0 ||
	    pthread_create(&thread, NULL, pair_work, &p))
		exit(1);
	for (int r = 0; r < REPEATS; r++) {
		double start = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);

		pair_run(&p, depth);
		ns[r] = (cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - start) / TASKS;
	}
	pair_give(&p, TASKS);
	pthread_join(thread, NULL);
	qsort(ns, REPEATS, sizeof(*ns), compare);
	printf("task to an I/O thread and back, %2u at a time %6.0f ns (%.0f to %.0f)\n", depth,
	       ns[REPEATS / 2], ns[0], ns[REPEATS - 1]);
	kv_ring_close(&p.given);
	kv_ring_close(&p.answers);
	sem_destroy(&p.worker_sem);
	sem_destroy(&p.main_sem);
}

int main(void)
{
	const struct kv_tier_rules one[] = {kv_tier_mlperf(ENTRIES, true)};
	const struct kv_tier_rules three[] = {kv_tier_mlperf(ENTRIES / 4, false),
					      kv_tier_mlperf(ENTRIES / 4, false),
					      kv_tier_mlperf(ENTRIES / 10 * 6, true)};
	struct kv_policy mlperf = kv_policy_mlperf(), back = mlperf;
	struct kv_tier_rules servers[3];

	measure("one tier", &mlperf, one, 1, false);
	measure("waterfall of three tiers", &mlperf, three, 3, false);
	measure("the same, the last one shared", &mlperf, three, 3, true);
	back.write = KV_WRITE_BACK;
	back.dropped = true;
	back.sketch_keys = 2 * ENTRIES;
	for (int k = 0; k < 3; k++) {
		servers[k] = three[k];
		servers[k].promote_after = 2;
	}
	measure("write-back, promotion, sketch", &back, servers, 3, false);
	for (uint32_t depth = 1; depth <= 64; depth *= 4)
		measure_hand_over(depth);
	return 0;
}
