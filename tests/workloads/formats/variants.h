/* Every format of the table, with the options that tests try, and layouts of them. */
#ifndef HAUL_TESTS_WORKLOADS_FORMATS_VARIANTS_H
#define HAUL_TESTS_WORKLOADS_FORMATS_VARIANTS_H

#include "workloads/dataset/dataset.h"

/* A format and options of it. */
struct variant {
	enum format_index format;
	const char *suffix; /* of files' names: ""; NULL: write_files makes none */
	struct dataset_options options;
};

/* One of each format in the table, in its order, then those with special options. Returns their
 * number, at *all; ends the program with a sentence where options are refused. */
unsigned variants(const struct variant **all);

/* A data set's options from JSON: {"format": "hdf5", "hdf5": {"datasets": 3}}, completed with one file
 * of one byte. Ends the program with a sentence where they are refused. */
void variant_parse(struct dataset_options *out, const char *json);

/* Whether the format can hold them. */
bool variant_holds(const struct variant *v, uint64_t samples, uint64_t sample_bytes);

/* File 3 of a data set, object 0. What the format leaves unset is rubbish. */
void variant_layout(const struct variant *v, uint64_t samples, uint64_t sample_bytes,
		    struct layout *l);

#endif
