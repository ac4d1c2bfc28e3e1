/* SPDX-License-Identifier: Apache-2.0 */
/* Data of a page: see data.h. */
#include "report/html/data.h"

#include <cjson/cJSON.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "report/compare.h"
#include "report/json/json.h"
#include "report/phase_columns.h"
#include "report/scaling.h"
#include "report/shapes.h"

/* Of a brief phase: what names it, and the columns of its row in the table of phases. */
static const char *const brief_keys[] = {"kind",   "name",  "number",      "run",     "repeat",
					 "warmup", "sweep", "combination", "started", NULL};

/* Bytes of the value as JSON on one line. Where there is no memory, more than any room. */
static size_t shorten_bytes(const cJSON *value)
{
	char *text = json_print_line(value);
	size_t bytes = text ? strlen(text) : SIZE_MAX;

	free(text);
	return bytes;
}

static void shorten_list(cJSON *list, int rows)
{
	for (cJSON *row = cJSON_GetArrayItem(list, rows), *next; row; row = next) {
		next = row->next;
		cJSON_Delete(cJSON_DetachItemViaPointer(list, row));
	}
}

/* Cuts lists of objects or texts in an object, and in the objects below it, to their first rows.
 * What was cut is in the object's "left_out", by the name of the list. Lists of numbers and the
 * list "files" are left as they are. */
static void shorten_lists(cJSON *object, int rows)
{
	cJSON *left_out = NULL, *child;

	cJSON_ArrayForEach(child, object)
	{
		int size = cJSON_IsArray(child) ? cJSON_GetArraySize(child) : 0;
		bool cut = size > rows && !cJSON_IsNumber(child->child) &&
			   !cJSON_IsNull(child->child) && strcmp(child->string, "files") != 0;

		if (cJSON_IsObject(child) && strcmp(child->string, "job") != 0)
			shorten_lists(child, rows);
		if (!cut)
			continue;
		shorten_list(child, rows);
		if (!left_out)
			left_out = cJSON_CreateObject();
		json_add_number(left_out, child->string, size - rows);
	}
	if (left_out)
		cJSON_AddItemToObject(object, "left_out", left_out);
}

/* Removes keys; keys ends with NULL. */
static void shorten_drop(cJSON *object, const char *const *keys)
{
	for (; *keys; keys++)
		cJSON_DeleteItemFromObjectCaseSensitive(object, *keys);
}

static bool shorten_has(const char *const *keys, const char *key)
{
	for (; *keys; keys++)
		if (strcmp(*keys, key) == 0)
			return true;
	return false;
}

/* Whether a column of the table of phases stands at the path, or below it. */
static bool shorten_shows(const char *path)
{
	size_t length = strlen(path);

	for (const struct column *c = phase_columns; c->type; c++) {
		const char *shown = column_page(c) ? column_json(c) : "";

		if (strncmp(shown, path, length) == 0 &&
		    (shown[length] == '\0' || shown[length] == '.'))
			return true;
	}
	return false;
}

/* Leaves of an object of a phase, whose path ends with a dot or is empty, only what the phase's row in the table of phases
 * shows. */
static void shorten_to_row(cJSON *object, const char *path)
{
	for (cJSON *child = object->child, *next; child; child = next) {
		char at[96];

		next = child->next;
		if (!*path && shorten_has(brief_keys, child->string))
			continue;
		snprintf(at, sizeof(at), "%s%s", path, child->string);
		if (!shorten_shows(at)) {
			cJSON_Delete(cJSON_DetachItemViaPointer(object, child));
			continue;
		}
		snprintf(at, sizeof(at), "%s%s.", path, child->string);
		if (cJSON_IsObject(child))
			shorten_to_row(child, at);
	}
}

static void shorten_brief(cJSON *phase)
{
	shorten_to_row(phase, "");
	cJSON_AddBoolToObject(phase, "brief", true);
}

/* Rows of a phase: as many as can be seen on a page. A brief phase has none. */
static const struct report_options data_options = {
	.steps_rows = 256, .unit_rows = 128, .time_rows = 256};
static const struct report_options brief_options = {
	.steps_rows = 1, .unit_rows = 1, .time_rows = 1};

struct data_room {
	size_t whole, brief, files;
};

/* Takes the room that the value needs in JSON. Returns false where there is not as much. */
static bool data_take(size_t *room, const cJSON *value)
{
	size_t bytes = shorten_bytes(value);

	if (bytes > *room)
		return false;
	*room -= bytes;
	return true;
}

