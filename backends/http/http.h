/* What the stores behind HTTP share: options, the open store, a channel's requests in flight, and the
 * dialect, in which S3, Azure and Google differ. Not for workloads.
 *
 * A request of the queue becomes exchanges, step by step: most are one, a commit is two (publish, then
 * ask what the store has). A dialect makes the request of a step, signs it and reads its answer; the
 * channel does everything else. */
#ifndef HAUL_BACKENDS_HTTP_HTTP_H
#define HAUL_BACKENDS_HTTP_HTTP_H

#include "backends/endpoint.h"
#include "backends/http/auth/credentials.h"
#include "backends/http/server.h"
#include "backends/http/wire/request.h"
#include "backends/http/wire/sum.h"
#include "backends/http/wire/transport.h"
#include "backends/http/wire/xml.h"
#include "backends/retry.h"

enum {
	PIECE_BYTES = 8 << 10, /* of a body put together by pieces: a key, every byte escaped */
	SMALL_BYTES = 4096,    /* of an answer that is no content */
	PART_ETAG_BYTES = 72,
	UPLOAD_NAME_BYTES = 9,
	REDIRECTS_MAX = 4,
	BUCKET_BYTES = 256,
	HTTP_IN_FLIGHT_MAX = 64,
	OBJECT_OPEN = 1 /* the word in object.state of one open for reading */
};

/* Options of every store behind HTTP; a store's own struct begins with this one. */
struct http_options {
	struct store_options common;
	struct texts endpoints;
	struct endpoint_options balance;
	struct retry_options retry;
	bool insecure;
	char ca[512];
	uint64_t connect_ns, first_byte_ns, stall_ns;
	uint32_t client;
	bool head_on_open;
	uint32_t split; /* enum http_split */
	uint64_t split_from, part, put_whole, in_flight;
	uint32_t payload;  /* S3's only, but clients differ in it */
	uint32_t checksum; /* enum sum_kind */
};
extern const struct option http_option_table[];
enum http_split { SPLIT_SIZE, SPLIT_ADAPTIVE, SPLIT_OFF };

enum http_step {
	STEP_HEAD,
	STEP_GET,
	STEP_PUT,   /* the whole object */
	STEP_BEGIN, /* an upload in parts */
	STEP_PART,
	STEP_PARTS,    /* which of them the store has, a page */
	STEP_COMPLETE, /* of an upload in parts */
	STEP_ABANDON,  /* an upload in parts */
	STEP_DELETE,
	STEP_DELETE_MANY, /* io->keys */
	STEP_LIST,
	STEP_EXPLAIN /* after a HEAD that was denied, which has no body to say why */
};

/* A new version of an object being written: the word in object.state points to it. Of the channel that
 * began it; parts may come by others. */
struct upload {
	_Atomic bool used;
	bool whole;               /* one PUT does it */
	bool shared, joined;      /* by several ranks; begun by another of them */
	bool published;           /* the store has it; a commit asks for its size yet */
	uint64_t length, part;    /* as begun */
	_Atomic uint64_t written; /* bytes that the store has accepted */
	/* Shared: parts and bytes that the store says it has, in the pages so far; where the next page
	 * begins; whether that was all of them. */
	uint64_t met, met_bytes, after;
	bool proven;
	char id[SHARED_ID_BYTES]; /* the store's where it begins uploads, else made here: UPLOAD_NAME_BYTES */
	char (*etags)[PART_ETAG_BYTES]; /* [parts_max], as S3 wants them back, a CRC-32C behind
				    * a line's end; "": no such part */
};

struct http_store {
	const struct dialect *dialect;
	const struct http_options *options;
	char bucket[BUCKET_BYTES]; /* or container */
	char account[64];          /* Azure's */
	char prefix[URI_BYTES];    /* "" or "train/": before every key */
	bool virtual_host;         /* the bucket stands before the host's name */
	bool presigned;            /* signatures go into the URL */
	bool sign_payload;         /* bodies are hashed into the signature */
	char region[64];
	struct servers servers;
	struct transport_options transport;
	struct credential_source credentials;
	/* Servers' clock less this machine's, in seconds, learnt when a signature is refused for it. */
	_Atomic int64_t skew;
	_Atomic uint32_t depth; /* of all open channels together */
};

/* One request in flight. */
struct slot {
	struct exchange exchange;
	struct http_request request;
	struct http_channel *channel;
	struct request *req;
	enum http_step step;
	uint32_t redirects;
	char elsewhere[SERVER_HOST_BYTES + 16]; /* redirected to it ("https://host"); "": not */
	uint64_t started_bytes;                 /* io->done_bytes when the step began */
	bool embedded;                          /* what came instead of content is an error */
	struct sum sum; /* of the content that comes; SUM_NONE: nothing to compare with */
	char sum_sent[SUM_TEXT_BYTES]; /* of the body under way */
	uint64_t listed, skip; /* list: entries met in this page; given by an attempt before */
	uint64_t entry_size;   /* of the entry under way, whose name is in small */
	uint64_t number;       /* of the part under way, whose size and ETag are there */
	/* parts: of this page; whether another follows, and after which number */
	uint64_t met, met_bytes, next;
	bool truncated;
	uint32_t answered; /* delete of several: behind the key that was answered last */
	struct xml *xml;   /* made by the first answer that is read as it comes */
	/* complete, delete of several: the pieces of the body, and where it is in them */
	const char *(*pieces)(const struct slot *s, uint64_t piece, char buffer[PIECE_BYTES]);
	uint64_t piece, piece_at;
	uint32_t small_used;
	char small[SMALL_BYTES];
	char buffer[REQUEST_BYTES];
};

