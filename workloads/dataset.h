/* A data set: files and samples as functions of their index. Nothing is listed, no list is held:
 * 160 million files cost the memory of 160.
 *
 * Read-only after dataset_init; any thread. */
#ifndef HAUL_WORKLOADS_DATASET_H
#define HAUL_WORKLOADS_DATASET_H

#include "backends/backend.h"
#include "core/job.h"
#include "core/permutation.h"
#include "workloads/formats/format.h"

enum verify { VERIFY_NONE, VERIFY_SAMPLED, VERIFY_FULL };

struct dataset_options {
	char store[JOB_NAME_BYTES];
	uint32_t format; /* index into format_table() */
	uint64_t files, samples_per_file;
	uint64_t sample_bytes, sample_bytes_stdev; /* a file's samples share one drawn size */
	char folder[128];                          /* below the store's URI; "" for none */
	char prefix[64];                           /* of file names */
	uint64_t subfolders; /* files are spread over as many, round robin; 0: none */
};
extern const struct section dataset_section;

struct dataset {
	struct dataset_options options;
	const struct format_ops *format;
	uint64_t seed, samples; /* samples in all */
	uint64_t stream; /* what payload keys are made from: the seed, the folder and the prefix */
	/* Sizes: constant, uniform in mean +- sigma * sqrt(3), or log-normal above sigma = mean / sqrt(3).
	 * File i takes the middle of stratum order(i) of as many equal strata as there are files, so mean
	 * and deviation are right for few files too, and the largest size is known. */
	struct permutation order;
	double log_mean, log_sigma; /* log_sigma 0: not log-normal */
	unsigned name_digits, folder_digits;
};

/* path: the data set's JSON path, for messages. */
int dataset_init(struct dataset *d, const struct dataset_options *options, uint64_t seed,
		 const char *path, struct err *err);

/* "folder/03/prefix_0000123_of_8400.npz" */
void dataset_key(const struct dataset *d, uint64_t file, char key[OBJECT_KEY_BYTES]);
/* "folder/03/", of subfolder i < options.subfolders. */
void dataset_subfolder(const struct dataset *d, uint64_t i, char key[OBJECT_KEY_BYTES]);
uint64_t dataset_sample_bytes(const struct dataset *d, uint64_t file);
void dataset_layout(const struct dataset *d, uint64_t file, struct layout *l);
uint64_t dataset_sample_bytes_min(const struct dataset *d);
uint64_t dataset_sample_bytes_max(const struct dataset *d);
/* The longest range that a reader takes at once: of a sample or, in some formats, a file. */
uint64_t dataset_extent_bytes_max(const struct dataset *d);
/* All files, headers included, in the mean. */
double dataset_bytes_expected(const struct dataset *d);

#endif
