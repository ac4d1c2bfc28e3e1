/* SPDX-License-Identifier: Apache-2.0 */
/* The contract between workloads and stores: backends, opened stores, channels.
 *
 * A workload opens a store, gives each of its threads a queue on it (queue/queue.h), and submits
 * requests (request.h); a backend (file, mem, sim, null, s3 …) carries them out. A backend is a
 * const struct backend_ops with an option table and a state of its own. It allocates nothing on the
 * data path, and it only reports outcomes: the queue finishes short transfers, tries again, stamps
 * and counts. */
#ifndef HAUL_BACKENDS_BACKEND_H
#define HAUL_BACKENDS_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/capability.h"
#include "backends/request.h"
#include "core/clock.h"
#include "core/err.h"
#include "core/group/group.h"
#include "core/job/job.h"
#include "core/log.h"
#include "core/measure/store_facts.h"
#include "core/owner.h"
#include "core/rank_place.h"
#include "core/stop.h"
#include "core/uri.h"

/* Requests in flight per queue, whatever the backend could take. */
enum { QUEUE_DEPTH_MAX = 4096 };
/* The name and version of a library that a backend opens when it runs. */
enum { BACKEND_LIBRARY_BYTES = 96 };

struct backend_ops;
struct store;
struct channel;
struct endpoints;
struct op_log;
struct retry_options;

/* Options that every store has; a backend's own struct begins with this one. */
struct store_options {
	struct texts uri;    /* one, or a list of which place.endpoint chooses one for each rank */
	uint64_t transfer;   /* bytes per request at most; 0: the backend's own (store_transfer) */
	uint64_t timeout_ns; /* a request that takes longer counts as late; 0: no limit */
};
extern const struct option store_common_options[];

/* Where a read may find bytes without asking the storage. */
enum store_cache {
	CACHE_UNKNOWN, /* haul knows of no copies on this client: direct I/O, objects */
	CACHE_PAGES,   /* in its page cache: store_resident counts them, store_evict drops them */
	CACHE_MEMORY   /* the store is memory (tmpfs): it is never cold */
};

/* Space for new objects. */
struct store_space {
	uint64_t free_bytes;
	bool node;       /* it is that of one node; else it may be shared by all nodes */
	uint64_t device; /* the same for all ranks, of the node or of all nodes, that share it */
};

/* What stores of one kind keep in this process from one to the next, such as a library that is
 * started once. The backend's own struct begins with it. */
struct store_keep {
	const struct backend_ops *ops;
	void (*end)(struct store_keep *keep); /* ends and frees it */
	struct store_keep *next;
};

/* All that is kept in a process. Zero at first; backends_process_end ends it. Main thread alone. */
struct store_process {
	struct store_keep *first;
};

/* Who opens a store, and what it uses. All that is pointed to outlives the store. */
struct store_opener {
	const struct rank_place *place;
	/* The ranks that open the store together, in the same order: those of the phase. NULL: this
	 * rank alone. */
	struct group *all;
	struct group *node; /* those of them on this rank's node; NULL: this rank alone */
	struct clock *clock;
	const struct log *log;
	/* Why waits may be given up: asked for from outside. NULL: for no reason. */
	const struct stop *stop;
	struct store_process *process; /* NULL: a store keeps nothing beyond itself */
	uint64_t patience_ns; /* opening may wait so long for servers; 0: without a bound */
	uint64_t seed;
	/* Objects are only read: nobody changes them while the store is open, and nothing is
	 * written. */
	bool constant;
};

/* A store that one rank has opened. The queues of the rank share it. It is read-only after open,
 * except for what the backend guards itself. */
