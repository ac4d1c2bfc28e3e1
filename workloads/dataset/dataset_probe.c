/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/dataset/dataset_probe.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/queue/failure.h"
#include "backends/queue/queue.h"
#include "core/content/random.h"
#include "core/numbers.h"
#include "core/units.h"

/* Names of a data set that haul did not make, compared with what a folder holds: how large the set
 * is of which the job reads the first files, as DLIO does with a sorted list; and what is there in
 * place of a file that is not. */

enum { FOUND_TEXT_BYTES = 400 };

enum { LISTED_MAX = 1000, PREFIX_BYTES = 64, ENDING_BYTES = 24 };

struct found {
	const struct dataset *dataset;
	uint64_t entries, folders, subfolders; /* folders whose name is a number, below this one */
	uint64_t set;                          /* of a name that fits but for its number of files */
	char first[OBJECT_KEY_BYTES];          /* one name that is no folder */
	char prefix[PREFIX_BYTES], ending[ENDING_BYTES]; /* of a name by DLIO's rule */
};

/* "PREFIX_007_of_400.ENDING"; false where the name is none of these. */
static bool found_by_rule(const char *name, char prefix[PREFIX_BYTES], char ending[ENDING_BYTES],
			  uint64_t *files)
{
	const char *of = strstr(name, "_of_"), *number = of, *dot;
	char *end;

	while (number && number > name && number[-1] >= '0' && number[-1] <= '9')
		number--;
	if (!of || number == of || number == name || number[-1] != '_' ||
	    number - name > PREFIX_BYTES)
		return false;
	*files = strtoull(of + 4, &end, 10);
	dot = end;
	if (end == of + 4 || *dot != '.' || strlen(dot + 1) >= ENDING_BYTES || strchr(dot + 1, '.'))
		return false;
	snprintf(prefix, PREFIX_BYTES, "%.*s", (int)(number - 1 - name), name);
	snprintf(ending, ENDING_BYTES, "%s", dot + 1);
	return true;
}

static int found_entry(struct request *req, const char *name, uint64_t size)
{
	struct found *f = req->user;
	const struct dataset_options *o = &f->dataset->options;
	char prefix[PREFIX_BYTES], ending[ENDING_BYTES];
	size_t n = strlen(name);
	uint64_t files;

	(void)size;
	f->entries++;
	if (n && name[n - 1] == '/') {
		f->folders++;
		f->subfolders += strspn(name, "0123456789") == n - 1;
		return 0;
	}
	if (!f->first[0])
		snprintf(f->first, sizeof(f->first), "%s", name);
	if (!found_by_rule(name, prefix, ending, &files))
		return 0;
	snprintf(f->prefix, sizeof(f->prefix), "%s", prefix);
	snprintf(f->ending, sizeof(f->ending), "%s", ending);
	if (strcmp(prefix, o->prefix) == 0 && strcmp(ending, format_extension(o->format)) == 0)
		f->set = files;
	return 0;
}

static void found_list(struct found *f, struct queue *q, const char *folder)
{
	struct listing listing = {.entry = found_entry};
	struct object o = {0};
	struct request req = {
		.op = REQ_LIST, .object = &o, .length = LISTED_MAX, .listing = &listing, .user = f};

	snprintf(o.key, sizeof(o.key), "%s", folder);
	queue_do(q, &req);
}

static void found_say(const struct found *f, const char *folder, char text[FOUND_TEXT_BYTES])
{
	const struct dataset_options *o = &f->dataset->options;
	bool by_rule = f->dataset->naming == NAMING_DLIO || f->dataset->naming == NAMING_DLIO_VALID;
	const char *where = folder[0] ? folder : "the store's root";

	if (!f->entries)
		snprintf(
			text, FOUND_TEXT_BYTES,
			"there is nothing in %.200s: look at the store's \"uri\", the data set's \"folder\" "
			"and \"subfolders\"",
			where);
	else if (by_rule && f->set && f->set < o->files)
		snprintf(text, FOUND_TEXT_BYTES,
			 "%.200s holds files of a set of %" PRIu64 ", the job says %" PRIu64
			 "; set \"files\" to %" PRIu64 " at most",
			 where, f->set, o->files, f->set);
	else if (by_rule && f->ending[0] && strcmp(f->prefix, o->prefix) != 0)
		snprintf(text, FOUND_TEXT_BYTES,
			 "%.200s holds \"%.100s\"; set \"prefix\" to \"%s\"", where, f->first,
			 f->prefix);
	else if (by_rule && f->ending[0] && strcmp(f->ending, format_extension(o->format)) != 0)
		snprintf(
			text, FOUND_TEXT_BYTES,
			"%.200s holds \"%.100s\"; set \"format\" to that of files that end with .%s",
			where, f->first, f->ending);
	else if (by_rule && f->subfolders && f->subfolders == f->folders)
		snprintf(text, FOUND_TEXT_BYTES,
			 "%.200s holds %" PRIu64
			 " subfolders; set \"subfolders\" (DLIO's num_subfolders) to %" PRIu64,
			 where, f->subfolders, f->subfolders);
	else if (by_rule && f->set && o->subfolders > 1)
		snprintf(
			text, FOUND_TEXT_BYTES,
			"%.200s holds files of this set, but not this one: it has another number of "
			"subfolders than %" PRIu64,
			where, o->subfolders);
	else if (f->first[0])
		snprintf(text, FOUND_TEXT_BYTES, "%.200s holds \"%.100s\"", where, f->first);
	else
		snprintf(text, FOUND_TEXT_BYTES, "%.200s holds %" PRIu64 " folders and no file",
			 where, f->folders);
}

