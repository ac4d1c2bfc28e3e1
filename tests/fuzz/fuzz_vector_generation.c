/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what a merge has left beside a segment: which generation of it is searched, and how many vectors
 * that has. Any bytes are refused with a sentence, or they are numbers within their bounds, which are the
 * same when they are written and read again. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/vector/set.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vector_generation g, again;
	struct err err = {0};
	char text[80];

	if (vector_generation_parse(&g, (const char *)data, size, &err) < 0) {
		must(err.text[0] != '\0');
		return 0;
	}
	must(g.number >= 1 && vector_version(&g) <= UINT32_MAX);
	must(g.vectors >= 2 && g.vectors <= UINT32_MAX);
	snprintf(text, sizeof(text), "{\"generation\": %" PRIu64 ", \"vectors\": %" PRIu64 "}",
		 g.number, g.vectors);
	must(vector_generation_parse(&again, text, strlen(text), &err) == 0);
	must(again.number == g.number && again.vectors == g.vectors);
	return 0;
}
