/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/libs/doubles/failing_memory.h"

#include <stdlib.h>

static bool on;
static uint32_t fails, seen;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

static bool allocation_fails(void)
{
	return on && seen++ == fails;
}

void *__wrap_malloc(size_t bytes)
{
	return allocation_fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return allocation_fails() ? NULL : __real_calloc(count, bytes);
}

void failing_memory_begin(uint32_t number)
{
	fails = number;
	seen = 0;
	on = true;
}

bool failing_memory_end(void)
{
	on = false;
	return seen > fails;
}
