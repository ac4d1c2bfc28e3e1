/* SPDX-License-Identifier: Apache-2.0 */
/* Folders and files of an exported tree: see place.h. */
#include "report/mlperf/place.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/json.h"
#include "core/text_writer.h"

struct tree_folder place_below(const struct tree_folder *p, const char *format, ...)
{
	struct tree_folder below = *p;
	size_t n = strlen(p->path);
	va_list args;

	snprintf(below.path + n, sizeof(below.path) - n, "/");
	n = strlen(below.path);
	va_start(args, format);
	vsnprintf(below.path + n, sizeof(below.path) - n, format, args);
	va_end(args);
	for (char *at = below.path + n; *p->rc == 0; at++) {
		char was = *at;

		if (was && was != '/')
			continue;
		*at = '\0';
		if (mkdir(below.path, 0777) < 0 && errno != EEXIST)
			*p->rc = err_set(p->err, -errno, "%s: %s", below.path, strerror(errno));
		*at = was;
		if (!was)
			break;
	}
	return below;
}

static void place_write(const struct tree_folder *p, const char *name, const char *before,
			const char *text)
{
	char path[PLACE_BYTES + 128];
	struct text_writer *w;

	if (*p->rc < 0)
		return;
	if (!text) {
		*p->rc = err_set(p->err, -ENOMEM, "no memory for %s", name);
		return;
	}
	snprintf(path, sizeof(path), "%s/%s", p->path, name);
	*p->rc = text_writer_open(&w, path, false, p->err);
	if (*p->rc < 0)
		return;
	for (; *before; before = "") {
		text_writer_add(w, "# ", 2);
		text_writer_add(w, before, strlen(before));
		text_writer_add(w, "\n", 1);
	}
	for (size_t left = strlen(text); left;) {
		size_t piece = left < TEXT_WRITER_PIECE ? left : TEXT_WRITER_PIECE;

		text_writer_add(w, text, piece);
		text += piece;
		left -= piece;
	}
	*p->rc = text_writer_close(w, path, p->err);
}

void place_marked_json(const struct tree_folder *p, const char *name, struct cJSON *json)
{
	char *text = json ? json_print(json) : NULL;

	place_write(p, name, "", text);
	free(text);
	json_free(json);
}

void place_json(const struct tree_folder *p, const char *name, struct cJSON *json)
{
	cJSON_AddStringToObject(json, "haul", p->mark);
	place_marked_json(p, name, json);
}

void place_text(const struct tree_folder *p, const char *name, const char *text)
{
	place_write(p, name, p->mark, text);
}
