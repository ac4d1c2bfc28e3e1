/* The report: what people and programs are shown of results files. Reads through results-schema/results_read.h; knows
 * columns by their roles, and tables by the names that the file gives them. Prints nothing but to the stream given, no
 * MPI, any one thread. */
#ifndef HAUL_REPORT_REPORT_H
#define HAUL_REPORT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "core/err.h"
#include "report/shapes.h"

enum report_shape { REPORT_TEXT, REPORT_JSON, REPORT_CSV };

/* Reads every file, then writes the report of all to out: a block per file (text), an object, or an array of objects
 * where there are several files (JSON), a row per phase under one heading (CSV). A file that cannot be read: its errno
 * and a sentence, nothing is written. */
int report_files(FILE *out, enum report_shape shape, const char *const *paths, unsigned count,
		 const struct report_options *o, struct err *err);

/* Whether colours suit this stream: a terminal, TERM not "dumb", NO_COLOR not set. */
bool report_color(FILE *out);

#endif
