/* Operation logs as traces: those that haul, warp and s3dlio write, plain or compressed by zstd.
 *
 *	idx	thread	op	client_id	n_objects	bytes	endpoint	file	error	start	…
 *
 * Columns are found by their names, since each program has a few of its own. A GET is a Read, a PUT a Write, a DELETE of one
 * object a Delete; what is read is a range where the log has offsets. Other operations, and those that failed, are no rows. The
 * key is the name of the object without the protocol. A log has no tiers: its rows are of Tier-2, as those of the first store.
 * Rows are in the order in which operations ended. */
#include "workloads/trace/trace_log.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "core/numbers.h"
#include "core/time_ns.h"
#include "workloads/trace/fields.h"

/* clang-format off */
#define LOG_COLUMNS(X) \
	X(OP, "op", true) X(BYTES, "bytes", true) X(FILE, "file", true) X(START, "start", true) \
	X(ERROR, "error", true) X(OBJECTS, "n_objects", false) X(OFFSET, "offset", false)
/* clang-format on */
#define LOG_COLUMN(id, name, needed) LOG_##id,
enum log_column { LOG_COLUMNS(LOG_COLUMN) LOG_COLUMN_COUNT };
#undef LOG_COLUMN
static_assert((int)LOG_COLUMN_COUNT == (int)TRACE_LOG_COLUMNS, "columns of a log");

static const struct {
	const char *name;
	bool needed;
} log_columns[] = {
#define LOG_COLUMN(id, name, needed) {name, needed},
	LOG_COLUMNS(LOG_COLUMN)
#undef LOG_COLUMN
};

enum { LOG_NO_COLUMN = 255, LOG_FIELDS_MAX = 64 };

bool trace_log_is_header(const char *line)
{
	return strncmp(line, "idx\t", 4) == 0;
}

int trace_log_header(struct trace_reader *t, char *line, struct err *err)
{
	char *f[LOG_FIELDS_MAX + 1];

	t->log = true;
	t->log_fields = trace_split(line, '\t', f, LOG_FIELDS_MAX + 1);
	if (t->log_fields > LOG_FIELDS_MAX)
		return err_set(err, -EINVAL, "has more than %d columns", LOG_FIELDS_MAX);
	for (int k = 0; k < LOG_COLUMN_COUNT; k++) {
		t->log_column[k] = LOG_NO_COLUMN;
		for (unsigned i = 0; i < t->log_fields; i++)
			if (strcmp(f[i], log_columns[k].name) == 0)
				t->log_column[k] = (uint8_t)i;
		if (log_columns[k].needed && t->log_column[k] == LOG_NO_COLUMN)
			return err_set(
				err, -EINVAL,
				"is the header of an operation log without the column \"%s\"",
				log_columns[k].name);
	}
	return 0;
}

/* "2026-01-31T23:59:59.000000001Z", as RFC 3339 has it. */
static bool log_time(const char *text, uint64_t *ns)
{
	struct tm tm = {.tm_isdst = 0};
	const char *at = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	int64_t seconds, zone;
	uint64_t part;

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

static bool log_operation(const char *op, uint32_t *operation)
{
	static const struct {
		const char *word;
		enum trace_operation operation;
	} words[] = {{"GET", TRACE_READ}, {"PUT", TRACE_WRITE}, {"DELETE", TRACE_DELETE}};

	for (size_t i = 0; i < COUNT(words); i++) {
		*operation = words[i].operation;
		if (strcmp(op, words[i].word) == 0)
			return true;
	}
	return false;
}

/* Whether it is a row: an operation that trace rows have, of one object, which did not fail. */
static bool log_wanted(const struct trace_reader *t, char *const *f, struct trace_row *row)
{
	uint8_t objects = t->log_column[LOG_OBJECTS];
	uint64_t n = 1;

	if (!log_operation(f[t->log_column[LOG_OP]], &row->operation) ||
	    f[t->log_column[LOG_ERROR]][0])
		return false;
	return objects == LOG_NO_COLUMN || !trace_number(f[objects], UINT32_MAX, &n) || n <= 1;
}

int trace_log_parse(struct trace_reader *t, char *line, struct trace_row *row,
		    enum trace_fault *fault, struct err *err)
{
	char *f[LOG_FIELDS_MAX + 1];
	uint8_t offset = t->log_column[LOG_OFFSET];
	unsigned count;

	*row = (struct trace_row){.tier = TRACE_LOG_TIER,
				  .origin = {.request = TRACE_NOBODY, .user = TRACE_NOBODY}};
	if (*line == '#')
		return TRACE_LOG_PASSED;
	count = trace_split(line, '\t', f, LOG_FIELDS_MAX + 1);
	if (count != t->log_fields) {
		*fault = TRACE_FAULT_FIELDS;
		return err_set(err, -EINVAL, "has %u fields and not %u", count, t->log_fields);
	}
	if (!log_wanted(t, f, row)) {
		t->passed++;
		return TRACE_LOG_PASSED;
	}
	if (!log_time(f[t->log_column[LOG_START]], &row->ns))
		return trace_refuse(fault, TRACE_FAULT_TIME, err,
				    "start must be a time such as 2026-01-31T23:59:59.5Z",
				    f[t->log_column[LOG_START]]);
	if (!trace_number(f[t->log_column[LOG_BYTES]], TRACE_BYTES_MAX, &row->bytes))
		return trace_refuse(fault, TRACE_FAULT_SIZE, err,
				    "bytes must be a number of bytes, at most 1 PiB",
				    f[t->log_column[LOG_BYTES]]);
	if (offset != LOG_NO_COLUMN && !trace_number(f[offset], TRACE_BYTES_MAX, &row->offset))
		return trace_refuse(fault, TRACE_FAULT_SIZE, err,
				    "offset must be a number of bytes, at most 1 PiB", f[offset]);
	row->phase = row->operation == TRACE_READ    ? TRACE_DECODE
		     : row->operation == TRACE_WRITE ? TRACE_PREFILL
						     : TRACE_EVICT;
	return trace_take_key(t, log_key(f[t->log_column[LOG_FILE]]), row, fault, err);
}
