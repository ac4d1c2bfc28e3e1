/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of how tasks come to I/O threads and back: rings and bells between real threads, where a
 * wake-up that gets lost hangs the test, and the choice of a thread. */
#include <pthread.h>
#include <string.h>

#include "core/content/random.h"
#include "tests/unit.h"
#include "workloads/kvcache/worker.h"

enum { DEPTH = 5, HANDS = 3, TASKS = 30000, HELD = 3 };

/* A thread that gives numbers back in another order than it has got them. */
struct hand {
	pthread_t thread;
	struct kv_ring given, answers;
	struct kv_bell bell, *main;
	sem_t sem;
	_Atomic uint64_t *answered;
	_Atomic bool *ending;
	uint32_t number;
	uint64_t task[DEPTH]; /* whoever has the number may look at it */
	uint32_t free[DEPTH], free_count;
};

static void hand_answer(struct hand *h, uint32_t number)
{
	h->task[number] *= 3;
	kv_ring_post(&h->answers, number);
	atomic_fetch_or_explicit(h->answered, UINT64_C(1) << h->number, memory_order_seq_cst);
	kv_bell_ring(h->main);
}

static void *hand_work(void *argument)
{
	struct hand *h = argument;
	uint32_t held[HELD], count = 0;

	for (;;) {
		if (count < HELD && kv_ring_take(&h->given, &held[count])) {
			count++;
			continue;
		}
		if (count) {
			hand_answer(h, held[--count]);
			continue;
		}
		kv_bell_arm(&h->bell);
		if (!kv_ring_has(&h->given) && !atomic_load(h->ending))
			sem_wait(&h->sem);
		kv_bell_disarm(&h->bell);
		if (atomic_load(h->ending))
			return NULL;
	}
}

static void hand_open(struct hand *h, uint32_t number, struct kv_bell *main,
		      _Atomic uint64_t *answered, _Atomic bool *ending)
{
	memset(h, 0, sizeof(*h));
	h->number = number;
	h->main = main;
	h->answered = answered;
	h->ending = ending;
	sem_init(&h->sem, 0, 0);
	h->bell.sem = &h->sem;
	for (uint32_t i = 0; i < DEPTH; i++)
		h->free[h->free_count++] = i;
	CU_ASSERT_EQUAL_FATAL(kv_ring_open(&h->given, DEPTH), 0);
	CU_ASSERT_EQUAL_FATAL(kv_ring_open(&h->answers, DEPTH), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&h->thread, NULL, hand_work, h), 0);
}

static void hand_close(struct hand *h)
{
	pthread_join(h->thread, NULL);
	kv_ring_close(&h->given);
	kv_ring_close(&h->answers);
	sem_destroy(&h->sem);
}

/* Gives the task that is a number to a hand, where it has one free. */
static bool hand_give(struct hand *h, uint64_t task)
{
	uint32_t number;

	if (!h->free_count)
		return false;
	number = h->free[--h->free_count];
	h->task[number] = task;
	kv_ring_post(&h->given, number);
	kv_bell_ring(&h->bell);
	return true;
}

/* Returns the sum of the answers, and counts them. */
static uint64_t hand_collect(struct hand *h, uint64_t *count)
{
	uint64_t sum = 0;
	uint32_t number;

	while (kv_ring_take(&h->answers, &number)) {
		sum += h->task[number];
		h->free[h->free_count++] = number;
		++*count;
	}
	return sum;
}

/* Every task comes back once, however often either side sleeps. In every other hundred, one is
 * given at a time. */
