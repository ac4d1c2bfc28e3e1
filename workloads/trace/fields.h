/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of a line of a trace, whatever its form. Private to the traces, and to the arrivals of
 * kvcache/requests. */
#ifndef HAUL_WORKLOADS_TRACE_FIELDS_H
#define HAUL_WORKLOADS_TRACE_FIELDS_H

#include "workloads/trace/trace.h"

/* Divides a line into fields, in place. "" within a quoted field is a quote. Returns how many there
 * are, or 0 where a quote is not closed, or something follows it. At most `most` are told apart. */
unsigned trace_split(char *line, char separator, char **fields, unsigned most);

/* A number of at least one digit, from *text on, which then is behind it; or all of the text.
 * false: it is none, or more than most. */
bool trace_digits(const char **text, uint64_t most, uint64_t *value);
bool trace_number(const char *text, uint64_t most, uint64_t *number);
/* ".932717" of a second, or nothing: up to nine decimals count, further ones are ignored. */
bool trace_part(const char **text, uint64_t *ns);

/* "+02:00" after a time: seconds to subtract. "Z": none. */
bool trace_zone(const char *text, int64_t *seconds);

/* A row is not one of the trace: counts it under that name. */
void trace_pass(struct trace_reader *t, const char *prefix, const char *name);

/* The text of the key, which must fit as an object's name, into row. */
int trace_take_key(struct trace_reader *t, const char *text, struct trace_row *row,
		   enum trace_fault *fault, struct err *err);
/* The field is not as it must be. Returns -EINVAL. */
int trace_refuse(enum trace_fault *fault, enum trace_fault what, struct err *err,
		 const char *wanted, const char *text);

#endif
