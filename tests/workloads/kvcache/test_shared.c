/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the directory of a shared tier: who finds an entry when, what leaves first, and that
 * servers which do what it tells them never meet at an object. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "core/content/random.h"
#include "tests/unit.h"
#include "workloads/kvcache/tiers/shared.h"

enum { SERVERS = 4, IDS = 64, OPERATIONS = 20000, FULL = 16 };
enum { A, B };

static const struct kv_shared_room any = {UINT64_MAX, 0};

static struct kv_id shared_id(uint64_t n)
{
	return (struct kv_id){1, n};
}

static struct kv_shared *shared_new(uint32_t entries)
{
	struct kv_shared *s = calloc(1, kv_shared_bytes(entries));

	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	if (s)
		kv_shared_init(s, entries);
	return s;
}

static int shared_put(struct kv_shared *s, uint64_t n, uint32_t server)
{
	return kv_shared_put(s, shared_id(n), 10, server, &any);
}

/* A whole write. */
static void shared_write(struct kv_shared *s, uint64_t n, uint32_t server)
{
	CU_ASSERT_EQUAL(shared_put(s, n, server), 0);
	kv_shared_ended(s, shared_id(n), KV_SHARED_WRITTEN);
}

/* Whether a server finds an entry; it reads it at once. */
static bool shared_finds(struct kv_shared *s, uint64_t n, uint32_t server)
{
	uint64_t bytes = 0;

	if (kv_shared_read(s, shared_id(n), server, true, &bytes) < 0)
		return false;
	CU_ASSERT_EQUAL(bytes, 10);
	kv_shared_ended(s, shared_id(n), KV_SHARED_READ);
	return true;
}

/* The entry that leaves, which is deleted at once; 0: none. */
static uint64_t shared_victim(struct kv_shared *s)
{
	struct kv_id id = {0, 0};
	uint64_t bytes;

	if (kv_shared_evict(s, &id, &bytes) == 0)
		kv_shared_ended(s, id, KV_SHARED_DELETED);
	return id.low;
}

static void test_life(void)
{
	struct kv_shared *s = shared_new(IDS);
	struct kv_id id;
	uint64_t bytes;

	if (!s)
		return;
	CU_ASSERT_FALSE(shared_finds(s, 7, A));
	CU_ASSERT_EQUAL(shared_put(s, 7, A), 0);
	/* It is coming: only its writer finds it. */
	CU_ASSERT_TRUE(shared_finds(s, 7, A));
	CU_ASSERT_FALSE(shared_finds(s, 7, B));
	CU_ASSERT_TRUE(kv_shared_has(s, shared_id(7)));
	CU_ASSERT_EQUAL(shared_put(s, 7, B), -EEXIST);
	CU_ASSERT_EQUAL(kv_shared_evict(s, &id, &bytes), -ENOENT);
	CU_ASSERT_EQUAL(kv_shared_delete(s, shared_id(7), &bytes), -EBUSY);
	kv_shared_ended(s, shared_id(7), KV_SHARED_WRITTEN);
	/* It is there. A reader keeps it. */
	CU_ASSERT_EQUAL(kv_shared_read(s, shared_id(7), B, true, &bytes), 0);
	CU_ASSERT_EQUAL(shared_put(s, 7, B), -EEXIST);
	CU_ASSERT_EQUAL(kv_shared_evict(s, &id, &bytes), -ENOENT);
	kv_shared_ended(s, shared_id(7), KV_SHARED_READ);
	CU_ASSERT_EQUAL(kv_shared_state(s).entries, 1);
	CU_ASSERT_EQUAL(kv_shared_state(s).used, 10);
	CU_ASSERT_EQUAL(kv_shared_evict(s, &id, &bytes), 0);
	CU_ASSERT_EQUAL(id.low, 7);
	CU_ASSERT_EQUAL(bytes, 10);
	/* It is leaving: nobody finds it, and nobody writes it. */
	CU_ASSERT_EQUAL(kv_shared_state(s).entries, 0);
	CU_ASSERT_EQUAL(kv_shared_state(s).used, 0);
	CU_ASSERT_EQUAL(kv_shared_state(s).used_most, 10);
	CU_ASSERT_FALSE(shared_finds(s, 7, A));
	CU_ASSERT_FALSE(kv_shared_has(s, shared_id(7)));
	CU_ASSERT_EQUAL(shared_put(s, 7, A), -EBUSY);
	CU_ASSERT_EQUAL(kv_shared_delete(s, shared_id(7), &bytes), -ENOENT);
	kv_shared_ended(s, shared_id(7), KV_SHARED_DELETED);
	kv_shared_reset(s);
	CU_ASSERT_EQUAL(kv_shared_state(s).used_most, 0);
	shared_write(s, 7, B);
	CU_ASSERT_TRUE(shared_finds(s, 7, A));
	free(s);
}

/* Of a write that failed, something may be there: nobody reads it, and it leaves as others do. Of
 * one that was never begun, nothing is there once the reads behind it have been dropped, too. */