/* The files without their phases. Of files for which there is no room, only their first facts are
 * shown. */
static bool data_files(cJSON *to, const struct results_file *const *files, unsigned count,
		       struct data_room *room)
{
	static const char *const long_keys[] = {"job",    "series",       "hosts",
						"stores", "command_line", NULL};
	cJSON *list = cJSON_AddArrayToObject(to, "files");

	for (unsigned i = 0; i < count; i++) {
		cJSON *file = json_file(files[i]);

		if (!file)
			return false;
		shorten_lists(file, DATA_FILE_ROWS);
		if (!data_take(&room->files, file))
			shorten_drop(file, long_keys);
		cJSON_AddItemToArray(list, file);
	}
	return true;
}

/* The first run of each combination comes first where there is no room for all. */
static bool data_first(const struct results_phase_read *p)
{
	return p->record.repeat <= 1 && !p->record.warmup;
}

/* A phase with all details; NULL: there is no room. The first such phase ends it for all that
 * follow: what is left of the room would only do for phases with less to tell. */
static cJSON *data_whole(const struct results_file *f, const struct results_phase_read *p,
			 struct data_room *room)
{
	cJSON *phase;

	if (!room->whole)
		return NULL;
	phase = json_phase(f, p, &data_options);
	shorten_lists(phase, DATA_ROWS);
	cJSON_AddBoolToObject(phase, "brief", false);
	if (data_take(&room->whole, phase))
		return phase;
	room->whole = 0;
	cJSON_Delete(phase);
	return NULL;
}

/* A phase in as much detail as there is room for; NULL: there is none. */
static cJSON *data_phase(const struct results_file *f, const struct results_phase_read *p,
			 struct data_room *room)
{
	cJSON *phase = data_whole(f, p, room);

	if (phase)
		return phase;
	phase = json_phase(f, p, &brief_options);
	shorten_brief(phase);
	if (data_take(&room->brief, phase))
		return phase;
	cJSON_Delete(phase);
	return NULL;
}

static unsigned data_phase_count(const struct results_file *const *files, unsigned count)
{
	unsigned n = 0;

	for (unsigned i = 0; i < count; i++)
		n += files[i]->phase_count;
	return n;
}

/* Fills made, which has a place for each phase of each file in their order. */
static void data_make(cJSON **made, const struct results_file *const *files, unsigned count,
		      struct data_room *room)
{
	for (int turn = 0; turn < 2; turn++) {
		cJSON **at = made;

		for (unsigned i = 0; i < count; i++)
			for (uint32_t k = 0; k < files[i]->phase_count; k++, at++)
				if (data_first(&files[i]->phases[k]) == (turn == 0))
					*at = data_phase(files[i], &files[i]->phases[k], room);
	}
}

static bool data_phases(cJSON *to, const struct results_file *const *files, unsigned count,
			struct data_room *room)
{
	cJSON **made = calloc(data_phase_count(files, count) + 1, sizeof(*made)), **at = made;
	cJSON *list = cJSON_GetObjectItemCaseSensitive(to, "files"),
	      *file = list ? list->child : NULL;
	double left_out = 0;

	if (!made)
		return false;
	data_make(made, files, count, room);
	for (unsigned i = 0; file && i < count; i++, file = file->next) {
		cJSON *phases = cJSON_GetObjectItemCaseSensitive(file, "phases");

		for (uint32_t k = 0; k < files[i]->phase_count; k++, at++) {
			if (*at)
				cJSON_AddItemToArray(phases, *at);
			else
				left_out++;
		}
	}
	json_add_number(to, "phases_left_out", left_out);
	free(made);
	return true;
}

static bool data_nodes_differ(const struct scaling *s)
{
	for (uint32_t i = 1; i < s->count; i++)
		if (s->rows[i].nodes != s->rows[0].nodes)
			return true;
	return false;
}

static void data_scaling(cJSON *to, const struct results_file *const *files, unsigned count)
{
	struct scaling s = {0};
	cJSON *made = NULL, *list;

	/* Nothing scales where all runs had as many nodes. */
	if (count > 1 && scaling_make(&s, files, count) && data_nodes_differ(&s))
		made = document_json(scaling_write, &s);
	scaling_free(&s);
	list = cJSON_DetachItemFromObjectCaseSensitive(made, "scaling");
	cJSON_Delete(made);

	if (!list)
		list = cJSON_CreateNull();
	cJSON_AddItemToObject(to, "scaling", list);
	shorten_lists(to, DATA_ROWS);
}

