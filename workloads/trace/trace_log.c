/* SPDX-License-Identifier: Apache-2.0 */
/* Operation logs as traces: those that haul, warp, s3dlio and elbencho write, plain or compressed by zstd.
 *
 *	idx	thread	op	client_id	n_objects	bytes	endpoint	file	error	start	…
 *	{"op": "GET", "bytes": 4096, "file": "b/k", "start": "2026-01-31T23:59:59.5Z", …}
 *
 *	{ "date": "2026-01-31T23:59:59.500+0100", "op_name": "pread", "entry_name": "7", "offset": 0, "length": 4096, "is_finished": false, … }
 *
 * Columns are found by their names, in capital letters or small ones, since each program has a few of its own. Lines that begin with
 * "#" are comments, and a log without a number of bytes has 0, as s3dlio takes it. elbencho has a line when an operation begins and
 * one when it ends, of which the first is the row; files are called by their descriptors there. A GET is a Read, a PUT a Write, a DELETE of one
 * object a Delete, whatever the program calls it; what is read is a range where the log has offsets. Other operations, and
 * those that failed, are no rows. The key is the name of the object without the protocol. A log has no tiers: its rows are of
 * Tier-2, as those of the first store. Rows are in the order in which operations ended. */
#include "workloads/trace/trace_log.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "core/json.h"
#include "core/numbers.h"
#include "core/time_ns.h"
#include "workloads/trace/fields.h"

/* The names of a column, which programs and versions of them give it. */
/* clang-format off */
#define LOG_COLUMNS(X) \
	X(OP, true, "op", "operation", "op_name") X(BYTES, false, "bytes", "size", "length") \
	X(FILE, true, "file", "path", "uri", "key", "object", "entry_name") \
	X(START, true, "start", "start_time", "timestamp", "t_start", "date") \
	X(ERROR, false, "error", "is_error") X(OBJECTS, false, "n_objects") X(OFFSET, false, "offset") \
	X(ENDED, false, "is_finished")
/* clang-format on */
#define LOG_COLUMN(id, needed, ...) LOG_##id,
enum log_column { LOG_COLUMNS(LOG_COLUMN) LOG_COLUMN_COUNT };
#undef LOG_COLUMN
static_assert((int)LOG_COLUMN_COUNT == (int)TRACE_LOG_COLUMNS, "columns of a log");

enum { LOG_ALIASES = 6 };
static const struct {
	bool needed;
	const char *names[LOG_ALIASES + 1];
} log_columns[] = {
#define LOG_COLUMN(id, needed, ...) {needed, {__VA_ARGS__}},
	LOG_COLUMNS(LOG_COLUMN)
#undef LOG_COLUMN
};

enum {
	LOG_NO_COLUMN = 255,
	LOG_FIELDS_MAX = 64,
	LOG_NUMBER = 336,
	LOG_DEPTH = 8,
	LOG_VALUES = 1024
};

static bool log_is_name(enum log_column column, const char *name)
{
	const char *const *names = log_columns[column].names;

	while (*names && strcasecmp(*names, name) != 0)
		names++;
	return *names != NULL;
}

bool trace_log_is_header(const char *line)
{
	for (bool tabs = strchr(line, '\t') != NULL; tabs && *line; line += *line == '\t') {
		size_t n = strcspn(line, "\t");

		for (const char *const *name = log_columns[LOG_OP].names; *name; name++)
			if (strlen(*name) == n && strncasecmp(*name, line, n) == 0)
				return true;
		if (n == 3 && strncmp(line, "idx", n) == 0)
			return true;
		line += n;
	}
	return false;
}

static int log_missing(enum log_column column, const char *what, struct err *err)
{
	return err_set(err, -EINVAL, "is %s an operation log without the column \"%s\"", what,
		       log_columns[column].names[0]);
}

int trace_log_header(struct trace_reader *t, char *line, struct err *err)
{
	char *f[LOG_FIELDS_MAX + 1];

	t->log = true;
	t->form = TRACE_FORM_LOG;
	t->log_fields = trace_split(line, '\t', f, LOG_FIELDS_MAX + 1);
	if (t->log_fields > LOG_FIELDS_MAX)
		return err_set(err, -EINVAL, "has more than %d columns", LOG_FIELDS_MAX);
	for (int k = 0; k < LOG_COLUMN_COUNT; k++) {
		t->log_column[k] = LOG_NO_COLUMN;
		for (unsigned i = t->log_fields; i--;)
			if (log_is_name(k, f[i]))
				t->log_column[k] = (uint8_t)i;
		if (log_columns[k].needed && t->log_column[k] == LOG_NO_COLUMN)
			return log_missing(k, "the header of", err);
	}
	return 0;
}

