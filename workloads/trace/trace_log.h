/* Operation logs as traces: see trace_log.c. Private to the traces. */
#ifndef HAUL_WORKLOADS_TRACE_TRACE_LOG_H
#define HAUL_WORKLOADS_TRACE_TRACE_LOG_H

#include "workloads/trace/trace.h"

/* A row that is not one of the trace: a comment, another operation, one that failed. */
enum { TRACE_LOG_PASSED = 1, TRACE_LOG_TIER = 2 };

/* Whether a line is the header of an operation log, which has tabs between its columns. */
bool trace_log_is_header(const char *line);
/* Finds the columns. Changes the line. */
int trace_log_header(struct trace_reader *t, char *line, struct err *err);
/* Returns 0, TRACE_LOG_PASSED (counted in t->passed), or -EINVAL with a sentence and the fault. Changes the line. */
int trace_log_parse(struct trace_reader *t, char *line, struct trace_row *row,
		    enum trace_fault *fault, struct err *err);

#endif