struct http_channel {
	struct channel *channel;
	struct http_store *store;
	struct transport *transport;
	struct sign_v4 v4;
	struct sum sum; /* of bodies to be sent, one after the other */
	struct credential_copy credentials;
	struct slot *slots; /* [depth] */
	struct slot **free; /* [depth] */
	uint32_t free_count;
	struct request **ready; /* done without an exchange. [depth] */
	uint32_t ready_count;
	struct exchange **ended; /* [depth] */
	struct upload *uploads;  /* [depth] */
	char *etags;             /* of all uploads: one mapping, touched as it is used */
	uint64_t etag_bytes;
};

#define HTTP_CAPABILITIES \
	(BACKEND_CONTENT | BACKEND_RANGES | BACKEND_FIRST_BYTE | BACKEND_ATOMIC_COMMIT | \
	 BACKEND_PERSISTENT | BACKEND_MANY_NODES | BACKEND_MISSING_IS_ERROR | BACKEND_DEPTH | \
	 BACKEND_STREAMS | BACKEND_LIST | BACKEND_DISCARD | BACKEND_SHARED)
#define HTTP_TRANSFER (8 << 20)

/* All of a store's backend_ops but what it is called, what it can and takes, and what opens it. */
#define HTTP_OPERATIONS \
	.transfer = HTTP_TRANSFER, .depth_max = QUEUE_DEPTH_MAX, .range = http_range, \
	.part = http_part, .in_flight = http_in_flight, .check = http_check, .close = http_close, \
	.describe = http_describe, .channel_open = http_channel_open, \
	.channel_close = http_channel_close, .asks = http_asks, .submit = http_submit, \
	.reap = http_reap

struct dialect {
	const char *name;
	bool begins; /* an upload in parts must be begun, and abandoned: STEP_BEGIN, STEP_ABANDON */

	/* A CRC-32C travels in this header, behind these characters. NULL: in none. */
	const char *crc32c_header, *crc32c_before;
	bool sums_parts; /* an upload is begun for CRC-32C, and completed with each part's */

	/* The open store: what lies behind scheme:// goes to bucket and prefix, the servers are found,
	 * credentials. http->transport is set. Nothing to undo but what is in *http. */
	int (*open)(struct store *store, struct http_store *http, struct err *err);
	/* Puts together and signs slot->request for slot->step. A negative errno ends the io. */
	int (*make)(struct slot *s);
	/* Reads an answer of a step that has a small one (small, exchange.answer): 0, or a negative
	 * errno that ends the io as an error of the store's. */
	int (*read)(struct slot *s);
	/* An element of an answer that is read as it comes: slot_lists. */
	int (*element)(void *slot, const char *path, const char *text);
	/* The answer to a delete of several is over: what became of the io, from what became of its
	 * keys. NULL: the store takes one key at a time. */
	void (*deleted)(struct slot *s);
	/* What more is known about an answer that is no success, whose meaning is set. */
	void (*explain)(struct slot *s);
};

/* http_store.c: the ends of backend_ops. */
int http_open(struct store *store, const struct dialect *dialect, struct err *err);
void http_close(struct store *store);
int http_check(const void *options, const char *path, struct err *err);
void http_describe(const struct store *store, struct store_facts *facts);
uint64_t http_range(const void *options, uint64_t largest, uint32_t depth);
uint64_t http_part(const void *options, uint64_t length);
uint32_t http_in_flight(const void *options);

/* profile.c: what known libraries do on the wire. */
enum { CLIENT_HAUL, CLIENT_S3DLIO, CLIENT_S3TORCHCONNECTOR, CLIENT_MINIO };
extern const char *const client_names[];
/* A preset of the options, for those at into. */
void client_preset(void *into);
/* -EINVAL: that library does not know the scheme. */
int client_check(const struct http_options *o, const char *path, struct err *err);

/* "bucket/a/b" into bucket and "a/b/". -EINVAL with a sentence. */
int http_split_root(const struct store *store, const char *what, struct http_store *http,
		    struct err *err);
/* Seconds since 1970, as the servers see it. */
int64_t http_now(const struct http_store *http);

