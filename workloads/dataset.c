#include "workloads/dataset.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/fill.h"
#include "core/option.h"
#include "core/random.h"

enum {
	DATASET_FILES_MAX_BITS = 40,
	DATASET_SAMPLES_MAX_BITS = 32,
	DATASET_BYTES_MAX_BITS = 48,
	FILE_BYTES_MAX_BITS = 60
};

static const struct option dataset_options_table[] = {
	OPT_TEXT("store", struct dataset_options, store, .def_text = "",
		 .help = "name of the store it is in; may be left out where there is only one"),
	OPT_CHOICE("format", struct dataset_options, format, .def = FORMAT_NPZ,
		   .choices = format_names, .help = "format of its files"),
	OPT_U64("files", struct dataset_options, files, .required = true, .min = 1,
		.max = (uint64_t)1 << DATASET_FILES_MAX_BITS, .help = "number of files"),
	OPT_U64("samples_per_file", struct dataset_options, samples_per_file, .def = 1, .min = 1,
		.max = (uint64_t)1 << DATASET_SAMPLES_MAX_BITS, .help = "samples in each file"),
	OPT_BYTES("sample_bytes", struct dataset_options, sample_bytes, .required = true, .min = 1,
		  .max = (uint64_t)1 << DATASET_BYTES_MAX_BITS,
		  .help = "size of a sample, in the mean"),
	OPT_BYTES(
		"sample_bytes_stdev", struct dataset_options, sample_bytes_stdev, .def = 0,
		.max = (uint64_t)1 << DATASET_BYTES_MAX_BITS,
		.help = "standard deviation of the size from file to file: uniform up to mean / sqrt(3), "
			"log-normal above"),
	OPT_TEXT("folder", struct dataset_options, folder, .def_text = "",
		 .help = "folder of the files below the store's URI"),
	OPT_TEXT("prefix", struct dataset_options, prefix, .def_text = "img",
		 .help = "what file names begin with"),
	OPT_U64("subfolders", struct dataset_options, subfolders, .def = 0, .max = 1 << 20,
		.help = "subfolders over which files are dealt out in turn; 0: none"),
	OPT_END,
};

const struct section dataset_section = {
	.name = "dataset",
	.help = "files and samples, as functions of their number",
	.tables = {dataset_options_table, NULL},
	.size = sizeof(struct dataset_options),
};

static int check_folder(const char *folder, const char *path, struct err *err)
{
	for (const char *part = folder; *part;) {
		size_t n = strcspn(part, "/");

		if (n == 0 || (n == 1 && part[0] == '.') ||
		    (n == 2 && part[0] == '.' && part[1] == '.'))
			return err_set(
				err, -EINVAL,
				"%s/folder: must be a plain path below the store such as \"train/a\", is \"%s\"",
				path, folder);
		part += n;
		if (*part == '/' && *++part == '\0')
			return err_set(err, -EINVAL, "%s/folder: must not end in \"/\", is \"%s\"",
				       path, folder);
	}
	return 0;
}

static int check_names(const struct dataset_options *o, const char *path, struct err *err)
{
	if (!o->prefix[0] || o->prefix[0] == '.' || strchr(o->prefix, '/'))
		return err_set(
			err, -EINVAL,
			"%s/prefix: must be the begin of a file name, without \"/\", is \"%s\"",
			path, o->prefix);
	return check_folder(o->folder, path, err);
}

static unsigned digits_of(uint64_t n)
{
	return (unsigned)snprintf(NULL, 0, "%" PRIu64, n);
}

/* FNV-1a, so that data sets of one job differ in their bytes. */
static uint64_t text_hash(uint64_t hash, const char *text)
{
	do
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
	while (*text++);
	return hash;
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
	d->format = format_table()[options->format];
	d->seed = seed;
	d->stream = random_at(
		seed, text_hash(text_hash(0xcbf29ce484222325u, options->folder), options->prefix),
		0);
	d->name_digits = digits_of(options->files);
	d->folder_digits = digits_of(options->subfolders);
	rc = check_names(options, path, err);
	if (rc < 0)
		return rc;
	if (__builtin_mul_overflow(options->files, options->samples_per_file, &d->samples) ||
	    d->samples >> FILE_BYTES_MAX_BITS)
		return err_set(
			err, -EINVAL,
			"%s/samples_per_file: files times samples_per_file must be below 2^%d",
			path, FILE_BYTES_MAX_BITS);
	permutation_init(&d->order, options->files, random_at(seed, 1, 0));
	if (stdev > mean / sqrt(3)) {
		d->log_sigma = sqrt(log1p(stdev / mean * (stdev / mean)));
		d->log_mean = log(mean) - d->log_sigma * d->log_sigma / 2;
	}
	largest = dataset_sample_bytes_max(d);
	if (largest >> DATASET_BYTES_MAX_BITS ||
	    largest > ((uint64_t)1 << FILE_BYTES_MAX_BITS) / options->samples_per_file)
		return err_set(
			err, -EINVAL,
			"%s/sample_bytes_stdev: the largest file would have %.3g bytes; make it smaller",
			path, (double)largest * (double)options->samples_per_file);
	if (d->format->check) {
		rc = d->format->check(options->samples_per_file, dataset_sample_bytes_min(d),
				      largest, err);
		if (rc < 0)
			return err_wrap(err, rc, "%s/format", path);
	}
	return 0;
}

