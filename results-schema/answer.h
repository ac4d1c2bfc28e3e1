/* SPDX-License-Identifier: Apache-2.0 */
/* Which question a run answers, and so which group results.h5 has for the answer: its attributes, and
 * a data set with a row for each thing that was tried. Needs no HDF5. */
#ifndef HAUL_RESULTS_SCHEMA_ANSWER_H
#define HAUL_RESULTS_SCHEMA_ANSWER_H

enum results_answer {
	ANSWER_NONE,   /* the run was not asked */
	ANSWER_FIND,   /* /find: struct found, struct found_step (found.h) */
	ANSWER_TUNE,   /* /tune: struct tuned, struct tuned_setting (tuned.h) */
	ANSWER_ASSESS, /* /assess: struct assessed, struct assessed_workload (assessed.h) */
	ANSWERS
};

#endif