static void test_threads(void)
{
	static struct hand hands[HANDS];
	_Atomic uint64_t answered = 0;
	_Atomic bool ending = false;
	struct kv_bell bell = {.asleep = false};
	uint64_t given = 0, ended = 0, sum = 0;
	sem_t sem;

	sem_init(&sem, 0, 0);
	bell.sem = &sem;
	for (uint32_t i = 0; i < HANDS; i++)
		hand_open(&hands[i], i, &bell, &answered, &ending);
	while (ended < TASKS) {
		uint64_t most = given / 100 % 2 ? 1 : TASKS;
		uint64_t bits;

		while (given < TASKS && given - ended < most &&
		       hand_give(&hands[given % HANDS], given))
			given++;
		kv_bell_arm(&bell);
		if (!atomic_load_explicit(&answered, memory_order_seq_cst))
			sem_wait(&sem);
		kv_bell_disarm(&bell);
		bits = atomic_exchange_explicit(&answered, 0, memory_order_acquire);
		for (uint32_t i = 0; i < HANDS; i++)
			if (bits >> i & 1)
				sum += hand_collect(&hands[i], &ended);
	}
	atomic_store(&ending, true);
	for (uint32_t i = 0; i < HANDS; i++) {
		kv_bell_ring(&hands[i].bell);
		hand_close(&hands[i]);
	}
	CU_ASSERT_EQUAL(ended, TASKS);
	CU_ASSERT_EQUAL(sum, 3ull * TASKS * (TASKS - 1) / 2);
	sem_destroy(&sem);
}

/* Only a sleeper is woken, and only once. */
static void test_bell(void)
{
	struct kv_bell bell = {.asleep = false};
	sem_t sem;
	int count;

	sem_init(&sem, 0, 0);
	bell.sem = &sem;
	kv_bell_ring(&bell);
	sem_getvalue(&sem, &count);
	CU_ASSERT_EQUAL(count, 0);
	kv_bell_arm(&bell);
	kv_bell_ring(&bell);
	kv_bell_ring(&bell);
	sem_getvalue(&sem, &count);
	CU_ASSERT_EQUAL(count, 1);
	kv_bell_arm(&bell);
	kv_bell_disarm(&bell);
	kv_bell_ring(&bell);
	sem_getvalue(&sem, &count);
	CU_ASSERT_EQUAL(count, 1);
	sem_destroy(&sem);
}

/* Numbers come in order across the end of the ring. */
static void test_ring(void)
{
	uint32_t number, wrong = 0;
	struct kv_ring r;

	CU_ASSERT_EQUAL_FATAL(kv_ring_open(&r, 3), 0);
	CU_ASSERT_EQUAL(r.mask, 3);
	CU_ASSERT_FALSE(kv_ring_take(&r, &number));
	for (uint32_t i = 0; i < 100; i++) {
		kv_ring_post(&r, 2 * i);
		kv_ring_post(&r, 2 * i + 1);
		CU_ASSERT_TRUE(kv_ring_has(&r));
		for (uint32_t k = 0; k < 2; k++)
			wrong += !kv_ring_take(&r, &number) || number != 2 * i + k;
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_FALSE(kv_ring_has(&r));
	kv_ring_close(&r);
}

/* Each operation goes to a thread with the fewest, until all are full. */
static void test_loads(void)
{
	static const struct {
		uint32_t threads, most;
	} cases[] = {{1, 1}, {1, 4}, {5, 1}, {7, 3}, {64, 16}};

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		uint32_t load[64] = {0}, under_way = 0, wrong = 0;
		struct kv_loads l;

		CU_ASSERT_EQUAL_FATAL(kv_loads_open(&l, cases[c].threads, cases[c].most), 0);
		for (uint64_t i = 0; i < 20000; i++) {
			uint64_t draw = random_at(c, i, 0);
			bool room = under_way < cases[c].threads * cases[c].most;
			uint32_t thread = (uint32_t)(draw >> 8) % cases[c].threads, least = 1000;

			wrong += kv_loads_room(&l) != room;
			/* More and more at first, then fewer. */
			if (room && draw % 10 < (i % 4000 < 2000 ? 7 : 3)) {
				for (uint32_t k = 0; k < cases[c].threads; k++)
					least = load[k] < least ? load[k] : least;
				thread = kv_loads_take(&l);
				wrong += thread >= cases[c].threads || load[thread] != least;
				load[thread]++;
				under_way++;
			} else if (load[thread]) {
				load[thread]--;
				under_way--;
				wrong += kv_loads_done(&l, thread) != !load[thread];
			}
		}
		CU_ASSERT_EQUAL(wrong, 0);
		kv_loads_close(&l);
	}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"numbers across the end of a ring", test_ring},
		{"a bell", test_bell},
		{"threads", test_threads},
		{"loads", test_loads},
		CU_TEST_INFO_NULL,
	};

	return unit_main("kvcache_hand_over", tests);
}