void dataset_subfolder(const struct dataset *d, uint64_t i, char key[OBJECT_KEY_BYTES])
{
	const char *folder = d->options.folder;

	snprintf(key, OBJECT_KEY_BYTES, "%s%s%0*" PRIu64 "/", folder, folder[0] ? "/" : "",
		 (int)d->folder_digits, i);
}

void dataset_key(const struct dataset *d, uint64_t file, char key[OBJECT_KEY_BYTES])
{
	const struct dataset_options *o = &d->options;
	size_t used;

	if (o->subfolders)
		dataset_subfolder(d, file % o->subfolders, key);
	else
		snprintf(key, OBJECT_KEY_BYTES, "%s%s", o->folder, o->folder[0] ? "/" : "");
	used = strlen(key);
	snprintf(key + used, OBJECT_KEY_BYTES - used, "%s_%0*" PRIu64 "_of_%" PRIu64 ".%s",
		 o->prefix, (int)d->name_digits, file, o->files, d->format->name);
}

/* random_normal takes a sign and 63 bits of the tail's probability: the upper half is mirrored to
 * make it the quantile of at / 2^64. */
static double normal_quantile(uint64_t at)
{
	return random_normal(at >> 63 ? ~at | (uint64_t)1 << 63 : at);
}

/* The size in the middle of one of as many equal strata of the distribution as there are files. */
static uint64_t stratum_bytes(const struct dataset *d, uint64_t stratum)
{
	/* (stratum + 1/2) / files as a fraction of 2^64 */
	uint64_t at = (uint64_t)(((unsigned __int128)(2 * stratum + 1) << 63) / d->options.files);
	double mean = (double)d->options.sample_bytes;
	double size;

	if (d->options.sample_bytes_stdev == 0)
		return d->options.sample_bytes;
	if (d->log_sigma > 0)
		size = exp(d->log_mean + d->log_sigma * normal_quantile(at));
	else
		size = mean +
		       (double)d->options.sample_bytes_stdev * sqrt(3) * (2 * random_unit(at) - 1);
	if (size >= 0x1p62)
		return (uint64_t)1 << 62; /* refused by dataset_init */
	return size < 1 ? 1 : (uint64_t)(size + 0.5);
}

uint64_t dataset_sample_bytes(const struct dataset *d, uint64_t file)
{
	if (d->options.sample_bytes_stdev == 0)
		return d->options.sample_bytes;
	return stratum_bytes(d, permutation_at(&d->order, file));
}

uint64_t dataset_sample_bytes_min(const struct dataset *d)
{
	return stratum_bytes(d, 0);
}

uint64_t dataset_sample_bytes_max(const struct dataset *d)
{
	return stratum_bytes(d, d->options.files - 1);
}

static void layout_of(const struct dataset *d, uint64_t file, uint64_t sample_bytes,
		      struct layout *l)
{
	l->format = d->format;
	l->file = file;
	l->key = fill_key(d->stream, file);
	l->first_id = file * d->options.samples_per_file;
	l->samples = d->options.samples_per_file;
	l->sample_bytes = sample_bytes;
	d->format->layout(l);
}

void dataset_layout(const struct dataset *d, uint64_t file, struct layout *l)
{
	layout_of(d, file, dataset_sample_bytes(d, file), l);
}

uint64_t dataset_extent_bytes_max(const struct dataset *d)
{
	struct extent extents[FORMAT_EXTENTS_MAX];
	struct layout l;
	uint64_t largest = 0;
	uint32_t n;

	layout_of(d, 0, dataset_sample_bytes_max(d), &l);
	n = d->format->extents(&l, 0, extents);
	for (uint32_t i = 0; i < n; i++)
		if (extents[i].length > largest)
			largest = extents[i].length;
	return largest;
}

double dataset_bytes_expected(const struct dataset *d)
{
	struct layout l;

	layout_of(d, 0, d->options.sample_bytes, &l);
	return (double)l.size * (double)d->options.files;
}
