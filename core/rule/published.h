/* SPDX-License-Identifier: Apache-2.0 */
/* What others published, as data, each with its source; and how far haul's own value is from it. A
 * file of rows:
 *
 *	{"rows": [{"of": "unet3d on B200", "quantity": "reads of an accelerator at AU 90 %",
 *		   "published": 5.3096, "unit": "GiB/s", "tolerance": 0.001,
 *		   "source": "its configuration", "job": "unet3d_b200", "phase": "train",
 *		   "fact": "plan.demand.at_target_bytes_per_second"}]}
 *
 * haul's value is a fact of the tree (core/rule/rule.h) of a phase of a job, divided by the size of
 * the unit and by another fact ("over"). A row whose published value is a text compares texts. */
#ifndef HAUL_CORE_RULE_PUBLISHED_H
#define HAUL_CORE_RULE_PUBLISHED_H

#include <stdint.h>

#include "core/rule/rule.h"

enum { PUBLISHED_MAX = 512, PUBLISHED_SHOWN_BYTES = 48 };

enum { PUBLISHED_PERCENT = 12 };
extern const char *const published_units[];

struct published_row {
	char of[RULE_PATH_BYTES], quantity[RULE_PATH_BYTES], source[RULE_TEXT_BYTES];
	char text[PUBLISHED_SHOWN_BYTES]; /* ""; else it is published in place of the number */
	double value;
	uint32_t unit;                 /* of published_units */
	double tolerance;              /* of the published value; 0: it is the same */
	char because[RULE_TEXT_BYTES]; /* why they differ at all */
	char job[RULE_PATH_BYTES];     /* ready job, or file */
	struct texts set;              /* changes of the job */
	uint64_t ranks, nodes;
	char phase[RULE_PATH_BYTES]; /* its name */
	char fact[RULE_PATH_BYTES];
	char over[RULE_PATH_BYTES];            /* "": nothing */
	char submitter[PUBLISHED_SHOWN_BYTES]; /* of a result; "": it is none */
};

struct published {
	struct arena arena;
	uint32_t count;
	struct published_row rows[PUBLISHED_MAX];
};

/* Reads a file of rows. Errno of reading it, or -EINVAL with the path in the file and a sentence.
 * Free it in either case. */
int published_read(struct published *p, const char *path, struct err *err);
void published_free(struct published *p);

enum published_state {
	PUBLISHED_HELD,
	PUBLISHED_MISSED,
	PUBLISHED_UNKNOWN, /* this haul was built without what computes it */
	PUBLISHED_PREDICTED, /* no value of a plan: a simulation predicts it, and it is as far off as it is */
	PUBLISHED_STATES
};
extern const char *const published_states[PUBLISHED_STATES];

/* haul's value beside a published one. */
struct published_match {
	enum published_state state;
	double value, difference;         /* (value - published) / published; NaN: there is none */
	char text[PUBLISHED_SHOWN_BYTES]; /* of a row of texts */
};

/* Compares the row with the tree of its phase. What the tree does not have is missed; an empty text
 * is what this haul cannot compute. */
void published_compare(const struct published_row *row, const struct cJSON *tree,
		       struct published_match *out);

#endif
