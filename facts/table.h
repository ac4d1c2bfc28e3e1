/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the report, each declared once: text, JSON and CSV are three printers of them
 * (text.h, json.h, csv.h). A row is a struct of whoever made the analysis. A column
 * says where the row has its value, what programs call it (key), and what people read above it
 * (heading).
 *
 *	static const struct column columns[] = {
 *		COLUMN(U64, struct row, ranks, "ranks", "ranks", .format = FORMAT_COUNT),
 *		COLUMN(STATS, struct row, au, "au", "AU", .format = FORMAT_SHARE),
 *		COLUMNS_END};
 *
 * A column without a heading is not in the text, and one without a key is in nothing else: so the
 * text may have another order, or a shorter form. Constants only; any thread. */
#ifndef HAUL_FACTS_TABLE_H
#define HAUL_FACTS_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* Tables of text have at most this many columns, and cells of at most this many bytes. */
enum { TABLE_COLUMNS = 24, TABLE_CELL_BYTES = 48, TABLE_TEXTS_SHOWN = 8 };

/* What the row has at the column's offset. */
enum column_type {
	COLUMN_NONE, /* ends a list of columns */
	COLUMN_REAL, /* double */
	COLUMN_U64,
	COLUMN_U32,
	COLUMN_FLAG,  /* bool */
	COLUMN_YES,   /* the same as a uint64_t */
	COLUMN_TEXT,  /* const char *; NULL: null in JSON */
	COLUMN_NAME,  /* an array of char */
	COLUMN_PARTS, /* the same with a tab between several texts: a list in JSON */
	COLUMN_TEXTS, /* char **: as many as the column's count, of which text has TABLE_TEXTS_SHOWN */
	COLUMN_STATS, /* struct stats: text shows the mean and half of its interval */
	/* What these have comes from a function of the column. */
	COLUMN_VALUE, /* number(row, which) */
	COLUMN_VALUES, /* number(row, 0), number(row, 1) …: as many as the uint32_t at the offset */
	COLUMN_WORD,   /* word(row) */
	COLUMN_SHOWN   /* in text only: show(cell, row) */
};

/* How text shows a number. What is not a number is TABLE_NOTHING in any case. */
enum column_format {
	FORMAT_FIGURE, /* about three digits */
	FORMAT_GIGA,   /* the same, divided by 10^9: GB/s */
	FORMAT_COUNT,  /* "4,300,800" */
	FORMAT_SOME,   /* the same, but 0 is TABLE_NOTHING */
	FORMAT_SHARE,  /* "61.2 %" */
	FORMAT_WHOLE,  /* "61 %" */
	FORMAT_BYTES,  /* "630.5 TB" */
	FORMAT_RATE,   /* "12.5 MB/s" */
	FORMAT_TIME,   /* seconds: "412 ms" */
	FORMAT_NS      /* the same of ns */
};

struct column {
	enum column_type type;
	enum column_format format;
	const char *key, *heading;
	/* Its path in JSON, where that is not the key: "rates.au" is in an object of its own; "": it
	 * is not in JSON. Its heading on the page, where that is not that of text; "": it is not
	 * there. */
	const char *json, *page;
	size_t offset;
	bool behind;    /* the row begins with a pointer to the struct that has the value */
	unsigned place; /* text shows columns of a lower place first */
	/* In JSON the key is left out where this is false of the row. */
	bool (*when)(const void *row);
	/* The line of text in which it is told in words, such as "global batch %", where % is the
	 * value; noun: what is counted: "1 step", "2 steps". See text_words. */
	const char *line, *words, *noun;
	/* Writes the heading of text, in place of it. about: that of the table. */
	void (*head)(char cell[TABLE_CELL_BYTES], const void *about);
	double (*number)(const void *row, int which);
	const char *(*word)(const void *row);
	enum column_format (*format_of)(const void *row); /* in place of format */
	/* Writes the cell of text, in place of the format. */
	void (*show)(char cell[TABLE_CELL_BYTES], const void *row);
	int which;                   /* for number */
	unsigned width;              /* text is cut at this many columns; 0: 24 */
	unsigned count;              /* of COLUMN_TEXTS */
	const char *const *headings; /* of COLUMN_TEXTS: one each */
};

#define COLUMN(type_, of, member, key_, heading_, ...) \
	{ \
		.type = COLUMN_##type_, .offset = offsetof(of, member), .key = (key_), \
		.heading = (heading_), __VA_ARGS__ \
	}
/* For programs only, under the name of the member. */
#define FIELD(type_, of, member) \
	{ \
		.type = COLUMN_##type_, .offset = offsetof(of, member), .key = #member \
	}
#define SHOWN(heading_, show_) \
	{ \
		.type = COLUMN_SHOWN, .heading = (heading_), .show = (show_) \
	}
#define COLUMNS_END \
	{ \
		.type = COLUMN_NONE \
	}

struct report_table {
	const char *key; /* of the list in JSON */
	const struct column *columns;
	const void *rows;
	size_t count, stride;
	/* In JSON an object in place of a list: the rows by what their first column has. */
	bool keyed;
	bool flat;         /* the one table of its document that CSV shows */
	const void *about; /* what headings tell of */
	/* Whether text has the row. NULL: it has all. */
	bool (*shown)(const void *row);
};

/* The rows are an array. */
#define TABLE_ROWS(rows_, count_) .rows = (rows_), .count = (count_), .stride = sizeof((rows_)[0])
const void *table_row_at(const struct report_table *t, size_t i);

struct stats;
const struct stats *column_stats(const struct column *c, const void *row);

/* A value as a number; NaN where the column has none. As a text; NULL where it has none. The i-th
 * of several. */
double column_number(const struct column *c, const void *row);
/* The path in JSON, and the heading on the page; NULL: the column is not there. */
const char *column_json(const struct column *c);
const char *column_page(const struct column *c);
const char *column_text(const struct column *c, const void *row);
unsigned column_count(const struct column *c, const void *row);
const char *column_text_at(const struct column *c, const void *row, unsigned i);

#endif
