/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of handing on: threads that each stand for a rank get all that the rank that reads puts
 * into their lane. */
#include "workloads/load/hand.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/random.h"
#include "tests/unit.h"

enum { TAKERS = 3, PIECES = 400, PIECE_BYTES = 1000 };

struct hand_case {
	struct load_hand hand;
	_Atomic bool halt;
};

struct hand_thread {
	struct hand_case *in;
	pthread_t thread;
	uint64_t pieces, wrong;
	int rc;
};

/* Pieces have several lengths. */
static uint64_t piece_length(uint64_t i)
{
	return 1 + mix64(i) % PIECE_BYTES;
}

static uint8_t piece_byte(uint64_t i, uint64_t at)
{
	return (uint8_t)mix64(i << 32 | at);
}

static void *take(void *argument)
{
	struct hand_thread *t = argument;
	uint8_t bytes[PIECE_BYTES];
	uint64_t length = 1;

	for (uint64_t i = 0; length; i++) {
		t->rc = load_hand_take(&t->in->hand, 1, i, bytes, &length, &t->in->halt);
		if (t->rc < 0 || !length)
			break;
		t->pieces++;
		t->wrong += length != piece_length(i);
		for (uint64_t at = 0; at < length; at++)
			t->wrong += bytes[at] != piece_byte(i, at);
	}
	return NULL;
}

static void hand_case_open(struct hand_case *c)
{
	uint64_t bytes = load_hand_bytes(2, PIECE_BYTES);

	*c = (struct hand_case){.hand = {.reads = true,
					 .others = TAKERS,
					 .lanes = 2,
					 .slot_bytes = PIECE_BYTES,
					 .block = malloc(bytes)}};
	CU_ASSERT_PTR_NOT_NULL_FATAL(c->hand.block);
	if (!c->hand.block)
		return;
	memset(c->hand.block, 0xff, bytes); /* as an earlier load left it */
	load_hand_reset(&c->hand);
}

/* Puts so many pieces, and ends the lane. */
static void give_all(struct hand_case *c, uint64_t pieces)
{
	uint8_t bytes[PIECE_BYTES];

	for (uint64_t i = 0; i < pieces; i++) {
		for (uint64_t at = 0; at < piece_length(i); at++)
			bytes[at] = piece_byte(i, at);
		CU_ASSERT_EQUAL(load_hand_give(&c->hand, 1, bytes, piece_length(i), &c->halt), 0);
	}
	load_hand_end(&c->hand, 1);
}

static void start_all(struct hand_case *c, struct hand_thread threads[TAKERS])
{
	for (unsigned i = 0; i < TAKERS; i++) {
		threads[i] = (struct hand_thread){.in = c};
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i].thread, NULL, take, &threads[i]),
				      0);
	}
}

static void check_all(struct hand_thread threads[TAKERS], int rc, uint64_t pieces)
{
	for (unsigned i = 0; i < TAKERS; i++) {
		pthread_join(threads[i].thread, NULL);
		CU_ASSERT_EQUAL(threads[i].rc, rc);
		CU_ASSERT_EQUAL(threads[i].pieces, pieces);
		CU_ASSERT_EQUAL(threads[i].wrong, 0);
	}
}

/* Also again after a reset, and when there is nothing to hand on. */
static void test_all_get_every_piece(void)
{
	static const uint64_t pieces[] = {PIECES, 1, 0, PIECES};
	struct hand_thread threads[TAKERS];
	struct hand_case c;

	hand_case_open(&c);
	for (unsigned i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		load_hand_reset(&c.hand);
		start_all(&c, threads);
		give_all(&c, pieces[i]);
		check_all(threads, 0, pieces[i]);
	}
	free(c.hand.block);
}

/* Nobody takes: the lane is full after its slots, and whoever waits gives up when its crew
 * halts. */
static void test_who_waits_gives_up(void)
{
	struct hand_thread threads[TAKERS];
	uint8_t bytes[PIECE_BYTES] = {0};
	struct hand_case c;

	hand_case_open(&c);
	for (unsigned i = 0; i < HAND_SLOTS; i++)
		CU_ASSERT_EQUAL(load_hand_give(&c.hand, 0, bytes, sizeof(bytes), &c.halt), 0);
	atomic_store(&c.halt, true);
	CU_ASSERT_EQUAL(load_hand_give(&c.hand, 0, bytes, sizeof(bytes), &c.halt), -ECANCELED);
	start_all(&c, threads);
	check_all(threads, -ECANCELED, 0);
	free(c.hand.block);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"all get every piece", test_all_get_every_piece},
		{"who waits gives up", test_who_waits_gives_up},
		CU_TEST_INFO_NULL,
	};

	return unit_main("load hand", tests);
}
