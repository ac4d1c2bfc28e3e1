/* SPDX-License-Identifier: Apache-2.0 */
/* haul ls: a look into a store, by pages. The entries of a folder are sorted by name, up to
 * LS_SORTED of them; a larger folder is shown in portions, each sorted by itself. So memory is
 * bounded by a portion for each folder on the way down. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/backend.h"
#include "backends/queue/failure.h"
#include "backends/queue/queue.h"
#include "cli/cli.h"
#include "core/json.h"
#include "core/units.h"
#include "plan/plan.h"
#include "ranks/run/run.h"

/* The output, one entry at a time. Names are shown relative to the listed folder; those of folders
 * end in '/'. */
struct ls_show {
	bool json;
	const char *uri;
	uint64_t objects, folders, bytes, unsized;
};

enum { LS_SIZE_COLUMNS = 9 };

static bool ls_is_folder(const char *name)
{
	size_t n = strlen(name);

	return n && name[n - 1] == '/';
}

static void ls_print_json(const char *text)
{
	cJSON *value = cJSON_CreateString(text);
	char *quoted = value ? json_print(value) : NULL;

	/* Leaves out the newline at the end. */
	printf("%.*s", quoted ? (int)strlen(quoted) - 1 : 4, quoted ? quoted : "null");
	free(quoted);
	cJSON_Delete(value);
}

/* A name may hold control characters, which could move the terminal's cursor. */
static void ls_print_name(const char *name)
{
	for (; *name; name++)
		putchar((unsigned char)*name < ' ' || *name == 0x7f ? '?' : *name);
	putchar('\n');
}

static void ls_begin(const struct ls_show *s)
{
	if (!s->json)
		return;
	printf("{\n\"uri\": ");
	ls_print_json(s->uri);
	printf(",\n\"entries\": [");
}

/* Prints and counts an entry. size is LIST_SIZE_UNKNOWN where it is not known. */
static void ls_entry(struct ls_show *s, const char *name, uint64_t size)
{
	bool folder = ls_is_folder(name), known = !folder && size != LIST_SIZE_UNKNOWN;
	char text[UNITS_TEXT_BYTES] = "";

	if (s->json) {
		printf("%s\n  {\"name\": ", s->objects + s->folders ? "," : "");
		ls_print_json(name);
		if (known)
			printf(", \"size\": %" PRIu64 "}", size);
		else
			printf("%s}", folder ? "" : ", \"size\": null");
	} else {
		cli_pad_left(known    ? units_bytes_decimal(text, (double)size)
			     : folder ? ""
				      : "?",
			     LS_SIZE_COLUMNS);
		printf("  ");
		ls_print_name(name);
	}
	s->folders += folder;
	s->objects += !folder;
	s->bytes += known ? size : 0;
	s->unsized += !known && !folder;
}

static void ls_end_json(const struct ls_show *s, bool more)
{
	printf("%s],\n\"objects\": %" PRIu64 ",\n\"folders\": %" PRIu64 ",\n\"bytes\": %" PRIu64
	       ",\n\"more\": %s\n}\n",
	       s->objects + s->folders ? "\n" : "", s->objects, s->folders, s->bytes,
	       more ? "true" : "false");
}

/* more: there are entries that were not listed. */
static void ls_end(const struct ls_show *s, bool more)
{
	char bytes[UNITS_TEXT_BYTES], objects[UNITS_TEXT_BYTES], folders[UNITS_TEXT_BYTES];

	if (s->json) {
		ls_end_json(s, more);
		return;
	}
	if (!s->objects && !s->folders) {
		printf("the folder is empty\n");
		return;
	}
	cli_pad_left(units_bytes_decimal(bytes, (double)s->bytes), LS_SIZE_COLUMNS);
	printf("  in %s object%s", units_count(objects, s->objects), s->objects == 1 ? "" : "s");
	if (s->folders)
		printf(", beside %s folder%s", units_count(folders, s->folders),
		       s->folders == 1 ? "" : "s");
	if (s->unsized)
		printf("; of %" PRIu64 " the size is not known", s->unsized);
	printf("%s\n", more ? "; there are more, --max shows them" : "");
}

