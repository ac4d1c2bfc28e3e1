/* The contract between workloads and stores: requests, objects, backends.
 *
 * A workload opens a store, gives each worker thread a queue on it (queue.h), and submits requests;
 * a backend (file, mem, sim, null …) carries them out. A backend is a const struct backend_ops with
 * an option table and a state of its own; it allocates nothing on the data path, and only tells an
 * outcome: finishing short transfers, stamping and counting are the queue's work. */
#ifndef HAUL_BACKENDS_BACKEND_H
#define HAUL_BACKENDS_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/request.h"
#include "core/clock.h"
#include "core/err.h"
#include "core/group/group.h"
#include "core/job/job.h"
#include "core/log.h"
#include "core/measure/store_facts.h"
#include "core/rank_place.h"
#include "core/uri.h"

/* Requests in flight per queue, whatever the backend could take. */
enum { QUEUE_DEPTH_MAX = 4096 };

enum backend_capability {
	BACKEND_CONTENT = 1 << 0, /* keeps what is written: reads give data that can be verified */
	BACKEND_RANGES = 1 << 1,  /* reads any byte range */
	BACKEND_FIRST_BYTE = 1 << 2, /* tells when the first byte came */
	BACKEND_ATOMIC_COMMIT = 1 << 3,
	BACKEND_PERSISTENT = 1 << 4, /* outlives the run: has a manifest, generation resumes */
	BACKEND_MANY_NODES = 1 << 5,
	BACKEND_MISSING_IS_ERROR = 1 << 6, /* stat and open of what was never written fail */
	BACKEND_DEPTH = 1 << 7,            /* more than one request in flight a queue */
	BACKEND_CACHED = 1 << 8,           /* has resident and evict: the client may hold copies */
	/* streams: calls chunk itself, for the whole of a request, with the window full each time but
	 * the last */
	BACKEND_STREAMS = 1 << 9,
	BACKEND_RENAME = 1 << 10,
	BACKEND_LIST = 1 << 11,
	BACKEND_UPDATE = 1 << 12, /* writes in place (REQ_UPDATE) */
	/* many ranks write one object: in place, or without BACKEND_UPDATE as a version that they
	 * share (io.shared) */
	BACKEND_SHARED = 1 << 13,
	BACKEND_DISCARD = 1 << 14,   /* drops what is read where it arrives (io.discard) */
	BACKEND_BATCH = 1 << 15,     /* deletes several keys by one request (batch.keys) */
	BACKEND_LIST_PARTS = 1 << 16 /* lists parts of a folder side by side (listing.parts) */
};

struct backend_ops;
struct store;
struct channel;
struct endpoints;
struct op_log;
struct retry_options;

/* Options every store has; a backend's own struct begins with this one. */
struct store_options {
	struct texts uri;    /* one, or a list shared out over the ranks by place.endpoint */
	uint64_t transfer;   /* bytes a request at most; 0: the backend's own (store_transfer) */
	uint64_t timeout_ns; /* a request that takes longer counts as late; 0: none */
};
extern const struct option store_common_options[];

/* Where a read may find bytes without the storage being asked. */
enum store_cache {
	CACHE_UNKNOWN, /* this client keeps none that haul knows of: direct I/O, objects */
	CACHE_PAGES,   /* in its page cache: store_resident tells, store_evict drops */
	CACHE_MEMORY   /* the store is memory (tmpfs): never cold */
};

/* A store opened by one rank. Shared by the rank's queues, read-only after open but for what the
 * backend guards itself. */