/* The folder of a key, "" or ending in '/', cut by one level. */
static void found_up(char *folder)
{
	size_t n = strlen(folder);

	while (n > 1 && folder[n - 2] != '/')
		n--;
	folder[n ? n - 1 : 0] = '\0';
}

/* After the file with that number was not found: lists some of its folder. Returns the number of
 * files of the set, where the folder has DLIO's names of a larger set of this prefix and format;
 * else 0, with a sentence that says what is there and what to change. */
static uint64_t found_names_set(const struct dataset *d, struct queue *q, uint64_t file,
				char text[FOUND_TEXT_BYTES])
{
	struct found f = {.dataset = d}, above = {.dataset = d};
	char folder[OBJECT_KEY_BYTES];
	char *slash;

	text[0] = '\0';
	dataset_key(d, file, folder);
	slash = strrchr(folder, '/');
	folder[slash ? slash + 1 - folder : 0] = '\0';
	found_list(&f, q, folder);
	if (f.set >= d->options.files && d->naming != NAMING_TEMPLATE && d->naming != NAMING_LIST &&
	    f.set != d->set_files)
		return f.set;
	/* Where the folder itself is missing, what lies beside it says more. */
	if (!f.entries && folder[0] && d->options.subfolders > 1) {
		found_up(folder);
		found_list(&above, q, folder);
		if (above.entries) {
			found_say(&above, folder, text);
			return 0;
		}
	}
	found_say(&f, folder, text);
	return 0;
}

enum { HEAD_ALIGNMENT = 4096, SIZES_FACTOR = 4 };

static const uint64_t dataset_existing_stream = 0x65786973; /* "exis" */

/* The probe of one rank. */
struct probe {
	const struct dataset *dataset;
	struct queue queue;
	struct object object;
	uint64_t file, bytes; /* file: looked at now; bytes: of all files so far */
	uint64_t least, most; /* bytes of the files themselves */
	uint32_t which;       /* object of the file */
	void *window;
};

static int dataset_probe_refuse(const struct probe *k, int rc, const char *text, struct err *err)
{
	return failure_compose(err, rc, k->queue.channel.store, k->object.key, text, 0, 0);
}

static int dataset_probe_check_size(const struct probe *k, uint64_t bytes, struct err *err)
{
	const struct dataset_options *o = &k->dataset->options;
	struct layout l;
	char text[256];

	if (bytes == 0)
		return dataset_probe_refuse(k, -ENODATA, "is empty", err);
	if (o->sizes == SIZES_STAT)
		return 0;
	dataset_object_layout(k->dataset, k->file, k->which, &l);
	if (bytes == l.size)
		return 0;
	snprintf(text, sizeof(text),
		 "has %" PRIu64 " bytes, a %s file of %" PRIu64 " x %" PRIu64 " has %" PRIu64
		 "; with \"sizes\": \"stat\" each is taken as it is",
		 bytes, format_names[o->format], o->samples_per_file, l.sample_bytes, l.size);
	return dataset_probe_refuse(k, -EINVAL, text, err);
}

static void dataset_probe_hex(char *out, const uint8_t *bytes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		out += sprintf(out, "%s%02x", i ? " " : "", bytes[i]);
}

static const struct format_magic *dataset_probe_magic(const struct probe *k)
{
	return &format_table()[k->dataset->options.format]->magic;
}

/* count bytes were found where the format's magic must be: fewer where the file ends. */
static int dataset_probe_check_magic(const struct probe *k, const uint8_t *found, uint32_t count,
				     struct err *err)
{
	const struct format_magic *magic = dataset_probe_magic(k);
	char text[256], want[3 * FORMAT_MAGIC_BYTES + 1], have[3 * FORMAT_MAGIC_BYTES + 1];

