/* SPDX-License-Identifier: Apache-2.0 */
/* Log: see log.h. */
#include "core/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"

/* Lines up to this length reach a pipe in one piece (PIPE_BUF), also when other ranks write. */
enum { LINE_BYTES = 2048 };

void log_init(struct log *log, int fd, enum log_level level, uint32_t rank, uint32_t ranks)
{
	log->fd = fd;
	log->level = level;
	log->rank = rank;
	log->ranks = ranks;
	log->start_ns = clock_kernel_ns();
}

/* "haul: rank 12: warning: ". Information and debug lines also carry the time since the start. */
static size_t line_head(const struct log *log, enum log_level level, char *line, size_t bytes)
{
	static const char *const names[] = {"error: ", "warning: ", "", "debug: "};
	double seconds = (double)(clock_kernel_ns() - log->start_ns) * 1e-9;
	int n = snprintf(line, bytes, "haul: ");

	if (log->ranks > 1)
		n += snprintf(line + n, bytes - (size_t)n, "rank %u: ", log->rank);
	if (level >= LOG_INFO)
		n += snprintf(line + n, bytes - (size_t)n, "%.3f s: ", seconds);
	n += snprintf(line + n, bytes - (size_t)n, "%s", names[level]);
	return (size_t)n;
}

void log_say(const struct log *log, enum log_level level, const char *format, ...)
{
	char line[LINE_BYTES];
	size_t head, length;
	ssize_t written;
	va_list list;

	if (log->fd < 0 || level > log->level)
		return;
	head = line_head(log, level, line, sizeof(line));
	va_start(list, format);
	vsnprintf(line + head, sizeof(line) - head - 1, format, list);
	va_end(list);
	length = head + strlen(line + head);
	/* Names of objects come from outside and may hold newlines. One event must stay one
	 * line. */
	for (size_t i = head; i < length; i++) {
		if ((unsigned char)line[i] < ' ' || line[i] == 127)
			line[i] = ' ';
	}
	line[length++] = '\n';
	do
		written = write(log->fd, line, length);
	while (written < 0 && errno == EINTR);
}
