/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of a benchmark's edition as data, and one engine that judges by them. A file of rules:
 *
 *	{"edition": "MLPerf Storage 3.0",
 *	 "rules": [{"name": "training.steps", "number": "3.1.2", "about": "steps per epoch",
 *		    "when": [{"fact": "kind", "texts": ["train"]}],
 *		    "asks": {"fact": "needs.steps", "is": "least", "value": 500}}]}
 *
 * What is judged is a tree of JSON, in which a fact is a path: "needs.steps". A condition
 * compares it with a number, with a number times another fact ("of"), or with texts. A rule applies
 * where all of "when" hold and none of "unless" does; what they name and the tree does not have
 * does not hold. What the rule asks of, and the tree does not have, is unknown, which is never
 * held. A rule that nothing can decide says why ("cannot"), and is only listed. */
#ifndef HAUL_CORE_RULE_RULE_H
#define HAUL_CORE_RULE_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/err.h"
#include "core/option/option.h"

struct cJSON;
enum {
	RULES_MAX = 256,
	RULE_CONDITIONS_MAX = 6,
	RULE_PATH_BYTES = 96,
	RULE_TEXT_BYTES = 256,
	RULE_SENTENCE_BYTES = 768
};

enum rule_comparison {
	RULE_ONE_OF,
	RULE_LEAST,
	RULE_MOST,
	RULE_EQUALS,
	RULE_THERE,
	RULE_MULTIPLE /* once, twice, … the value */
};
struct rule_condition {
	char fact[RULE_PATH_BYTES];
	uint32_t is; /* enum rule_comparison */
	double value;
	char of[RULE_PATH_BYTES]; /* the value is that many times this fact; "": it is a number */
	bool whole;               /* the product is rounded down */
	struct texts texts;       /* of RULE_ONE_OF */
};

/* What a rule is of: a phase of a job, what the phase did, or all runs of the phase together. */
enum rule_scope { RULE_OF_JOB, RULE_OF_RESULT, RULE_OF_SERIES };
/* From the best to the worst; what breaks no rule is closed. */
enum rule_category { RULE_CLOSED, RULE_OPEN, RULE_INVALID, RULE_CATEGORIES };
extern const char *const rule_categories[RULE_CATEGORIES];

struct rule {
	char name[RULE_PATH_BYTES], number[32], source[RULE_TEXT_BYTES];
	char about[RULE_TEXT_BYTES];  /* the subject of the sentence: "steps per epoch" */
	char change[RULE_TEXT_BYTES]; /* what would have to change; "": the sentence says it */
	char cannot[RULE_TEXT_BYTES];
	char unit[32];             /* "files": what is lacking, counted in these */
	char per[RULE_PATH_BYTES]; /* of which one lacking unit of the fact needs so many */
	uint32_t scope;            /* enum rule_scope */
	uint32_t otherwise;        /* 0: open, 1: invalid */
	bool workload; /* it says which workloads the edition has: what breaks it is a what-if */
	struct rule_condition when[RULE_CONDITIONS_MAX], unless[RULE_CONDITIONS_MAX], asks;
	uint32_t when_count, unless_count;
};

struct rules {
	struct arena arena;
	char edition[RULE_TEXT_BYTES], source[RULE_TEXT_BYTES];
	char base[RULE_TEXT_BYTES]; /* file in the same folder that has the other rules; "": none */
	char draft[RULE_TEXT_BYTES]; /* why it is no edition yet; "": it is one */
	uint32_t count;
	struct rule rules[RULES_MAX];
};

/* A kind of file: options of the object that it is, which is one of rules, of rows …, and what must hold
 * besides. A file of at most 1 MiB, or a text, is read into the struct of the options. Errno of reading
 * it, or -EINVAL with the path in the file and a sentence. */
struct rule_file {
	const struct option *const *tables;
	const char *of; /* "rules" */
	int (*check)(const void *into, struct err *err);
};
int rule_file_parse(const struct rule_file *kind, void *into, struct arena *arena, const char *text,
		    size_t length, struct err *err);
int rule_file_read(const struct rule_file *kind, void *into, struct arena *arena, const char *path,
		   struct err *err);

/* Reads the rules from a file, with those of its base, or from a text, without. Errno of reading it, or -EINVAL with the path in
 * the file and a sentence. Free them in either case. */
int rules_read(struct rules *r, const char *path, struct err *err);
int rules_parse(struct rules *r, const char *text, size_t length, struct err *err);
void rules_free(struct rules *r);

/* What the rules ask of the size of a data set: the steps of an epoch, the rule "training.steps",
 * and how many times the memory of all nodes it is, "training.memory". 0: there is no such
 * rule. */
struct rule_sizes {
	double steps, memories;
};
struct rule_sizes rules_sizes(const struct rules *r);

enum rule_state {
	RULE_HELD,
	RULE_BROKEN,
	RULE_UNKNOWN,   /* the tree does not have what the rule asks of */
	RULE_UNDECIDED, /* nothing can decide it */
	RULE_STATES
};
extern const char *const rule_states[RULE_STATES];

struct rule_verdict {
	const struct rule *rule;
	enum rule_state state;
	double value, bound; /* NaN: there is none */
	char sentence[RULE_SENTENCE_BYTES];
};

/* Whether the rule applies to the tree, and then what it says of it. */
bool rule_judge(const struct rule *rule, const struct cJSON *tree, struct rule_verdict *out);

/* What a verdict makes of the whole. */
enum rule_category rule_category(const struct rule_verdict *v);

#endif
