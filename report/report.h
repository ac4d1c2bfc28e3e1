/* The report: what people and programs are shown of results files. Reads through
 * results-schema/results_read.h; knows no workload but by the names of its columns (a name that is
 * absent is not mentioned). Prints nothing but to the stream given, no MPI, any one thread. */
#ifndef HAUL_REPORT_REPORT_H
#define HAUL_REPORT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "core/err.h"
#include "results-schema/results_read.h"

enum report_shape { REPORT_TEXT, REPORT_JSON, REPORT_CSV };

/* Reads every file, then writes the report of all to out: a block a file (text), an object, or an
 * array of objects where there are several files (JSON), a row a phase under one heading (CSV).
 * A file that cannot be read: its errno and a sentence, nothing is written. color: terminal colours
 * in text. */
int report_files(FILE *out, enum report_shape shape, const char *const *paths, unsigned count,
		 bool color, struct err *err);

/* Whether colours suit this stream: a terminal, TERM not "dumb", NO_COLOR not set. */
bool report_color(FILE *out);

/* The pieces, for one file that is loaded. Each returns text that the caller frees, or NULL when
 * there is no memory. The CSV's heading is a line of its own. */
char *report_text(const struct results_file *file, bool color);
char *report_json(const struct results_file *const *files, unsigned count);
char *report_csv(const struct results_file *file);
const char *report_csv_heading(void);

#endif
