/* SPDX-License-Identifier: Apache-2.0 */
/* Reading traces of key-value caches: see trace.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/line_reader.h"
#include "core/time_ns.h"
#include "workloads/trace/fields.h"
#include "workloads/trace/trace_log.h"

enum { TRACE_FIELDS = 6, TRACE_FIELDS_FULL = 10 };

#define TRACE_OPERATION(id, name) name,
const char *const trace_operation_names[] = {TRACE_OPERATIONS(TRACE_OPERATION)};
#undef TRACE_OPERATION
#define TRACE_PHASE(id, name) name,
const char *const trace_phase_names[] = {TRACE_PHASES(TRACE_PHASE)};
#undef TRACE_PHASE
#define TRACE_FORMAT(id, name) name,
const char *const trace_format_names[] = {TRACE_FORMATS(TRACE_FORMAT) NULL};
#undef TRACE_FORMAT
#define TRACE_FAULT(id, name) name,
static const char *const fault_names[] = {TRACE_FAULTS(TRACE_FAULT)};
#undef TRACE_FAULT

static const char *const trace_header[TRACE_FIELDS_FULL] = {
	"Timestamp", "Operation", "Object_Size_Bytes", "Tier", "Key", "Phase", "Request",
	"User",      "Rank",      "Latency_ns"};

/* "1795305706.932717" */
static bool trace_time(const char *text, uint64_t *ns)
{
	uint64_t seconds, part;

	if (!trace_digits(&text, TRACE_SECONDS_MAX, &seconds) || !trace_part(&text, &part))
		return false;
	*ns = seconds * NS_PER_S + part;
	return !*text;
}

static bool trace_word(const char *text, const char *const *names, uint32_t count, uint32_t *which)
{
	for (*which = 0; *which < count; ++*which)
		if (strcmp(text, names[*which]) == 0)
			return true;
	return false;
}

static bool trace_tier(const char *text, uint32_t *tier)
{
	bool known = strncmp(text, "Tier-", 5) == 0 && text[5] >= '0' &&
		     text[5] < '0' + TRACE_TIERS && !text[6];

	*tier = known ? (uint32_t)(text[5] - '0') : 0;
	return known;
}

/* A number of a request or user; nothing: TRACE_NOBODY. */
static bool trace_asker(const char *text, uint64_t *number)
{
	*number = TRACE_NOBODY;
	return !*text || (trace_digits(&text, UINT64_MAX / 16, number) && !*text);
}

/* The further fields of a full table. */
static int trace_parse_origin(char *const *f, struct trace_origin *o, enum trace_fault *fault,
			      struct err *err)
{
	uint64_t rank;

	if (!trace_asker(f[6], &o->request))
		return trace_refuse(fault, TRACE_FAULT_ORIGIN, err,
				    "Request must be a number or empty", f[6]);
	if (!trace_asker(f[7], &o->user))
		return trace_refuse(fault, TRACE_FAULT_ORIGIN, err,
				    "User must be a number or empty", f[7]);
	if (!trace_number(f[8], UINT32_MAX, &rank))
		return trace_refuse(fault, TRACE_FAULT_ORIGIN, err, "Rank must be a number", f[8]);
	if (!trace_number(f[9], UINT64_MAX / 16, &o->latency_ns))
		return trace_refuse(fault, TRACE_FAULT_ORIGIN, err,
				    "Latency_ns must be a number of nanoseconds", f[9]);
	o->rank = (uint32_t)rank;
	return 0;
}

