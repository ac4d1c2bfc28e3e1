/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of key-value caches: the table that MLPerf's benchmark writes with --io-trace-log, plain or compressed by zstd or gzip.
 *
 *	Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
 *	1795305706.932717,Write,273014784,Tier-0,conv_user_0000_1795305706932_turn_1,Prefill
 *
 * Times are seconds with six decimals. Rows end in "\r\n", and a field is quoted where it has to be, as Python's csv does
 * it. A reader also takes "\n".
 *
 * A full table has Delete as a third operation, and four columns more: who asked (the number of the request on its rank and its
 * user, both empty where nobody did; the rank), and how long it took (0 where no I/O was done):
 *
 *	…,Phase,Request,User,Rank,Latency_ns
 *
 * Operation logs of haul, warp, s3dlio and elbencho (also as lines of JSON) and iologs of fio are read as traces, too. What of them cannot
 * be a row is counted by its name.
 *
 *	trace_read.c   reading: strict, with the numbers of lines; trace_log.c: operation logs;
 *	trace_fio.c: iologs; trace_write.c: what is left out; fields.c: for all
 *	trace_write.c  writing, also for programs that take other formats
 *
 * One thread each. */
#ifndef HAUL_WORKLOADS_TRACE_TRACE_H
#define HAUL_WORKLOADS_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

/* Bounds of a row: a key as long as an object store's, 1 PiB, the year 2242. */
enum { TRACE_KEY_MAX = 1024, TRACE_TIERS = 8, TRACE_LOG_COLUMNS = 8, TRACE_PASSED_MAX = 12 };
#define TRACE_BYTES_MAX   (UINT64_C(1) << 50)
#define TRACE_SECONDS_MAX (UINT64_C(1) << 33)

/* clang-format off */
/* Delete is last: only full tables have it. */
#define TRACE_OPERATIONS(X) X(READ, "Read") X(WRITE, "Write") X(DELETE, "Delete")
#define TRACE_PHASES(X) X(PREFILL, "Prefill") X(DECODE, "Decode") X(EVICT, "Evict")
/* What can be wrong with a row. */
#define TRACE_FAULTS(X) \
	X(FIELDS, "not as many fields as the header") X(TIME, "no time") X(OPERATION, "unknown operations") \
	X(SIZE, "no size") X(TIER, "unknown tiers") X(KEY, "keys that cannot be names") \
	X(PHASE, "unknown phases") X(ORIGIN, "no request, user, rank or latency") \
	X(LONG, "too long") X(CUT, "broken or cut off")
/* What a trace is written as: the six columns; all of them; fio's iolog; warp's operation log. */
#define TRACE_FORMATS(X) X(CSV, "csv") X(FULL, "full") X(FIO, "fio") X(WARP, "warp")
/* clang-format on */
#define TRACE_OPERATION(id, name) TRACE_##id,
enum trace_operation { TRACE_OPERATIONS(TRACE_OPERATION) TRACE_OPERATION_COUNT };
#undef TRACE_OPERATION
#define TRACE_PHASE(id, name) TRACE_##id,
enum trace_phase { TRACE_PHASES(TRACE_PHASE) TRACE_PHASE_COUNT };
#undef TRACE_PHASE
#define TRACE_FAULT(id, name) TRACE_FAULT_##id,
enum trace_fault { TRACE_FAULTS(TRACE_FAULT) TRACE_FAULT_COUNT };
#undef TRACE_FAULT

#define TRACE_FORMAT(id, name) TRACE_FORMAT_##id,
enum trace_format { TRACE_FORMATS(TRACE_FORMAT) TRACE_FORMAT_COUNT };
#undef TRACE_FORMAT

extern const char *const trace_operation_names[], *const trace_phase_names[];
extern const char *const trace_format_names[]; /* ends in NULL */

/* Who asked for an operation. Only full tables have it. */
#define TRACE_NOBODY UINT64_MAX
struct trace_origin {
	uint64_t request, user; /* TRACE_NOBODY: nobody asked for it */
	uint64_t latency_ns;
	uint32_t rank;
};

struct trace_row {
	uint64_t ns; /* of the epoch that the trace has */
	uint64_t bytes;
	uint64_t offset; /* of a read: only operation logs have it */
	uint64_t line;   /* where it stands; 0 where it was made */
	uint32_t operation, tier, phase;
	bool part; /* of a write: it follows the part before it, wherever that ended */
	size_t key_length;
	const char *key;            /* ends in a zero byte; valid until the next row is read */
	struct trace_origin origin; /* nobody, rank 0, where the trace has six columns */
};

struct line_reader;
struct text_writer;

/* What a text is, by its first line. */
enum trace_form { TRACE_FORM_TABLE, TRACE_FORM_LOG, TRACE_FORM_JSON, TRACE_FORM_FIO };

