/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of stalled transfers: which transfers count as silent or slow, second by second on a
 * simulated clock. */
#include "backends/http/wire/exchange.h"
#include "tests/unit.h"

#define SECOND UINT64_C(1000000000)
#define TENTH  (SECOND / 10)

static const struct stall_limits limits = {
	.first_byte_ns = 60 * SECOND, .stall_ns = 30 * SECOND, .least_rate = 1024};

/* Simulates so many seconds, with bytes arriving every tenth of a second. Returns the first verdict
 * other than good, and in *took the time until then. */
static enum stall_verdict run(const struct stall_limits *l, uint64_t seconds, uint64_t bytes,
			      bool waits, bool trickles, uint64_t *took)
{
	enum stall_verdict verdict = STALL_GOOD;
	struct stall p;

	stall_begin(&p, 5 * SECOND);
	for (*took = 0; *took < seconds * SECOND && verdict == STALL_GOOD;) {
		*took += TENTH;
		if (bytes)
			stall_move(&p, bytes, 5 * SECOND + *took);
		verdict = stall_check(&p, l, waits, trickles, 5 * SECOND + *took);
	}
	return verdict;
}

static void test_verdicts(void)
{
	static const struct {
		uint64_t least_rate, bytes;
		bool waits, trickles;
		enum stall_verdict verdict;
		uint64_t seconds;
	} table[] = {
		{1024, 0, true, false, STALL_NO_ANSWER, 60},
		{1024, 0, false, false, STALL_SILENT, 30},
		{1024, 0, false, true, STALL_SILENT, 30},
		{1024, 1, false, false, STALL_SLOW, 30},
		{1024, 102, false, false, STALL_SLOW, 30},
		{1024, 103, false, false, STALL_GOOD, 300},
		{1024, 1, false, true, STALL_GOOD, 300},
		{0, 1, false, false, STALL_GOOD, 300},
		{UINT64_C(1) << 40, 1 << 30, false, false, STALL_SLOW, 30},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct stall_limits l = limits;
		uint64_t took;

		l.least_rate = table[i].least_rate;
		CU_ASSERT_EQUAL(
			run(&l, 300, table[i].bytes, table[i].waits, table[i].trickles, &took),
			table[i].verdict);
		CU_ASSERT_EQUAL(took, table[i].seconds * SECOND);
	}
}

/* A server that says for ever that it works on the request does not. */
static void test_endless_trickle(void)
{
	uint64_t took;

	CU_ASSERT_EQUAL(run(&limits, 2000, 1, false, true, &took), STALL_SLOW);
	CU_ASSERT_EQUAL(took, STALL_TRICKLE_TIMES * limits.stall_ns);
}

/* Each window is judged by itself: earlier bytes do not compensate for bytes that no longer
 * arrive. */
static void test_windows(void)
{
	struct stall p;
	uint64_t now = 0;

	stall_begin(&p, now);
	stall_move(&p, 1 << 30, now);
	while (now < 30 * SECOND) {
		now += TENTH;
		stall_move(&p, 1, now);
		CU_ASSERT_EQUAL(stall_check(&p, &limits, false, false, now), STALL_GOOD);
	}
	while (now < 60 * SECOND - TENTH) {
		now += TENTH;
		stall_move(&p, 1, now);
		CU_ASSERT_EQUAL(stall_check(&p, &limits, false, false, now), STALL_GOOD);
	}
	stall_move(&p, 1, now + TENTH);
	CU_ASSERT_EQUAL(stall_check(&p, &limits, false, false, now + TENTH), STALL_SLOW);
}

/* A caller that did not look for 40 seconds cannot judge what arrived meanwhile. */
static void test_away(void)
{
	struct stall p;

	stall_begin(&p, 0);
	CU_ASSERT_EQUAL(stall_check(&p, &limits, false, false, TENTH), STALL_GOOD);
	stall_move(&p, 100, 40 * SECOND);
	CU_ASSERT_EQUAL(stall_check(&p, &limits, false, false, 40 * SECOND), STALL_GOOD);
	for (uint64_t now = 40 * SECOND; now < 70 * SECOND; now += TENTH) {
		stall_move(&p, 100, now);
		CU_ASSERT_EQUAL(stall_check(&p, &limits, false, false, now), STALL_GOOD);
	}
	CU_ASSERT_EQUAL(stall_check(&p, &limits, false, false, 70 * SECOND), STALL_SLOW);
}

/* The wait for an answer is not a window: the bytes sent before it and received after it are judged
 * separately. */
static void test_exchange(void)
{
	struct exchange x = {.send_bytes = 100};
	uint64_t now = 0;

	exchange_begin(&x);
	stall_begin(&x.stall, now);
	stall_move(&x.stall, 100, now);
	for (; now < 59 * SECOND; now += TENTH)
		CU_ASSERT_FALSE(exchange_stalled(&x, &limits, 100, now));
	x.first_byte_ns = now;
	stall_move(&x.stall, 200, now);
	for (; now < 60 * SECOND; now += TENTH)
		CU_ASSERT_FALSE(exchange_stalled(&x, &limits, 100, now));
	CU_ASSERT_FALSE(exchange_stalled(&x, &limits, 100, 88 * SECOND));
	CU_ASSERT_EQUAL(x.fault, REQ_FAULT_NONE);
	CU_ASSERT(exchange_stalled(&x, &limits, 100, 89 * SECOND));
	CU_ASSERT_EQUAL(x.fault, REQ_FAULT_STALL);
	CU_ASSERT_STRING_EQUAL(x.why, "bytes stopped coming");
	/* The body of a success may arrive slowly; that of an error may not. */
	for (unsigned status = 200; status <= 400; status += 200) {
		bool stalled = false;

		exchange_begin(&x);
		x.may_trickle = true;
		x.first_byte_ns = 1;
		x.answer.status = (uint16_t)status;
		stall_begin(&x.stall, 0);
		for (now = 0; now < 40 * SECOND && !stalled; now += TENTH) {
			stall_move(&x.stall, 1, now);
			stalled = exchange_stalled(&x, &limits, 100, now);
		}
		CU_ASSERT_EQUAL(stalled, status == 400);
	}
	CU_ASSERT_STRING_EQUAL(x.why, "bytes moved more slowly than \"least_rate\" allows");
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"verdicts", test_verdicts}, {"windows", test_windows},
		{"away", test_away},         {"endless trickle", test_endless_trickle},
		{"exchange", test_exchange}, CU_TEST_INFO_NULL,
	};

	return unit_main("stall", tests);
}
