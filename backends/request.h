/* SPDX-License-Identifier: Apache-2.0 */
/* Requests: what is asked of a store, and the answer.
 *
 * A request has three parts. The caller fills in what is asked; the backend and the queue fill in
 * the answer (struct answer); `ticket` belongs to the queue alone, which keeps the state of the
 * attempt under way itself. The caller owns the request and everything it points to until the queue
 * gives it back. Plain data; a request belongs to one thread at a time. */
#ifndef HAUL_BACKENDS_REQUEST_H
#define HAUL_BACKENDS_REQUEST_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

enum request_op {
	REQ_OPEN, /* opens the object for reading */
	REQ_READ, /* reads [offset, offset + length) into data, or hands it to chunk piece by piece */
	REQ_CLOSE, /* closes the object; of a shared version it ends this rank's part */
	/* Starts a new version of the object, length bytes in all (0: unknown), in writes of
	 * begin.part bytes each but the last (0: store_transfer). With begin.shared many ranks
	 * write it, see struct shared_version. */
	REQ_BEGIN,
	REQ_WRITE, /* writes [offset, offset + length) from data, or from what chunk makes */
	REQ_COMMIT, /* publishes the version whole: done_bytes is the size that the store then reports */
	/* Drops the version: nothing of it remains. Where the object is not begun, begin.shared has
	 * the id of the version, which a listing has given (BACKEND_UPLOADS). */
	REQ_ABORT,
	REQ_STAT, /* done_bytes: the object's size. -ENOENT: it does not exist. Needs no open object */
	/* -ENOENT: the object does not exist. A key that ends in '/' names a folder, which is
	 * removed only when it is empty. With batch.keys (BACKEND_BATCH) one request deletes all of
	 * them: objects, no folders. The status is then 0 when all are deleted, else that of a key
	 * that is not; each key has a status of its own. */
	REQ_DELETE,
	/* Gives the object the key at target, whose folder must exist; an object of that name is
	 * replaced. -ENOENT: the object does not exist. Needs no open object. */
	REQ_RENAME,
	/* Lists a page of the folder that the key names ("" or ending in '/'), see struct listing.
	 * done_bytes: entries of this page. -ENOENT: no such folder, where the store can tell. */
	REQ_LIST,
	/* Opens the object to read and write it in place until REQ_CLOSE, from several ranks at
	 * once; it is made where it does not exist. length: what it will hold in the end (0:
	 * unknown). */
	REQ_UPDATE,
	REQ_OPS
};
const char *request_op_name(enum request_op op);

/* Why an attempt failed, as the backend classifies it. */
enum request_fault {
	REQ_FAULT_NONE,
	REQ_FAULT_CONNECT,  /* no connection: refused, unreachable, no such name, too slow */
	REQ_FAULT_TLS,      /* certificate or handshake */
	REQ_FAULT_TIMEOUT,  /* no first byte in time */
	REQ_FAULT_STALL,    /* bytes stopped coming */
	REQ_FAULT_BROKEN,   /* the connection ended too early */
	REQ_FAULT_THROTTLE, /* the store asks the client to slow down: 429, 503 SlowDown */
	REQ_FAULT_SERVER,   /* an error of the store's own: 500, 502, 503, 504 */
	REQ_FAULT_DENIED,   /* keys, tokens, permissions, clocks */
	REQ_FAULT_MISSING,
	REQ_FAULT_OTHER,
	REQ_FAULTS
};

enum { OBJECT_KEY_BYTES = 512, OBJECT_STATE_WORDS = 4 };
#define OBJECT_OF_OTHERS UINT64_MAX

/* A name in a store and, between open and close or begin and commit, the backend's handle on it.
 * The caller owns it and may use it for one request at a time, or for several reads or writes. */
struct object {
	char key[OBJECT_KEY_BYTES]; /* relative to the store's URI: "train/00/img_0000001.npz" */
	/* Before open what the caller knows, or 0; set by open (where the backend knows it) and by
	 * stat. */
	uint64_t size;
	uint64_t state[OBJECT_STATE_WORDS]; /* the backend's; zero when not open */
};

