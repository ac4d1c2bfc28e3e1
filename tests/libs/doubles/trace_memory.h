/* SPDX-License-Identifier: Apache-2.0 */
/* A trace in memory, in place of a file. */
#ifndef HAUL_TESTS_LIBS_DOUBLES_TRACE_MEMORY_H
#define HAUL_TESTS_LIBS_DOUBLES_TRACE_MEMORY_H

#include "core/line_reader.h"
#include "workloads/trace/trace.h"

static inline int trace_open_memory(struct trace_reader *t, const void *data, size_t bytes,
				    bool lenient, struct err *err)
{
	struct line_reader *lines;
	int rc = line_reader_open_memory(&lines, data, bytes, err);

	return rc < 0 ? rc : trace_open_lines(t, lines, lenient, err);
}

#endif
