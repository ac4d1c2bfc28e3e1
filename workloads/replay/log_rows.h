/* Rows of an operation log, as a trace would have them: in the order in which they began, with writes of whole objects. */
#ifndef HAUL_WORKLOADS_REPLAY_LOG_ROWS_H
#define HAUL_WORKLOADS_REPLAY_LOG_ROWS_H

#include "workloads/trace/trace.h"

/* Takes a row, in the order of the trace. Returns 0, or a negative errno with a sentence, which ends the reading. */
typedef int (*replay_take)(void *argument, const struct trace_row *row, struct err *err);

/* Reads the log to its end and gives its rows to `take`. All of them are in memory meanwhile, with 48 bytes each and the text of
 * each key. */
int replay_log_rows(struct trace_reader *from, replay_take take, void *argument, struct err *err);

#endif