	if (!magic->bytes ||
	    (count == magic->count && memcmp(found, magic->bytes, magic->count) == 0))
		return 0;
	dataset_probe_hex(want, (const uint8_t *)magic->bytes, magic->count);
	dataset_probe_hex(have, found, count);
	if (!count)
		snprintf(text, sizeof(text),
			 "ends before byte %" PRIu64 ", where %s files have the bytes %s",
			 magic->offset, format_names[k->dataset->options.format], want);
	else if (magic->offset)
		snprintf(text, sizeof(text),
			 "has the bytes %s at byte %" PRIu64 ", where %s files have %s", have,
			 magic->offset, format_names[k->dataset->options.format], want);
	else
		snprintf(text, sizeof(text), "begins with the bytes %s; %s files begin with %s",
			 have, format_names[k->dataset->options.format], want);
	return dataset_probe_refuse(k, -EINVAL, text, err);
}

/* Reads the format's magic, or a few bytes where the format has none: that the file can be read is
 * worth knowing too. */
static int dataset_probe_read_magic(struct probe *k, uint64_t bytes, struct err *err)
{
	struct request req = {.op = REQ_OPEN, .object = &k->object};
	const struct format_magic *magic = dataset_probe_magic(k);
	uint64_t at = magic->offset < bytes ? magic->offset : bytes - 1;
	uint64_t count = magic->bytes ? magic->count : FORMAT_MAGIC_BYTES;
	int rc = queue_do(&k->queue, &req);

	if (rc < 0)
		return failure_set(err, rc, k->queue.channel.store, &req, NULL);
	req = (struct request){.op = REQ_READ, .object = &k->object, .data = k->window};
	req.offset = at;
	req.length = count < bytes - at ? count : bytes - at;
	rc = queue_do(&k->queue, &req);
	if (rc < 0)
		failure_set(err, rc, k->queue.channel.store, &req, NULL);
	else
		rc = dataset_probe_check_magic(k, (uint8_t *)k->window + req.answer.lead,
					       at == magic->offset ? (uint32_t)req.length : 0, err);
	queue_do(&k->queue, &(struct request){.op = REQ_CLOSE, .object = &k->object});
	return rc;
}

static int dataset_probe_object(struct probe *k, uint64_t file, uint32_t which, struct err *err)
{
	struct request req = {.op = REQ_STAT, .object = &k->object};
	char text[128 + FOUND_TEXT_BYTES], found[FOUND_TEXT_BYTES];
	int rc;

	memset(&k->object, 0, sizeof(k->object));
	k->file = file;
	k->which = which;
	dataset_object_key(k->dataset, file, which, k->object.key);
	rc = queue_do(&k->queue, &req);
	if (rc == -ENOENT) {
		found_names_set(k->dataset, &k->queue, file, found);
		snprintf(text, sizeof(text),
			 "is not there; the job says that file %" PRIu64 " of %" PRIu64
			 " is called so%s%s",
			 file, k->dataset->options.files, found[0] ? ". " : "", found);
		return dataset_probe_refuse(k, rc, text, err);
	}
	if (rc < 0)
		return failure_set(err, rc, k->queue.channel.store, &req, NULL);
	k->bytes += req.answer.done_bytes;
	if (!which) {
		k->least = min_u64(k->least, req.answer.done_bytes);
		k->most = max_u64(k->most, req.answer.done_bytes);
	}
	rc = dataset_probe_check_size(k, req.answer.done_bytes, err);
	return rc < 0 || which ? rc : dataset_probe_read_magic(k, req.answer.done_bytes, err);
}

static int dataset_probe_files(struct probe *k, struct store *store, uint32_t rank, struct err *err)
{
	const struct dataset *d = k->dataset;
	uint64_t files = d->options.files;
	int rc = queue_open(&k->queue, store, 1, err);

	if (rc < 0)
		return rc;
	queue_unlogged(&k->queue);
	if (posix_memalign(&k->window, HEAD_ALIGNMENT,
			   queue_buffer_bytes(store, FORMAT_MAGIC_BYTES)) != 0)
		rc = err_set(err, -ENOMEM, "no memory to look at files");
	for (uint64_t i = 0; rc == 0 && i < DATASET_PROBE_LOOKS; i++) {
		uint64_t drawn = random_at(d->seed ^ dataset_existing_stream, rank, i) % files;
		uint64_t file = i == 0 ? 0 : i == 1 ? files - 1 : drawn;

		for (uint32_t which = 0; rc == 0 && which < d->objects; which++)
			rc = dataset_probe_object(k, file, which, err);
	}
	free(k->window);
	queue_close(&k->queue);
	return rc;
}

