/* SPDX-License-Identifier: Apache-2.0 */
/* Variants of formats: every format of the table with the options that tests try, and layouts of
 * them. */
#ifndef HAUL_TESTS_WORKLOADS_FORMATS_VARIANTS_H
#define HAUL_TESTS_WORKLOADS_FORMATS_VARIANTS_H

#include "workloads/dataset/dataset.h"

/* A format and its options. */
struct variant {
	enum format_index format;
	const char *suffix; /* of file names, may be ""; NULL: write_files makes no files */
	struct dataset_options options;
};

/* Sets *all to the variants: first each format of the table, in its order, then those with special
 * options. Returns their number. Ends the program with a sentence if options are refused. */
unsigned variants(const struct variant **all);

/* Parses a data set's options from JSON, such as {"format": "hdf5", "hdf5": {"datasets": 3}}, and
 * completes them with one file of one byte. Ends the program with a sentence if they are
 * refused. */
void variant_parse(struct dataset_options *out, const char *json);

/* Whether a file of the format can have so many samples of this size. */
bool variant_holds(const struct variant *v, uint64_t samples, uint64_t sample_bytes);

/* Makes the layout of file 3 of a data set, object 0. Members that the format does not set have
 * random values. */
void variant_layout(const struct variant *v, uint64_t samples, uint64_t sample_bytes,
		    struct layout *l);

#endif
