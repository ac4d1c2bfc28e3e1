/* SPDX-License-Identifier: Apache-2.0 */
/* A document: what an analysis has to say, part by part. It is written once, and each printer takes
 * the parts that it can show: text takes sentences and tables, JSON takes fields, lists and tables,
 * CSV takes one table, before whose columns stand those of the row that it belongs to.
 *
 * A document is written from its first part to its last one. Nothing of a part is kept. One thread
 * at a time. */
#ifndef HAUL_FACTS_DOCUMENT_H
#define HAUL_FACTS_DOCUMENT_H

#include <stdio.h>

#include "core/err.h"
#include "facts/table.h"

enum report_shape { REPORT_TEXT, REPORT_JSON, REPORT_CSV };

struct cJSON;
enum { DOCUMENT_DEPTH = 8 };
struct document {
	enum report_shape shape;
	FILE *out; /* of text and CSV */
	struct cJSON *open
		[DOCUMENT_DEPTH]; /* in JSON: the object, and the lists and objects in it that are open */
	unsigned depth;           /* of the last of them */
	/* In CSV: the row that is open, and whether the heading is printed. */
	const struct column *columns;
	const void *row;
	bool headed;
};

/* A writer of a document. It returns false where there is no memory. */
typedef bool document_writer(struct document *d, const void *about);

/* The whole document as text of a shape, or the object of its JSON. The caller frees it. NULL: no
 * memory. */
char *document_text(enum report_shape shape, document_writer *write, const void *about);
struct cJSON *document_json(document_writer *write, const void *about);
/* The same, written to out. -ENOMEM, or the errno of writing, with a sentence. */
int document_print(FILE *out, enum report_shape shape, document_writer *write, const void *about,
		   struct err *err);

/* A sentence or a line, as it is; one that is broken between words, whose further lines are
 * indented by rest. */
void document_say(struct document *d, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void document_wrap(struct document *d, unsigned rest, const char *text);

/* A table. In text, a table without rows is left out. */
void document_table(struct document *d, const struct report_table *t);

/* Fields of the object that is open, each a column of the row. */
void document_fields(struct document *d, const struct column *columns, const void *row);

/* A list, and a row of the list that is open, with further parts in it. Both end with
 * document_close. */
void document_open_list(struct document *d, const char *key);
void document_open_row(struct document *d, const struct column *columns, const void *row);
void document_close(struct document *d);

#endif