/* A number of seconds, ms, us or ns since 1970, as its size tells. */
static bool log_epoch(uint64_t value, uint64_t *ns)
{
	uint64_t unit = NS_PER_S, most = TRACE_SECONDS_MAX;

	for (; unit > 1 && value > most; most *= 1000)
		unit /= 1000;
	*ns = value * unit;
	return value <= most;
}

/* "2026-01-31T23:59:59.000000001Z", as RFC 3339 has it. */
static bool log_time(const char *text, uint64_t *ns)
{
	struct tm tm = {.tm_isdst = 0};
	const char *at = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	int64_t seconds, zone;
	uint64_t part;

	if (trace_number(text, UINT64_MAX / 16, &part))
		return log_epoch(part, ns);
	if (!at || !trace_part(&at, &part) || !trace_zone(at, &zone))
		return false;
	seconds = (int64_t)timegm(&tm) - zone;
	if (seconds < 0 || seconds > (int64_t)TRACE_SECONDS_MAX)
		return false;
	*ns = (uint64_t)seconds * NS_PER_S + part;
	return true;
}

/* The name of an object without what says where the store is. */
static const char *log_key(const char *file)
{
	const char *protocol = strstr(file, "://");

	if (protocol)
		file = protocol + 3;
	while (*file == '/' || (file[0] == '.' && file[1] == '/'))
		file++;
	return file;
}

static bool log_operation(const char *op, struct trace_row *row)
{
	static const struct {
		const char *word;
		enum trace_operation operation;
		bool part;
	} words[] = {{"GET", TRACE_READ, false},
		     {"GET_RANGE", TRACE_READ, false},
		     {"GETRANGE", TRACE_READ, false},
		     {"RANGE_GET", TRACE_READ, false},
		     {"GETPART", TRACE_READ, false},
		     {"GET_PART", TRACE_READ, false},
		     {"GETOBJECT", TRACE_READ, false},
		     {"GET_OBJECT", TRACE_READ, false},
		     {"READ", TRACE_READ, false},
		     {"PUT", TRACE_WRITE, false},
		     {"PUTOBJECT", TRACE_WRITE, false},
		     {"PUT_OBJECT", TRACE_WRITE, false},
		     {"WRITE", TRACE_WRITE, false},
		     {"PUTPART", TRACE_WRITE, true},
		     {"PUT_PART", TRACE_WRITE, true},
		     {"UPLOADPART", TRACE_WRITE, true},
		     {"UPLOAD_PART", TRACE_WRITE, true},
		     {"MULTIPART_PUT", TRACE_WRITE, false},
		     {"PUT_MULTIPART", TRACE_WRITE, false},
		     {"PREAD", TRACE_READ, false},
		     {"AIOREAD", TRACE_READ, false},
		     {"CUFILEREAD", TRACE_READ, false},
		     {"HDFSPREAD", TRACE_READ, false},
		     {"S3GETOBJECT", TRACE_READ, false},
		     {"S3GETOBJECTASYNC", TRACE_READ, false},
		     {"PWRITE", TRACE_WRITE, true},
		     {"AIOWRITE", TRACE_WRITE, true},
		     {"CUFILEWRITE", TRACE_WRITE, true},
		     {"HDFSWRITE", TRACE_WRITE, true},
		     {"S3PUTOBJECT", TRACE_WRITE, false},
		     {"S3UPLOADPART", TRACE_WRITE, true},
		     {"S3UPLOADPARTASYNC", TRACE_WRITE, true},
		     {"UNLINKAT", TRACE_DELETE, false},
		     {"S3DELETEOBJECT", TRACE_DELETE, false},
		     {"DELETE", TRACE_DELETE, false},
		     {"DELETEOBJECT", TRACE_DELETE, false},
		     {"DELETE_OBJECT", TRACE_DELETE, false}};

	for (size_t i = 0; i < COUNT(words); i++) {
		row->operation = words[i].operation;
		row->part = words[i].part;
		if (strcasecmp(op, words[i].word) == 0)
			return true;
	}
	return false;
}

/* Programs say in several ways that there was none. */
static bool log_failed(const char *error)
{
	static const char *const none[] = {"", "null", "nil", "<nil>", "none", "-", "false", "ok"};

	for (size_t i = 0; i < COUNT(none); i++)
		if (strcasecmp(error, none[i]) == 0)
			return false;
	return true;
}

/* Whether it is a row: an operation that trace rows have, of one object, which did not fail. */
static bool log_wanted(struct trace_reader *t, const char *const *f, struct trace_row *row)
{
	uint64_t n = 1;

	if (strcasecmp(f[LOG_ENDED], "true") == 0)
		return false;
	if (!log_operation(f[LOG_OP], row)) {
		trace_pass(t, "", f[LOG_OP]);
		return false;
	}
	if (log_failed(f[LOG_ERROR])) {
		trace_pass(t, "failed ", f[LOG_OP]);
		return false;
	}
	if (!trace_number(f[LOG_OBJECTS], UINT32_MAX, &n) || n <= 1)
		return true;
	trace_pass(t, "several of ", f[LOG_OP]);
	return false;
}

