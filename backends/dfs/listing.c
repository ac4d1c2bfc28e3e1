/* SPDX-License-Identifier: Apache-2.0 */
/* Listings of daos://. libdfs divides a folder into as many anchors as it likes; part p of n has
 * every nth of them. What a page leaves over is remembered as an anchor, which is a position in
 * libdfs's own words, in the marker of the listing.
 *
 * libdfs names many entries by one request, and tells neither their sizes nor which are folders:
 * that takes a request for each entry, one after the other. Threads that ask at the same time gain
 * nothing: all calls that wait do so on one context of the network, which lets one thread at a time
 * look for answers, and they look without rest. With DAOS 2.6.0 on the same two cores, 3,001 entries
 * took 3 to 12 s with one thread, 9 to 33 s with two, 5 to 21 s with four and 8 to 14 s with sixteen;
 * where waiting threads sleep (D_POLL_TIMEOUT=1000), 1.7, 11 and 31 s with one, four and sixteen.
 * dfs_readdirplus asks one by one, too, and fails where an entry is removed meanwhile. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backends/dfs/object.h"
#include "core/numbers.h"

/* Where the next page begins. It lies in the marker as it is: the marker is the store's own. */
struct list_place {
	uint8_t begun;   /* 0: this is the first page. The first byte, which a caller clears */
	uint32_t number; /* of the anchor that is read; those of other parts are left out */
	struct dfs_anchor anchor;
};
_Static_assert(sizeof(struct list_place) <= DFS_MARKER_BYTES, "fits into a task");
_Static_assert((int)DFS_MARKER_BYTES <= (int)LIST_MARKER_BYTES, "fits into the marker");

enum { LIST_ENTRIES = 128 };

/* Entries of one call, and what they are. */
struct list_found {
	uint32_t count;
	struct dirent entries[LIST_ENTRIES];
	struct stat stats[LIST_ENTRIES];
	bool gone[LIST_ENTRIES]; /* removed since it was named */
};

struct dfs_page {
	struct dfs_task *task;
	struct dfs_store *store;
	struct dfs_object *folder;
	uint64_t most;
	uint32_t parts, anchors;
	struct list_place at;
};

/* Whether there are entries left in the part, from the anchor at hand on. */
static int list_next_anchor(struct dfs_page *p, bool *more)
{
	const struct dfs_library *l = &p->store->library;

	if (p->at.begun && p->at.anchor.type != DFS_ANCHOR_END) {
		*more = true;
		return 0;
	}
	p->at.number = p->at.begun ? p->at.number + p->parts : p->task->part;
	p->task->vacant = !p->at.begun && p->parts > 1 && p->at.number >= p->anchors;
	p->at.begun = 1;
	*more = p->at.number < p->anchors;
	if (!*more)
		return 0;
	memset(&p->at.anchor, 0, sizeof(p->at.anchor));
	return l->dfs_obj_anchor_set(p->folder, p->at.number, &p->at.anchor);
}

/* Calls the caller's entry(), which is his code, with his request. */
static int list_give(struct dfs_page *p, const struct list_found *found, uint32_t i)
{
	const char *name = found->entries[i].d_name;
	char folder[sizeof(found->entries[i].d_name) + 1];
	struct request *asked = p->task->asked;
	uint64_t size = LIST_SIZE_UNKNOWN;

	if (found->gone[i])
		return 0;
	p->task->req.answer.done_bytes++;
	if (!p->task->names && S_ISDIR(found->stats[i].st_mode)) {
		snprintf(folder, sizeof(folder), "%s/", name);
		name = folder;
	} else if (!p->task->names) {
		size = (uint64_t)found->stats[i].st_size;
	}
	return asked->listing->entry(asked, name, size);
}

/* Gives those of one call to the caller, unless nobody waits for them any more. */
static int list_give_all(struct dfs_page *p, const struct list_found *found, int *ended)
{
	if (!p->task->claim(p->task))
		return ECANCELED;
	for (uint32_t i = 0; *ended == 0 && i < found->count; i++)
		*ended = list_give(p, found, i);
	p->task->release(p->task);
	return 0;
}

/* Sizes and kinds. */
static int list_look(const struct dfs_page *p, struct list_found *found)
{
	const struct dfs_store *s = p->store;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < found->count; i++) {
		rc = s->library.dfs_stat(s->mount, p->folder, found->entries[i].d_name,
					 &found->stats[i]);
		found->gone[i] = rc == ENOENT;
		rc = rc == ENOENT ? 0 : rc;
	}
	return rc;
}

/* Entries of one anchor: some, or none, which does not mean that it has come to its end. */
static int list_entries(struct dfs_page *p, int *ended)
{
	uint64_t left = p->most - p->task->req.answer.done_bytes;
	struct dfs_anchor before = p->at.anchor;
	struct list_found found = {.count = (uint32_t)min_u64(left, LIST_ENTRIES)};
	int rc = p->store->library.dfs_readdir(p->store->mount, p->folder, &p->at.anchor,
					       &found.count, found.entries);

	if (rc == 0 && !p->task->names)
		rc = list_look(p, &found);
	/* Another attempt asks for the same entries. */
	if (rc)
		p->at.anchor = before;
	return rc ? rc : list_give_all(p, &found, ended);
}

static int list_part(struct dfs_page *p, int *ended)
{
	bool more;
	int rc = p->store->library.dfs_obj_anchor_split(p->folder, &p->anchors, NULL);

	if (rc == 0)
		rc = list_next_anchor(p, &more);
	while (rc == 0 && more && *ended == 0 && p->task->req.answer.done_bytes < p->most) {
		rc = list_entries(p, ended);
		if (rc == 0)
			rc = list_next_anchor(p, &more);
	}
	if (rc == 0)
		p->task->more = more;
	return rc;
}

int dfs_list_page(struct dfs_task *task, int *ended)
{
	struct dfs_store *s = task->store;
	struct dfs_page p = {.task = task,
			     .store = s,
			     .most = task->req.length ? task->req.length : LIST_PAGE_ENTRIES,
			     .parts = max_u64(task->parts, 1)};
	char path[DFS_PATH_BYTES];
	struct dfs_kept *folder;
	size_t length;
	int rc;

	length = (size_t)snprintf(path, sizeof(path), "%s/%.*s", s->base, OBJECT_KEY_BYTES - 1,
				  task->object.key);
	while (length > 1 && path[length - 1] == '/')
		path[--length] = '\0';
	rc = dfs_folder_take(&s->folders, path, false, &folder);
	if (rc)
		return rc == ENOTDIR ? ENOENT : rc;
	p.folder = folder->object;
	memcpy(&p.at, task->marker, sizeof(p.at));
	rc = list_part(&p, ended);
	memcpy(task->marker, &p.at, sizeof(p.at));
	dfs_folder_drop(&s->folders, folder);
	return rc;
}
