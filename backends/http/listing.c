/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/listing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backends/http/dialect.h"
#include "backends/store.h"

/* Pages in a row that bring nothing, although more follow. A store may have reason for a few of
 * them: it has looked through what was deleted. */
enum { LISTING_EMPTY_MAX = 100 };

/* The first byte of a marker says what the rest is: a name after which the part begins, or a text
 * of the store's. */
#define LISTING_AFTER '>'
#define LISTING_TOKEN '='

static enum http_step listing_page(struct http_slot *s)
{
	memset(&s->list, 0, sizeof(s->list));
	s->text[0] = '\0';
	s->req->listing->upload[0] = '\0';
	/* What an earlier attempt gave is not given again. */
	s->list.skip = s->req->answer.done_bytes;
	return STEP_LIST;
}

static enum http_step listing_probe(struct http_slot *s)
{
	memset(&s->list, 0, sizeof(s->list));
	return STEP_PROBE;
}

enum http_step listing_begin(struct http_slot *s)
{
	struct listing *l = s->req->listing;

	l->more = false;
	if (l->parts <= 1 || l->marker[0])
		return listing_page(s);
	if (!s->channel->store->dialect->parts)
		return slot_refuse(s, -ENOTSUP, "the store does not list parts of a folder");
	if (l->part >= l->parts || l->parts > SPLIT_PARTS_MAX)
		return slot_refuse(s, -EINVAL, "a folder has no such part");
	split_begin(&s->split);
	return listing_probe(s);
}

static enum http_step listing_fail(struct http_slot *s, int status, const char *why)
{
	s->req->answer.fault = REQ_FAULT_OTHER;
	return slot_refuse(s, status, why);
}

/* All probes are answered: the part's range goes into the listing, and its first page follows. */
static enum http_step listing_split(struct http_slot *s)
{
	struct listing *l = s->req->listing;
	char after[SPLIT_NAME_BYTES];

	_Static_assert(sizeof(l->until) == SPLIT_NAME_BYTES, "a range's end fits");
	_Static_assert(sizeof(l->marker) > SPLIT_NAME_BYTES, "a range's beginning fits");
	if (!split_range(&s->split, l->part, l->parts, after, l->until))
		return STEP_OVER;
	l->marker[0] = LISTING_AFTER;
	strcpy(l->marker + 1, after);
	return listing_page(s);
}

static enum http_step listing_probed(struct http_slot *s)
{
	char after[SPLIT_NAME_BYTES];

	split_answer(&s->split, s->list.entries ? s->list.marker : NULL);
	return split_probe(&s->split, after) ? listing_probe(s) : listing_split(s);
}

/* Pages that come round again are found whatever the length of the round: a marker is kept while
 * twice as many pages go by, then the one under way takes its place (Brent's algorithm). */
static bool listing_comes_round(struct listing *l, const char *marker)
{
	uint64_t hash = text_hash(marker);

	if (l->pages && hash == l->kept_marker)
		return true;
	l->pages++;
	if ((l->pages & (l->pages - 1)) == 0)
		l->kept_marker = hash;
	return false;
}

/* The next page of open uploads begins after a key and one of its ids. */
static bool listing_join_markers(struct list_page *p)
{
	size_t key = strlen(p->marker), id = strlen(p->upload);

	if (key + 1 + id >= sizeof(p->marker))
		return false;
	p->marker[key] = '\n';
	memcpy(p->marker + key + 1, p->upload, id + 1);
	return true;
}

enum http_step listing_next(struct http_slot *s)
{
	struct listing *l = s->req->listing;
	struct list_page *p = &s->list;

	if (!p->whole)
		return listing_fail(s, -EPROTO, "the server's answer is not a listing");
	if (s->step == STEP_PROBE)
		return listing_probed(s);
	l->more = p->more && !p->past;
	if (!l->more)
		return STEP_OVER;
	l->empty = p->entries ? 0 : l->empty + 1;
	if (!p->marker[0])
		return listing_fail(s, -ELOOP, "the listing says that more follows, but not where");
	if (l->uploads && !listing_join_markers(p))
		return listing_fail(s, -EPROTO, "the listing goes on at a name that is too long");
	if (listing_comes_round(l, p->marker))
		return listing_fail(s, -ELOOP,
				    "the listing does not get on: the server names a page for the "
				    "second time");
	if (l->empty >= LISTING_EMPTY_MAX)
		return listing_fail(s, -ELOOP,
				    "the listing does not get on: 100 pages in a row brought "
				    "nothing");
	memcpy(l->marker, p->marker, sizeof(l->marker));
	return STEP_OVER;
}

