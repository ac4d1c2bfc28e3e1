/* SPDX-License-Identifier: Apache-2.0 */
/* Report: what people and programs are shown of results files. It reads through
 * results-schema/results_read.h. It knows columns by their roles, and tables by the names that the
 * file gives them. It prints only to the given stream. No MPI; any one thread. */
#ifndef HAUL_REPORT_REPORT_H
#define HAUL_REPORT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "core/err.h"
#include "report/shapes.h"

/* Reads every file, then writes the report of all to out: one block per file (text), an object, or
 * an array of objects where there are several files (JSON), or one row per phase under one heading
 * (CSV). Where a file cannot be read, it returns the errno with a sentence and writes nothing. */
int report_files(FILE *out, enum report_shape shape, const char *const *paths, unsigned count,
		 const struct report_options *o, struct err *err);

/* The same for one table of all files, with a row per number of nodes (scaling.h). */
int report_scaling(FILE *out, enum report_shape shape, const char *const *paths, unsigned count,
		   struct err *err);

/* The answers to the questions of the files' runs, and nothing else. -EINVAL with a sentence for a
 * file that has none, and in CSV, which is one table, for files with different questions. */
int report_answers(FILE *out, enum report_shape shape, const char *const *paths, unsigned count,
		   struct err *err);

/* Writes the figure of that table to the file at path, as report_page does. */
int report_scaling_figure(const char *path, const char *const *paths, unsigned count,
			  struct err *err);

/* Writes a line for each results file in a folder, the newest first. */
int report_folder(FILE *out, enum report_shape shape, const char *folder, struct err *err);

/* Reads every file, then writes one page of HTML about all of them to the file at path. A file that
 * is there is replaced, but a results file is not: -EEXIST. compare: the page is about their
 * comparison; -EINVAL where there is nothing to compare. */
int report_page(const char *path, bool compare, const char *const *paths, unsigned count,
		struct err *err);

/* Writes the page of a plan, report_html_plan, to the file at path, as report_page does. */
struct cJSON;
int report_plan_page(const char *path, struct cJSON *plan, struct err *err);

/* Reads every file, then writes the comparison of all (compare.h) to out. -EINVAL with a sentence
 * where there is nothing to compare. */
int report_compare(FILE *out, enum report_shape shape, const char *const *paths, unsigned count,
		   struct err *err);

/* Judges the files by the rules of a file (accept/accept.h), and writes a line for each criterion to out.
 * -EINVAL with a sentence for rules that are not valid. */
int report_accept(FILE *out, enum report_shape shape, const char *rules, const char *const *paths,
		  unsigned count, bool *accepted, struct err *err);

/* Whether the figures of a run that has missed no target count: -ERANGE with a sentence for a target that is met, or an
 * answer that is found, by void figures only. */
int report_strict(const char *path, struct err *err);

/* Whether colours suit this stream: a terminal, TERM not "dumb", NO_COLOR not set. */
bool report_color(FILE *out);

#endif
