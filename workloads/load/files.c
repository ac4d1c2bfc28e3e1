/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the files of a model: see run.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/queue/failure.h"
#include "core/grow.h"
#include "core/json.h"
#include "workloads/archive/safetensors_read.h"
#include "workloads/common/small_object.h"
#include "workloads/load/run.h"

static const char index_name[] = "model.safetensors.index.json", ending[] = ".safetensors";
static const uint64_t index_max = 256 << 20;

enum { NAMES_BYTES_MAX = 16 << 20, NAMES_FIRST = 64 };

/* What rank 0 gathers. */
struct names_found {
	const char **names; /* owned by the arena, the list by this */
	uint64_t count, room, bytes;
	struct safetensors_names
		*tensors; /* [count], owned by the arena; NULL: nobody names them */
	struct arena arena;
};

static void names_key(const char *folder, const char *name, char key[OBJECT_KEY_BYTES])
{
	snprintf(key, OBJECT_KEY_BYTES, "%s%s%s", folder, folder[0] ? "/" : "", name);
}

/* Returns a negative errno where the list has no room for the name. */
static int names_add(struct names_found *f, const char *name)
{
	if (!grow(&f->names, f->count, &f->room, NAMES_FIRST, sizeof(*f->names)))
		return -ENOMEM;
	f->names[f->count] = arena_text(&f->arena, name);
	if (!f->names[f->count])
		return -ENOMEM;
	f->count++;
	f->bytes += strlen(name) + 1;
	return f->bytes > NAMES_BYTES_MAX ? -E2BIG : 0;
}

static int names_entry(struct request *req, const char *name, uint64_t size)
{
	size_t n = strlen(name), end = sizeof(ending) - 1;

	(void)size;
	if (n <= end || strcmp(name + n - end, ending) != 0 || strchr(name, '/') ||
	    !json_text_plain(name))
		return 0;
	return names_add(req->user, name);
}

static int names_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "consolidated.safetensors", or "consolidated-00001-of-00002.safetensors", holds the same weights
 * as the other files, as Mistral's publisher names them. Beside others it is a copy, which no
 * program loads as well. */
static void names_drop_copies(struct names_found *f)
{
	static const char copy[] = "consolidated";
	uint64_t others = 0, kept = 0;

	for (uint64_t i = 0; i < f->count; i++)
		others += strncmp(f->names[i], copy, sizeof(copy) - 1) != 0;
	for (uint64_t i = 0; others && i < f->count; i++) {
		if (strncmp(f->names[i], copy, sizeof(copy) - 1) == 0)
			f->bytes -= strlen(f->names[i]) + 1;
		else
			f->names[kept++] = f->names[i];
	}
	if (others)
		f->count = kept;
}

static int names_list(struct names_found *f, struct queue *q, const char *folder, struct err *err)
{
	struct listing listing = {.entry = names_entry, .names = true};
	const struct store *store = q->channel.store;
	struct object o = {0};
	int rc;

	if (!store_can(store, BACKEND_LIST))
		return err_set(err, -EOPNOTSUPP, "%s/%s: has no %s, and the store cannot list",
			       store->uri, folder, index_name);
	names_key(folder, "", o.key);
	do {
		struct request req = {.op = REQ_LIST, .object = &o, .listing = &listing, .user = f};

		rc = queue_do(q, &req);
		if (rc < 0)
			return failure_set(err, rc, store, &req,
					   rc == -E2BIG ? "has more names than any model" : NULL);
	} while (listing.more);
	if (!f->count)
		return err_set(err, -ENOENT, "%s/%s: has neither %s nor any file *%s", store->uri,
			       folder, index_name, ending);
	qsort(f->names, f->count, sizeof(*f->names), names_compare);
	names_drop_copies(f);
	return 0;
}

static int names_index(struct names_found *f, struct queue *q, const char *folder, struct err *err)
{
	struct safetensors_file *files = NULL;
	char key[OBJECT_KEY_BYTES], *text = NULL;
	struct arena arena = {NULL};
	uint64_t count = 0;
	size_t length;
	int rc;

	names_key(folder, index_name, key);
	rc = small_object_load(q, key, index_max, &text, &length, err);
	if (rc < 0)
		return rc;
	rc = safetensors_read_index(text, length, &files, &count, &arena, err);
	if (rc == 0 && !count)
		rc = err_set(err, -EINVAL, "names no file");
	f->tensors = arena_alloc(&f->arena, (count + 1) * sizeof(*f->tensors));
	if (rc == 0 && !f->tensors)
		rc = err_set(err, -ENOMEM, "no memory");
	for (uint64_t i = 0; rc == 0 && i < count; i++) {
		f->tensors[i] = files[i].tensors;
		rc = names_add(f, files[i].name);
		if (rc < 0)
			err_set(err, rc, "%s",
				rc == -E2BIG ? "has more names than any model" : "no memory");
	}
	free(text);
	arena_free(&arena);
	return rc < 0 ? err_wrap(err, rc, "%s/%s", q->channel.store->uri, key) : 0;
}