/* http_channel.c */
int http_channel_open(struct channel *c, struct err *err);
void http_channel_close(struct channel *c);
bool http_asks(const struct channel *c, const struct request *req);
void http_submit(struct channel *c, struct request *const *reqs, uint32_t n);
uint32_t http_reap(struct channel *c, struct request **done, uint32_t min, uint32_t max,
		   uint64_t deadline_ns);

/* For http_upload.c: the next exchange of the io; or it is over without another. */
void slot_step(struct slot *s, enum http_step what);
void slot_done(struct slot *s, int status);

/* http_upload.c: new versions of objects, from begin to commit. */
int uploads_open(struct http_channel *ch, uint32_t depth);
void uploads_close(struct http_channel *ch);
/* Small enough for one PUT. */
bool upload_whole(const struct http_channel *ch, const struct request *req);
/* Takes an upload of this channel for io->object. */
void upload_begin(struct slot *s);
void upload_write(struct slot *s);
void upload_commit(struct slot *s);
void upload_abort(struct slot *s);
/* REQ_CLOSE of an object that was joined, or of one open for reading. */
void upload_close(struct slot *s);
/* The step was a success. True: the io is over, or goes on with the next step. */
bool upload_succeeds(struct slot *s);
/* The io says that parts have not come. */
int upload_lacks(struct slot *s);
/* For dialects: the page has the part of that number. etag: as S3 wants it back, or NULL. */
int upload_met(struct slot *s, uint64_t number, uint64_t bytes, const char *etag);

/* http_body.c: what exchanges send and receive. */
void body_of_object(struct slot *s, uint64_t bytes);
/* Of texts that pieces gives for 0, 1 … until NULL; the same each time. */
void body_of_pieces(struct slot *s, const char *(*pieces)(const struct slot *s, uint64_t piece,
							  char buffer[PIECE_BYTES]));
/* Shows all of a body of that many bytes before it is sent; it will be made again then. A negative errno
 * of whoever makes it. */
int body_each(struct slot *s, uint64_t bytes,
	      void (*observe)(void *argument, const void *data, uint64_t n), void *argument);
int body_consume(struct exchange *x, const void *data, uint64_t n);

/* http_sum.c */
extern const char *const sum_names[];
/* -EINVAL: that store does not know the checksum. */
int sum_check(const struct http_options *o, const char *path, struct err *err);
/* Into slot->sum_sent that of the body that has been put together; and, for an object's bytes, the option's
 * into a header. A negative errno of whoever makes the body. */
int slot_sum_sent(struct slot *s, enum sum_kind kind);
int slot_sum_object(struct slot *s);
/* The store will tell the option's sum of the content that is asked for. */
int slot_sum_received(struct slot *s);
/* The content is whole: -EILSEQ when it is not what the store's sum is of. */
int slot_sum_compare(struct slot *s);

/* http_fault.c: what an answer that is no success means. Sets io's status, fault, transient, why,
 * retry_after_ns. */
void fault_of_exchange(struct slot *s);
void fault_of_answer(struct slot *s);
/* An error in an answer whose status says success: its errno, or 0: there is none. */
int fault_in_success(struct slot *s);

/* What an error that the store names for one key of a delete means: into the key, and into io's fault,
 * where what may pass goes first. */
void fault_of_key(struct slot *s, struct request_key *k, const char *code);

/* An element of a page of Azure's listings. */
int azure_element(void *slot, const char *path, const char *text);

/* For dialects. */

/* Begins slot->request: scheme and host of the endpoint, or of where it was redirected to. */
void slot_target(struct slot *s, enum http_method method);
/* An entry of a listing, whose key in the bucket stands in slot->small. */
int slot_list_entry(struct slot *s, uint64_t size);
/* The first of these variables that is set and not empty, or NULL. names: NULL-terminated. */
const char *environment_first(const char *const *names);

static inline const struct server *slot_server(const struct slot *s)
{
	const struct http_store *http = s->channel->store;

	return &http->servers.list[s->req->answer.endpoint % http->servers.count];
}

static inline struct upload *slot_upload(const struct slot *s)
{
	return (struct upload *)(uintptr_t)s->req->object->state[0];
}

/* Whether the step's answer is read as it comes, by the dialect's element. */
static inline bool slot_lists(const struct slot *s)
{
	return s->step == STEP_LIST || s->step == STEP_PARTS || s->step == STEP_DELETE_MANY;
}

/* The number of the part that a write is: from 1. */
static inline uint64_t slot_part(const struct slot *s)
{
	return s->req->offset / slot_upload(s)->part + 1;
}

/* Whether the read that begins asks for all of an object whose size is known: then without a range. */
static inline bool slot_reads_all(const struct slot *s)
{
	const struct request *req = s->req;

	return req->offset == 0 && req->answer.done_bytes == 0 && req->length == req->object->size;
}

/* Parts written; of an upload of unknown length all but the last are full. */
static inline uint64_t slot_parts(const struct slot *s)
{
	const struct upload *u = slot_upload(s);
	uint64_t bytes = u->length ? u->length : atomic_load(&u->written);

	return (bytes + u->part - 1) / u->part;
}

#endif
