/* SPDX-License-Identifier: Apache-2.0 */
/* What an edition says of a job, or of results: the rules (core/rule/rule.h) that apply, by what a
 * phase differs from the edition's own job of its workload (mlperf/compare.h), and what the whole is
 * by both. Nothing is closed without evidence: what is not known, and what nothing in a job or in
 * results can decide, are conditions. */
#ifndef HAUL_REPORT_CHECK_H
#define HAUL_REPORT_CHECK_H

#include <stdbool.h>
#include <stdio.h>

#include "core/rule/class.h"
#include "core/rule/rule.h"
#include "facts/document.h"
#include "mlperf/compare.h"
#include "results-schema/results_read.h"

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
/* A phase beside the workload of the edition that it is. */
struct check_workload {
	const char *file;
	char phase[CHECK_PHASE_BYTES], name[CHECK_PHASE_BYTES]; /* "unet3d on b200"; "": none */
	bool whatif; /* the edition takes no submission of it */
	struct edition_difference *differences;
	uint32_t count;
};
struct check {
	const struct rules *rules;
	bool ran; /* results are judged, too */
	bool all; /* text has the rules that are held, too */
	struct check_line *lines;
	uint32_t count;
	struct check_class *classes;
	uint32_t class_count;
	struct check_workload *workloads;
	uint32_t workload_count;
	uint32_t states[RULE_STATES];
	uint32_t differences[RULE_CATEGORIES];
	char note[192]; /* which number of files of the job wins; "": it has one */
	bool failed;    /* there was no memory */
};

/* What the whole is. */
enum check_verdict {
	CHECK_CLOSED,
	CHECK_CLOSED_IF, /* nothing is broken, and something is not known */
	CHECK_OPEN,
	CHECK_INVALID,
	CHECK_WHATIF,  /* the edition has no such workload */
	CHECK_NO_RULES /* none applies */
};

/* Judges the tree of a phase by all rules of that scope. */
void check_tree(struct check *c, enum rule_scope scope, const struct cJSON *tree, const char *file,
		const char *phase);
/* Adds the class of a phase. */
void check_class(struct check *c, const char *file, const struct workload_class *class);
/* Adds a phase beside its workload; name "": the edition has none for it. */
void check_workload(struct check *c, const char *file, const char *phase, const char *name,
		    bool whatif, const struct edition_differences *differences);
/* Judges the runs of results files, which are one series, by the rules of a series. */
void check_series(struct check *c, const struct results_file *const *files, uint32_t count);
void check_free(struct check *c);

/* The worst of all lines and differences. */
enum rule_category check_category(const struct check *c);
enum check_verdict check_verdict(const struct check *c);

int check_print(FILE *out, enum report_shape shape, const struct check *c, struct err *err);

#endif
