/* SPDX-License-Identifier: Apache-2.0 */
/* Answers (core/answer.h) as people and programs read them: a sentence for each, and the columns of its
 * head and rows, which are made from the lists there. Text, JSON and page print these. For files that
 * have an answer. */
#ifndef HAUL_REPORT_ANSWER_H
#define HAUL_REPORT_ANSWER_H

#include "facts/document.h"
#include "report/series.h"

struct doubts;
struct answer_view {
	const struct column *head, *rows;
	/* The answer as a sentence, without the full stop. Adds it to text, which has size bytes. */
	void (*say)(char *text, size_t size, const struct results_file *f);
	/* The repeats that the sentence is about; NULL: there are none. */
	const struct series_line *(*line)(const struct results_file *f,
					  const struct series_lines *s);
	/* The order in which rows are shown; NULL: that of the file. */
	int (*order)(const void *a, const void *b);
	/* Whether its sentence has figures that doubts could make void; NULL: it has. */
	bool (*has_figures)(const struct results_file *f);
	/* Adds to doubts why they are there; NULL: there is nothing to add. */
	void (*explain)(struct doubts *d, const struct results_file *f);
	bool once; /* its phases run once, so that nobody expects repeats */
};
extern const struct answer_view answer_find, answer_tune, answer_assess;

/* That of the file's answer. */
const struct answer_view *answer_view(const struct results_file *f);

/* The rows in the order in which they are shown. The caller frees them; NULL: no memory. */
void *answer_rows(const struct results_file *f);

/* The table of these rows. */
struct report_table answer_table(const struct results_file *f, const void *rows);

/* Writes the answer of a file: the members of its head, the claim, the ceilings of a storage, and
 * the rows. */
bool answer_parts(struct document *d, const struct results_file *f);

/* The same of files that all have one, as a document; in text with the sentence of each, in CSV the
 * rows alone. about: struct answered_files; of CSV, all answer the same question. */
struct answered_files {
	const struct results_file *const *files;
	unsigned count;
};
document_writer answers_write;

/* Of a count that may not be known: NaN. */
double answer_known(const void *row, int offset);

/* Settings in the text of a table: what became of one, its figure, and how many times as good the best
 * is. */
void tune_show_state(char cell[TABLE_CELL_BYTES], const void *row);
void tune_show_mean(char cell[TABLE_CELL_BYTES], const void *row);
void tune_show_times(char cell[TABLE_CELL_BYTES], const void *row);

/* The ceilings of a storage. */
struct assess_ceiling {
	const char *name, *label, *unit; /* name: for programs */
	double value;
	const char *settings; /* that were searched for; "": none were */
};
enum { ASSESS_CEILINGS_MAX = 16 };
unsigned assess_ceilings(const struct assess_head *head,
			 struct assess_ceiling out[ASSESS_CEILINGS_MAX]);
extern const struct column assess_ceiling_columns[];

/* Users whose number is not known, but a bound of it. */
bool assess_bounded(const struct assess_row *w);
/* What would raise the limit of a workload; NULL: it is not known. */
const char *assess_remedy(const void *row);

/* Columns from the lists of core/answer.h. */
#define ANSWER_COLUMN(of, kind, member, bytes, heading_, format_, help) \
	ANSWER_COLUMN_##kind(of, member, heading_, format_)
#define ANSWER_COLUMN_OF(type_, of, member, heading_, format_) \
	COLUMN(type_, of, member, #member, heading_, .format = FORMAT_##format_),
#define ANSWER_COLUMN_TEXT(...)  ANSWER_COLUMN_OF(NAME, __VA_ARGS__)
#define ANSWER_COLUMN_SETS(...)  ANSWER_COLUMN_OF(PARTS, __VA_ARGS__)
#define ANSWER_COLUMN_COUNT(...) ANSWER_COLUMN_OF(U64, __VA_ARGS__)
#define ANSWER_COLUMN_YES(...)   ANSWER_COLUMN_OF(YES, __VA_ARGS__)
#define ANSWER_COLUMN_REAL(...)  ANSWER_COLUMN_OF(REAL, __VA_ARGS__)
#define ANSWER_COLUMN_KNOWN(of, member, heading_, format_) \
	COLUMN(VALUE, of, member, #member, heading_, .format = FORMAT_##format_, \
	       .number = answer_known, .which = offsetof(of, member)),
#define ANSWER_COLUMN_SETTING(...)
#define ANSWER_COLUMN_CEILING(...)
#define ANSWER_VIEW(how, ...)                    ANSWER_VIEW_##how(__VA_ARGS__)
#define ANSWER_VIEW_SHOWN(key_, heading_, show_) SHOWN(heading_, show_),
#define ANSWER_VIEW_WORD(key_, heading_, word_) \
	{.type = COLUMN_WORD, .key = (key_), .heading = (heading_), .word = (word_)},

#endif
