/* SPDX-License-Identifier: Apache-2.0 */
/* Page of HTML: the data, as JSON, between what the build has made of the files of this folder. See
 * docs/internals/page.md. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/json.h"
#include "report/html/data.h"
#include "report/html/parts.h"
#include "report/shapes.h"

/* "<" stands only within texts. Written as \u003c, none of them can end the element that holds the
 * data, or begin another one. */
static void page_json(FILE *out, const char *json)
{
	for (; *json; json++) {
		if (*json == '<')
			fputs("\\u003c", out);
		else
			fputc(*json, out);
	}
}

/* The page with these data, which it frees. NULL: no memory. */
static char *page_of(cJSON *data)
{
	char *json = data ? json_print_line(data) : NULL, *text = NULL;
	size_t size;
	FILE *out;
	int bad;

	cJSON_Delete(data);
	out = json ? open_memstream(&text, &size) : NULL;
	if (!out) {
		free(json);
		return NULL;
	}
	fwrite(page_before, 1, page_before_bytes, out);
	page_json(out, json);
	fwrite(page_after, 1, page_after_bytes, out);
	free(json);
	bad = ferror(out);
	if (fclose(out) == 0 && !bad)
		return text;
	free(text);
	return NULL;
}

char *report_html(const struct results_file *const *files, unsigned count, bool compare)
{
	return page_of(page_data(files, count, compare));
}

char *report_html_plan(cJSON *plan)
{
	return page_of(page_plan(plan));
}
