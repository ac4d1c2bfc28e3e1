/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the doorbell, between two of them in one process: a ring ends a nap, and only calls of
 * those who were told the address count. The nap that must be ended would exceed the time of the
 * test. */
#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ranks/mpi/doorbell.h"
#include "tests/unit.h"

enum { CALLS = 20 };
#define LONG_NS UINT64_C(3600000000000)

/* A datagram on the own machine is there at once. */
static void test_rung(void)
{
	struct doorbell here, there;
	struct doorbell_call call = {0};

	doorbell_open(&here);
	doorbell_open(&there);
	CU_ASSERT_FATAL(here.fd >= 0 && there.fd >= 0);
	CU_ASSERT(here.address.bytes > 0);
	CU_ASSERT_FALSE(doorbell_take(&here, &call));
	for (uint32_t i = 1; i <= CALLS; i++) {
		const struct doorbell_call out = {.from = i, .round = i + (UINT64_C(1) << 40)};

		doorbell_ring(&there, &here.address, &out);
	}
	CU_ASSERT(doorbell_sleep(&here, LONG_NS));
	for (uint32_t i = 1; i <= CALLS; i++) {
		CU_ASSERT(doorbell_take(&here, &call));
		CU_ASSERT_EQUAL(call.from, i);
		CU_ASSERT_EQUAL(call.round, i + (UINT64_C(1) << 40));
	}
	CU_ASSERT_FALSE(doorbell_take(&here, &call));
	CU_ASSERT_FALSE(doorbell_take(&there, &call));
	doorbell_close(&here);
	doorbell_close(&there);
}

static void test_strangers_do_not_count(void)
{
	const struct doorbell_call out = {.from = 1, .round = 1};
	struct doorbell here, there;
	struct doorbell_address guessed;
	struct sockaddr_storage to;
	struct doorbell_call call;

	doorbell_open(&here);
	doorbell_open(&there);
	guessed = here.address;
	guessed.token++;
	doorbell_ring(&there, &guessed, &out);
	memcpy(&to, here.address.address, here.address.bytes);
	CU_ASSERT(sendto(there.fd, "hello", 5, 0, (const struct sockaddr *)&to,
			 (socklen_t)here.address.bytes) == 5);
	CU_ASSERT_FALSE(doorbell_take(&here, &call));
	doorbell_ring(&there, &guessed, &out);
	doorbell_ring(&there, &here.address, &out);
	CU_ASSERT(doorbell_take(&here, &call));
	doorbell_close(&here);
	doorbell_close(&there);
}

/* Without a network, or when the other side has none, nobody is rung, and a sleep is a plain
 * nap. */
static void test_no_network(void)
{
	const struct doorbell_address nowhere = {.bytes = 0};
	const struct doorbell_call out = {.from = 1, .round = 1};
	struct doorbell none = {.fd = -1}, here;
	struct doorbell_call call;

	doorbell_open(&here);
	doorbell_ring(&none, &here.address, &out);
	doorbell_ring(&here, &nowhere, &out);
	CU_ASSERT_FALSE(doorbell_sleep(&none, 1000));
	CU_ASSERT_FALSE(doorbell_take(&none, &call));
	CU_ASSERT_FALSE(doorbell_take(&here, &call));
	doorbell_close(&here);
	doorbell_ring(&here, &nowhere, &out);
	CU_ASSERT_FALSE(doorbell_take(&here, &call));
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"a ring ends a nap", test_rung},
		{"strangers do not count", test_strangers_do_not_count},
		{"without a network", test_no_network},
		CU_TEST_INFO_NULL,
	};

	return unit_main("doorbell", tests);
}