static void test_not_written(void)
{
	struct kv_shared *s = shared_new(IDS);
	uint64_t bytes;

	if (!s)
		return;
	CU_ASSERT_EQUAL(shared_put(s, 1, A), 0);
	kv_shared_ended(s, shared_id(1), KV_SHARED_FAILED);
	CU_ASSERT_FALSE(shared_finds(s, 1, A));
	CU_ASSERT_EQUAL(shared_put(s, 1, B), -EBUSY);
	CU_ASSERT_EQUAL(shared_victim(s), 1);
	CU_ASSERT_EQUAL(shared_put(s, 2, A), 0);
	CU_ASSERT_EQUAL(kv_shared_read(s, shared_id(2), A, true, &bytes), 0);
	kv_shared_ended(s, shared_id(2), KV_SHARED_DROPPED);
	CU_ASSERT_FALSE(shared_finds(s, 2, A));
	CU_ASSERT_EQUAL(shared_put(s, 2, B), -EBUSY);
	CU_ASSERT_EQUAL(shared_victim(s), 0);
	kv_shared_ended(s, shared_id(2), KV_SHARED_READ);
	CU_ASSERT_EQUAL(kv_shared_state(s).entries, 0);
	CU_ASSERT_EQUAL(kv_shared_state(s).used, 0);
	CU_ASSERT_EQUAL(shared_put(s, 2, B), 0);
	free(s);
}

static void test_order(void)
{
	static const uint64_t order[] = {5, 2, 4, 1, 3, 0};
	struct kv_shared *s = shared_new(IDS);
	uint64_t bytes;

	if (!s)
		return;
	for (uint64_t n = 1; n <= 5; n++)
		shared_write(s, n, n % 2);
	CU_ASSERT_TRUE(shared_finds(s, 1, B));
	CU_ASSERT_EQUAL(kv_shared_read(s, shared_id(2), A, false, &bytes), 0);
	kv_shared_ended(s, shared_id(2), KV_SHARED_READ);
	/* 5 is to be deleted while it is read, and will be the first to leave. */
	CU_ASSERT_EQUAL(kv_shared_read(s, shared_id(3), A, true, &bytes), 0);
	CU_ASSERT_EQUAL(kv_shared_read(s, shared_id(5), A, true, &bytes), 0);
	CU_ASSERT_EQUAL(kv_shared_delete(s, shared_id(5), &bytes), -EBUSY);
	kv_shared_ended(s, shared_id(3), KV_SHARED_READ);
	kv_shared_ended(s, shared_id(5), KV_SHARED_READ);
	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		CU_ASSERT_EQUAL(shared_victim(s), order[i]);
	free(s);
}

static void test_room(void)
{
	struct kv_shared *s = shared_new(FULL);
	struct kv_shared_room room = {.full = 25, .trusted = 0};
	struct kv_id id;
	uint64_t bytes;
	uint32_t at = 0, found = 0;

	if (!s)
		return;
	CU_ASSERT_EQUAL(kv_shared_put(s, shared_id(1), 26, A, &room), -ENOSPC);
	CU_ASSERT_EQUAL(kv_shared_put(s, shared_id(1), 10, A, &room), 0);
	CU_ASSERT_EQUAL(kv_shared_put(s, shared_id(2), 15, A, &room), 0);
	CU_ASSERT_EQUAL(kv_shared_put(s, shared_id(3), 1, B, &room), -ENOSPC);
	room.trusted = 26;
	CU_ASSERT_EQUAL(kv_shared_put(s, shared_id(3), 100, B, &room), 0);
	CU_ASSERT_EQUAL(kv_shared_state(s).used_most, 125);
	for (uint64_t n = 4; n <= FULL; n++)
		CU_ASSERT_EQUAL(shared_put(s, n, B), 0);
	CU_ASSERT_EQUAL(shared_put(s, FULL + 1, B), -ENOSPC);
	kv_shared_ended(s, shared_id(5), KV_SHARED_WRITTEN);
	CU_ASSERT_EQUAL(shared_victim(s), 5);
	CU_ASSERT_EQUAL(shared_put(s, FULL + 1, B), 0);
	/* What is leaving does not take the place of others, as long as there is memory for it. */
	kv_shared_ended(s, shared_id(6), KV_SHARED_WRITTEN);
	CU_ASSERT_EQUAL(kv_shared_evict(s, &id, &bytes), 0);
	CU_ASSERT_EQUAL(id.low, 6);
	CU_ASSERT_EQUAL(shared_put(s, FULL + 2, B), 0);
	CU_ASSERT_EQUAL(shared_put(s, FULL + 3, B), -ENOSPC);
	while (kv_shared_next(s, &at, &id, &bytes))
		found += id.low != 5;
	CU_ASSERT_EQUAL(found, FULL + 1);
	free(s);
}