/* Figures that plan and report compute from sample_bytes are wrong by as much as these sizes.
 * Without a deviation, the headers of a format are all by which they may differ. */
static void dataset_probe_compare(const struct dataset *d, const struct store *store,
				  uint64_t bytes, uint64_t files)
{
	double found = (double)bytes / (double)files;
	double expected = dataset_bytes_expected(d) / (double)d->options.files;
	double factor = d->options.sample_bytes_stdev ? 4 : 1.25;
	char is[UNITS_TEXT_BYTES], says[UNITS_TEXT_BYTES];

	if (store->place.rank != 0 || (found < factor * expected && found > expected / factor))
		return;
	log_say(store->log, LOG_WARNING,
		"%s: %" PRIu64
		" files that were looked at have %s on average, the job expects %s (samples_per_file %" PRIu64
		" x sample_bytes %" PRIu64
		"): the plan's figures for bytes are wrong by the same factor, or the "
		"files hold another number of samples",
		store->uri, files, units_bytes_decimal(is, found),
		units_bytes_decimal(says, expected), d->options.samples_per_file,
		d->options.sample_bytes);
}

/* What sizes a file of the set may have. Where all that were looked at are equal and the job says
 * no deviation, it is that size; else sizes far beyond those looked at and those drawn are
 * damage. */
static void dataset_probe_bound(struct dataset *d, uint64_t least, uint64_t most)
{
	uint64_t spf = d->options.samples_per_file;

	d->file_bytes_least = least;
	d->file_bytes_most = most;
	if (d->options.sample_bytes_stdev) {
		d->file_bytes_least =
			min_u64(least, spf * dataset_sample_bytes_min(d)) / SIZES_FACTOR;
		d->file_bytes_most =
			max_u64(most, spf * dataset_sample_bytes_max(d)) * SIZES_FACTOR;
	} else if (least != most) {
		d->file_bytes_least = least / SIZES_FACTOR;
		d->file_bytes_most = most * SIZES_FACTOR;
	}
}

/* The files that the job reads may be the first ones of a larger set: their names say of how
 * many. */
static int dataset_probe_set(struct dataset *d, struct store *store, struct group *group,
			     struct err *err)
{
	char text[FOUND_TEXT_BYTES], files[UNITS_COUNTED_BYTES];
	struct object o = {0};
	struct request req = {.op = REQ_STAT, .object = &o};
	uint64_t set = 0;
	struct queue q;
	int rc = 0;

	if (d->naming != NAMING_DLIO && d->naming != NAMING_DLIO_VALID)
		return 0;
	if (group->rank == 0) {
		rc = queue_open(&q, store, 1, err);
		if (rc == 0) {
			queue_unlogged(&q);
			dataset_key(d, 0, o.key);
			if (queue_do(&q, &req) == -ENOENT)
				set = found_names_set(d, &q, 0, text);
			queue_close(&q);
		}
	}
	rc = group_agree(group, rc, err);
	if (rc == 0)
		rc = group_broadcast(group, &set, sizeof(set));
	if (rc < 0 || !set)
		return rc;
	dataset_in_set(d, set);
	if (group->rank == 0)
		log_say(store->log, LOG_WARNING,
			"%s: the job reads the first %s of a set of %" PRIu64, store->uri,
			units_counted(files, d->options.files, "file"), set);
	return 0;
}

int dataset_probe(struct dataset *d, struct store *store, struct group *group, struct err *err)
{
	struct probe k = {.dataset = d, .least = UINT64_MAX};
	uint64_t words[2];
	int rc;

	if (!d->existing || !store_can(store, BACKEND_CONTENT))
		return 0;
	rc = dataset_probe_set(d, store, group, err);
	if (rc < 0)
		return rc;
	rc = group_agree(group, dataset_probe_files(&k, store, group->rank, err), err);
	if (rc < 0)
		return rc;
	words[0] = k.bytes;
	words[1] = DATASET_PROBE_LOOKS;
	rc = group_allreduce(group, MERGE_SUM, words, 2);
	if (rc == 0)
		rc = group_allreduce(group, MERGE_MIN, &k.least, 1);
	if (rc == 0)
		rc = group_allreduce(group, MERGE_MAX, &k.most, 1);
	if (rc < 0)
		return rc;
	dataset_probe_compare(d, store, words[0], words[1]);
	if (d->options.sizes == SIZES_STAT)
		dataset_probe_bound(d, k.least, k.most);
	return 0;
}