struct store {
	const struct backend_ops *ops;
	const void *options; /* the backend's struct, from the job */
	struct rank_place place;
	struct clock *clock;
	const struct log *log;
	/* The groups of the opener. A backend's open may use them for what is collective: one rank
	 * of `all` may connect and broadcast a handle to the others, one rank per node may probe
	 * what works there. Afterwards they belong to the workload again. */
	struct group *all, *node;
	const struct stop *stop;
	struct store_process *process;
	uint64_t patience_ns;
	uint64_t seed;
	bool constant; /* as the opener says: objects may be kept open, and nothing is written */
	char uri[URI_BYTES];  /* expanded */
	char root[URI_BYTES]; /* what follows scheme:// */
	uint32_t alignment;   /* 1, or the block of direct I/O: see queue_buffer_bytes */
	enum store_cache cache;
	/* Memory that the ranks of this node share, where ops->node_bytes asks for some. */
	void *node_block;
	uint64_t private_bytes; /* of node_block, where this rank alone has it */
	/* Set by the backend's open, where it has them: the endpoints, between which the queue
	 * chooses, and how the queue tries again what is transient. */
	struct endpoints *endpoints;
	const struct retry_options *retry;
	/* Queues opened so far. Each takes its number, so that its draws (which endpoint, how long
	 * to wait for another attempt) come from the seed alone. */
	_Atomic uint32_t queues;
	/* Set before queues are opened, which then log a row for each request. NULL: no log. */
	struct op_log *op_log;
	void *state; /* the backend's */
};

/* One thread's way into a store. */
struct channel {
	struct store *store;
	uint32_t depth; /* requests in flight at most */
	/* Requests complete inside submit, and there is no reap. Set before channel_open, which may
	 * change it where the backend has both kinds of channels. */
	bool synchronous;
	/* channel_open may set it: reads of this channel are as BACKEND_STREAMS says, and chunk may
	 * be handed memory of the backend's own, which it must not write. */
	bool streams;
	/* By endpoint; set after channel_open where there are endpoints. The backend counts
	 * requests and status here, however many an attempt needs; the queue counts everything
	 * else. */
	struct endpoint_counts *counts;
	void *state; /* the backend's */
};

/* What is known of a store before it is measured, since it is a model: bytes per second that all
 * ranks on these nodes get together, and the slowest of them (0: no limit), and what a request
 * waits beside its bytes. */
struct backend_model {
	double bandwidth, rank_bandwidth;
	double request_s, open_s;
};

struct backend_ops {
	const char *scheme;
	const char *help;
	/* The options: tables are {store_common_options, the backend's, NULL}. */
	struct section section;
	uint32_t capabilities; /* enum backend_capability bits */
	uint64_t transfer;     /* bytes per request by default; 0: an extent whole */
	uint32_t depth_max;    /* requests in flight per queue; 1: one at a time */
	/* Where the options say how many: at most depth_max. NULL: depth_max. See backend_depth. */
	uint32_t (*depth)(const void *options);
	/* Where the options say more about it than transfer: see backend_range, backend_part,
	 * backend_in_flight. NULL: transfer; one. */
	uint64_t (*range)(const void *options, uint64_t largest, uint32_t depth);
	uint64_t (*part)(const void *options, uint64_t length);
	uint32_t (*in_flight)(const void *options);

	/* What shows whether the servers of a store answer, for warnings: a command. NULL: haul
	 * knows of none. See backend_look_at. */
	const char *look_at;

	/* NULL: the store is not a model, and only a measurement tells. */
	void (*model)(const void *options, uint32_t ranks, uint32_t ranks_per_node,
		      struct backend_model *out);

	/* Of an object made in parts: the least bytes of each but the last, the most parts. 0: any.
	 */
	uint64_t part_min, parts_max;

	/* Checks rules of options that a table cannot express. path is the store's JSON path. May
	 * be NULL. */
	int (*check)(const void *options, const char *path, struct err *err);

	/* Whether the library that the backend opens when it runs is on this machine, and which: a
	 * text for found, or -ENOENT, -ENOSYS with a sentence. NULL: it opens none. */
	int (*library)(char found[BACKEND_LIBRARY_BYTES], struct err *err);
	/* Whether what the library needs on this machine answers, such as a daemon: 0, or a
	 * negative errno with a sentence. Waits only for seconds. NULL: it needs nothing. */
	int (*answers)(struct err *err);
	/* Sets the process up for stores of this kind, before any of them is opened. May be called
	 * again. NULL: nothing to do. See backends_process_begin. */
	void (*process_begin)(void);
	/* Memory that the ranks of a node share for this store, as long as the run lasts: how many
	 * bytes are reserved, and its first state, which one rank makes in the zeroed block before
	 * any rank opens the store. NULL: none; init may be NULL alone. The opened store has it as
	 * node_block. */
	uint64_t (*node_bytes)(const void *options);
	void (*node_init)(void *block, const void *options);

