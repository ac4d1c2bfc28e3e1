/* What a phase counts: measures, figures, histograms, a timeline and the first failures, declared in
 * tables beside the workload that counts them. Columns in results.h5, keys in JSON, labels in the
 * report and the reduction over ranks all come from these tables, so nobody else knows a workload.
 *
 * Measures are uint64_t; figures are doubles computed from a row of measures (also from a merged
 * row), NaN where undefined. */
#ifndef HAUL_CORE_MEASURE_TALLY_H
#define HAUL_CORE_MEASURE_TALLY_H

#include <stdint.h>

#include "core/err.h"
#include "core/group/group.h"
#include "core/measure/hist.h"

struct measure {
	/* lower case with underscores, unit at the end where it has one: wall_ns */
	const char *name;
	/* "ns", "bytes", "" for counts, "id" for sums of ids (decimal strings in JSON) */
	const char *unit;
	enum merge merge;
	const char *help;
};

struct figure {
	const char *name;
	const char *unit; /* "fraction", "s", "B/s", … */
	double (*value)(const uint64_t *row);
	const char *help;
};

struct columns {
	const struct measure *measures;
	uint32_t measure_count;
	const struct figure *figures;
	uint32_t figure_count;
};

struct hist_kind {
	const char *name; /* "read", "open", "read_response", "sample", "step_stall" … */
	const char *help;
};

/* Every workload's rank columns begin with these measures, in this order, so that a summary can be
 * made of any phase. TALLY_COMMON_MEASURES is the initialiser of their rows, TALLY_COMMON_FIGURES of
 * the figures made of them, which stand among every workload's. The workload counts them, but for the
 * processor time and the operation log's, which whoever runs the phase puts there. */
enum tally_common {
	TALLY_WALL_NS,
	TALLY_BYTES_READ,
	TALLY_BYTES_WRITTEN,
	TALLY_OPERATIONS,
	TALLY_ERRORS,
	TALLY_RETRIES,
	TALLY_CPU_USER_NS,
	TALLY_CPU_SYSTEM_NS,
	TALLY_OP_LOG_DROPPED,
	TALLY_COMMON
};
/* clang-format off */
#define TALLY_COMMON_MEASURES \
	{"wall_ns", "ns", MERGE_MAX, "time this rank spent in the phase"}, \
	{"bytes_read", "bytes", MERGE_SUM, "bytes received from the store"}, \
	{"bytes_written", "bytes", MERGE_SUM, "bytes the store accepted"}, \
	{"operations", "", MERGE_SUM, "requests completed, of every kind"}, \
	{"errors", "", MERGE_SUM, "requests that failed for good"}, \
	{"retries", "", MERGE_SUM, "attempts beyond the first"}, \
	{"cpu_user_ns", "ns", MERGE_SUM, "processor time of the ranks' processes, user"}, \
	{"cpu_system_ns", "ns", MERGE_SUM, "processor time of the ranks' processes, system"}, \
	{"op_log_dropped", "", MERGE_SUM, "requests without a row in the operation log"}
#define TALLY_COMMON_FIGURES \
	{"cpu_s_per_GB", "s/GB", tally_cpu_per_gb, \
	 "processor seconds of the ranks' processes for 10^9 bytes read or written"}
/* clang-format on */

/* NaN where nothing was moved. */
double tally_cpu_per_gb(const uint64_t *row);

/* The timeline: one row an interval, merged by adding. */
enum tally_second {
	SECOND_BYTES_READ,
	SECOND_BYTES_WRITTEN,
	SECOND_OPERATIONS,
	SECOND_STALLED_NS,
	SECOND_WORDS
};
enum {
	TALLY_SECONDS = 1024,
	TALLY_FAILURES = 16,
	FAILURE_OBJECT_BYTES = 256,
	FAILURE_TEXT_BYTES = 128
};

struct timeline {
	uint64_t start_ns;
	uint64_t interval_ns; /* 1 s, doubled (rows folded) whenever the rows run out */
	uint32_t rows;        /* in use */
	uint64_t row[TALLY_SECONDS][SECOND_WORDS];
};

/* One failed request, whole. A fixed record, gathered by rank 0. */
struct failure {
	uint64_t time_ns; /* since the phase's start */
	uint64_t offset, length;
	uint32_t rank, node;
	int32_t error; /* negative errno */
	uint32_t protocol_status;
	uint32_t attempts;
	uint32_t epoch, step; /* 0 where there are none */
	char operation[16];
	char object[FAILURE_OBJECT_BYTES];
	/* what it means: "payload differs at byte 4096", strerror … */
	char text[FAILURE_TEXT_BYTES];
};

struct tally_schema {
	struct columns rank;  /* a row a rank */
	struct columns epoch; /* a row an epoch and rank; no measures where a phase has no epochs */
	const struct hist_kind *hists;
	uint32_t hist_count;
	/* whose percentiles the summary shows when it is not empty, else the next that is not */
	uint32_t main_hist;
};

/* One rank's results of one phase. Owned by the rank's main thread. */
struct tally {
	const struct tally_schema *schema;
	uint64_t *rank_row;              /* [schema->rank.measure_count] */
	uint64_t *epoch_rows;            /* [epochs][schema->epoch.measure_count] */
	uint32_t epochs, epoch_capacity; /* capacity: the job's epochs, evaluations included */
	struct hist *hists;              /* [schema->hist_count] */
	struct timeline *timeline;
	struct failure failures[TALLY_FAILURES];
	uint32_t failure_count; /* may exceed TALLY_FAILURES: only the first are kept */
	uint32_t endpoint_count;
	struct tally_endpoint *endpoints; /* core/measure/endpoints.h */
};

int tally_init(struct tally *t, const struct tally_schema *schema, uint32_t epoch_capacity,
	       struct err *err);
void tally_free(struct tally *t);

/* Merges rows column by column as their table says (into may start as a copy of the first). */
void tally_merge_row(const struct columns *columns, uint64_t *into, const uint64_t *from);

/* The row reduced over a group to rank 0, by two reductions (sums; maxima with minima inverted). */
int tally_reduce_row(const struct columns *columns, struct group *g, uint64_t *row);

void timeline_init(struct timeline *t, uint64_t start_ns);
void timeline_add(struct timeline *t, uint64_t now_ns, enum tally_second what, uint64_t amount);
/* Spreads the interval [from, to) over the rows it touches. */
void timeline_add_span(struct timeline *t, uint64_t from_ns, uint64_t to_ns,
		       enum tally_second what);
void timeline_fold(struct timeline *t, uint64_t interval_ns); /* coarsens to interval_ns */
void timeline_merge(struct timeline *into, const struct timeline *from); /* folds as needed */

/* Keeps the failure if there is room, counts it anyway. */
void tally_fail(struct tally *t, const struct failure *f);

#endif
