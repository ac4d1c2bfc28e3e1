/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the parser of the head of an HTTP answer with any bytes, line by line: the values that it
 * keeps must be within bounds and terminated. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backends/http/wire/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void terminated(const char *text, size_t size)
{
	if (strnlen(text, size) == size)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data, *end = at + size;
	struct http_answer a;

	answer_clear(&a);
	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((stop ? stop + 1 : end) - at);

		answer_line(&a, at, n);
		at += n;
	}
	terminated(a.etag, sizeof(a.etag));
	terminated(a.code, sizeof(a.code));
	terminated(a.location, sizeof(a.location));
	terminated(a.date, sizeof(a.date));
	terminated(a.retry_after, sizeof(a.retry_after));
	if (a.status && (a.status < 100 || a.status > 999))
		abort();
	if (answer_date(&a) < 0)
		abort();
	answer_retry_after(&a);
	return 0;
}
