/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the parser of HTTP/1.1 answers. The first byte of the input chooses the method and the
 * size of the pieces in which the rest arrives. However the bytes are cut, the parser must come to
 * the same end, take no byte twice, and never ask for more than the limits of a line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backends/http/native/answer_parser.h"

enum { METHODS = HTTP_DELETE + 1 };

struct outcome {
	int64_t rc;
	uint64_t body_bytes, body_sum;
	size_t used;
	uint16_t status;
	bool whole, keeps;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static uint64_t add(uint64_t sum, const char *bytes, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		sum = sum * 31 + (unsigned char)bytes[i];
	return sum;
}

static struct outcome parse(const char *text, size_t size, enum http_method method, size_t piece)
{
	struct outcome o = {0};
	struct http_answer answer;
	struct answer_parser p;
	size_t end = 0;

	answer_clear(&answer);
	answer_parser_begin(&p, &answer, method);
	while (p.part != ANSWER_WHOLE) {
		int64_t took = answer_parser_take(&p, text + o.used, end - o.used);

		if (took < 0) {
			must(p.why != NULL);
			o = (struct outcome){.rc = took};
			return o;
		}
		must((size_t)took <= end - o.used);
		o.used += (size_t)took;
		if (p.part == ANSWER_BODY && o.used < end) {
			uint64_t n = end - o.used < p.body_left ? end - o.used : p.body_left;

			must(p.body_left > 0);
			o.body_sum = add(o.body_sum, text + o.used, n);
			o.body_bytes += n;
			o.used += n;
			answer_parser_body(&p, n);
			continue;
		}
		must(p.part == ANSWER_BODY || p.part == ANSWER_WHOLE || took ||
		     end - o.used < ANSWER_LINE_BYTES);
		if (took)
			continue;
		if (end == size)
			break;
		end = size - end < piece ? size : end + piece;
	}
	must(!answer.status || (answer.status >= 100 && answer.status <= 599));
	o.status = answer.status;
	o.whole = answer_parser_end(&p);
	o.keeps = p.keeps;
	return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	enum http_method method;
	struct outcome whole, cut;

	if (size == 0)
		return 0;
	method = (enum http_method)(data[0] % METHODS);
	whole = parse(text, size - 1, method, size);
	cut = parse(text, size - 1, method, 1u + data[0] / METHODS);
	must(whole.rc == cut.rc && whole.whole == cut.whole && whole.keeps == cut.keeps &&
	     whole.status == cut.status && whole.used == cut.used &&
	     whole.body_bytes == cut.body_bytes && whole.body_sum == cut.body_sum);
	return 0;
}