/* A row by its columns; those that a log does not have are "". */
static int log_row(struct trace_reader *t, const char *const f[LOG_COLUMN_COUNT],
		   struct trace_row *row, enum trace_fault *fault, struct err *err)
{
	*row = (struct trace_row){.tier = TRACE_LOG_TIER,
				  .origin = {.request = TRACE_NOBODY, .user = TRACE_NOBODY}};
	if (!log_wanted(t, f, row))
		return TRACE_LOG_PASSED;
	if (!log_time(f[LOG_START], &row->ns))
		return trace_refuse(fault, TRACE_FAULT_TIME, err,
				    "start must be a time such as 2026-01-31T23:59:59.5Z",
				    f[LOG_START]);
	if (f[LOG_BYTES][0] && !trace_number(f[LOG_BYTES], TRACE_BYTES_MAX, &row->bytes))
		return trace_refuse(fault, TRACE_FAULT_SIZE, err,
				    "bytes must be a number of bytes, at most 1 PiB", f[LOG_BYTES]);
	if (f[LOG_OFFSET][0] && !trace_number(f[LOG_OFFSET], TRACE_BYTES_MAX, &row->offset))
		return trace_refuse(fault, TRACE_FAULT_SIZE, err,
				    "offset must be a number of bytes, at most 1 PiB",
				    f[LOG_OFFSET]);
	row->part = row->part && !f[LOG_OFFSET][0];
	row->phase = row->operation == TRACE_READ    ? TRACE_DECODE
		     : row->operation == TRACE_WRITE ? TRACE_PREFILL
						     : TRACE_EVICT;
	return trace_take_key(t, log_key(f[LOG_FILE]), row, fault, err);
}

int trace_log_parse(struct trace_reader *t, char *line, struct trace_row *row,
		    enum trace_fault *fault, struct err *err)
{
	const char *values[LOG_COLUMN_COUNT];
	char *f[LOG_FIELDS_MAX + 1];
	unsigned count;

	if (line[strspn(line, " ")] == '#')
		return TRACE_LOG_PASSED;
	count = trace_split(line, '\t', f, LOG_FIELDS_MAX + 1);
	if (count != t->log_fields) {
		*fault = TRACE_FAULT_FIELDS;
		return err_set(err, -EINVAL, "has %u fields and not %u", count, t->log_fields);
	}
	for (int k = 0; k < LOG_COLUMN_COUNT; k++)
		values[k] = t->log_column[k] == LOG_NO_COLUMN ? "" : f[t->log_column[k]];
	return log_row(t, values, row, fault, err);
}

bool trace_log_is_json(const char *line)
{
	return line[strspn(line, " \t")] == '{';
}

/* The value of a column in an object, as text; numbers in text[]. NULL: it is neither. */
static const char *json_value(const cJSON *root, enum log_column column, char text[LOG_NUMBER])
{
	const cJSON *item = NULL;

	for (const char *const *name = log_columns[column].names; *name && !item; name++)
		item = cJSON_GetObjectItem(root, *name); /* in capital letters, too */
	if (!item)
		return NULL;
	if (cJSON_IsString(item))
		return item->valuestring;
	if (!cJSON_IsNumber(item))
		return cJSON_IsTrue(item) ? "true" : "";
	snprintf(text, LOG_NUMBER, "%.0f", item->valuedouble);
	return text;
}

int trace_log_parse_json(struct trace_reader *t, char *line, struct trace_row *row,
			 enum trace_fault *fault, struct err *err)
{
	char numbers[LOG_COLUMN_COUNT][LOG_NUMBER];
	const char *values[LOG_COLUMN_COUNT];
	cJSON *root = NULL;
	int rc;

	if (line[strspn(line, " \t")] == '#')
		return TRACE_LOG_PASSED;
	rc = json_parse(&root, line, strlen(line), LOG_DEPTH, LOG_VALUES, err);
	*fault = TRACE_FAULT_FIELDS;
	for (int k = 0; rc == 0 && k < LOG_COLUMN_COUNT; k++) {
		values[k] = json_value(root, k, numbers[k]);
		if (!values[k] && log_columns[k].needed)
			rc = log_missing(k, "a row of", err);
		if (!values[k])
			values[k] = "";
	}
	if (rc == 0)
		rc = log_row(t, values, row, fault, err);
	cJSON_Delete(root);
	return rc;
}
