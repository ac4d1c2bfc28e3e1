/* Traces of key-value caches: the table that MLPerf's benchmark writes with --io-trace-log, plain or compressed by zstd.
 *
 *	Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
 *	1795305706.932717,Write,273014784,Tier-0,conv_user_0000_1795305706932_turn_1,Prefill
 *
 * Times are seconds with six decimals. Rows end in "\r\n", and a field is quoted where it has to be, as Python's csv does
 * it. A reader also takes "\n".
 *
 *	trace_read.c   reading: strict, with the numbers of lines
 *	trace_write.c  writing; the rows of what tiers do
 *
 * One thread each. */
#ifndef HAUL_WORKLOADS_KVCACHE_TRACE_H
#define HAUL_WORKLOADS_KVCACHE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

/* Bounds of a row: a key that could be an object's name, 1 PiB, the year 2242. */
enum { TRACE_KEY_MAX = 400, TRACE_TIERS = 8 };
#define TRACE_BYTES_MAX   (UINT64_C(1) << 50)
#define TRACE_SECONDS_MAX (UINT64_C(1) << 33)

/* clang-format off */
#define TRACE_OPERATIONS(X) X(READ, "Read") X(WRITE, "Write")
#define TRACE_PHASES(X) X(PREFILL, "Prefill") X(DECODE, "Decode") X(EVICT, "Evict")
/* What can be wrong with a row. */
#define TRACE_FAULTS(X) \
	X(FIELDS, "not six fields") X(TIME, "no time") X(OPERATION, "unknown operations") \
	X(SIZE, "no size") X(TIER, "unknown tiers") X(KEY, "keys that cannot be names") \
	X(PHASE, "unknown phases") X(LONG, "too long") X(CUT, "broken or cut off")
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

extern const char *const trace_operation_names[], *const trace_phase_names[];

struct trace_row {
	uint64_t ns; /* of the epoch that the trace has */
	uint64_t bytes;
	uint32_t operation, tier, phase;
	size_t key_length;
	const char *key; /* ends in a zero byte; valid until the next row is read */
};

struct line_reader;
struct text_writer;

struct trace_reader {
	struct line_reader *lines;
	bool lenient;
	uint64_t rows;
	uint64_t skipped[TRACE_FAULT_COUNT]; /* lenient: rows left out */
	char key[TRACE_KEY_MAX + 1];
};

/* Opens a trace and reads its header, which must be right also where lenient. lenient: a row that is wrong is left out and
 * counted, else it is an error. Errors with a sentence that begins with "line N: " where it is about a line, and that does
 * not name the path. */
int trace_open(struct trace_reader *t, const char *path, bool lenient, struct err *err);
int trace_open_memory(struct trace_reader *t, const void *data, size_t bytes, bool lenient,
		      struct err *err);
void trace_close(struct trace_reader *t);

/* The next row: 1, or 0 at the end; -EINVAL and others with a sentence. */
int trace_next(struct trace_reader *t, struct trace_row *row, struct err *err);

/* "3 rows were left out: 2 with no size, 1 with unknown tiers"; "" where there are none. */
void trace_skipped_text(const struct trace_reader *t, char *out, size_t room);

struct trace_writer {
	struct text_writer *text;
	uint64_t rows;
};

/* path: compressed where it ends in ".zst". */
int trace_create(struct trace_writer *w, const char *path, bool force, struct err *err);
void trace_write(struct trace_writer *w, const struct trace_row *row);
/* Returns the first error of all. */
int trace_finish(struct trace_writer *w, const char *path, struct err *err);

/* For kv_tiers: writes the rows of each event, or hands them to `row`. A read is a row, and so is a write; what moves is a
 * read and a write; deleting is none. A copy that moves up has the phase of one that moves down. */
struct kv_event;
struct kv_names;
struct trace_events {
	struct trace_writer *to; /* NULL: row takes them */
	void (*row)(void *argument, const struct trace_row *row);
	void *argument;
	const struct kv_names *names; /* of KV_KEY_NAMED; NULL: there are none */
	uint64_t now_ns;              /* time of the rows */
};
void trace_event(void *events, const struct kv_event *e);

#endif