struct store {
	const struct backend_ops *ops;
	const void *options; /* the backend's struct, from the job */
	struct rank_place place;
	struct clock *clock;
	const struct log *log;
	struct group *node; /* the ranks of this node; NULL: alone */
	uint64_t seed;
	char uri[URI_BYTES];  /* expanded */
	char root[URI_BYTES]; /* what follows scheme:// */
	uint32_t alignment;   /* 1, or direct I/O's block: see queue_buffer_bytes */
	enum store_cache cache;
	/* Set by the backend's open, where it has them: the ways in, between which the queue chooses,
	 * and how it tries again what is transient. */
	struct endpoints *endpoints;
	const struct retry_options *retry;
	/* Set before its queues are opened: they write a row for each request there. NULL: none. */
	struct op_log *op_log;
	void *state; /* the backend's */
};

/* One thread's way into a store. */
struct channel {
	struct store *store;
	uint32_t depth;   /* requests in flight at most */
	bool synchronous; /* completes inside submit: no reap. Set before channel_open, which may
			   * set it where the backend has both */
	/* channel_open may set it: for the reads of this channel it is as BACKEND_STREAMS says, and
	 * chunk may be handed memory of the backend's own, only to be read. */
	bool streams;
	/* Where there are endpoints: the backend counts requests and status here, whatever the number
	 * that an attempt needs; the queue all else. By endpoint; set after channel_open. */
	struct endpoint_counts *counts;
	void *state; /* the backend's */
};

struct backend_ops {
	const char *scheme;
	const char *help;
	/* The options: tables are {store_common_options, the backend's, NULL}. */
	struct section section;
	uint32_t capabilities;
	uint64_t transfer;  /* bytes a request by default; 0: an extent whole */
	uint32_t depth_max; /* requests in flight a queue; 1: one at a time */
	/* Where the options say how many: at most depth_max. NULL: depth_max. See backend_depth. */
	uint32_t (*depth)(const void *options);
	/* Where the options say more of it than transfer: see backend_range, backend_part,
	 * backend_in_flight. NULL: transfer; one. */
	uint64_t (*range)(const void *options, uint64_t largest, uint32_t depth);
	uint64_t (*part)(const void *options, uint64_t length);
	uint32_t (*in_flight)(const void *options);

	/* Of an object made in parts: bytes of each but the last at least, how many at most. 0: any. */
	uint64_t part_min, parts_max;

	/* What options say that no table can refuse. path is the store's JSON path. May be NULL. */
	int (*check)(const void *options, const char *path, struct err *err);

	/* Sets the process up for stores of this kind, before any of them is opened. May be called again. NULL: nothing
	 * to do. See backends_process_begin. */
	void (*process_begin)(void);
	/* open is collective over store->node. May set store->alignment and store->cache. */
	int (*open)(struct store *store, struct err *err);
	void (*close)(struct store *store);
	/* What is in effect on the open store: engine and all that follows it in store_facts, but
	 * for nodes. This rank's own view. NULL: nothing is to be said. */
	void (*describe)(const struct store *store, struct store_facts *facts);
	/* NULL: nothing to do. May refuse the depth. */
	int (*channel_open)(struct channel *c, struct err *err);
	void (*channel_close)(struct channel *c);
	/* The caller's buffers will come from here: see queue_memory. NULL: it does not matter. */
	void (*channel_memory)(struct channel *c, void *base, uint64_t bytes);

	/* Whether the store is asked at all, so that an endpoint must be chosen: some of what is a
	 * request on files is nothing on objects. NULL: always. */
	bool (*asks)(const struct channel *c, const struct request *req);
	/* Accepts n requests (never more in flight than depth). A synchronous backend completes
	 * each before it returns. Reads and writes continue at done_bytes (0 on the first attempt)
	 * and add to it; short counts are allowed, the queue submits the request again. Fills
	 * done_bytes, lead, status; first_byte_ns where it can tell and it is still 0; done_ns where
	 * it knows better than the queue. A store in virtual time may set submit_ns too. One that
	 * fails says fault and, where trying again may help, transient and retry_after_ns; done_bytes
	 * then says from where to go on. Trying again is the queue's. */
	void (*submit)(struct channel *c, struct request *const *reqs, uint32_t n);
	/* Gives back completed requests: at least min unless deadline_ns passes, at most max. NULL
	 * for synchronous backends, which complete inside submit whatever the depth. Not called on
	 * synchronous channels. */
	uint32_t (*reap)(struct channel *c, struct request **done, uint32_t min, uint32_t max,
			 uint64_t deadline_ns);

