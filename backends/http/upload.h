/* SPDX-License-Identifier: Apache-2.0 */
/* Upload: a new version of an object, from begin to commit, by one PUT or in parts, by one rank or
 * by many. */
#ifndef HAUL_BACKENDS_HTTP_UPLOAD_H
#define HAUL_BACKENDS_HTTP_UPLOAD_H

#include "backends/http/slot.h"

enum { UPLOAD_NAME_BYTES = 9 };

/* The word in object.state points to it. It belongs to the channel that began it; parts may come by
 * others. */
struct upload {
	_Atomic bool used;
	bool whole;          /* one PUT does it */
	bool shared, joined; /* by several ranks; begun by another of them */
	bool published;      /* the store has it; a commit only asks for its size */
	bool unasked;        /* or does not ask */
	bool unanswered; /* was asked to begin, to publish or to drop it, and has not said what it did */
	uint64_t length, part;    /* as begun */
	_Atomic uint64_t written; /* bytes that the store has accepted */
	/* Shared: parts and bytes that the store has listed so far, the number after which its next
	 * page begins, and whether all parts were listed. */
	uint64_t listed, listed_bytes, listed_to;
	bool complete;
	/* What the store has named the version that it published: see upload_named_by. "": it has
	 * not said. */
	char version[ANSWER_GENERATION_BYTES], etag[ANSWER_ETAG_BYTES];
	int64_t begun; /* seconds since 1970 by the store's clock, when the version was begun at the earliest; 0: unknown */
	/* The store's, where it begins uploads, else made here: UPLOAD_NAME_BYTES. */
	char id[SHARED_ID_BYTES];
	/* [parts_max], as S3 wants them back, followed by a line's end and a CRC-32C where there is
	 * one; "": there is no such part. */
	char (*etags)[PART_ETAG_BYTES];
};

int uploads_open(struct http_channel *ch, uint32_t depth);
void uploads_close(struct http_channel *ch);

/* Whether a REQ_BEGIN or REQ_ABORT asks the store. */
bool upload_asks(const struct http_channel *ch, const struct request *req);

/* The first step of a request. */
enum http_step upload_begin(struct http_slot *s);
enum http_step upload_write(struct http_slot *s);
enum http_step upload_commit(struct http_slot *s);
enum http_step upload_abort(struct http_slot *s);
/* REQ_CLOSE of an object that was joined, or of one that is open for reading. */
enum http_step upload_close(struct http_slot *s);

/* A step that decides whether an upload is there is about to be sent. */
void upload_asked(const struct http_slot *s);
/* The step that follows one that was a success. */
enum http_step upload_next(struct http_slot *s);

/* For dialects. The store says by this answer that it has published the version; etag: as its body
 * names it, or NULL. */
void upload_named_by(struct http_slot *s, const char *etag);
/* The store has not said so, although the status is a success: the request fails, and is tried
 * again. */
int upload_unproven(struct http_slot *s);
/* A HEAD has been answered: whether it is of the version that was published, or of a newer one, but
 * not of an older one. Returns NULL, or why not. */
const char *upload_disproved(const struct http_slot *s);

/* For dialects. Parts have not come: sets what became of the request. */
void upload_incomplete(struct http_slot *s);
/* The page under way lists the part of that number. etag: as S3 wants it back, or NULL. */
int upload_part_listed(struct http_slot *s, uint64_t number, uint64_t bytes, const char *etag);

static inline struct upload *upload_of(const struct http_slot *s)
{
	return (struct upload *)(uintptr_t)s->req->object->state[0];
}

/* The id of the version that is to be dropped: of an upload that was begun here, or of one that a
 * listing has given. */
static inline const char *upload_dropped_id(const struct http_slot *s)
{
	const struct upload *u = upload_of(s);

	return u ? u->id : s->req->begin.shared->id;
}

/* The number of the part that a write is, from 1. */
static inline uint64_t upload_part_number(const struct http_slot *s)
{
	return s->req->offset / upload_of(s)->part + 1;
}

/* How many parts there are. In an upload of unknown length all parts but the last are full. */
static inline uint64_t upload_parts(const struct http_slot *s)
{
	const struct upload *u = upload_of(s);
	uint64_t bytes = u->length ? u->length : atomic_load(&u->written);

	return (bytes + u->part - 1) / u->part;
}

#endif
