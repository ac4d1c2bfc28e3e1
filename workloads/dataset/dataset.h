/* SPDX-License-Identifier: Apache-2.0 */
/* Data set: files and samples as functions of their number. Nothing is listed and no list is held,
 * so 160 million files cost the memory of 160 (for a list of names that the job gives, see
 * names.h).
 *
 * A data set exists without haul where the job says how its files are named: haul did not make it,
 * never writes or removes anything in it, and knows nothing about its bytes.
 *
 * Read-only after dataset_init and dataset_open; any thread. */
#ifndef HAUL_WORKLOADS_DATASET_DATASET_H
#define HAUL_WORKLOADS_DATASET_DATASET_H

#include "backends/backend.h"
#include "core/content/permutation.h"
#include "core/content/size_draw.h"
#include "core/job/job.h"
#include "workloads/formats/table.h"

enum dataset_sizes { SIZES_GIVEN, SIZES_STAT };

struct dataset_options {
	char store[JOB_NAME_BYTES];
	uint32_t format; /* enum format_index */
	uint64_t files, samples_per_file;
	/* How many files there are, by how many the ranks need: see dataset_scale. 0: files says
	 * it. */
	uint64_t files_per_rank, steps_per_epoch;
	uint64_t files_told; /* files, as the job has it beside one of these; 0: it has not */
	bool scaled;         /* files are those of dataset_scale */
	uint64_t memories; /* with steps_per_epoch: as many times the memory of all nodes; 0: not */
	uint64_t sample_bytes, sample_bytes_stdev; /* a file's samples share one drawn size */
	char folder[128];                          /* below the store's URI; "" for none */
	char prefix[64];                           /* of file names */
	uint64_t subfolders;           /* files are spread over as many, round robin; 0: none */
	char names[256];               /* "haul", "dlio", "dlio_valid" or a template (names.h) */
	char list[512];                /* path of a list of names (names.h); "": none */
	uint32_t sizes;                /* enum dataset_sizes */
	struct format_options formats; /* of each format, under its name */
};
extern const struct section dataset_section;

enum naming { NAMING_HAUL, NAMING_DLIO, NAMING_DLIO_VALID, NAMING_TEMPLATE, NAMING_LIST };

struct dataset {
	struct dataset_options options;
	enum naming naming;
	bool existing;                /* haul did not make it */
	const struct name_list *list; /* NULL: none, or not opened */
	const struct format_ops *format;
	bool stays_open; /* readers of the format leave files open, whether the layout is known or not */
	uint32_t objects;       /* of each file */
	uint64_t seed, samples; /* samples in all */
	/* Files of the set in the store. The job reads the first options.files of them; names and
	 * sizes follow from the whole set. */
	uint64_t set_files;
	/* Sizes of existing files outside of which a file is damage and no file of the set, as
	 * dataset_probe has set them; 0: not known. */
	uint64_t file_bytes_least, file_bytes_most;
	uint64_t stream; /* what payload keys are made from: the seed, the folder and the prefix */
	/* Sizes: constant, uniform in mean +- sigma * sqrt(3), or log-normal above sigma = mean /
	 * sqrt(3). File i takes the middle of stratum order(i) of as many equal strata as there are
	 * files, so mean and deviation are right for few files too, and the largest size is
	 * known. */
	struct permutation order;
	struct size_draw size;
	unsigned name_digits, folder_digits;
};

/* path: the data set's JSON path, for messages. */
int dataset_init(struct dataset *d, const struct dataset_options *options, uint64_t seed,
		 const char *path, struct err *err);

/* The job reads the first files of a set that has more. Before anything asks for names or sizes. */
void dataset_in_set(struct dataset *d, uint64_t set_files);

/* Sets options->files for this number of ranks, where files_per_rank or steps_per_epoch says it.
 * step_samples: samples that all ranks together take of this data set in a step; 0: nobody reads
 * it. memory: of all nodes, in bytes. path: as for dataset_init. -EINVAL where both say it, or
 * nobody reads in steps. */
int dataset_scale(struct dataset_options *options, uint32_t ranks, uint64_t step_samples,
		  uint64_t memory, const char *path, struct err *err);

/* Whether options describe a data set that exists without haul. */
bool dataset_is_existing(const struct dataset_options *options);

/* Opens the list of names, where there is one, before any dataset_key. Closing what is not open
 * does nothing. Copies share the list; only one of them may close it. */
int dataset_open(struct dataset *d, struct err *err);
void dataset_close(struct dataset *d);

/* "folder/03/prefix_0000123_of_8400.npz" */
void dataset_key(const struct dataset *d, uint64_t file, char key[OBJECT_KEY_BYTES]);
/* "folder/03/", of subfolder i < options.subfolders. */
void dataset_subfolder(const struct dataset *d, uint64_t i, char key[OBJECT_KEY_BYTES]);
uint64_t dataset_sample_bytes(const struct dataset *d, uint64_t file);
/* Where sizes are found by stat, the layout is what the job expects until dataset_layout_found
 * corrects it. */
void dataset_layout(const struct dataset *d, uint64_t file, struct layout *l);
void dataset_layout_found(struct layout *l, uint64_t file_bytes);
/* The number of all objects: first each file itself, then what lies beside each of them. */
uint64_t dataset_objects(const struct dataset *d);
void dataset_object(const struct dataset *d, uint64_t i, uint64_t *file, uint32_t *object);
/* One object of a file; 0 is the file itself. */
void dataset_object_key(const struct dataset *d, uint64_t file, uint32_t object,
			char key[OBJECT_KEY_BYTES]);
/* Of the object with that number. */
void dataset_numbered_key(const struct dataset *d, uint64_t i, char key[OBJECT_KEY_BYTES]);
void dataset_object_layout(const struct dataset *d, uint64_t file, uint32_t object,
			   struct layout *l);
/* A file whose samples have the average size. */
void dataset_mean_layout(const struct dataset *d, struct layout *l);
uint64_t dataset_sample_bytes_min(const struct dataset *d);
uint64_t dataset_sample_bytes_max(const struct dataset *d);
/* The longest range that a reader takes at once: of a sample or, in some formats, of a file. */
uint64_t dataset_extent_bytes_max(const struct dataset *d);
/* Bytes of all objects of all files, headers included, for samples of average size. */
double dataset_bytes_expected(const struct dataset *d);

/* The data set and the store that a phase names. Plain look-ups in the job; any thread. */

/* dataset: a name, or "" for the job's only data set. *s is the phase's store, else the data set's,
 * else the job's only one. -EINVAL with the phase's path. */
int dataset_find(const struct job *job, const struct job_phase *phase, const char *dataset,
		 const struct job_dataset **d, const struct job_store **s, struct err *err);

/* The same, and the data set made ready (dataset_init). path: filled in with the data set's JSON
 * path. */
enum { DATASET_PATH_BYTES = JOB_NAME_BYTES + 16 };
int dataset_find_init(const struct job *job, const struct job_phase *phase, const char *dataset,
		      struct dataset *d, const struct job_store **s, char path[DATASET_PATH_BYTES],
		      struct err *err);

/* Where the job describes the data set: "/dataset" or "/datasets/NAME", for messages. */
void dataset_path(const struct job_dataset *d, char path[DATASET_PATH_BYTES]);

#endif