enum { PAGE_ENTRIES = 256, LS_SORTED = 1 << 16, MAX_DEFAULT = 1000 };

struct ls_args {
	struct word_list sets;
	uint64_t max;
	bool recursive, json;
};

#define LS_ROW(n, KIND, member, ...) OPT_##KIND(n, struct ls_args, member, __VA_ARGS__)

static const struct option ls_options[] = {
	LS_ROW("recursive", BOOL, recursive, .help = "also lists what is inside the folders"),
	LS_ROW("max", U64, max, .value = "N", .min = 1, .max = UINT64_MAX,
	       .help = "the greatest number of entries to show; default 1000"),
	LS_ROW("set", WORDS, sets, .value = "KEY=VALUE",
	       .help = "an option of the store: endpoints=http://s3:9000; may be repeated"),
	LS_ROW("json", BOOL, json, .help = "prints JSON, for programs"),
	OPT_END,
};

struct ls {
	struct store store;
	struct queue queue;
	struct ls_show show;
	uint64_t left; /* how many entries may still be shown */
	bool recursive, more;
	bool unsorted; /* a folder was shown in several portions */
	struct err *err;
};

struct entry {
	uint64_t size;
	char *name;
};

/* A folder on the way down: the portion that is gone through, the listing from where the next goes
 * on. */
struct ls_folder {
	struct ls *ls;
	struct object folder;
	struct listing listing;
	uint32_t count, room;
	struct entry *entries;
};

static int ls_list_folder(struct ls *ls, const char *key);

/* Names that no key of haul could have are counted as further entries, but not shown. */
static int ls_keep(struct request *req, const char *name, uint64_t size)
{
	struct ls_folder *p = req->user;

	if (strlen(name) >= OBJECT_KEY_BYTES) {
		p->ls->more = true;
		return 0;
	}
	if (p->count == p->room) {
		uint32_t room = p->room ? 2 * p->room : PAGE_ENTRIES;
		struct entry *entries = realloc(p->entries, room * sizeof(*entries));

		if (!entries)
			return -ENOMEM;
		p->entries = entries;
		p->room = room;
	}
	p->entries[p->count] = (struct entry){.size = size, .name = strdup(name)};
	return p->entries[p->count++].name ? 0 : -ENOMEM;
}

static void ls_drop_entries(struct ls_folder *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		free(p->entries[i].name);
	p->count = 0;
}

