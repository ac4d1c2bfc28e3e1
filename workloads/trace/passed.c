/* SPDX-License-Identifier: Apache-2.0 */
/* What of an operation log is no row of a trace, by its name. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "workloads/trace/fields.h"

void trace_pass(struct trace_reader *t, const char *prefix, const char *name)
{
	struct trace_passed *p = t->passed_by;
	char text[sizeof(p->name)];
	int i = 0;

	snprintf(text, sizeof(text), "%s%.16s", prefix, json_text_plain(name) ? name : "?");
	while (i < TRACE_PASSED_MAX - 1 && p[i].name[0] && strcmp(p[i].name, text) != 0)
		i++;
	if (!p[i].name[0])
		snprintf(p[i].name, sizeof(p[i].name), "%s",
			 i < TRACE_PASSED_MAX - 1 ? text : "others");
	p[i].count++;
	t->passed++;
}

void trace_passed_text(const struct trace_reader *t, char *out, size_t room)
{
	int length;

	*out = '\0';
	if (!t->passed)
		return;
	length = snprintf(out, room, "%" PRIu64 " %s left out", t->passed,
			  t->passed == 1 ? "operation was" : "operations were");
	for (int i = 0; i < TRACE_PASSED_MAX && t->passed_by[i].count; i++)
		if ((size_t)length < room)
			length += snprintf(out + length, room - (size_t)length, "%s %" PRIu64 " %s",
					   i ? "," : ":", t->passed_by[i].count,
					   t->passed_by[i].name);
}