/* The fields that all tables have. */
static int trace_parse_row(struct trace_reader *t, char *const *f, struct trace_row *row,
			   enum trace_fault *fault, struct err *err)
{
	if (!trace_time(f[0], &row->ns))
		return trace_refuse(fault, TRACE_FAULT_TIME, err,
				    "Timestamp must be seconds since 1970, before 2242", f[0]);
	if (!trace_word(f[1], trace_operation_names, t->full ? TRACE_OPERATION_COUNT : TRACE_DELETE,
			&row->operation))
		return trace_refuse(fault, TRACE_FAULT_OPERATION, err,
				    t->full ? "Operation must be Read, Write or Delete"
					    : "Operation must be Read or Write",
				    f[1]);
	if (!trace_number(f[2], TRACE_BYTES_MAX, &row->bytes))
		return trace_refuse(fault, TRACE_FAULT_SIZE, err,
				    "Object_Size_Bytes must be a number of bytes, at most 1 PiB",
				    f[2]);
	if (!trace_tier(f[3], &row->tier))
		return trace_refuse(fault, TRACE_FAULT_TIER, err, "Tier must be Tier-0 to Tier-7",
				    f[3]);
	if (!trace_word(f[5], trace_phase_names, TRACE_PHASE_COUNT, &row->phase))
		return trace_refuse(fault, TRACE_FAULT_PHASE, err,
				    "Phase must be Prefill, Decode or Evict", f[5]);
	return 0;
}

static int trace_parse(struct trace_reader *t, char *line, struct trace_row *row,
		       enum trace_fault *fault, struct err *err)
{
	char *f[TRACE_FIELDS_FULL + 1];
	unsigned count = trace_split(line, ',', f, TRACE_FIELDS_FULL + 1),
		 wanted = t->full ? TRACE_FIELDS_FULL : TRACE_FIELDS;
	int rc;

	if (count != wanted) {
		*fault = TRACE_FAULT_FIELDS;
		return err_set(err, -EINVAL, "has %u fields and not %u", count, wanted);
	}
	rc = trace_parse_row(t, f, row, fault, err);
	row->offset = 0;
	row->origin = (struct trace_origin){.request = TRACE_NOBODY, .user = TRACE_NOBODY};
	if (rc == 0)
		rc = trace_take_key(t, f[4], row, fault, err);
	if (rc == 0 && t->full)
		rc = trace_parse_origin(f, &row->origin, fault, err);
	return rc;
}

static int trace_wrap(const struct trace_reader *t, int rc, struct err *err)
{
	return err_wrap(err, rc, "line %" PRIu64, line_reader_number(t->lines));
}

/* Whether a first line is of what users ask of a model, which is no trace of operations. */
static bool trace_is_requests(const char *line)
{
	static const char *const signs[] = {"\"input_length\"", "\"conversations\"",
					    "ContextTokens", "Request tokens"};
	bool is = line[strspn(line, " \t")] == '[';

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		is = is || strstr(line, signs[i]);
	return is;
}

static int trace_read_header(struct trace_reader *t, struct err *err)
{
	char *line, *f[TRACE_FIELDS_FULL + 1];
	unsigned count = 0;
	size_t length;
	int rc;
	bool right;

	/* Comments stand before logs. */
	do {
		rc = line_reader_next(t->lines, &line, &length, err);
	} while (rc > 0 && (strspn(line, " \t") == length || *line == '#'));

	if (rc < 0)
		return trace_wrap(t, rc, err);
	if (rc == 0)
		return err_set(err, -EINVAL, "is empty");
	if (trace_is_requests(line))
		return err_set(
			err, -EINVAL,
			"has requests of users, not operations: a phase \"kvcache\" reads it "
			"(arrivals.file)");
	if (strlen(line) == length && trace_log_is_header(line)) {
		rc = trace_log_header(t, line, err);
		return rc < 0 ? trace_wrap(t, rc, err) : 0;
	}
	if (strlen(line) == length && trace_fio_is_header(t, line))
		return 0;
	if (strlen(line) == length && trace_log_is_json(line)) {
		t->form = TRACE_FORM_JSON;
		t->log = true;
		line_reader_again(t->lines); /* it is a row */
		return 0;
	}
	if (strlen(line) == length)
		count = trace_split(line, ',', f, TRACE_FIELDS_FULL + 1);
	right = count == TRACE_FIELDS || count == TRACE_FIELDS_FULL;
	for (unsigned i = 0; right && i < count; i++)
		right = strcmp(f[i], trace_header[i]) == 0;
	t->full = count == TRACE_FIELDS_FULL;
	if (right)
		return 0;
	rc = err_set(
		err, -EINVAL,
		"must be Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase, the header of "
		"a trace, or that of an operation log (with tabs, or lines of JSON) or of fio's "
		"iolog of version 2 or 3");
	return trace_wrap(t, rc, err);
}