	/* Whether what is at root, on this node, is what the options mean; -ENODEV with a sentence.
	 * Any rank, before any store is opened. NULL: options tell nothing of it. */
	int (*stand)(const void *options, const char *root, struct err *err);

	/* open is collective over store->all and over store->node. It may set alignment, cache,
	 * endpoints and retry. Where it fails on any rank, close is called on the ranks where it
	 * did not. */
	int (*open)(struct store *store, struct err *err);
	void (*close)(struct store *store);
	/* What is in effect on the open store, as this rank sees it: the members of store_facts
	 * from engine on, but for nodes. NULL: there is nothing to add. */
	void (*describe)(const struct store *store, struct store_facts *facts);
	/* NULL: nothing to do. May refuse the depth. */
	int (*channel_open)(struct channel *c, struct err *err);
	void (*channel_close)(struct channel *c);
	/* The caller's buffers will lie here: see queue_memory. NULL: it does not matter. */
	void (*channel_memory)(struct channel *c, void *base, uint64_t bytes);

	/* Whether the request goes to the store at all, so that an endpoint must be chosen: some
	 * requests mean something for files and nothing for objects. NULL: always. */
	bool (*asks)(const struct channel *c, const struct request *req);
	/* Accepts n requests (never more in flight than depth). A synchronous backend completes
	 * each before it returns. Reads and writes continue at done_bytes (0 on the first attempt)
	 * and add to it; short counts are allowed, the queue submits the request again. Fills in
	 * done_bytes, lead and status; first_byte_ns where it can tell and it is still 0; sync_ns
	 * and publish_ns where it can tell; done_ns where it knows better than the queue. A store
	 * in virtual time may set submit_ns, too. One that fails sets fault and, where trying again
	 * may help, transient and retry_after_ns; done_bytes then says where to go on. */
	void (*submit)(struct channel *c, struct request *const *reqs, uint32_t n);
	/* Gives back completed requests: at least min unless deadline_ns passes, at most max. NULL
	 * for synchronous backends, which complete inside submit whatever the depth. Not called on
	 * synchronous channels. */
	uint32_t (*reap)(struct channel *c, struct request **done, uint32_t min, uint32_t max,
			 uint64_t deadline_ns);

	/* store_resident and store_evict: any thread. NULL: no BACKEND_CACHED. */
	int64_t (*resident)(const struct store *store, const struct object *o, uint64_t offset,
			    uint64_t length);
	int64_t (*evict)(const struct store *store, const struct object *o, uint64_t offset,
			 uint64_t length);
	/* See store_holes. NULL: it cannot be known. */
	int64_t (*holes)(const struct store *store, const struct object *o);

	/* Makes this process the one that writes a folder of the store ("": its root), beside all
	 * others that ask for it: owner_take (core/owner.h). -ENOLCK: there are no locks here.
	 * NULL: the store has none. */
	int (*own)(const struct store *store, const char *folder, struct owner *owner,
		   struct err *err);

	/* Where the options ask for it: makes what all objects of the store stand in, such as a
	 * bucket, where there is none, and marks it; removes it where it has the mark and nothing
	 * else, and returns 1, else 0. One rank. NULL: the store makes none. */
	int (*root_make)(const struct store *store, struct err *err);
	int (*root_drop)(const struct store *store, struct err *err);

	/* See store_space. NULL: the store tells nothing of its space. */
	int (*space)(const struct store *store, struct store_space *out);
};

/* A part that a build may lack; the list ends with a NULL name: backends/table.c. */
struct backend_part {
	const char *name;  /* "engine uring of file://" */
	const char *needs; /* "liburing 2.3" */
	bool built;
};
const struct backend_part *backend_parts(void);

/* All backends, NULL-terminated: backends/table.c. */
const struct backend_ops *const *backend_table(void);
/* Their sections in the same order, NULL-terminated, for struct job_schema. */
extern const struct section *const backend_sections[];
const struct backend_ops *backend_find(const char *scheme);

/* Where to look when a store of that URI, or an object in it, does not answer: " (…)", or "". */
const char *backend_look_at(const char *uri);

