/* SPDX-License-Identifier: Apache-2.0 */
/* Documents: see document.h. */
#include "facts/document.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "facts/csv.h"
#include "facts/json.h"
#include "facts/text.h"

struct cJSON *document_json(document_writer *write, const void *about)
{
	struct document d = {.shape = REPORT_JSON, .open = {json_object()}};

	if (d.open[0] && write(&d, about))
		return d.open[0];
	json_free(d.open[0]);
	return NULL;
}

char *document_text(enum report_shape shape, document_writer *write, const void *about)
{
	struct document d = {.shape = shape};
	char *text = NULL;
	size_t size;
	bool whole;

	if (shape == REPORT_JSON) {
		struct cJSON *json = document_json(write, about);

		text = json ? json_print(json) : NULL;
		json_free(json);
		return text;
	}
	d.out = open_memstream(&text, &size);
	if (!d.out)
		return NULL;
	whole = write(&d, about);
	if (fclose(d.out) == 0 && whole)
		return text;
	free(text);
	return NULL;
}

int document_print(FILE *out, enum report_shape shape, document_writer *write, const void *about,
		   struct err *err)
{
	char *text = document_text(shape, write, about);
	int rc = 0;

	if (!text)
		rc = err_set(err, -ENOMEM, "no memory for the text");
	else if (fputs(text, out) < 0 || fflush(out) != 0)
		rc = err_set(err, errno ? -errno : -EIO, "the text cannot be written: %s",
			     strerror(errno));
	free(text);
	return rc;
}

void document_say(struct document *d, const char *format, ...)
{
	va_list arguments;

	if (d->shape != REPORT_TEXT)
		return;
	va_start(arguments, format);
	vfprintf(d->out, format, arguments);
	va_end(arguments);
}

void document_wrap(struct document *d, unsigned rest, const char *text)
{
	if (d->shape == REPORT_TEXT)
		text_wrap(d->out, text, 0, rest);
}

void document_table(struct document *d, const struct report_table *t)
{
	if (d->shape == REPORT_TEXT)
		text_table(d->out, t);
	if (d->shape == REPORT_JSON)
		json_table(d->open[d->depth], t);
	if (d->shape == REPORT_CSV && t->flat) {
		csv_table(d->out, d->headed, d->columns, d->row, t);
		d->headed = true;
	}
}

void document_fields(struct document *d, const struct column *columns, const void *row)
{
	if (d->shape == REPORT_JSON)
		json_row(d->open[d->depth], columns, row);
}

void document_open_list(struct document *d, const char *key)
{
	if (d->shape == REPORT_JSON) {
		struct cJSON *list = cJSON_AddArrayToObject(d->open[d->depth], key);

		d->open[++d->depth] = list;
	}
}

void document_open_row(struct document *d, const struct column *columns, const void *row)
{
	d->columns = columns;
	d->row = row;
	if (d->shape == REPORT_JSON) {
		struct cJSON *object = cJSON_CreateObject();

		cJSON_AddItemToArray(d->open[d->depth], object);
		json_row(object, columns, row);
		d->open[++d->depth] = object;
	}
}

void document_close(struct document *d)
{
	d->columns = NULL;
	d->depth -= d->shape == REPORT_JSON;
}
