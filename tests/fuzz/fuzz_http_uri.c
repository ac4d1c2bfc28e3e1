/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the parser of endpoints with any text: it refuses the text with a sentence, or the servers
 * that it finds are the same when their names are parsed again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backends/http/server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void again(const struct server *v)
{
	const char *text = v->name;
	struct servers s;

	/* Braces and commas can be part of a name only if a range or a list has produced it. */
	if (servers_parse(&s, &text, 1, "e", NULL) < 0 || s.count != 1 ||
	    strcmp(s.list[0].name, v->name) != 0 || strcmp(s.list[0].host, v->host) != 0)
		abort();
	servers_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[256];
	const char *one = text;
	struct err err = {0};
	struct servers s;

	if (size >= sizeof(text) || memchr(data, '\0', size))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	/* file: names a file of the user, which this must not read. */
	if (strstr(text, "file:"))
		return 0;
	if (servers_parse(&s, &one, 1, "e", &err) < 0) {
		if (!err.text[0])
			abort();
		return 0;
	}
	for (uint32_t i = 0; i < s.count && i < 8; i++)
		again(&s.list[i]);
	servers_free(&s);
	return 0;
}