/* One version of an object that many ranks write. One rank begins it with an empty id, which is
 * filled in. The others begin it with that id and the same length (which must be known) and part;
 * the store is not asked then. Each rank writes parts: a part begins at a multiple of part and has
 * part bytes, except the object's last one. A part that is written again replaces the first. A rank
 * that has joined ends with REQ_CLOSE and leaves what it wrote. After that, the rank that began the
 * version commits it: the store is asked for all parts and their sizes. Where a part is missing,
 * the commit fails with -ENODATA, done_bytes is what has come, nothing is published, and the
 * version stays begun. Or the rank aborts it, which must not happen while others write. */
enum { SHARED_ID_BYTES = 1024 };
struct shared_version {
	/* a text of the store; plain data that may be sent to other ranks */
	char id[SHARED_ID_BYTES];
};

struct request;

/* A listing that is read page by page, so that memory is bounded whatever the number of objects.
 * The caller zeroes it before the first page (except entry, the part, and uploads) and then does
 * not change it. Each page sets more of it, and what the store needs for the next page. Entries
 * come in the store's own order. A store that names the same page again, or sends many pages
 * without an entry, fails with -ELOOP. */
enum { LIST_MARKER_BYTES = 1040 + SHARED_ID_BYTES, LIST_PAGE_ENTRIES = 1000 };
#define LIST_SIZE_UNKNOWN UINT64_MAX
struct listing {
	/* name: relative to the folder; that of a sub-folder ends in '/', and a store without
	 * folders leaves those out. size: LIST_SIZE_UNKNOWN where finding it costs more than
	 * listing. A negative return ends the request with that errno. Must not use the queue. */
	int (*entry)(struct request *req, const char *name, uint64_t size);
	/* Several callers may list one folder side by side, each its part of parts (0 or 1: the
	 * whole folder). All parts together have each entry once, as long as the folder does not
	 * change from the first page of any part to the last page of all. A store without
	 * BACKEND_LIST_PARTS fails with -EOPNOTSUPP. */
	uint32_t part, parts;
	/* Only names are wanted: size may be LIST_SIZE_UNKNOWN although it is easy to find, and the
	 * name of a sub-folder may lack its '/', where telling costs more than listing. */
	bool names;
	/* Set by a store: the part can hold nothing, since the store has divided the folder into
	 * fewer parts. Nothing was asked of it. */
	bool vacant;
	/* Lists instead of objects the versions that were begun and never ended, of the folder and
	 * of all folders below it. name then is what follows the folder's own, size is
	 * LIST_SIZE_UNKNOWN, and upload the id of the version. An object may have several. A store
	 * without BACKEND_UPLOADS fails with -EOPNOTSUPP. */
	bool uploads;
	char upload[SHARED_ID_BYTES];
	bool more;
	/* Used by the store: where the next page begins, where the part ends, how many pages there
	 * were, how many without an entry in a row, and one of their markers. */
	char marker[LIST_MARKER_BYTES], until[OBJECT_KEY_BYTES + 16];
	uint64_t pages, kept_marker;
	uint32_t empty;
};

/* One key of a delete of several keys. */
enum { REQ_KEYS_MAX = 1000 };
struct request_key {
	char key[OBJECT_KEY_BYTES];
	/* Filled in: 0, -ENOENT where the store can tell, or why it still exists. */
	int32_t status;
	const char *why; /* in the store's words, or NULL. Static */
	bool again;      /* the next attempt asks for it again; used by the queue and the backend */
	bool version;    /* filled in: it stays as a version, since the store keeps those */
};

/* The outcome of a request. Complete when the queue gives the request back. */
struct answer {
	int32_t status; /* 0 or a negative errno; -ECANCELED: given up, since the run was to end */
	uint16_t protocol_status;
	uint8_t fault; /* enum request_fault of the last attempt */
	/* the last attempt failed in a way that may be temporary: another one may succeed */
	bool transient;
	const char *why; /* what the status means, in the store's words, or NULL. Static */
	uint64_t done_bytes;
	uint64_t submit_ns, first_byte_ns, done_ns; /* first_byte_ns 0: the store cannot tell */
	/* For commit, and for close of an object that was written: the part of the time that made
	 * the bytes durable (fsync of the file), and the part that made them visible under their
	 * name (rename, fsync of the folder, completing an upload). 0: none, or the store cannot
	 * tell. */
	uint64_t sync_ns, publish_ns;
	uint64_t first_attempt_ns; /* when the first attempt ended; valid where attempts > 1 */
	/* bytes on the wire both ways, all attempts; 0: the store cannot tell */
	uint64_t wire_bytes;
	uint64_t retry_after_ns; /* the store asked the client to wait this long */
	uint32_t
		lead; /* direct reads: the payload begins at data + lead (see queue_buffer_bytes) */
	uint32_t attempts;
	uint32_t endpoint;    /* of the last attempt; the queue chooses */
	uint32_t connections; /* made for it, all attempts */
};

