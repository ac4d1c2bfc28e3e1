/* SPDX-License-Identifier: Apache-2.0 */
/* Slot: one request of the queue under way behind HTTP, and the channel that it belongs to.
 *
 * A request becomes exchanges, step by step: most are one, a commit is two (publish, then ask for
 * the size). What decides about steps (channel, upload, listing) returns the next one, or
 * STEP_OVER: the request is over, and its answer is complete. */
#ifndef HAUL_BACKENDS_HTTP_SLOT_H
#define HAUL_BACKENDS_HTTP_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/backend.h"
#include "backends/http/store.h"
#include "backends/http/wire/request.h"
#include "backends/http/wire/xml.h"
#include "backends/request.h"

/* Splitting a folder's names into ranges, so that several callers can list it side by side.
 *
 * Names are sorted by their bytes, and the store tells which one follows a given text. A few such probes find the
 * smallest name, how much of it all names share (their stem), and the largest characters after the stem:
 *
 *	img_0000000.npz … img_0459999.npz      smallest img_0000000.npz, stem img_0, largest 45
 *
 * From there to there the ranges have the same length, counted in the characters that the names use: numbers with leading
 * zeroes, as data sets have them, are shared out evenly. Whatever the names are, the ranges touch and cover all texts,
 * so that each name is in exactly one range. All parts make the same probes and so find the same ranges, as long as
 * the folder does not change. Plain data; nothing here asks a store. */

enum { SPLIT_NAME_BYTES = OBJECT_KEY_BYTES + 16, SPLIT_LEVELS = 2, SPLIT_PARTS_MAX = 1 << 16 };

enum split_stage { SPLIT_FIRST, SPLIT_STEM, SPLIT_LARGEST, SPLIT_DONE };

struct split {
	enum split_stage stage;
	char first[OBJECT_KEY_BYTES]; /* the smallest name; "": there is none */
	uint32_t stem, stem_max;      /* bytes that all names surely share; at most share */
	uint32_t trying;              /* a length of the stem, or a byte */
	uint32_t level;               /* of the largest characters that are found */
	uint8_t largest[SPLIT_LEVELS];
	uint8_t low, high; /* the next of them lies between these, both included */
	/* The smallest name known to begin with the stem and the largest characters so far. */
	char largest_name[OBJECT_KEY_BYTES];
};

void split_begin(struct split *s);

/* The next probe: which is the smallest name after this text? False: there are no more probes. */
bool split_probe(const struct split *s, char after[SPLIT_NAME_BYTES]);
/* Its answer; NULL: no name follows. */
void split_answer(struct split *s, const char *name);

/* Part part of parts (from 0) has the names after `after`, which is "" in the first part, up to and
 * including `until`, which is "" in the last one. After the last probe. False: there are no names
 * at all. */
bool split_range(const struct split *s, uint32_t part, uint32_t parts, char after[SPLIT_NAME_BYTES],
		 char until[SPLIT_NAME_BYTES]);

/* Whether a name lies in the range. */
bool split_has(const char *after, const char *until, const char *name);

enum {
	PIECE_BYTES = 8 << 10,  /* of a body made of pieces: a key with every byte escaped */
	SLOT_TEXT_BYTES = 4096, /* of an answer that is not content */
	PART_ETAG_BYTES = 72,
	OBJECT_OPEN = 1 /* the word in object.state of an object that is open for reading */
};

enum http_step {
	STEP_OVER,
	STEP_HEAD,
	STEP_GET,
	STEP_PUT,   /* the whole object */
	STEP_BEGIN, /* an upload in parts */
	STEP_PART,
	STEP_PARTS,    /* a page of the parts that the store has */
	STEP_COMPLETE, /* an upload in parts */
	STEP_ABANDON,  /* an upload in parts */
	STEP_DELETE,
	STEP_DELETE_MANY, /* batch.keys */
	STEP_LIST,
	STEP_MAKE,   /* the bucket */
	STEP_DROP,   /* the bucket */
	STEP_PROBE,  /* which name follows a given one, before a part of a listing */
	STEP_EXPLAIN /* after a HEAD that was denied, which has no body to say why */
};