/* Rows of a name that are no rows of a trace: "LIST", "failed GET". */
struct trace_passed {
	char name[32];
	uint64_t count;
};

struct trace_reader {
	struct line_reader *lines;
	enum trace_form form;
	bool lenient, full;
	bool log; /* an operation log, whose rows are in the order in which operations ended */
	uint8_t log_column[TRACE_LOG_COLUMNS];
	unsigned log_fields;
	uint64_t
		passed; /* rows of a log that are no rows of a trace: other operations, and those that failed */
	struct trace_passed passed_by[TRACE_PASSED_MAX]; /* the last one: all further names */
	/* Of a log: bytes that it read and wrote, and those that its rows do: an object is written
	 * whole or not at all. */
	uint64_t log_bytes, row_bytes;
	bool fio_times;  /* its lines begin with a time */
	uint64_t fio_ns; /* of the last line */
	uint64_t rows;
	uint64_t skipped[TRACE_FAULT_COUNT]; /* lenient: rows left out */
	char key[TRACE_KEY_MAX + 1];
};

/* Opens a trace and reads its header, which must be right also where lenient. lenient: a row that
 * is wrong is left out and counted, else it is an error. Errors with a sentence that begins with
 * "line N: " where it is about a line, and that does not name the path. */
int trace_open(struct trace_reader *t, const char *path, bool lenient, struct err *err);
/* The same of what a reader reads, which then belongs to the trace, also after an error. */
int trace_open_lines(struct trace_reader *t, struct line_reader *lines, bool lenient,
		     struct err *err);
void trace_close(struct trace_reader *t);

/* The next row: 1, or 0 at the end; -EINVAL and others with a sentence. */
int trace_next(struct trace_reader *t, struct trace_row *row, struct err *err);

/* "3 rows were left out: 2 with no size, 1 with unknown tiers"; "" where there are none. */
enum { TRACE_SKIPPED_BYTES = 256 };
void trace_skipped_text(const struct trace_reader *t, char *out, size_t room);

/* Whether a replay of the log moves other bytes than the log did, by more than 1 %. */
bool trace_bytes_differ(const struct trace_reader *t);

/* "14 operations were left out: 10 LIST, 4 failed GET", behind the bytes where they differ; "" where
 * there is nothing to say. */
void trace_passed_text(const struct trace_reader *t, char *out, size_t room);

/* Writes a key at `at` with all bytes but letters, digits, "-" and "_" as "%2F", so that it is a
 * file's name without blanks and folders, and returns its end, a zero byte. At most 3 *
 * TRACE_KEY_MAX + 1 bytes. */
char *trace_escape(char *at, const char *key);

struct trace_names;

struct trace_writer {
	struct text_writer *text;
	enum trace_format format;
	uint64_t rows;
	/* For fio: */
	uint64_t piece;            /* bytes of a line of fio at most */
	uint64_t first_us;         /* time of the first row, from which fio counts */
	struct trace_names *names; /* files that fio knows already */
	bool failed;               /* no memory for them */
};

/* path: compressed where it ends in ".zst". */
/* piece: bytes of a read or write, for formats that have no whole objects. */
int trace_create(struct trace_writer *w, const char *path, enum trace_format format, uint64_t piece,
		 bool force, struct err *err);
/* Deletes are for formats that have them: see trace_deletes. */
void trace_write(struct trace_writer *w, const struct trace_row *row);
/* Whether a format has rows for deletes. */
static inline bool trace_deletes(enum trace_format format)
{
	return format == TRACE_FORMAT_FULL || format == TRACE_FORMAT_WARP;
}
/* Returns the first error of all. */
int trace_finish(struct trace_writer *w, const char *path, struct err *err);

/* names.c. Names: texts that get numbers, such as the keys of a trace, and are found again by them. A text
 * has the same number each time. Memory is given back only by trace_names_free. One thread. */

enum { TRACE_NAMES_BLOCK = 1 << 20 };

struct trace_names {
	char **texts;     /* [count], each with a zero byte behind it */
	uint32_t *places; /* hash table of numbers, at most half full; UINT32_MAX: empty */
	uint32_t count, room;
	char **blocks; /* where the texts are */
	uint64_t block_count, block_room;
	size_t used; /* of the last block */
};

/* A zeroed struct has no names. Returns 0 or -ENOMEM. text: less than TRACE_NAMES_BLOCK bytes. */
int trace_names_add(struct trace_names *n, const char *text, size_t length, uint32_t *number);
void trace_names_free(struct trace_names *n);

static inline const char *trace_names_text(const struct trace_names *n, uint64_t number)
{
	return n->texts[number];
}

#endif
