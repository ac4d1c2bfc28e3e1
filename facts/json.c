/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as JSON: see json.h. */
#include "facts/json.h"

#include <stdio.h>
#include <string.h>

#include "core/stats.h"

#include <stdlib.h>
#include <string.h>

void json_add_stats(cJSON *to, const char *key, const struct stats *s)
{
	cJSON *o = cJSON_AddObjectToObject(to, key);

	json_add_number(o, "mean", s->mean);
	json_add_number(o, "stdev", s->stdev);
	json_add_number(o, "ci95_low", s->low);
	json_add_number(o, "ci95_high", s->high);
	json_add_number(o, "cv", s->cv);
	json_add_number(o, "min", s->min);
	json_add_number(o, "max", s->max);
}

/* Texts with a tab between them. */
static void add_parts(cJSON *list, const char *texts)
{
	while (*texts) {
		size_t length = strcspn(texts, "\t");
		char *one = strndup(texts, length);

		cJSON_AddItemToArray(list, cJSON_CreateString(one ? one : ""));
		free(one);
		texts += length + (texts[length] == '\t');
	}
}

/* Adds a value of a column; of several a list. */
static void add_column(cJSON *to, const char *key, const struct column *c, const void *row)
{
	const char *text = column_text(c, row);
	cJSON *list;

	switch (c->type) {
	case COLUMN_TEXT:
	case COLUMN_NAME:
	case COLUMN_WORD:
		json_add_text(to, key, text);
		break;
	case COLUMN_FLAG:
	case COLUMN_YES:
		cJSON_AddBoolToObject(to, key, column_number(c, row) > 0);
		break;
	case COLUMN_STATS:
		json_add_stats(to, key, column_stats(c, row));
		break;
	case COLUMN_TEXTS:
		list = cJSON_AddArrayToObject(to, key);
		for (unsigned i = 0; i < column_count(c, row); i++) {
			text = column_text_at(c, row, i);
			cJSON_AddItemToArray(list,
					     text ? cJSON_CreateString(text) : cJSON_CreateNull());
		}
		break;
	case COLUMN_PARTS:
		add_parts(cJSON_AddArrayToObject(to, key), (const char *)row + c->offset);
		break;
	case COLUMN_VALUES:
		list = cJSON_AddArrayToObject(to, key);
		for (unsigned i = 0; i < column_count(c, row); i++)
			cJSON_AddItemToArray(list, json_number(c->number(row, (int)i)));
		break;
	default:
		json_add_number(to, key, column_number(c, row));
	}
}

/* The object for the last key of a path, with those that it stands in. */
static cJSON *json_within(cJSON *to, const char **path)
{
	const char *point;

	while ((point = strchr(*path, '.'))) {
		char key[TABLE_CELL_BYTES];
		cJSON *next;

		snprintf(key, sizeof(key), "%.*s", (int)(point - *path), *path);
		next = cJSON_GetObjectItemCaseSensitive(to, key);
		to = next ? next : cJSON_AddObjectToObject(to, key);
		*path = point + 1;
	}
	return to;
}

void json_row(cJSON *to, const struct column *columns, const void *row)
{
	for (const struct column *c = columns; c->type; c++) {
		const char *path = column_json(c);

		if (path && (!c->when || c->when(row))) {
			cJSON *object = json_within(to, &path);

			add_column(object, path, c, row);
		}
	}
}

void json_table(cJSON *to, const struct report_table *t)
{
	cJSON *all =
		t->keyed ? cJSON_AddObjectToObject(to, t->key) : cJSON_AddArrayToObject(to, t->key);

	for (size_t i = 0; i < t->count; i++) {
		const void *row = table_row_at(t, i);
		cJSON *one = cJSON_CreateObject();

		if (t->keyed)
			cJSON_AddItemToObject(all, column_text(t->columns, row), one);
		else
			cJSON_AddItemToArray(all, one);
		json_row(one, t->columns + t->keyed, row);
	}
}
