/* SPDX-License-Identifier: Apache-2.0 */
/* Operation logs as traces: see trace_log.c and trace_fio.c. Private to the traces. */
#ifndef HAUL_WORKLOADS_TRACE_TRACE_LOG_H
#define HAUL_WORKLOADS_TRACE_TRACE_LOG_H

#include "workloads/trace/trace.h"

/* A row that is not one of the trace: a comment, another operation, one that failed. */
enum { TRACE_LOG_PASSED = 1, TRACE_LOG_TIER = 2 };

/* Whether a line is the header of an operation log, which has tabs between its columns; or a row of
 * one as JSON. */
bool trace_log_is_header(const char *line);
bool trace_log_is_json(const char *line);
/* Finds the columns. Changes the line. */
int trace_log_header(struct trace_reader *t, char *line, struct err *err);
/* Returns 0, TRACE_LOG_PASSED (counted by trace_pass), or -EINVAL with a sentence and the fault.
 * Changes the line. */
int trace_log_parse(struct trace_reader *t, char *line, struct trace_row *row,
		    enum trace_fault *fault, struct err *err);
int trace_log_parse_json(struct trace_reader *t, char *line, struct trace_row *row,
			 enum trace_fault *fault, struct err *err);

/* The same of fio's iologs, of versions 2 and 3. */
bool trace_fio_is_header(struct trace_reader *t, const char *line);
int trace_fio_parse(struct trace_reader *t, char *line, struct trace_row *row,
		    enum trace_fault *fault, struct err *err);

#endif