/* Where there is nothing to compare, or too much, the page has no comparison. */
static void data_compare(cJSON *to, const struct results_file *const *files, unsigned count,
			 size_t room)
{
	struct err err = {0};
	struct comparison *c;
	cJSON *compare = NULL;

	if (compare_make(&c, files, count, &err) == 0)
		compare = document_json(compare_write, c);
	compare_free(c);
	if (compare && !data_take(&room, compare)) {
		cJSON_Delete(compare);
		compare = NULL;
	}
	cJSON_AddItemToObject(to, "compare", compare ? compare : cJSON_CreateNull());
}

/* The columns of a table of phases: where a phase has the value, its heading, and how it is
 * shown. */
static void data_columns(cJSON *to)
{
	static const char *const kinds[] = {
		[FORMAT_FIGURE] = "number", [FORMAT_GIGA] = "rate",   [FORMAT_COUNT] = "count",
		[FORMAT_SOME] = "count",    [FORMAT_SHARE] = "share", [FORMAT_WHOLE] = "share",
		[FORMAT_BYTES] = "bytes",   [FORMAT_RATE] = "rate",   [FORMAT_TIME] = "seconds",
		[FORMAT_NS] = "ns"};
	cJSON *list = cJSON_AddArrayToObject(to, "columns");

	for (const struct column *c = phase_columns; c->type; c++) {
		cJSON *one = column_page(c) ? cJSON_CreateObject() : NULL;

		if (!one)
			continue;
		cJSON_AddStringToObject(one, "path", column_json(c));
		cJSON_AddStringToObject(one, "heading", column_page(c));
		cJSON_AddStringToObject(one, "kind",
					c->type == COLUMN_NAME ? "text" : kinds[c->format]);
		cJSON_AddItemToArray(list, one);
	}
}

cJSON *page_data(const struct results_file *const *files, unsigned count, bool compare)
{
	struct data_room room = {DATA_WHOLE_BYTES, DATA_BRIEF_BYTES, DATA_FILES_BYTES};
	cJSON *all = cJSON_CreateObject();

	if (!data_files(all, files, count, &room) || !data_phases(all, files, count, &room)) {
		cJSON_Delete(all);
		return NULL;
	}
	data_columns(all);
	data_scaling(all, files, count);
	data_compare(all, files, count, compare ? SIZE_MAX : DATA_SIDES_BYTES);
	return all;
}

static void plan_shorten(cJSON *part)
{
	const cJSON *plans = cJSON_GetObjectItemCaseSensitive(part, "plans"), *phases;
	cJSON *plan, *phase;

	cJSON_ArrayForEach(plan, plans)
	{
		shorten_lists(plan, PLAN_DATA_ROWS);
		phases = cJSON_GetObjectItemCaseSensitive(plan, "phases");
		cJSON_ArrayForEach(phase, phases)
		{
			shorten_lists(phase, PLAN_DATA_ROWS);
		}
	}
}

/* Shortens the combination to what there is room for. Returns false where there is none. */
static bool plan_fits(cJSON *part, size_t *room)
{
	static const char *const details[] = {"plans", NULL};
	bool whole;

	plan_shorten(part);
	whole = data_take(room, part);
	if (!whole)
		shorten_drop(part, details);
	if (!whole && !data_take(room, part))
		return false;
	cJSON_AddBoolToObject(part, "brief", !whole);
	return true;
}

cJSON *page_plan(cJSON *plan)
{
	cJSON *data = cJSON_CreateObject();
	cJSON *list = cJSON_GetObjectItemCaseSensitive(plan, "combinations");
	size_t room = PLAN_DATA_BYTES;
	double left_out = 0;

	for (cJSON *part = list ? list->child : NULL, *next; part; part = next) {
		next = part->next;
		if (plan_fits(part, &room))
			continue;
		cJSON_Delete(cJSON_DetachItemViaPointer(list, part));
		left_out++;
	}
	json_add_number(plan, "combinations_left_out", left_out);
	if (!list || !cJSON_AddItemToObject(data, "plan", plan)) {
		cJSON_Delete(plan);
		cJSON_Delete(data);
		return NULL;
	}
	return data;
}

/* Page of HTML: the data, as JSON, between what the build has made of the files of this folder. See
 * docs/internals/page.md. */

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