static int ls_by_name(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static int ls_refuse(struct ls *ls, const struct request *req)
{
	bool absent = req->op == REQ_LIST && req->answer.status == -ENOENT && !req->answer.why;

	return failure_set(ls->err, req->answer.status, &ls->store, req,
			   absent ? "there is no such folder" : NULL);
}

/* Finds the size with a request of its own, where a listing does not tell sizes. */
static int ls_find_size(struct ls *ls, const char *key, uint64_t *size)
{
	struct object o = {0};
	struct request req = {.op = REQ_STAT, .object = &o};

	snprintf(o.key, sizeof(o.key), "%s", key);
	if (queue_do(&ls->queue, &req) == 0)
		*size = req.answer.done_bytes;
	else if (req.answer.status != -ENOENT && req.answer.status != -EACCES)
		return ls_refuse(ls, &req);
	return 0;
}

static int ls_print(struct ls *ls, const struct ls_folder *p, uint32_t i)
{
	const char *name = p->entries[i].name;
	size_t n = strlen(name);
	uint64_t size = p->entries[i].size;
	char key[OBJECT_KEY_BYTES];
	bool folder = n && name[n - 1] == '/';
	int rc = 0;

	if (!ls->left ||
	    snprintf(key, sizeof(key), "%s%s", p->folder.key, name) >= (int)sizeof(key)) {
		ls->more = true;
		return 0;
	}
	if (!folder && size == LIST_SIZE_UNKNOWN)
		rc = ls_find_size(ls, key, &size);
	if (rc < 0)
		return rc;
	ls->left--;
	ls_entry(&ls->show, key, size);
	return folder && ls->recursive ? ls_list_folder(ls, key) : 0;
}

static int ls_list_folder(struct ls *ls, const char *key)
{
	struct ls_folder *p = calloc(1, sizeof(*p));
	struct request req = {.op = REQ_LIST, .length = PAGE_ENTRIES, .user = p};
	int rc = 0;

	if (!p)
		return err_set(ls->err, -ENOMEM, "no memory for a page");
	p->ls = ls;
	p->listing.entry = ls_keep;
	snprintf(p->folder.key, sizeof(p->folder.key), "%s", key);
	req.object = &p->folder;
	req.listing = &p->listing;
	do {
		ls_drop_entries(p);
		do {
			if (queue_do(&ls->queue, &req) < 0)
				rc = ls_refuse(ls, &req);
		} while (rc == 0 && p->listing.more && p->count < LS_SORTED);
		if (p->count)
			qsort(p->entries, p->count, sizeof(*p->entries), ls_by_name);
		ls->unsorted = ls->unsorted || p->listing.more;
		for (uint32_t i = 0; rc == 0 && i < p->count; i++)
			rc = ls_print(ls, p, i);
	} while (rc == 0 && p->listing.more && ls->left);
	ls->more = ls->more || p->listing.more;
	ls_drop_entries(p);
	free(p->entries);
	free(p);
	return rc;
}

/* Opens the store as a single rank would. */
static int ls_open_and_list(struct ls *ls, const struct job_store *described, struct err *err)
{
	static const struct rank_place place = {.ranks = 1, .nodes = 1, .local_ranks = 1};
	struct store_process process = {0};
	struct clock clock;
	struct log log;
	int rc;

	clock_init(&clock);
	log_init(&log, STDERR_FILENO, LOG_WARNING, 0, 1);
	backends_process_begin(described, 1);
	rc = store_open(&ls->store, described,
			&(struct store_opener){.place = &place,
					       .clock = &clock,
					       .log = &log,
					       .process = &process,
					       .constant = true},
			err);
	if (rc < 0)
		goto out_end;
	rc = queue_open(&ls->queue, &ls->store, 1, err);
	if (rc == 0) {
		ls->show.uri = ls->store.uri;
		ls_begin(&ls->show);
		rc = ls_list_folder(ls, "");
		/* Text that was already shown is useful even if the listing fails. JSON is either
		 * complete or left without its end. */
		if (rc == 0)
			ls_end(&ls->show, ls->more);
		if (rc == 0 && ls->unsorted)
			cli_say("a folder has more than %d entries: they are sorted in portions of "
				"that size",
				LS_SORTED);
		queue_close(&ls->queue);
	}
	store_close(&ls->store);
out_end:
	backends_process_end(&process);
	return rc;
}

static int ls_run(const struct call *call)
{
	const struct ls_args *args = call->options;
	const struct backend_ops *ops;
	struct err err = {0};
	struct ls ls = {.recursive = args->recursive,
			.left = args->max ? args->max : MAX_DEFAULT,
			.show = {.json = args->json},
			.err = &err};
	struct job job;
	int rc;

	rc = job_parse_store(&job, plan_schema(), call->arguments[0], args->sets.items,
			     args->sets.count, &err);
	if (rc < 0) {
		cli_say("%s", err.text);
		return EXIT_USAGE;
	}
	ops = job.stores[0].section->owner;
	if ((ops->capabilities & (BACKEND_LIST | BACKEND_PERSISTENT)) !=
	    (BACKEND_LIST | BACKEND_PERSISTENT)) {
		cli_say("%s:// keeps nothing from one run to the next: there is nothing to list",
			ops->scheme);
		job_free(&job);
		return EXIT_USAGE;
	}
	rc = ls_open_and_list(&ls, &job.stores[0], &err);
	job_free(&job);
	if (rc == 0)
		return EXIT_DONE;
	fflush(stdout);
	cli_say("%s", err.text);
	return EXIT_FAILED;
}

const struct verb ls_verb = {
	.name = "ls",
	.arguments = "URI",
	.help = "lists the contents of a store or of a folder in it",
	.example = "haul ls s3://train/unet3d --set endpoints=http://s3:9000",
	.options = ls_options,
	.options_bytes = sizeof(struct ls_args),
	.arguments_min = 1,
	.arguments_max = 1,
	.run = ls_run,
};
