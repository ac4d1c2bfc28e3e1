/* SPDX-License-Identifier: Apache-2.0 */
/* How many bytes a run will write into its results, before it runs. The file of one rank is made in
 * the folder for temporary files, by what writes results; what each further rank and node takes
 * follows from the columns of the kind of phase. */
#ifndef HAUL_RESULTS_SCHEMA_RESULTS_BYTES_H
#define HAUL_RESULTS_SCHEMA_RESULTS_BYTES_H

#include "results-schema/results.h"

struct results_draft {
	uint32_t ranks, nodes, stores;
	const char *job_name, *job_text;
	/* Of a phase: its kind and name, the most rows of each of its tables, its steps, and the
	 * seconds that it takes (0: not known). schema NULL: of the run as a whole. */
	const char *kind, *name;
	const struct tally_schema *schema;
	const uint32_t *rows, *named; /* named: of tables by texts, how many they have */
	uint64_t hists;               /* that it may fill, as bits */
	uint64_t steps;
	double seconds;
	bool commits; /* its store says how long the parts of a commit took */
};

struct results_bytes {
	uint64_t per_rank, per_node;
	uint64_t rest;
};

static inline uint64_t results_bytes_all(const struct results_bytes *b, uint32_t ranks,
					 uint32_t nodes)
{
	return b->per_rank * ranks + b->per_node * nodes + b->rest;
}

/* head: NULL, or what a draft of the run as a whole takes, which a phase does not take again. */
int results_bytes_of(const struct results_draft *d, const struct results_bytes *head,
		     struct results_bytes *out, struct err *err);

/* Whether so many phases are in files of their own, so that a publication writes none before it. */
bool results_bytes_apart(uint32_t phases);

#endif
