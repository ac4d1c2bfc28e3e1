/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules of an edition (core/rule/rule.h) say of a job, or of results: a line for each rule
 * that applies, and whether the whole is closed, open or invalid. */
#ifndef HAUL_REPORT_CHECK_H
#define HAUL_REPORT_CHECK_H

#include <stdbool.h>
#include <stdio.h>

#include "core/rule/class.h"
#include "core/rule/rule.h"
#include "facts/document.h"

enum { CHECK_PHASE_BYTES = 96 };
struct check_line {
	const char *file; /* NULL: of the job, or of all files */
	char phase[CHECK_PHASE_BYTES];
	struct rule_verdict verdict;
};
struct check_class {
	const char *file; /* NULL: of the job */
	struct workload_class class;
};
struct check {
	const struct rules *rules;
	bool ran; /* results are judged, too */
	struct check_line *lines;
	uint32_t count;
	struct check_class *classes;
	uint32_t class_count;
	uint32_t states[RULE_STATES];
	bool failed; /* there was no memory */
};

/* Judges the tree of a phase by all rules of that scope. */
void check_tree(struct check *c, enum rule_scope scope, const struct cJSON *tree, const char *file,
		const char *phase);
/* Adds the class of a phase. */
void check_class(struct check *c, const char *file, const struct workload_class *class);
void check_free(struct check *c);

/* The worst of all lines. */
enum rule_category check_category(const struct check *c);
/* Whether it has a workload that the edition has not. */
bool check_is_whatif(const struct check *c);
/* Whether rules apply, and all of them that something can decide are held. */
bool check_is_closed(const struct check *c);

int check_print(FILE *out, enum report_shape shape, const struct check *c, struct err *err);

#endif
