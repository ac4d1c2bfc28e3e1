/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of autoscaling: the users that follow from what was measured, decision by decision, against
 * answers worked out by hand. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit.h"
#include "workloads/kvcache/requests/autoscale.h"

#define MS UINT64_C(1000000)

static const struct kv_autoscale_options qos = {.mode = KV_AUTOSCALE_QOS,
						.users_min = 1,
						.users_max = 10000,
						.up = 1.2,
						.down = 0.8,
						.samples = 2,
						.cooldown = 3,
						.history = 4,
						.target = 0.8,
						.read_ns = 100 * MS,
						.write_ns = 50 * MS,
						.waiting = 100};

struct step {
	uint64_t read_ms, write_ms, waiting;
	double bytes, tokens;
	uint64_t users; /* from then on */
	double saturation;
};

static void expect(const struct kv_autoscale_options *o, uint64_t users, const struct step *steps,
		   size_t count)
{
	struct kv_autoscale a;

	kv_autoscale_open(&a, o, users);
	for (size_t i = 0; i < count; i++) {
		const struct kv_autoscale_sample sample = {.read_p95_ns = steps[i].read_ms * MS,
							   .write_p95_ns = steps[i].write_ms * MS,
							   .waiting = steps[i].waiting,
							   .bytes = steps[i].bytes,
							   .tokens = steps[i].tokens};
		uint64_t found = kv_autoscale_next(&a, &sample);

		CU_ASSERT_EQUAL(found, steps[i].users);
		CU_ASSERT_TRUE(fabs(a.saturation - steps[i].saturation) < 1e-9);
		if (found != steps[i].users)
			fprintf(stderr, "\nstep %zu: %llu users, saturation %g\n", i,
				(unsigned long long)found, a.saturation);
	}
}

#define EXPECT(o, users, steps) expect(o, users, steps, sizeof(steps) / sizeof((steps)[0]))

/* Pressure rises from 0.6 to 1.1 of the limit while bytes stay the same: 10, 12, 14, 16, then full
 * saturation, which twice in a row means fewer users, and then nothing for three intervals. */
static void test_plateau(void)
{
	static const struct step steps[] = {
		{60, 0, 0, 100, 0, 12, 0},
		{70, 0, 0, 100, 0, 14, 0},
		{80, 0, 0, 100, 0, 16, 0},
		{100, 0, 0, 101, 0, 16, 1},
		{110, 0, 0, 100, 0, 12, 1},
		{110, 0, 0, 100, 0, 12, 1},
		{110, 0, 0, 100, 0, 12, 1},
		{50, 0, 0, 100, 0, 12, 0.5},
		/* 1.1 and 0.5 and 0.4 and 0.3 fall: half of the greatest. */
		{40, 0, 0, 100, 0, 14, 0.5},
	};

	EXPECT(&qos, 10, steps);
}

/* The history of the last case ends with 110, 110, 50, 40: bytes may differ, too. */
static void test_bytes_differ(void)
{
	static const struct step steps[] = {
		{60, 0, 0, 100, 0, 12, 0},
		{70, 0, 0, 200, 0, 14, 0},
		{80, 0, 0, 300, 0, 16, 0},
		{90, 0, 0, 400, 0, 19, 0.45},
	};

	EXPECT(&qos, 10, steps);
}

/* Writes and waiting requests count as reads do, each against its own limit; one interval far above
 * a limit is enough to be saturated, and as many in a row as the option says for fewer users. */
static void test_limits(void)
{
	static const struct step steps[] = {
		{0, 61, 0, 0, 0, 100, 1}, {0, 0, 121, 0, 0, 100, 1}, {121, 0, 0, 0, 0, 50, 1},
		{121, 0, 0, 0, 0, 50, 1}, {121, 0, 0, 0, 0, 50, 1},  {121, 0, 0, 0, 0, 30, 1},
	};
	struct kv_autoscale_options o = qos;

	o.samples = 3;
	o.cooldown = 0;
	o.down = 0.5;
	o.users_min = 30;
	EXPECT(&o, 100, steps);
}

/* One user becomes more, though a fifth of it is none, and there are never more than the bound. */
static void test_few(void)
{
	static const struct step steps[] = {
		{0, 0, 0, 0, 0, 2, 0}, {0, 0, 0, 0, 0, 3, 0}, {0, 0, 0, 0, 0, 4, 0},
		{0, 0, 0, 0, 0, 5, 0}, {0, 0, 0, 0, 0, 5, 0},
	};
	struct kv_autoscale_options o = qos;

	o.users_max = 5;
	EXPECT(&o, 1, steps);
}

/* 40 % more at first, then 20 %, at least 5 and at most 100, as long as more tokens are
 * generated. */
static void test_capacity(void)
{
	static const struct step steps[] = {
		{0, 0, 0, 0, 1000, 28, 0}, {0, 0, 0, 0, 1400, 33, 0}, {0, 0, 0, 0, 1410, 33, 0},
		{0, 0, 0, 0, 1650, 39, 0}, {0, 0, 0, 0, 1660, 39, 0}, {0, 0, 0, 0, 1640, 39, 0},
	};
	static const struct step many[] = {
		{0, 0, 0, 0, 1000, 700, 0}, {0, 0, 0, 0, 2000, 750, 0}, {0, 0, 0, 0, 3000, 750, 0}};
	struct kv_autoscale_options o = qos;
	const struct kv_autoscale_sample same = {.tokens = 5};
	struct kv_autoscale a;

	o.mode = KV_AUTOSCALE_CAPACITY;
	EXPECT(&o, 20, steps);
	o.users_max = 750;
	EXPECT(&o, 600, many);
	kv_autoscale_open(&a, &o, 20);
	for (int i = 0; i < 3; i++) {
		CU_ASSERT_FALSE(a.done);
		kv_autoscale_next(&a, &same);
	}
	CU_ASSERT_TRUE(a.done);
	CU_ASSERT_EQUAL(a.peak_users, 20);
	CU_ASSERT_EQUAL(kv_autoscale_next(&a, &(struct kv_autoscale_sample){.tokens = 1000}), 28);
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"pressure rises and bytes do not", test_plateau},
		{"bytes rise, too", test_bytes_differ},
		{"limits", test_limits},
		{"few users", test_few},
		{"capacity", test_capacity},
		CU_TEST_INFO_NULL,
	};

	return unit_main("autoscale", tests);
}
