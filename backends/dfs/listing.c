/* Listings of daos://. libdfs divides a folder into as many anchors as it likes; part p of n
 * has every nth of them. What a page leaves over is remembered as an anchor, which is a
 * position in libdfs's own words, in the marker of the listing. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backends/dfs/code.h"
#include "backends/dfs/object.h"
#include "core/numbers.h"

/* Entries asked for at once. */
enum { LIST_ENTRIES = 128 };

/* Where the next page begins. It lies in the marker as it is: the marker is the store's own. */
struct list_place {
	uint8_t begun;   /* 0: this is the first page. The first byte, which a caller clears */
	uint32_t number; /* of the anchor that is read; those of other parts are left out */
	struct dfs_anchor anchor;
};
_Static_assert(sizeof(struct list_place) <= LIST_MARKER_BYTES, "fits into the marker");

struct list_page {
	struct dfs_store *store;
	struct request *req;
	struct dfs_object *folder;
	uint64_t most;
	uint32_t parts, anchors;
	struct list_place at;
};

/* Whether there are entries left in the part, from the anchor at hand on. */
static int list_next_anchor(struct list_page *p, bool *more)
{
	const struct dfs_library *l = &p->store->library;

	if (p->at.begun && p->at.anchor.type != DFS_ANCHOR_END) {
		*more = true;
		return 0;
	}
	p->at.number = p->at.begun ? p->at.number + p->parts : p->req->listing->part;
	p->at.begun = 1;
	*more = p->at.number < p->anchors;
	if (!*more)
		return 0;
	memset(&p->at.anchor, 0, sizeof(p->at.anchor));
	return l->dfs_obj_anchor_set(p->folder, p->at.number, &p->at.anchor);
}

static int list_give(struct list_page *p, const char *name, const struct stat *st)
{
	char folder[sizeof(((struct dirent *)NULL)->d_name) + 1];

	p->req->answer.done_bytes++;
	if (!S_ISDIR(st->st_mode))
		return p->req->listing->entry(p->req, name, (uint64_t)st->st_size);
	snprintf(folder, sizeof(folder), "%s/", name);
	return p->req->listing->entry(p->req, folder, LIST_SIZE_UNKNOWN);
}

/* Names first, and then what each of them is. Those that are gone meanwhile are left out. */
static int list_names(struct list_page *p, uint32_t *count, struct dirent *entries,
		      struct stat *stats)
{
	const struct dfs_library *l = &p->store->library;
	struct dfs_mount *mount = p->store->mount;
	int rc = l->dfs_readdir(mount, p->folder, &p->at.anchor, count, entries);
	uint32_t there = 0;

	for (uint32_t i = 0; rc == 0 && i < *count; i++) {
		rc = l->dfs_stat(mount, p->folder, entries[i].d_name, &stats[there]);
		if (rc == ENOENT) {
			rc = 0;
			continue;
		}
		if (there < i)
			entries[there] = entries[i];
		there++;
	}
	*count = there;
	return rc;
}

/* libdfs says what an entry is together with its size, and fails where one is removed before it has looked at it. */
static int list_read(struct list_page *p, uint32_t *count, struct dirent *entries,
		     struct stat *stats)
{
	const struct dfs_library *l = &p->store->library;
	struct dfs_anchor before = p->at.anchor;
	uint32_t asked = *count;
	int rc;

	if (!l->dfs_readdirplus)
		return list_names(p, count, entries, stats);
	rc = l->dfs_readdirplus(p->store->mount, p->folder, &p->at.anchor, count, entries, stats);
	if (rc != ENOENT)
		return rc;
	p->at.anchor = before;
	*count = asked;
	return list_names(p, count, entries, stats);
}

/* Entries of one anchor: some, or none, which does not mean that it has come to its end. */
static int list_entries(struct list_page *p, int *ended)
{
	uint64_t left = p->most - p->req->answer.done_bytes;
	uint32_t count = left < LIST_ENTRIES ? (uint32_t)left : LIST_ENTRIES;
	struct dfs_anchor before = p->at.anchor;
	struct dirent entries[LIST_ENTRIES];
	struct stat stats[LIST_ENTRIES];
	int rc = list_read(p, &count, entries, stats);

	/* libdfs may fail behind entries that it has not given: another attempt asks for them. */
	if (rc)
		p->at.anchor = before;
	for (uint32_t i = 0; rc == 0 && *ended == 0 && i < count; i++)
		*ended = list_give(p, entries[i].d_name, &stats[i]);
	return rc;
}

static int list_part(struct list_page *p, int *ended)
{
	bool more;
	int rc = p->store->library.dfs_obj_anchor_split(p->folder, &p->anchors, NULL);

	if (rc == 0)
		rc = list_next_anchor(p, &more);
	while (rc == 0 && more && *ended == 0 && p->req->answer.done_bytes < p->most) {
		rc = list_entries(p, ended);
		if (rc == 0)
			rc = list_next_anchor(p, &more);
	}
	if (rc == 0)
		p->req->listing->more = more;
	return rc;
}

int dfs_list_page(struct dfs_store *s, struct request *req, int *ended)
{
	struct listing *listing = req->listing;
	struct list_page p = {.store = s,
			      .req = req,
			      .most = req->length ? req->length : LIST_PAGE_ENTRIES,
			      .parts = max_u64(listing->parts, 1)};
	char path[DFS_PATH_BYTES];
	struct dfs_kept *folder;
	size_t length;
	int rc;

	length = (size_t)snprintf(path, sizeof(path), "%s/%.*s", s->base, OBJECT_KEY_BYTES - 1,
				  req->object->key);
	while (length > 1 && path[length - 1] == '/')
		path[--length] = '\0';
	rc = dfs_folder_take(&s->folders, path, false, &folder);
	if (rc)
		return rc == ENOTDIR ? ENOENT : rc;
	p.folder = folder->object;
	memcpy(&p.at, listing->marker, sizeof(p.at));
	rc = list_part(&p, ended);
	memcpy(listing->marker, &p.at, sizeof(p.at));
	dfs_folder_drop(&s->folders, folder);
	return rc;
}
