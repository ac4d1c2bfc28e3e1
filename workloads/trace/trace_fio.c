/* SPDX-License-Identifier: Apache-2.0 */
/* fio's iologs as traces, of versions 2 and 3, whose lines begin with a time in microseconds. Source: fio's HOWTO, "Trace file
 * format v2" and "v3".
 *
 *	fio version 3 iolog
 *	1000 FILE add
 *	1000 FILE open
 *	1000 FILE write 0 4096
 *	1000 FILE close
 *
 * Reads and writes are rows; a line "wait" of version 2 lets time go by. A name "tier1.KEY" is that of a trace that haul has
 * written. A log has no others than the first store's: all other names are of Tier-2. */
#include <errno.h>
#include <string.h>

#include "core/numbers.h"
#include "core/time_ns.h"
#include "workloads/trace/fields.h"
#include "workloads/trace/trace_log.h"

enum { FIO_FIELDS = 5 };
static const uint64_t fio_us_max = UINT64_C(1) << 50;

bool trace_fio_is_header(struct trace_reader *t, const char *line)
{
	static const char begins[] = "fio version ";
	char version;

	if (strncmp(line, begins, sizeof(begins) - 1) != 0)
		return false;
	version = line[sizeof(begins) - 1];
	t->fio_times = version == '3';
	t->form = TRACE_FORM_FIO;
	t->log = true;
	return (version == '2' || version == '3') && strcmp(line + sizeof(begins), " iolog") == 0;
}

static int fio_hex(char c)
{
	static const char digits[] = "0123456789ABCDEF";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* The tier and the key of a name that trace_escape has made; all other names stay. Changes the
 * name. */
static const char *fio_key(char *name, uint32_t *tier)
{
	char *to = name, *at = name + 6;

	*tier = TRACE_LOG_TIER;
	if (strncmp(name, "tier", 4) != 0 || name[4] < '0' || name[4] >= '0' + TRACE_TIERS ||
	    name[5] != '.') {
		while (*name == '/')
			name++;
		return name;
	}
	*tier = (uint32_t)(name[4] - '0');
	for (; *at; at++) {
		int high = *at == '%' ? fio_hex(at[1]) : -1;
		int low = high >= 0 ? fio_hex(at[2]) : -1;

		*to++ = low >= 0 ? (char)(16 * high + low) : *at;
		at += low >= 0 ? 2 : 0;
	}
	*to = '\0';
	return name;
}

static int fio_access(struct trace_reader *t, char *const *f, unsigned count, struct trace_row *row,
		      enum trace_fault *fault, struct err *err)
{
	const char *key;

	if (count != 4) {
		*fault = TRACE_FAULT_FIELDS;
		return err_set(err, -EINVAL, "must have a file, \"%s\", an offset and a length",
			       f[1]);
	}
	if (!trace_number(f[2], TRACE_BYTES_MAX, &row->offset) ||
	    !trace_number(f[3], TRACE_BYTES_MAX, &row->bytes))
		return trace_refuse(fault, TRACE_FAULT_SIZE, err,
				    "offset and length must be numbers of bytes, at most 1 PiB",
				    f[2]);
	row->ns = t->fio_ns;
	row->phase = row->operation == TRACE_READ ? TRACE_DECODE : TRACE_PREFILL;
	key = fio_key(f[0], &row->tier);
	return trace_take_key(t, key, row, fault, err);
}

int trace_fio_parse(struct trace_reader *t, char *line, struct trace_row *row,
		    enum trace_fault *fault, struct err *err)
{
	static const char *const silent[] = {"add", "open", "close", "wait"};
	char *fields[FIO_FIELDS + 1], **f = fields;
	unsigned count = trace_split(line, ' ', fields, FIO_FIELDS + 1);
	uint64_t us = 0;

	*row = (struct trace_row){.origin = {.request = TRACE_NOBODY, .user = TRACE_NOBODY}};
	if (t->fio_times) {
		if (!count || !trace_number(f[0], fio_us_max, &us))
			return trace_refuse(fault, TRACE_FAULT_TIME, err,
					    "a line must begin with its time in microseconds",
					    line);
		t->fio_ns = us * NS_PER_US;
		f++;
		count--;
	}
	if (count < 2) {
		*fault = TRACE_FAULT_FIELDS;
		return err_set(err, -EINVAL, "must have a file and an action");
	}
	row->operation = strcmp(f[1], "read") == 0 ? TRACE_READ : TRACE_WRITE;
	if (row->operation == TRACE_READ || strcmp(f[1], "write") == 0)
		return fio_access(t, f, count, row, fault, err);
	if (strcmp(f[1], "wait") == 0 && count > 2 && trace_number(f[2], fio_us_max, &us))
		t->fio_ns += us * NS_PER_US;
	for (size_t i = 0; i < COUNT(silent); i++)
		if (strcmp(f[1], silent[i]) == 0)
			return TRACE_LOG_PASSED;
	trace_pass(t, "", f[1]);
	return TRACE_LOG_PASSED;
}