/* Takes the lock, which the directory begins with, and ends without giving it back. */
static void *shared_die(void *shared)
{
	CU_ASSERT_EQUAL(pthread_mutex_lock(shared), 0);
	return NULL;
}

/* Whoever has died with the lock keeps nobody waiting. What it was changing is not looked at. */
static void test_died(void)
{
	struct kv_shared *s = shared_new(IDS);
	struct kv_id id;
	pthread_t thread;
	uint32_t at = 0;
	uint64_t bytes;

	if (!s)
		return;
	shared_write(s, 1, A);
	CU_ASSERT_EQUAL(shared_put(s, 2, A), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, shared_die, s), 0);
	pthread_join(thread, NULL);
	CU_ASSERT_FALSE(shared_finds(s, 1, A));
	CU_ASSERT_FALSE(kv_shared_has(s, shared_id(1)));
	CU_ASSERT_EQUAL(shared_put(s, 3, B), -EBUSY);
	CU_ASSERT_EQUAL(kv_shared_evict(s, &id, &bytes), -ENOENT);
	CU_ASSERT_EQUAL(kv_shared_delete(s, shared_id(1), &bytes), -ENOENT);
	kv_shared_ended(s, shared_id(2), KV_SHARED_WRITTEN);
	CU_ASSERT_FALSE(shared_finds(s, 2, A));
	/* What was there before is removed at the end. */
	CU_ASSERT_TRUE(kv_shared_next(s, &at, &id, &bytes));
	CU_ASSERT_EQUAL(id.low, 1);
	free(s);
}

/* Objects as a store has them, without a lock: only the directory keeps two servers from using one
 * at a time. */
struct server {
	pthread_t thread;
	struct kv_shared *shared;
	uint64_t *objects; /* [IDS]: 0 or what was written */
	uint32_t number;
	uint64_t wrong, hits, evicted;
};

static void server_evict(struct server *v)
{
	struct kv_id id;
	uint64_t bytes;

	if (kv_shared_evict(v->shared, &id, &bytes) < 0)
		return;
	v->wrong += v->objects[id.low] != id.low + 1;
	v->objects[id.low] = 0;
	v->evicted++;
	kv_shared_ended(v->shared, id, KV_SHARED_DELETED);
}

static void server_write(struct server *v, uint64_t n)
{
	const struct kv_shared_room room = {.full = IDS / 2, .trusted = 0};
	int rc = kv_shared_put(v->shared, shared_id(n), 1, v->number, &room);

	if (rc == -ENOSPC)
		server_evict(v);
	if (rc < 0)
		return;
	v->wrong += v->objects[n] != 0;
	v->objects[n] = n + 1;
	kv_shared_ended(v->shared, shared_id(n), KV_SHARED_WRITTEN);
}

static void *server_run(void *argument)
{
	struct server *v = argument;
	struct random random = {.key = v->number};

	for (uint32_t i = 0; i < OPERATIONS; i++) {
		uint64_t draw = random_next(&random), n = draw % IDS, bytes;

		if (draw >> 32 & 1) {
			server_write(v, n);
		} else if (kv_shared_read(v->shared, shared_id(n), v->number, true, &bytes) == 0) {
			v->wrong += v->objects[n] != n + 1;
			v->hits++;
			if (i % 64 == 0)
				sched_yield();
			v->wrong += v->objects[n] != n + 1;
			kv_shared_ended(v->shared, shared_id(n), KV_SHARED_READ);
		}
	}
	return NULL;
}

static void test_servers(void)
{
	static struct server servers[SERVERS];
	static uint64_t objects[IDS];
	struct kv_shared *s = shared_new(IDS);
	uint64_t left = 0, hits = 0, evicted = 0;

	if (!s)
		return;
	for (uint32_t i = 0; i < SERVERS; i++) {
		servers[i] = (struct server){.shared = s, .objects = objects, .number = i};
		pthread_create(&servers[i].thread, NULL, server_run, &servers[i]);
	}
	for (uint32_t i = 0; i < SERVERS; i++) {
		pthread_join(servers[i].thread, NULL);
		CU_ASSERT_EQUAL(servers[i].wrong, 0);
		hits += servers[i].hits;
		evicted += servers[i].evicted;
	}
	for (uint32_t n = 0; n < IDS; n++)
		left += objects[n] != 0;
	CU_ASSERT_EQUAL(kv_shared_state(s).entries, left);
	CU_ASSERT_EQUAL(kv_shared_state(s).used, left);
	CU_ASSERT_TRUE(kv_shared_state(s).used_most <= IDS / 2);
	CU_ASSERT_TRUE(hits > 0 && evicted > 0);
	free(s);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"the life of an entry", test_life},
		{"writes that fail or are dropped", test_not_written},
		{"what leaves first", test_order},
		{"room", test_room},
		{"a process that has died", test_died},
		{"servers side by side", test_servers},
		CU_TEST_INFO_NULL,
	};

	return unit_main("kvcache_shared", tests);
}