/* A page of a listing under way. */
struct list_page {
	uint64_t entries, skip; /* met in this page; given by an earlier attempt at it */
	uint64_t seen;          /* entries of the page, those of other parts among them */
	bool whole;             /* the document was the listing that was asked for */
	bool more;              /* the store says that another page follows */
	bool past;              /* a name lies behind the part that was asked for */
	/* Where the next page begins; "": the store did not say. Of a probe, the name that came. */
	char marker[LIST_MARKER_BYTES];
	char upload[SHARED_ID_BYTES]; /* of open uploads: the id after which the next page begins */
};

/* A page of the parts of an upload under way. */
struct parts_page {
	uint64_t count, bytes; /* that belong to the upload */
	uint64_t next;         /* the number after which the next page begins */
	bool truncated;
	bool whole; /* the document was a list of parts, and came to its end */
};

struct http_slot {
	struct exchange exchange;
	struct http_request request;
	struct http_channel *channel;
	struct request *req;
	enum http_step step;
	uint64_t step_ns; /* when a step that publishes the object began */
	uint32_t redirects;
	char redirected_to[SERVER_HOST_BYTES + 16]; /* "https://host"; "": the endpoint itself */
	uint64_t started_bytes;     /* the request's done_bytes when the step began */
	struct credential_use used; /* what the step was signed with; the channel's may be newer */

	/* Content that comes: an error may come in its place; its sum, SUM_NONE where there is none
	 * to compare. */
	bool error_in_content;
	struct sum sum;
	char sum_sent[SUM_TEXT_BYTES]; /* of the body that is sent */

	/* An answer that is XML and is read as it comes: its reader, made when it is first needed;
	 * what is known so far of the element under way, whose name is in text. */
	struct xml *xml;
	uint64_t element_size, element_number;
	struct parts_page parts;
	uint32_t keys_answered; /* delete of several: which key comes after the last answered one */

	/* A body made of pieces: the piece that is being sent, and where in the body it begins. */
	const char *(*pieces)(const struct http_slot *s, uint64_t piece, char buffer[PIECE_BYTES]);
	uint64_t piece, piece_at;

	/* The beginning of any other answer; terminated when the exchange has ended. */
	uint32_t text_used;
	char text[SLOT_TEXT_BYTES];
	char buffer[REQUEST_BYTES]; /* the request's */

	/* Of few requests; last, so that others do not touch the memory. */
	char piece_text[PIECE_BYTES];
	struct list_page list;
	struct split split; /* of a folder whose parts are listed side by side */
};

struct http_channel {
	struct channel *channel;
	struct http_store *store;
	struct transport *transport;
	struct sign_v4 v4;
	struct sum sum; /* of bodies that are sent, one after the other */
	struct credential_copy credentials;
	/* PUTs are made only where this version stands there; "": only where nothing does. NULL:
	 * in any case. Not copied. */
	const char *only_if;
	bool of_bucket; /* writes and deletes are for the bucket itself: STEP_MAKE, STEP_DROP */
	struct http_slot *slots; /* [depth] */
	struct http_slot **free; /* [depth] */
	uint32_t free_count;
	struct request **ready; /* over, and not reaped yet. [depth] */
	uint32_t ready_count;
	struct exchange **ended; /* [depth] */
	struct upload *uploads;  /* [depth] */
	char *etags;             /* of all uploads: one mapping, touched as it is used */
	uint64_t etag_bytes;
};

/* Begins slot->request: method, scheme, and host of the endpoint or of where the server redirected
 * it to. */
void slot_request_begin(struct http_slot *s, enum http_method method);

/* The request cannot be carried out, or goes wrong here: sets its status, with a static sentence or
 * NULL. */
enum http_step slot_refuse(struct http_slot *s, int status, const char *why);

static inline const struct server *slot_server(const struct http_slot *s)
{
	const struct http_store *http = s->channel->store;

	return &http->servers.list[s->req->answer.endpoint % http->servers.count];
}

/* Whether the step's answer is XML that the dialect reads as it comes. */
static inline bool slot_reads_xml(const struct http_slot *s)
{
	return s->step == STEP_LIST || s->step == STEP_PROBE || s->step == STEP_PARTS ||
	       s->step == STEP_DELETE_MANY;
}

/* Whether a read that begins asks for all of an object whose size is known: then it needs no
 * range. */
static inline bool slot_reads_all(const struct http_slot *s)
{
	const struct request *req = s->req;

	return req->offset == 0 && req->answer.done_bytes == 0 && req->length == req->object->size;
}

#endif