int trace_open_lines(struct trace_reader *t, struct line_reader *lines, bool lenient,
		     struct err *err)
{
	int rc;

	*t = (struct trace_reader){.lines = lines, .lenient = lenient};
	rc = trace_read_header(t, err);
	if (rc < 0)
		trace_close(t);
	return rc;
}

int trace_open(struct trace_reader *t, const char *path, bool lenient, struct err *err)
{
	struct line_reader *lines;
	int rc = line_reader_open(&lines, path, err);

	t->lines = NULL;
	return rc < 0 ? rc : trace_open_lines(t, lines, lenient, err);
}

void trace_close(struct trace_reader *t)
{
	line_reader_close(t->lines);
	t->lines = NULL;
}

/* A trace that comes to its end without a row would be replayed as if all were well. */
static int trace_nothing(const struct trace_reader *t, struct err *err)
{
	char passed[TRACE_SKIPPED_BYTES], wrong[TRACE_SKIPPED_BYTES];

	trace_passed_text(t, passed, sizeof(passed));
	trace_skipped_text(t, wrong, sizeof(wrong));
	if (!*passed && !*wrong)
		return err_set(err, -EINVAL, "has no rows, only a header");
	return err_set(err, -EINVAL, "has no rows to replay: %s%s%s", passed,
		       *passed && *wrong ? "; " : "", wrong);
}

int trace_next(struct trace_reader *t, struct trace_row *row, struct err *err)
{
	static int (*const parsers[])(struct trace_reader * t, char *line, struct trace_row *row,
				      enum trace_fault *fault,
				      struct err *err) = {[TRACE_FORM_TABLE] = trace_parse,
							  [TRACE_FORM_LOG] = trace_log_parse,
							  [TRACE_FORM_JSON] = trace_log_parse_json,
							  [TRACE_FORM_FIO] = trace_fio_parse};

	for (;;) {
		enum trace_fault fault = TRACE_FAULT_LONG;
		size_t length;
		char *line;
		int rc = line_reader_next(t->lines, &line, &length, err);

		if (rc == 0)
			return t->rows ? 0 : trace_nothing(t, err);
		if (rc > 0 && strspn(line, " \t") == length)
			continue;
		if (rc == -EBADMSG)
			fault = TRACE_FAULT_CUT;
		else if (rc < 0 && rc != -EMSGSIZE)
			return trace_wrap(t, rc, err);
		if (rc > 0 && strlen(line) < length) {
			fault = TRACE_FAULT_FIELDS;
			rc = err_set(err, -EINVAL, "has a zero byte");
		} else if (rc > 0) {
			rc = parsers[t->form](t, line, row, &fault, err);
		}
		if (rc == TRACE_LOG_PASSED)
			continue;
		if (rc == 0) {
			t->rows++;
			row->line = line_reader_number(t->lines);
			return 1;
		}
		if (!t->lenient)
			return trace_wrap(t, rc, err);
		t->skipped[fault]++;
		if (fault == TRACE_FAULT_CUT) /* nothing can follow */
			return 0;
	}
}

void trace_skipped_text(const struct trace_reader *t, char *out, size_t room)
{
	uint64_t rows = 0;
	int length;

	for (int i = 0; i < TRACE_FAULT_COUNT; i++)
		rows += t->skipped[i];
	*out = '\0';
	if (!rows)
		return;
	length = snprintf(out, room, "%" PRIu64 " %s left out", rows,
			  rows == 1 ? "row was" : "rows were");
	for (int i = 0, said = 0; i < TRACE_FAULT_COUNT && (size_t)length < room; i++)
		if (t->skipped[i])
			length += snprintf(out + length, room - (size_t)length, "%s %" PRIu64 " %s",
					   said++ ? "," : ":", t->skipped[i], fault_names[i]);
}
