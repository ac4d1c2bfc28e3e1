/* SPDX-License-Identifier: Apache-2.0 */
/* What a folder holds in place of a file: see found_names.h. At most a page of it is listed. */
#include "workloads/dataset/found_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

uint64_t found_names_set(const struct dataset *d, struct queue *q, uint64_t file,
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