/* A key that does not fit would be cut off, and name another object. */
static int names_check(const struct names_found *f, const char *folder, struct err *err)
{
	for (uint64_t i = 0; i < f->count; i++)
		if (strlen(folder) + 1 + strlen(f->names[i]) >= OBJECT_KEY_BYTES)
			return err_set(err, -ENAMETOOLONG, "%s/%.40s…: is too long a name", folder,
				       f->names[i]);
	return 0;
}

static int names_find(struct names_found *f, struct queue *q, const char *folder, struct err *err)
{
	struct err none = {0};
	int rc = names_index(f, q, folder, &none);

	if (rc == -ENOENT)
		rc = names_list(f, q, folder, err);
	else if (rc < 0)
		*err = none;
	return rc < 0 ? rc : names_check(f, folder, err);
}

int load_names_find(struct load_names *out, struct queue *q, const char *folder,
		    struct group *group, struct err *err)
{
	struct names_found f = {.count = 0};
	uint64_t sizes[2];
	char *at;
	int rc = group->rank == 0 ? names_find(&f, q, folder, err) : 0;

	*out = (struct load_names){0};
	rc = group_agree(group, rc, err);
	sizes[0] = f.count;
	sizes[1] = f.bytes;
	if (rc == 0)
		rc = group_broadcast(group, sizes, sizeof(sizes));
	if (rc == 0) {
		out->count = sizes[0];
		out->names = calloc(sizes[0], sizeof(*out->names));
		out->text = malloc(sizes[1]);
		rc = out->names && out->text ? 0 : err_set(err, -ENOMEM, "no memory for names");
		rc = group_agree(group, rc, err);
	}
	if (rc == 0) {
		out->tensors = calloc(out->count + 1, sizeof(*out->tensors));
		rc = out->tensors ? 0 : err_set(err, -ENOMEM, "no memory for names");
		rc = group_agree(group, rc, err);
	}
	if (rc == 0 && f.tensors)
		memcpy(out->tensors, f.tensors, out->count * sizeof(*out->tensors));
	if (rc == 0)
		rc = group_broadcast(group, out->tensors, out->count * sizeof(*out->tensors));
	/* One text of all names, each with its end; ranks that have it point into it. */
	at = out->text;
	for (uint64_t i = 0; rc == 0 && at && i < f.count; i++)
		at = stpcpy(at, f.names[i]) + 1;
	if (rc == 0 && out->text)
		rc = group_broadcast(group, out->text, sizes[1]);
	at = out->text;
	for (uint64_t i = 0; rc == 0 && at && i < out->count; i++, at += strlen(at) + 1) {
		out->names[i] = at;
		safetensors_names_join(&out->all, &out->tensors[i]);
	}
	free(f.names);
	arena_free(&f.arena);
	return rc;
}

int load_names_published(struct load_names *out, const struct published *p, struct err *err)
{
	*out = (struct load_names){.count = p->files};
	out->names = calloc(p->files, sizeof(*out->names));
	out->tensors = calloc(p->files + 1, sizeof(*out->tensors));
	if (!out->names || !out->tensors)
		return err_set(err, -ENOMEM, "no memory for names");
	for (uint64_t i = 0; i < p->files; i++) {
		const struct published_file *f = &p->file[i];

		out->names[i] = f->name;
		for (uint64_t k = 0; k < f->archive.tensors.count; k++)
			safetensors_names_add(&out->all, f->tensors[k].name);
	}
	return 0;
}

void load_names_free(struct load_names *n)
{
	free(n->names);
	free(n->tensors);
	free(n->text);
	*n = (struct load_names){0};
}

bool load_names_own(const struct load_names *n, uint64_t i, uint64_t rank)
{
	char begin[64];

	snprintf(begin, sizeof(begin), "model-rank-%" PRIu64 "-part-", rank);
	return strncmp(n->names[i], begin, strlen(begin)) == 0;
}

bool load_names_lack(const struct load_names *n, uint64_t rank, uint64_t *part)
{
	char name[64];
	uint64_t own = 0, i;

	for (i = 0; i < n->count; i++)
		own += load_names_own(n, i, rank);
	for (*part = 0; *part < own; ++*part) {
		snprintf(name, sizeof(name), "model-rank-%" PRIu64 "-part-%" PRIu64 ".safetensors",
			 rank, *part);
		for (i = 0; i < n->count && strcmp(n->names[i], name) != 0; i++)
			;
		if (i == n->count)
			return true;
	}
	return !own;
}

void load_names_key(const struct load_names *n, const char *folder, uint64_t i,
		    char key[OBJECT_KEY_BYTES])
{
	names_key(folder, n->names[i], key);
}
