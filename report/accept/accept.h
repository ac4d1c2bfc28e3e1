/* SPDX-License-Identifier: Apache-2.0 */
/* Acceptance: whether results meet the criteria that a person has written for a machine. A file of
 * rules is a JSON object:
 *
 *	{"judge": "mean",
 *	 "rules": [{"phase": "read", "least_rate": "20 GB/s", "most_errors": 0}, …]}
 *
 * Each rule names a phase, by its name or kind, and has one criterion or several (accept_kinds). A
 * criterion becomes a rule of core/rule, and the facts that it asks of are those of the phase's tree,
 * as haul report --json has it. It is judged for each combination of each file that has finished the
 * phase, over its repeats: the mean, or with "judge": "interval" the end of its 95 % interval
 * (Student's t) that is nearer to the bound. Of errors, of the share that came from the page cache,
 * and of the client's limits, the worst repeat counts.
 *
 * Without evidence a criterion is unknown, which is never met, and its sentence says what would
 * settle it; so is one by figures that are void, or where nobody can tell that they are not. Results are accepted where every criterion is met. */
#ifndef HAUL_REPORT_ACCEPT_ACCEPT_H
#define HAUL_REPORT_ACCEPT_ACCEPT_H

#include <stdbool.h>

#include "core/claim.h"
#include "core/err.h"
#include "core/rule/rule.h"
#include "facts/document.h"
#include "report/series.h"

/* How the repeats are taken together. */
enum accept_over { ACCEPT_MEAN, ACCEPT_WORST, ACCEPT_VARIATION };
enum { ACCEPT_CRITERIA_MAX = 32 };

struct accept_rule;
extern const struct accept_kind {
	const char *key, *label;
	const char *unit; /* as in core/target.h */
	const char *help;
	const char *fact; /* of the phase's tree */
	const char *why,
		*settles; /* it may be unknown, and what would settle it; NULL: the phase lacks it */
	enum option_kind type; /* of the bound; a flag asks that something is not */
	bool least;            /* the bound is the least, not the most */
	enum accept_over over;
	double possible; /* the most that it may be; 0: unbounded */
	bool finished;   /* runs that did not finish miss it */
	/* In one repeat; NaN where the tree cannot tell it. NULL: the number of the fact. */
	double (*value)(const struct accept_rule *r, const char *fact, const struct cJSON *tree);
} accept_kinds[]; /* the last one has no key */

enum { ACCEPT_RULES_MAX = 128, ACCEPT_NAME_BYTES = 64, ACCEPT_SENTENCE_BYTES = 512 };

struct accept_rule {
	char phase[ACCEPT_NAME_BYTES], histogram[ACCEPT_NAME_BYTES];
	union {
		uint64_t whole;
		double real;
		bool flag;
	} bounds[ACCEPT_CRITERIA_MAX];
};

struct accept_rules {
	uint32_t judge; /* 0: by the mean, 1: by the interval */
	uint32_t count;
	struct accept_rule rules[ACCEPT_RULES_MAX];
};

/* Those of the criteria about the client and about doubts: 1 and more is bad. */
double accept_client(const struct accept_rule *r, const char *fact, const struct cJSON *tree);
double accept_doubts(const struct accept_rule *r, const char *fact, const struct cJSON *tree);

/* Reads the rules from a file. Errno of reading it, or -EINVAL with the path in the file and a
 * sentence. */
int accept_rules_read(struct accept_rules *r, const char *path, struct err *err);

/* Whether the rule has that criterion, and its bound: bytes per second, ns, a share, a count. */
bool accept_bound(const struct accept_rule *r, int criterion, double *bound);

/* A criterion, judged by one combination of a file. */
struct accept_verdict {
	const struct accept_rule *rule;
	const struct accept_kind *kind;
	enum claim_state state;
	const struct results_file *file; /* NULL: no file has finished the phase */
	const struct series_line *line;  /* NULL: the same */
	uint32_t number;                 /* in the order in which they were judged */
	double bound, value;             /* what was judged; NaN: unknown */
	struct stats
		stats; /* over the repeats; without repeats, or where the worst one counts, no interval */
	char sentence[ACCEPT_SENTENCE_BYTES];
};

struct accept {
	struct accept_verdict *verdicts;
	uint32_t count;
	struct claim claim;         /* of all of them */
	struct series_lines *lines; /* [file_count] */
	unsigned file_count;
};

/* false: no memory. Free it in either case. It refers to rules and files. */
bool accept_make(struct accept *a, const struct accept_rules *rules,
		 const struct results_file *const *files, unsigned count);
void accept_free(struct accept *a);

/* Writes what was judged as a document. about: a struct accept. */
document_writer accept_write;

#endif
