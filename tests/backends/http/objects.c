/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/backends/http/objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/random.h"
#include "tests/unit.h"

static struct clock real;

const char *objects_store(void)
{
	return getenv("HAUL_TEST_STORE");
}

void objects_begin(struct rig *r, struct queue *q, uint32_t depth)
{
	rig_init(r);
	clock_init(&real);
	r->clock = &real;
	CU_ASSERT_EQUAL(rig_open(r, objects_store()), 0);
	if (r->err.text[0])
		fprintf(stderr, "%s\n", r->err.text);
	CU_ASSERT_EQUAL_FATAL(queue_open(q, &r->store, depth, &r->err), 0);
}

void objects_end(struct rig *r, struct queue *q)
{
	queue_close(q);
	rig_close(r);
}

void objects_fill(uint8_t *data, uint64_t offset, uint64_t n, uint64_t salt)
{
	uint64_t word;

	for (uint64_t i = 0; i < n;) {
		uint64_t in = (offset + i) % 8, bytes = 8 - in < n - i ? 8 - in : n - i;

		word = mix64((offset + i) / 8 + salt * 1000003);
		memcpy(data + i, (uint8_t *)&word + in, bytes);
		i += bytes;
	}
}

bool objects_same(const uint8_t *data, uint64_t offset, uint64_t n, uint64_t salt)
{
	uint8_t wanted[4096];

	for (uint64_t i = 0; i < n; i += sizeof(wanted)) {
		uint64_t bytes = n - i < sizeof(wanted) ? n - i : sizeof(wanted);

		objects_fill(wanted, offset + i, bytes, salt);
		if (memcmp(data + i, wanted, bytes) != 0)
			return false;
	}
	return true;
}