void listing_document(struct http_slot *s)
{
	s->list.whole = true;
}

static bool listing_in_part(struct http_slot *s, const char *name)
{
	const struct listing *l = s->req->listing;

	if (!l->until[0] && l->marker[0] != LISTING_AFTER)
		return true;
	if (l->until[0] && strcmp(name, l->until) > 0)
		s->list.past = true;
	return split_has(l->marker[0] == LISTING_AFTER ? l->marker + 1 : "", l->until, name);
}

int listing_entry(struct http_slot *s, uint64_t size)
{
	size_t before = strlen(s->channel->store->prefix) + strlen(s->req->object->key);
	const char *name = s->text + before;

	/* The folder's own mark is none of its entries. */
	if (strlen(s->text) <= before)
		return 0;
	if (s->step == STEP_PROBE) {
		/* The answer has only one. */
		snprintf(s->list.marker, sizeof(s->list.marker), "%s", name);
		s->list.entries = 1;
		return 0;
	}
	if (++s->list.seen > (s->req->length ? s->req->length : LIST_PAGE_ENTRIES)) {
		s->req->answer.why = "the server lists more entries than were asked for";
		return -EPROTO;
	}
	if (!listing_in_part(s, name))
		return 0;
	if (s->list.entries++ < s->list.skip)
		return 0;
	s->req->answer.done_bytes++;
	return s->req->listing->entry(s->req, name, size);
}

void listing_more(struct http_slot *s, bool more)
{
	s->list.more = more;
}

int listing_marker(struct http_slot *s, const char *text)
{
	size_t n = strlen(text);

	/* A probe keeps the name there, and goes on to no page. */
	if (s->step == STEP_PROBE)
		return 0;
	if (n + 2 > sizeof(s->list.marker))
		return -EPROTO;
	s->list.marker[0] = LISTING_TOKEN;
	memcpy(s->list.marker + 1, text, n + 1);
	if (n == 0)
		s->list.marker[0] = '\0';
	return 0;
}

static int listing_keep_id(char out[SHARED_ID_BYTES], const char *text)
{
	size_t n = strlen(text);

	if (n >= SHARED_ID_BYTES)
		return -EPROTO;
	memcpy(out, text, n + 1);
	return 0;
}

/* Uploads are dropped by what is given here: whatever the server lists besides is left out. */
static bool listing_below(const struct http_slot *s)
{
	const char *prefix = s->channel->store->prefix, *key = s->req->object->key;
	size_t n = strlen(prefix);

	return strncmp(s->text, prefix, n) == 0 && strncmp(s->text + n, key, strlen(key)) == 0;
}

int listing_upload(struct http_slot *s)
{
	struct listing *l = s->req->listing;
	int rc;

	if (!s->text[0] || !l->upload[0])
		return -EPROTO;
	rc = listing_marker(s, s->text);
	if (rc == 0)
		rc = listing_keep_id(s->list.upload, l->upload);
	if (rc == 0 && listing_below(s))
		rc = listing_entry(s, LIST_SIZE_UNKNOWN);
	s->text[0] = '\0';
	l->upload[0] = '\0';
	return rc;
}

int listing_upload_id(struct http_slot *s, const char *text)
{
	return listing_keep_id(s->req->listing->upload, text);
}

int listing_upload_key_marker(struct http_slot *s, const char *text)
{
	return s->list.marker[0] ? 0 : listing_marker(s, text);
}

int listing_upload_id_marker(struct http_slot *s, const char *text)
{
	return s->list.upload[0] ? 0 : listing_keep_id(s->list.upload, text);
}

struct listing_from listing_from(const struct http_slot *s, char after[SPLIT_NAME_BYTES])
{
	const char *marker = s->req->listing->marker;
	struct listing_from from = {.after = "", .marker = ""};

	if (s->step == STEP_PROBE) {
		split_probe(&s->split, after);
		from.after = after;
	} else if (marker[0] == LISTING_AFTER) {
		from.after = marker + 1;
	} else if (marker[0] == LISTING_TOKEN) {
		from.marker = marker + 1;
	}
	return from;
}
