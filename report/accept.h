/* SPDX-License-Identifier: Apache-2.0 */
/* Acceptance: whether results meet the criteria that a person has written for a machine. A file of
 * rules is a JSON object:
 *
 *	{"judge": "mean",
 *	 "rules": [{"phase": "read", "least_rate": "20 GB/s", "most_errors": 0}, …]}
 *
 * Each rule names a phase, by its name or kind, and has one criterion or several (ACCEPT_LIST). A
 * criterion is judged for each combination of each file that has finished the phase, over its
 * repeats: the mean, or with "judge": "interval" the end of its 95 % interval (Student's t) that
 * is nearer to the bound. Of errors, of the share that came from the page cache, and of the
 * client's limits, the worst repeat counts.
 *
 * What the file cannot tell is unanswered, which is never met. Results are accepted where every
 * criterion is met. */
#ifndef HAUL_REPORT_ACCEPT_H
#define HAUL_REPORT_ACCEPT_H

#include <stdbool.h>

#include "core/arena.h"
#include "core/err.h"
#include "facts/document.h"
#include "report/series.h"

/* X(enum, key, kind of option, whether it is a least value, label, unit as in core/target.h,
 * help). */
/* clang-format off */
#define ACCEPT_LIST(X) \
	X(RATE, "least_rate", RATE, true, "bandwidth", "B/s", "bytes per second of all ranks") \
	X(WRITE, "least_write_rate", RATE, true, "bandwidth of writing", "B/s", \
	  "bytes per second written by all ranks: checkpoints, caches, replays") \
	X(READ, "least_read_rate", RATE, true, "bandwidth of reading", "B/s", \
	  "bytes per second read by all ranks: checkpoints, caches, replays") \
	X(OPERATIONS, "least_operations", REAL, true, "operations", "1/s", "operations per second") \
	X(SAMPLES, "least_samples", REAL, true, "samples", "1/s", "samples per second") \
	X(AU, "least_au", REAL, true, "AU", "fraction", "accelerator utilisation, 0 to 1") \
	X(P99, "most_p99", TIME, false, "99th percentile", "ns", "of the latencies of the histogram") \
	X(NODES, "least_node_share", REAL, true, "the slowest node", "fraction", \
	  "bytes per second of the slowest node, as a share of the median node's") \
	X(CV, "most_cv", REAL, false, "coefficient of variation", "fraction", \
	  "of the phase's rate over the repeats") \
	X(ERRORS, "most_errors", U64, false, "errors", "", "operations that failed for good, in any repeat") \
	X(CACHED, "most_cached", REAL, false, "share from the page cache", "fraction", \
	  "of the bytes looked at, in any repeat") \
	X(CLIENT, "client_not_limit", BOOL, false, "the client", "", \
	  "the nodes that ran haul were not the limit, in any repeat") \
	X(DOUBT, "no_doubt", BOOL, false, "doubts", "", \
	  "nothing makes the figures void (docs/targets.md), in any repeat") \
	X(CHECKPOINT, "most_checkpoint_time", TIME, false, "time of a checkpoint", "ns", \
	  "until its slowest rank had written it, on average") \
	X(RESTORE, "most_restore_time", TIME, false, "time of a restore", "ns", \
	  "until its slowest rank had read the checkpoint, on average")
#define ACCEPT_TYPE_RATE uint64_t
#define ACCEPT_TYPE_TIME uint64_t
#define ACCEPT_TYPE_U64  uint64_t
#define ACCEPT_TYPE_REAL double
#define ACCEPT_TYPE_BOOL bool
#define ACCEPT_COLUMN_RATE COLUMN_U64
#define ACCEPT_COLUMN_TIME COLUMN_U64
#define ACCEPT_COLUMN_U64  COLUMN_U64
#define ACCEPT_COLUMN_REAL COLUMN_REAL
#define ACCEPT_COLUMN_BOOL COLUMN_FLAG
/* clang-format on */

enum accept_criterion {
#define ACCEPT_ENUM(id, ...) ACCEPT_##id,
	ACCEPT_LIST(ACCEPT_ENUM)
#undef ACCEPT_ENUM
		ACCEPT_CRITERIA
};
extern const struct accept_kind {
	const char *key, *label, *unit;
	bool least;
	enum column_type type; /* of the bound, and where a rule has it */
	size_t offset;
} accept_kinds[ACCEPT_CRITERIA];

enum { ACCEPT_RULES_MAX = 128, ACCEPT_NAME_BYTES = 64, ACCEPT_SENTENCE_BYTES = 512 };

struct accept_rule {
	char phase[ACCEPT_NAME_BYTES], histogram[ACCEPT_NAME_BYTES];
#define ACCEPT_MEMBER(id, key, type, ...) ACCEPT_TYPE_##type bound_##id;
	ACCEPT_LIST(ACCEPT_MEMBER)
#undef ACCEPT_MEMBER
};

struct accept_rules {
	uint32_t judge; /* 0: by the mean, 1: by the interval */
	uint32_t count;
	struct accept_rule rules[ACCEPT_RULES_MAX];
};

/* Reads the rules from a file. Errno of reading it, or -EINVAL with the path in the file and a
 * sentence. */
int accept_rules_read(struct accept_rules *r, const char *path, struct err *err);

/* Whether the rule has that criterion, and its bound as a number: bytes per second, ns, a share, a
 * count. */
bool accept_bound(const struct accept_rule *rule, enum accept_criterion criterion, double *bound);

enum accept_state { ACCEPT_MET, ACCEPT_MISSED, ACCEPT_UNANSWERED, ACCEPT_STATES };
extern const char *const accept_states[ACCEPT_STATES]; /* "met", … */

/* A criterion, judged by one combination of a file. */
struct accept_verdict {
	const struct accept_rule *rule;
	enum accept_criterion criterion;
	enum accept_state state;
	const struct results_file *file; /* NULL: no file has finished the phase */
	const struct series_line *line;  /* NULL: the same */
	double bound, value;             /* what was judged; NaN: unanswered */
	struct stats
		stats; /* over the repeats; without repeats, or where the worst one counts, no interval */
	char sentence[ACCEPT_SENTENCE_BYTES];
};

struct accept {
	struct accept_verdict *verdicts;
	uint32_t count, states[ACCEPT_STATES];
	struct series_lines *lines; /* [file_count] */
	unsigned file_count;
};

/* false: no memory. Free it in either case. It refers to rules and files. */
bool accept_make(struct accept *a, const struct accept_rules *rules,
		 const struct results_file *const *files, unsigned count);
void accept_free(struct accept *a);

/* Whether all criteria are met; there is at least one. */
bool accept_is(const struct accept *a);

/* Writes what was judged as a document. about: a struct accept. */
document_writer accept_write;

/* The value of a criterion in one repeat; NaN where the file cannot tell it. */
double accept_value(const struct results_file *f, const struct results_phase_read *p,
		    const struct accept_rule *rule, enum accept_criterion criterion);

#endif