/* One request. Small requests carry data; large ones are streamed: chunk() is called with each
 * piece in order (a producer fills it for writes, a consumer checks or drops it for reads; a
 * negative return ends the request with that errno), through the buffer at data of buffer_bytes;
 * offset is the object's. A store that keeps no content (null, sim) never calls it. */
struct request {
	/* What is asked; the caller's. */
	enum request_op op;
	/* What haul did not make, where the store can tell (a link, a file with a second name): a stat
	 * gives it OBJECT_OF_OTHERS bytes, and a delete leaves it. */
	bool own;
	bool discard; /* read: nobody needs the bytes; data is not changed. Needs BACKEND_DISCARD */
	/* open: the object is mapped, whatever else the store does; read: its bytes are touched there, so
	 * that the kernel fetches them fault by fault and reads ahead as it will. Needs BACKEND_MAPS. */
	bool touch;
	struct object *object;
	uint64_t offset, length; /* bytes of the object */
	/* [length], or with chunk [buffer_bytes]; NULL where the store keeps no content */
	void *data;
	uint64_t buffer_bytes;
	int (*chunk)(struct request *req, uint64_t offset, void *data, uint64_t length);
	void *user;      /* the caller's */
	uint64_t due_ns; /* when the request should have started; 0: at submit */
	union {
		struct {
			uint64_t part;
			bool empty; /* nothing will be written: a length of 0 is its size */
			bool fresh; /* see ending */
			/* A store that takes the object by one request is believed when it says that it
			 * has it. Else a commit asks for the size that it has. */
			bool unasked;
			/* NULL: the version belongs to one rank. Needs BACKEND_SHARED */
			struct shared_version *shared;
			/* file: what follows the name until the version is whole, as another
			 * program has it, valid until it is committed or dropped; what stands there
			 * is overwritten, or with `fresh` -EEXIST. NULL: a drawn one, beside which
			 * nothing stands. */
			const char *ending;
		} begin;            /* REQ_BEGIN; REQ_ABORT of an object that is not begun */
		bool only_exists;   /* REQ_STAT: the size is not asked for; done_bytes is 0 */
		const char *target; /* REQ_RENAME: the new key */
		/* REQ_LIST: length is the most entries, 0: LIST_PAGE_ENTRIES */
		struct listing *listing;
		/* REQ_DELETE of several: [count] at most REQ_KEYS_MAX; count 0: the object alone.
		 * The object then only names the first. */
		struct {
			struct request_key *keys;
			uint32_t count;
		} batch;
	};

	struct answer answer;

	uint32_t ticket; /* the queue's own */
};

/* The meaning of a request's status, for people: "ends early" for -ENODATA, else the errno's
 * text. */
const char *request_status_text(int status);
/* The same of a request that failed, in the store's own words where it has some. */
const char *request_text(const struct request *req);

/* Whether a finished request counts as an error. For stat, delete and list, absence is a valid
 * answer, except where the store tells more about it, such as that there is no bucket. */
static inline bool request_failed(const struct request *req)
{
	bool asks = req->op == REQ_STAT || req->op == REQ_DELETE ||
		    (req->op == REQ_LIST && !req->answer.why);

	return req->answer.status && !(req->answer.status == -ENOENT && asks);
}

/* How many keys a delete names besides its object: 0 for all other requests. */
static inline uint32_t request_keys(const struct request *req)
{
	return req->op == REQ_DELETE ? req->batch.count : 0;
}

/* How many errors a finished request counts as: for a delete of several keys, one for each key that
 * was not deleted. */
uint32_t request_failures(const struct request *req);

#endif