/* Sets the process up for the stores that a job describes, before any of them is opened. Who reads
 * a job for a process calls it, from the main thread: what a library needs of the whole process is
 * not for a store to change. */
void backends_process_begin(const struct job_store *stores, uint32_t count);
/* Ends what stores have kept in the process, once all of them are closed. */
void backends_process_end(struct store_process *process);

/* Requests in flight per queue on the store described, at most. */
uint32_t backend_depth(const struct job_store *described);

/* Bytes per read, of extents of at most largest bytes, when depth reads are in flight at once.
 * UINT64_MAX: an extent whole. On an open store: store_range, store_part. */
uint64_t backend_range(const struct job_store *described, uint64_t largest, uint32_t depth);
/* Bytes per write, of an object of length bytes (0: unknown). UINT64_MAX: the object whole. */
uint64_t backend_part(const struct job_store *described, uint64_t length);
/* Bytes of a part of an object of that length: `wanted`, or more where the store makes objects in
 * parts and wants so; whole MiB then. */
uint64_t backend_part_least(const struct job_store *described, uint64_t length, uint64_t wanted);

/* Whether the store takes an object of length bytes in parts of part bytes. -EINVAL with a sentence
 * that begins with path. */
int backend_check_parts(const struct job_store *described, uint64_t length, uint64_t part,
			const char *path, struct err *err);
/* Reads or writes of one object in flight at once, where the phase does not say. */
uint32_t backend_in_flight(const struct job_store *described);
/* Bytes of each node's memory that the store described may take; 0: none. */
uint64_t backend_node_bytes(const struct job_store *described);

/* Checks what an option table cannot express of a store: URIs of several schemes, and what its
 * backend checks. path is its JSON path, for messages. */
int store_check(const struct job_store *described, const char *path, struct err *err);

/* Whether this rank's stores are where the job says (stand). Not collective. */
int stores_stand(const struct job_store *stores, uint32_t count, const struct rank_place *place,
		 struct err *err);

/* Opens the store that the job describes. Collective over by->all, or over by->node where all is
 * NULL: all ranks open the store or none does. Where its ranks share memory (node_bytes), the
 * memory must have been reserved (node_block.h), unless a rank opens it alone, which then has a
 * store of its own. Closing a store that did not open does nothing. */
int store_open(struct store *store, const struct job_store *described,
	       const struct store_opener *by, struct err *err);
void store_close(struct store *store);

/* Bytes of [offset, offset + length) of an object open for reading that this client's page cache
 * holds. It is no request: nothing is moved, counted or stamped. A negative errno: it cannot be
 * known. */
int64_t store_resident(const struct store *store, const struct object *o, uint64_t offset,
		       uint64_t length);
/* Drops pages of an object from this client's page cache, after writing what of them is dirty. Of
 * an open object, one that is being written included, it drops those of [offset, offset + length),
 * length 0 being all to the end; an object that is not open is named by its key and dropped whole,
 * offset and length being 0. A kernel may keep pages in larger units, and drops a unit only when it
 * lies in the range whole: whoever drops what lies behind a writer gives the range from the start
 * of the object on. Returns the bytes of the range that stayed in the cache, or a negative errno.
 */
int64_t store_evict(const struct store *store, const struct object *o, uint64_t offset,
		    uint64_t length);
/* Bytes of an object open for reading that the store keeps nowhere, since nobody has written them: a
 * file may have its size and no blocks. It is no request. A negative errno: it cannot be known. */
int64_t store_holes(const struct store *store, const struct object *o);
/* Space for new objects on an open store, as it is now. -ENOTSUP: the store tells nothing of it. */
int store_space(const struct store *store, struct store_space *out);
/* Everything of facts, for a row of /stores: from the job and the backend's describe. */
void store_describe(const struct store *store, const struct job_store *described,
		    struct store_facts *facts);

bool store_can(const struct store *store, enum backend_capability what);
/* Bytes per request; UINT64_MAX: any extent whole. With direct I/O a multiple of store->alignment,
 * at which writes must begin; only the last one of an object may have another length. */
uint64_t store_transfer(const struct store *store);
/* backend_range and backend_part in the same way. */
uint64_t store_range(const struct store *store, uint64_t largest, uint32_t depth);
uint64_t store_part(const struct store *store, uint64_t length);

#endif
