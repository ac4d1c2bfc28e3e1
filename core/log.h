/* SPDX-License-Identifier: Apache-2.0 */
/* Log: one line per event, to a file descriptor. Thread-safe (one write(2) per line). Never called
 * on the data path; never holds a secret.
 *
 *	haul: rank 12: warning: text        the rank only where there are several
 *	haul: rank 12: 3.214 s: text        information and debugging bear the time since start */
#ifndef HAUL_CORE_LOG_H
#define HAUL_CORE_LOG_H

#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

struct log {
	int fd;               /* < 0: no output */
	enum log_level level; /* lines above this level are dropped */
	uint32_t rank, ranks;
	uint64_t start_ns;
};

void log_init(struct log *log, int fd, enum log_level level, uint32_t rank, uint32_t ranks);
void log_say(const struct log *log, enum log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
