/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/dataset/dataset.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/fill.h"
#include "core/content/fnv.h"
#include "core/content/random.h"
#include "core/file_read.h"
#include "core/key.h"
#include "core/numbers.h"
#include "core/option/option.h"
#include "core/units.h"
#include "workloads/dataset/names.h"

enum {
	DATASET_FILES_MAX_BITS = 40,
	DATASET_SAMPLES_MAX_BITS = 32,
	DATASET_BYTES_MAX_BITS = 48,
	FILE_BYTES_MAX_BITS = 60
};

static const char *const sizes_names[] = {"given", "stat", NULL};
static const char *const ready_names[] = {"haul", "dlio", "dlio_valid"};

/* The options of a format are a table under the format's name. */
#define FORMAT_WITHOUT_OPTIONS(upper, lower)
#define FORMAT_WITH_OPTIONS(upper, lower) \
	OPT_TABLE(#lower, struct dataset_options, formats.of[FORMAT_##upper], \
		  .table = lower##_options, .of = "format", \
		  .help = "of format " #lower ": how a file is laid out"),

static const struct option dataset_options_table[] = {
	OPT_TEXT("store", struct dataset_options, store, .def_text = "",
		 .help = "name of the store it is in; may be left out where there is only one"),
	OPT_CHOICE("format", struct dataset_options, format, .def = FORMAT_NPZ,
		   .choices = format_names, .help = "format of its files"),
	OPT_U64("files", struct dataset_options, files,
		.max = (uint64_t)1 << DATASET_FILES_MAX_BITS,
		.help = "number of files; the first ones of a set that has more; 0: files_per_rank or steps_per_epoch says it"),
	OPT_U64("files_per_rank", struct dataset_options, files_per_rank, .def = 0,
		.max = (uint64_t)1 << DATASET_FILES_MAX_BITS,
		.help = "files for each rank, so that the data set grows with the run; wins over files; 0: not used"),
	OPT_U64("steps_per_epoch", struct dataset_options, steps_per_epoch, .def = 0,
		.max = (uint64_t)1 << DATASET_FILES_MAX_BITS,
		.help = "as many files as the training needs for an epoch of this many steps; wins over files; 0: not used"),
	OPT_U64("memories", struct dataset_options, memories, .def = 0, .max = 1000,
		.help = "with steps_per_epoch: at least as many files as are this many times as large as the memory of all nodes; 0: not used"),
	OPT_U64("samples_per_file", struct dataset_options, samples_per_file, .def = 1, .min = 1,
		.max = (uint64_t)1 << DATASET_SAMPLES_MAX_BITS, .help = "samples in each file"),
	OPT_BYTES("sample_bytes", struct dataset_options, sample_bytes, .required = true, .min = 1,
		  .max = (uint64_t)1 << DATASET_BYTES_MAX_BITS,
		  .help = "size of a sample on average"),
	OPT_BYTES(
		"sample_bytes_stdev", struct dataset_options, sample_bytes_stdev, .def = 0,
		.max = (uint64_t)1 << DATASET_BYTES_MAX_BITS,
		.help = "standard deviation of the size from file to file: sizes are uniform up to mean / sqrt(3), "
			"log-normal above"),
	OPT_TEXT("folder", struct dataset_options, folder, .def_text = "",
		 .help = "folder of the files below the store's URI"),
	OPT_TEXT("prefix", struct dataset_options, prefix, .def_text = "img",
		 .help = "what file names begin with"),
	OPT_U64("subfolders", struct dataset_options, subfolders, .def = 0, .max = 1 << 20,
		.help = "subfolders over which files are dealt out in turn; 0: none"),
	OPT_TEXT(
		"names", struct dataset_options, names, .def_text = "haul",
		.help = "\"haul\": files that haul makes; else of files that exist: \"dlio\", "
			"\"dlio_valid\" or a template such as \"{i%16:02}/img_{i:07}_of_{n}.npz\""),
	OPT_TEXT("list", struct dataset_options, list, .def_text = "",
		 .help = "path of a text file with the name of an existing file in each line"),
	OPT_CHOICE(
		"sizes", struct dataset_options, sizes, .choices = sizes_names,
		.help = "sizes of existing files: as the format gives them for sample_bytes, or as "
			"each is found at its open, sample_bytes being what to expect"),
	FORMATS(FORMAT_WITHOUT_OPTIONS, FORMAT_WITH_OPTIONS) OPT_END,
};

const struct section dataset_section = {
	.name = "dataset",
	.help = "files and samples, as functions of their number",
	.tables = {dataset_options_table, NULL},
	.size = sizeof(struct dataset_options),
};

/* Names that the job gives completely, so that no other option has a part in them. */
static int dataset_check_given_names(const struct dataset *d, const char *path, struct err *err)
{
	const struct dataset_options *o = &d->options;
	const char *key = d->naming == NAMING_LIST ? "list" : "names";
	size_t used = strlen(o->folder) + 1 + FORMAT_SUFFIX_BYTES;
	int rc;

	if (o->subfolders)
		return err_set(err, -EINVAL,
			       "%s/subfolders: \"%s\" says all of a name; a template has "
			       "{i%%%" PRIu64 "} for it",
			       path, key, o->subfolders);
	if (d->naming == NAMING_LIST && strcmp(o->names, ready_names[NAMING_HAUL]) != 0)
		return err_set(err, -EINVAL,
			       "%s/list: \"names\" gives names too; leave one of them out", path);
	if (d->naming == NAMING_LIST) {
		rc = file_refuse_pipe(o->list, err);
		return rc < 0 ? err_wrap(err, rc, "%s/list: %s", path, o->list) : 0;
	}
	if (!strchr(o->names, '{'))
		return err_set(
			err, -EINVAL,
			"%s/names: \"%s\" is neither \"haul\", \"dlio\" nor \"dlio_valid\", nor "
			"a template: that has {i} where the file's number stands",
			path, o->names);
	rc = names_check(o->names, o->files, OBJECT_KEY_BYTES - used, err);
	return rc < 0 ? err_wrap(err, rc, "%s/names", path) : 0;
}

static int dataset_check_names(const struct dataset *d, const char *path, struct err *err)
{
	const struct dataset_options *o = &d->options;
	int rc = d->naming >= NAMING_TEMPLATE ? dataset_check_given_names(d, path, err) : 0;

	if (rc < 0)
		return rc;
	if (o->sizes == SIZES_STAT && !d->existing)
		return err_set(
			err, -EINVAL,
			"%s/sizes: \"stat\" is for files that exist; say how they are called "
			"in \"names\" or \"list\"",
			path);
	rc = key_check_prefix(o->prefix, err);
	if (rc < 0)
		return err_wrap(err, rc, "%s/prefix", path);
	rc = key_check_folder(o->folder, err);
	return rc < 0 ? err_wrap(err, rc, "%s/folder", path) : 0;
}

static enum naming dataset_naming(const struct dataset_options *o)
{
	if (o->list[0])
		return NAMING_LIST;
	if (!o->names[0])
		return NAMING_HAUL;
	for (unsigned i = 0; i < sizeof(ready_names) / sizeof(ready_names[0]); i++)
		if (strcmp(o->names, ready_names[i]) == 0)
			return (enum naming)i;
	return NAMING_TEMPLATE;
}

bool dataset_is_existing(const struct dataset_options *options)
{
	return dataset_naming(options) != NAMING_HAUL;
}

static unsigned dataset_digits(uint64_t n)
{
	return (unsigned)snprintf(NULL, 0, "%" PRIu64, n);
}

/* Data sets of one job differ in their bytes: the stream of random numbers follows from where the
 * files lie. The zero byte that ends a text is hashed with it. */
static uint64_t dataset_place_hash(const struct dataset_options *options)
{
	uint64_t hash = fnv_add(FNV_START, options->folder, strlen(options->folder) + 1);

	return fnv_add(hash, options->prefix, strlen(options->prefix) + 1);
}

void dataset_in_set(struct dataset *d, uint64_t set_files)
{
	d->set_files = set_files;
	d->name_digits = dataset_digits(set_files);
	permutation_init(&d->order, set_files, random_at(d->seed, 1, 0));
}

/* The least number of files that are together as large as that. */
static uint64_t dataset_files_of(const struct dataset_options *options, unsigned __int128 bytes)
{
	unsigned __int128 file =
		(unsigned __int128)options->samples_per_file * options->sample_bytes;
	unsigned __int128 files = (bytes + file - 1) / file;

	return files < UINT64_MAX ? (uint64_t)files : UINT64_MAX;
}

int dataset_scale(struct dataset_options *options, uint32_t ranks, uint64_t step_samples,
		  uint64_t memory, const char *path, struct err *err)
{
	char counted[UNITS_COUNTED_BYTES];
	const char *key = options->files_per_rank ? "files_per_rank" : "steps_per_epoch";
	uint64_t spf = options->samples_per_file, files;

	if (options->memories && !options->steps_per_epoch)
		return err_set(err, -EINVAL, "%s/memories: is only beside steps_per_epoch", path);
	if (!options->files_per_rank && !options->steps_per_epoch)
		return 0;
	if (options->files_per_rank && options->steps_per_epoch)
		return err_set(err, -EINVAL,
			       "%s/steps_per_epoch: files_per_rank gives the number of files too; "
			       "leave one of them out",
			       path);
	if (options->steps_per_epoch && !step_samples)
		return err_set(
			err, -EINVAL,
			"%s/steps_per_epoch: no phase trains on this data set; give files or "
			"files_per_rank",
			path);
	if (options->files_per_rank) {
		files = options->files_per_rank * ranks;
	} else if (__builtin_mul_overflow(options->steps_per_epoch, step_samples, &files)) {
		files = UINT64_MAX;
	} else {
		files = (files + spf - 1) / spf;
		files = max_u64(
			files,
			dataset_files_of(options, (unsigned __int128)options->memories * memory));
	}
	if (files >> DATASET_FILES_MAX_BITS && files != (uint64_t)1 << DATASET_FILES_MAX_BITS)
		return err_set(err, -EINVAL, "%s/%s: comes to more than 2^%d files on %s", path,
			       key, DATASET_FILES_MAX_BITS, units_counted(counted, ranks, "rank"));
	if (!options->scaled)
		options->files_told = options->files;
	options->scaled = true;
	options->files = files;
	return 0;
}

int dataset_init(struct dataset *d, const struct dataset_options *options, uint64_t seed,
		 const char *path, struct err *err)
{
	double mean = (double)options->sample_bytes;
	double stdev = (double)options->sample_bytes_stdev;
	uint64_t largest;
	int rc;

	memset(d, 0, sizeof(*d));
	d->options = *options;
	d->naming = dataset_naming(options);
	d->existing = dataset_is_existing(options);
	d->format = format_table()[options->format];
	if (options->sizes == SIZES_STAT)
		d->format = d->format->parts ? d->format->parts : &format_parts;
	d->stays_open = format_table()[options->format]->stays_open;
	d->objects = format_objects(d->format);
	d->seed = seed;
	d->stream = random_at(seed, dataset_place_hash(options), 0);
	if (!options->files)
		return err_set(
			err, -EINVAL,
			"%s/files: is missing; files_per_rank or steps_per_epoch can take its place",
			path);
	dataset_in_set(d, options->files);
	d->folder_digits = dataset_digits(options->subfolders);
	rc = dataset_check_names(d, path, err);
	if (rc < 0)
		return rc;
	if (__builtin_mul_overflow(options->files, options->samples_per_file, &d->samples) ||
	    d->samples >> FILE_BYTES_MAX_BITS)
		return err_set(
			err, -EINVAL,
			"%s/samples_per_file: files times samples_per_file must be below 2^%d",
			path, FILE_BYTES_MAX_BITS);
	d->size = stdev > mean / sqrt(3) ? size_log_normal(mean, stdev)
					 : size_uniform(mean, stdev * sqrt(3));
	largest = dataset_sample_bytes_max(d);
	if (largest >> DATASET_BYTES_MAX_BITS ||
	    largest > ((uint64_t)1 << FILE_BYTES_MAX_BITS) / options->samples_per_file)
		return err_set(err, -EINVAL,
			       "%s/%s: the largest file would have %.3g bytes, which is %" PRIu64
			       " samples of up to %" PRIu64 "; make it smaller",
			       path,
			       options->sample_bytes_stdev ? "sample_bytes_stdev"
							   : "samples_per_file",
			       (double)largest * (double)options->samples_per_file,
			       options->samples_per_file, largest);
	if (d->format->check) {
		rc = d->format->check(d->options.formats.of[options->format],
				      options->samples_per_file, dataset_sample_bytes_min(d),
				      largest, err);
		if (rc < 0)
			return err_wrap(err, rc, "%s/format", path);
	}
	return 0;
}

int dataset_open(struct dataset *d, struct err *err)
{
	const struct dataset_options *o = &d->options;
	struct name_list *list;
	int rc;

	if (d->naming != NAMING_LIST)
		return 0;
	list = malloc(sizeof(*list));
	if (!list)
		return err_set(err, -ENOMEM, "no memory for a list of names");
	rc = name_list_open(list, o->list, OBJECT_KEY_BYTES - strlen(o->folder) - 1, err);
	if (rc < 0) {
		free(list);
		return rc;
	}
	d->list = list;
	if (list->names >= o->files)
		return 0;
	rc = err_set(err, -EINVAL,
		     "%s: holds %" PRIu64 " names, the data set has %" PRIu64 " files", o->list,
		     list->names, o->files);
	dataset_close(d);
	return rc;
}

void dataset_close(struct dataset *d)
{
	struct name_list *list = (struct name_list *)d->list;

	if (list)
		name_list_close(list);
	free(list);
	d->list = NULL;
}

void dataset_subfolder(const struct dataset *d, uint64_t i, char key[OBJECT_KEY_BYTES])
{
	const char *folder = d->options.folder;

	snprintf(key, OBJECT_KEY_BYTES, "%s%s%0*" PRIu64 "/", folder, folder[0] ? "/" : "",
		 (int)d->folder_digits, i);
}

/* "03/prefix_0000123_of_8400.npz". DLIO makes no subfolder where there would be only one, and
 * writes its underscore after an empty prefix, too. */
static void dataset_patterned_name(const struct dataset *d, uint64_t file, char *out, size_t room)
{
	static const char *const folders[] = {"", "train/", "valid/"};
	const struct dataset_options *o = &d->options;
	bool dlio = d->naming != NAMING_HAUL;
	int used = 0;

	if (o->subfolders > (dlio ? 1 : 0))
		used = snprintf(out, room, "%s%0*" PRIu64 "/", folders[d->naming],
				(int)d->folder_digits, file % o->subfolders);
	else
		used = snprintf(out, room, "%s", folders[d->naming]);
	snprintf(out + used, room - (size_t)used, "%s%s%0*" PRIu64 "_of_%" PRIu64 ".%s", o->prefix,
		 o->prefix[0] || dlio ? "_" : "", (int)d->name_digits, file, d->set_files,
		 format_extension(o->format));
}

void dataset_key(const struct dataset *d, uint64_t file, char key[OBJECT_KEY_BYTES])
{
	const struct dataset_options *o = &d->options;
	size_t used =
		(size_t)snprintf(key, OBJECT_KEY_BYTES, "%s%s", o->folder, o->folder[0] ? "/" : "");

	if (d->naming == NAMING_LIST)
		name_list_at(d->list, file, key + used, OBJECT_KEY_BYTES - used);
	else if (d->naming == NAMING_TEMPLATE)
		names_expand(o->names, file, d->set_files, key + used, OBJECT_KEY_BYTES - used);
	else
		dataset_patterned_name(d, file, key + used, OBJECT_KEY_BYTES - used);
}

uint64_t dataset_objects(const struct dataset *d)
{
	return d->options.files * d->objects;
}

void dataset_object(const struct dataset *d, uint64_t i, uint64_t *file, uint32_t *object)
{
	*file = i % d->options.files;
	*object = (uint32_t)(i / d->options.files);
}

void dataset_object_key(const struct dataset *d, uint64_t file, uint32_t object,
			char key[OBJECT_KEY_BYTES])
{
	size_t used;

	dataset_key(d, file, key);
	used = strlen(key);
	if (object)
		snprintf(key + used, OBJECT_KEY_BYTES - used, "%s", d->format->beside[object - 1]);
}

void dataset_numbered_key(const struct dataset *d, uint64_t i, char key[OBJECT_KEY_BYTES])
{
	uint64_t file;
	uint32_t object;

	dataset_object(d, i, &file, &object);
	dataset_object_key(d, file, object, key);
}

/* The size in the middle of one of as many equal strata of the distribution as there are files. */
static uint64_t dataset_stratum_bytes(const struct dataset *d, uint64_t stratum)
{
	if (d->options.sample_bytes_stdev == 0)
		return d->options.sample_bytes;
	return size_draw_at(&d->size, size_stratum(stratum, d->set_files));
}

uint64_t dataset_sample_bytes(const struct dataset *d, uint64_t file)
{
	if (d->options.sample_bytes_stdev == 0)
		return d->options.sample_bytes;
	return dataset_stratum_bytes(d, permutation_at(&d->order, file));
}

uint64_t dataset_sample_bytes_min(const struct dataset *d)
{
	return dataset_stratum_bytes(d, 0);
}

uint64_t dataset_sample_bytes_max(const struct dataset *d)
{
	return dataset_stratum_bytes(d, d->set_files - 1);
}

static void dataset_layout_of(const struct dataset *d, uint64_t file, uint32_t object,
			      uint64_t sample_bytes, struct layout *l)
{
	l->format = d->format;
	l->options = d->options.formats.of[d->options.format];
	l->file = file;
	l->object = object;
	l->key = fill_key(d->stream, file);
	l->first_id = file * d->options.samples_per_file;
	l->samples = d->options.samples_per_file;
	l->sample_bytes = sample_bytes;
	layout_make(l);
	if (d->existing)
		l->id_bytes = 0;
}

void dataset_layout_found(struct layout *l, uint64_t file_bytes)
{
	l->size = file_bytes;
	l->sample_bytes = file_bytes / l->samples;
	l->logical_bytes = l->sample_bytes;
}

void dataset_layout(const struct dataset *d, uint64_t file, struct layout *l)
{
	dataset_object_layout(d, file, 0, l);
}

void dataset_object_layout(const struct dataset *d, uint64_t file, uint32_t object,
			   struct layout *l)
{
	dataset_layout_of(d, file, object, dataset_sample_bytes(d, file), l);
}

void dataset_mean_layout(const struct dataset *d, struct layout *l)
{
	dataset_layout_of(d, 0, 0, d->options.sample_bytes, l);
}

uint64_t dataset_extent_bytes_max(const struct dataset *d)
{
	struct extent extents[FORMAT_EXTENTS_MAX];
	struct layout l;
	uint64_t largest = 0;
	uint32_t n;

	if (d->options.sizes == SIZES_STAT)
		return (uint64_t)1 << FILE_BYTES_MAX_BITS;
	dataset_layout_of(d, 0, 0, dataset_sample_bytes_max(d), &l);
	n = d->format->extents(&l, 0, extents);
	for (uint32_t i = 0; i < n; i++)
		if (extents[i].length > largest)
			largest = extents[i].length;
	return largest;
}

double dataset_bytes_expected(const struct dataset *d)
{
	struct layout l;
	double bytes = 0;

	for (uint32_t i = 0; i < d->objects; i++) {
		dataset_layout_of(d, 0, i, d->options.sample_bytes, &l);
		bytes += (double)l.size;
	}
	return bytes * (double)d->options.files;
}

int dataset_find(const struct job *job, const struct job_phase *phase, const char *dataset,
		 const struct job_dataset **d, const struct job_store **s, struct err *err)
{
	const struct dataset_options *options;
	const char *store = phase->store;

	if (!dataset[0] && job->dataset_count == 0)
		return err_set(err, -EINVAL, "%s: needs a data set; describe it in \"dataset\"",
			       phase->path);
	*d = !dataset[0] && job->dataset_count == 1 ? &job->datasets[0]
						    : job_find_dataset(job, dataset);
	if (!*d && !dataset[0])
		return err_set(
			err, -EINVAL,
			"%s: does not say which data set; add \"dataset\": \"%s\" or another name",
			phase->path, job->datasets[0].name);
	if (!*d)
		return err_set(err, -EINVAL, "%s/dataset: there is no data set \"%s\"", phase->path,
			       dataset);
	options = (*d)->options;
	if (!store[0])
		store = options->store;
	if (!store[0] && job->store_count == 1)
		store = job->stores[0].name;
	if (!store[0])
		return err_set(err, -EINVAL,
			       "%s: does not say which store; add \"store\" to the data set",
			       phase->path);
	*s = job_find_store(job, store);
	if (!*s)
		return err_set(err, -EINVAL, "%s: there is no store \"%s\"", phase->path, store);
	return 0;
}

void dataset_path(const struct job_dataset *d, char path[DATASET_PATH_BYTES])
{
	snprintf(path, DATASET_PATH_BYTES, "/dataset%s%s", d->name[0] ? "s/" : "", d->name);
}

int dataset_find_init(const struct job *job, const struct job_phase *phase, const char *dataset,
		      struct dataset *d, const struct job_store **s, char path[DATASET_PATH_BYTES],
		      struct err *err)
{
	const struct job_dataset *described;
	int rc = dataset_find(job, phase, dataset, &described, s, err);

	if (rc < 0)
		return rc;
	dataset_path(described, path);
	return dataset_init(d, described->options, job->seed, path, err);
}