	/* store_resident and store_evict: any thread. NULL: no BACKEND_CACHED. */
	int64_t (*resident)(const struct store *store, const struct object *o, uint64_t offset,
			    uint64_t length);
	int64_t (*evict)(const struct store *store, const struct object *o);
};

/* What a build may lack, ended by a NULL name: backends/table.c. */
struct backend_part {
	const char *name;  /* "engine uring of file://" */
	const char *needs; /* "liburing 2.3" */
	bool built;
};
const struct backend_part *backend_parts(void);

/* All backends, NULL-terminated: backends/table.c. */
const struct backend_ops *const *backend_table(void);
const struct backend_ops *backend_find(const char *scheme);

/* Sets the process up for the stores that a job describes, before any of them is opened. Who reads a job for a process
 * calls it, from the main thread: what a library needs of the whole process is not for a store to change. */
void backends_process_begin(const struct job_store *stores, uint32_t count);

/* Requests in flight a queue on the store described, at most. */
uint32_t backend_depth(const struct job_store *described);

/* Bytes a read, of extents of at most largest bytes, when depth reads are in flight at once. UINT64_MAX:
 * an extent whole. On an open store: store_range, store_part. */
uint64_t backend_range(const struct job_store *described, uint64_t largest, uint32_t depth);
/* Bytes a write, of an object of length bytes (0: unknown). UINT64_MAX: whole. */
uint64_t backend_part(const struct job_store *described, uint64_t length);
/* Whether the store takes an object of length bytes in parts of part bytes. -EINVAL with a sentence that
 * begins with path. */
int backend_check_parts(const struct job_store *described, uint64_t length, uint64_t part,
			const char *path, struct err *err);
/* Reads or writes of one object in flight at once, where the phase does not say. */
uint32_t backend_in_flight(const struct job_store *described);

/* What no table can refuse of a store: URIs of several schemes, and what its backend checks. path
 * is its JSON path, for messages. */
int store_check(const struct job_store *described, const char *path, struct err *err);

/* Opens the store that the job describes, for this place. Collective over node (may be NULL for a
 * rank alone). The store keeps pointers to clock, log, node and the job's options. Closing a store
 * that did not open does nothing. */
int store_open(struct store *store, const struct job_store *described,
	       const struct rank_place *place, struct group *node, struct clock *clock,
	       const struct log *log, uint64_t seed, struct err *err);
void store_close(struct store *store);

/* Bytes of [offset, offset + length) of an object open for reading that this client's page cache holds.
 * No request: nothing is moved, counted or stamped. A negative errno: it cannot be known. */
int64_t store_resident(const struct store *store, const struct object *o, uint64_t offset,
		       uint64_t length);
/* Drops the object's pages from this client's page cache, what is dirty written before. It need not be
 * open. Returns the bytes that stayed there, or a negative errno. */
int64_t store_evict(const struct store *store, const struct object *o);
/* Everything of facts, for a row of /stores: from the job and the backend's describe. */
void store_describe(const struct store *store, const struct job_store *described,
		    struct store_facts *facts);

bool store_can(const struct store *store, enum backend_capability what);
/* Bytes a request; UINT64_MAX: any extent whole. With direct I/O a multiple of store->alignment, at
 * which writes must begin; only the last one of an object may have a length that is no multiple. */
uint64_t store_transfer(const struct store *store);
/* backend_range and backend_part in the same way. */
uint64_t store_range(const struct store *store, uint64_t largest, uint32_t depth);
uint64_t store_part(const struct store *store, uint64_t length);

#endif
