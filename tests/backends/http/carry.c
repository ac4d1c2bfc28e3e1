/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/backends/http/carry.h"

#include <stdio.h>
#include <string.h>

#include "tests/libs/doubles/fake_clock.h"
#include "tests/unit.h"

enum { PLACED = 3 };

struct carried carried;

int carry_keep(struct exchange *x, const void *data, uint64_t n)
{
	(void)x;
	CU_ASSERT_FATAL(carried.bytes + n < BODY_MAX);
	carried.placed_bytes += data == carried.body + carried.bytes ? n : 0;
	memmove(carried.body + carried.bytes, data, n);
	carried.bytes += n;
	carried.body[carried.bytes] = '\0';
	return 0;
}

void *carry_place(struct exchange *x, uint64_t *n)
{
	(void)x;
	*n = PLACED;
	return carried.body + carried.bytes;
}

int carry_supply(struct exchange *x, uint64_t at, const void **from, uint64_t *n)
{
	static char window[1000];

	(void)x;
	for (uint64_t i = 0; i < sizeof(window); i++)
		window[i] = body_byte(at + i);
	*from = window;
	*n = sizeof(window);
	return 0;
}

struct transport *carry_open(const struct transport_ops *ops, const struct clock *clock,
			     uint64_t connect_ns)
{
	const struct transport_options options = {
		.depth = 2,
		.connections = 2,
		.connect_ns = connect_ns,
		.stall = {.first_byte_ns = 60 * SECOND, .stall_ns = 30 * SECOND},
		.clock = clock};
	struct transport *t;

	CU_ASSERT_EQUAL_FATAL(ops->open(&t, &options, NULL), 0);
	return t;
}

void carry(struct transport *t, struct exchange *x, const struct script *s, struct clock *fake)
{
	uint64_t hangs_ns = clock_kernel_ns() + HANGS_S * SECOND;
	struct exchange *ended = NULL;

	carried.bytes = carried.placed_bytes = 0;
	carried.body[0] = '\0';
	t->ops->start(t, x);
	while (t->ops->poll(t, &ended, 0, 1, 0) == 0) {
		CU_ASSERT_FATAL(clock_kernel_ns() < hangs_ns);
		server_step(s);
		if (fake)
			clock_advance(fake, SECOND / 10);
	}
	CU_ASSERT_PTR_EQUAL(ended, x);
}

struct exchange carry_get(char url[64], const char *host)
{
	snprintf(url, 64, "http://%s:%u/bucket/key?a=b", host, server.port);
	return (struct exchange){.method = HTTP_GET, .url = url, .consume = carry_keep};
}
