/* A phase "kvcache" while it runs: what the files of its main thread share. All of it belongs to the main thread, but for the
 * parts that worker.h names. */
#ifndef HAUL_WORKLOADS_KVCACHE_RUN_H
#define HAUL_WORKLOADS_KVCACHE_RUN_H

#include "workloads/common/status_rounds.h"
#include "workloads/kvcache/board.h"
#include "workloads/kvcache/columns.h"
#include "workloads/kvcache/loads.h"
#include "workloads/kvcache/requests/autoscale.h"
#include "workloads/kvcache/requests/steps.h"
#include "workloads/kvcache/requests/waiting.h"
#include "workloads/kvcache/worker.h"

/* A request that is being served. */
struct kv_served {
	struct kv_request request;
	struct kv_steps steps;
	struct kv_step step; /* the one that was taken last */
	bool hit;            /* it was a read of an entry that is there */
	bool credit;         /* it holds one of max_concurrent_allocs */
	bool parked;         /* its step waits for a credit */
	bool busy;           /* not among the free ones */
	uint32_t under_way;  /* operations of the step */
	uint32_t next;       /* among the free ones, those that may go on, or the parked ones */
	uint64_t served_ns;  /* since when */
	uint64_t asked_ns;   /* when its step asked for operations, or was parked */
	uint64_t storage_ns; /* spent waiting for operations */
};

/* The end of the generation of a request. */
struct kv_alarm {
	uint64_t ns;
	uint32_t served;
};

/* scale.c */
struct kv_scaling {
	struct kv_autoscale autoscale;
	uint64_t due_ns;         /* of the next decision; UINT64_MAX: there is none */
	struct hist read, write; /* as they were at the last one */
	struct hist between;
	uint64_t bytes, tokens;
};

/* This rank in its tensor group. Alone, it leads and writes. */
struct kv_part {
	struct group *group; /* NULL: the rank is alone */
	struct kv_view view;
	uint32_t number, count; /* of the group, of all groups of the phase */
	uint32_t rank;          /* in the group */
	uint32_t writer;        /* the rank that writes to stores what this one holds */
	bool leads;             /* has the requests and the tiers of the group */
	bool writes;            /* it is its own writer */
};

/* The tier that this rank's server shares with others. */
struct kv_sharing {
	struct group *
		group; /* those of these ranks that are on this node; NULL: there is no such tier */
	struct kv_shared
		*shared; /* the directory, or this node's part of it, in memory of this group */
	uint32_t first;  /* the first of all who share it, under whose folder the entries are */
	bool owns; /* the first server of this node, which reports what its directory has, and removes it */
};

/* remote.c: a question that has not been answered */
struct kv_asked {
	struct kv_question what;
	uint32_t owner;     /* the request whose step asks; KV_NONE */
	uint32_t operation; /* KV_ASK_MOVE: it waits for the answer */
	uint32_t next;      /* among those that are not sent, or the free ones */
};

struct kv_reply {
	uint64_t number; /* of the question */
	struct kv_answer what;
};

/* A node, while parts are counted. */
struct kv_remote_part {
	uint32_t number, leaders, passed;
};

/* The parts of a shared tier's directory, where each of several nodes has one. */
struct kv_remote {
	struct group
		*group; /* of its own, of all ranks; NULL: there is one part, and nobody to ask */
	uint32_t parts, part;   /* how many; this node's */
	uint32_t *partners;     /* [parts]: the rank that answers this one */
	struct kv_asked *asked; /* [room] */
	uint32_t room, free;
	uint32_t open,
		sent; /* questions that have not been answered; of them, those that were posted */
	struct kv_fifo unsent;
	struct kv_reply reply; /* an answer that has not been posted, if `replies` */
	uint32_t reply_to;
	bool replies;
	bool settling, settled; /* a round is under way; see kv_remote_settled */
	uint64_t count;         /* questions asked */
	uint64_t look_ns;       /* from one look for letters to the next */
};

/* bus.c: of a tier */
struct kv_bus {
	uint64_t free_ns;     /* when all that have taken it have ended */
	struct kv_fifo taken; /* operations that end on it, in that order */
};

struct kv_run {
	struct phase_context *ctx;
	struct kv_setup setup;
	struct kv_part part;
	struct kv_sharing sharing;
	struct kv_remote remote;
	char trace[URI_BYTES]; /* rank 0: the file that the options name, see core/uri.h */
	struct store stores[KV_STORES_MAX];
	struct queue side[KV_STORES_MAX]; /* for what is not the phase's own work */
	uint32_t opened, described;       /* stores open; stores that have a description */
	struct crew crew;
	struct snapshot snapshot;
	struct kv_memory memory;
	struct kv_work work;
	struct kv_source source;
	struct kv_tiers tiers;
	struct kv_operations operations;
	struct kv_waiting waiting;
	struct kv_scaling scaling;

	struct kv_served *served; /* [setup.served] */
	uint32_t free, busy;      /* the first free one; how many are not */
	struct kv_fifo ready, parked;
	uint64_t credits;        /* of max_concurrent_allocs */
	struct kv_alarm *alarms; /* [setup.served]: a heap */
	uint32_t alarm_count;
	uint32_t class_rank[KV_CLASSES_MAX]; /* 0: served first */

	/* dispatch.c and shard.c: the request whose step asks the tiers, and the last operation of its chain; KV_NONE. */
	uint32_t asking, chain;
	struct kv_loads loads; /* of the I/O threads */
	struct kv_bus buses[KV_TIERS_MAX];
	uint32_t given, given_stores; /* tasks with I/O threads; those for stores */

	uint64_t start_ns, until_ns, now_ns;
	bool begun;    /* the first request may fall due */
	bool over;     /* nothing more is begun */
	bool launched; /* the I/O threads run */
	int rc; /* the first error of this rank's main thread, or of a task that ends the phase */
	struct accounts accounts;
	struct status_rounds rounds;
	uint64_t polled_ns;
};

/* serve.c */
int kv_serve_open(struct kv_run *r, struct err *err);
void kv_serve_close(struct kv_run *r);
/* Serves waiting requests as long as there is room; takes the steps of all requests that may go on. Returns whether any could. */
bool kv_serve(struct kv_run *r);
/* The operations of a step have ended. */
void kv_serve_ended(struct kv_run *r, uint32_t served);
/* What a step has asked of another node has been answered, as kv_tiers_answered has returned. read: whether it is the result of a read. */
void kv_serve_answered(struct kv_run *r, uint32_t served, bool read, int rc);
/* The generations that have ended. */
void kv_serve_alarms(struct kv_run *r);

/* part.c */
/* Finds this rank's group, and the memory that it shares. Collective over the phase. */
int kv_part_open(struct kv_run *r, struct err *err);
void kv_part_close(struct kv_run *r);
/* The leader tells the group what is in the tiers; and the counts of a tier, as this rank knows them, in bytes of its shards. */
void kv_part_tell(struct kv_run *r);
struct kv_tier_counts kv_part_counts(const struct kv_run *r, uint32_t tier);
/* Whether this rank puts its shards into that tier. */
bool kv_part_puts(const struct kv_run *r, uint32_t tier);
/* A rank that follows: does its shards of what the leader has posted. */
void kv_follow(struct kv_run *r);

/* sharing.c */
/* Finds the ranks that share the last tier, and its directory. After kv_part_open; collective over the phase. */
int kv_sharing_open(struct kv_run *r, struct err *err);
void kv_sharing_close(struct kv_run *r);
/* The id that an entry of this server has among those of all servers. */
struct kv_id kv_sharing_id(const struct kv_run *r, struct kv_id id);
/* An operation has ended: the directory hears of it where it was one of the shared tier. */
void kv_sharing_ended(struct kv_run *r, const struct kv_operation *op);
/* Sets what this rank's server reports of the shared tier: all of it or nothing. */
void kv_sharing_counts(const struct kv_run *r, struct kv_tier_counts *c);
/* The capacity of a tier that this rank reports; 0: none, or another rank does. */
uint64_t kv_sharing_capacity(const struct kv_run *r, uint32_t tier);
/* The rank under whose folder the shards of this rank are in a tier. */
uint32_t kv_sharing_folder(const struct kv_run *r, uint32_t tier);

/* remote.c */
/* Finds the parts of the directory, and whom to ask; within kv_sharing_open. */
int kv_remote_open(struct kv_run *r, struct err *err);
void kv_remote_close(struct kv_run *r);
/* From here on questions count. */
void kv_remote_begin(struct kv_run *r);
/* For kv_tiers: asks the part of another node, for the step that asks the tiers. run: struct kv_run. */
int kv_remote_ask(void *run, const struct kv_question *q);
/* Takes answers and questions of other ranks; all of it is done at once. */
void kv_remote_poll(struct kv_run *r);
/* When to look again; UINT64_MAX: there is nobody. */
uint64_t kv_remote_due(const struct kv_run *r);
/* Whether all ranks are drained, and have no question that has not been answered; until then, this one must answer. All ranks
 * call it again and again until it returns true, and go on with kv_remote_poll meanwhile. A rank that is drained stays so. */
bool kv_remote_settled(struct kv_run *r, bool drained);

/* space.c */
/* Sets the capacity of a tier that has none in the options, once the stores are open. Collective over the phase. */
int kv_space(struct kv_run *r, struct err *err);
/* The part of a space that one of so many ranks takes, where other tiers may take the bytes reserved. */
uint64_t kv_space_share(uint64_t free_bytes, uint64_t reserved, uint64_t sharers);

/* shard.c */
/* An operation with the bytes of this rank's shard. */
struct kv_operation kv_shard_of(const struct kv_run *r, const struct kv_operation *op);
/* Whether an I/O thread has something to do for it. */
bool kv_shard_needs_thread(const struct kv_run *r, const struct kv_operation *op);
/* Gives a task to the I/O thread with the fewest; one must have room. Returns false where there is nothing to do. */
bool kv_shard_give(struct kv_run *r, const struct kv_task *task);
/* The shard of an operation is done: what leaves this rank's memory is gone. */
void kv_shard_done(struct kv_run *r, const struct kv_operation *what);
/* Takes the answers of I/O threads. */
void kv_shard_collect(struct kv_run *r);

/* remove.c */
/* Removes what this rank has in a store, all ranks of a tensor group together. Returns how many entries have stayed. */
uint64_t kv_remove(struct kv_run *r, uint32_t store);

/* dispatch.c */
int kv_dispatch_open(struct kv_run *r, struct err *err);
void kv_dispatch_close(struct kv_run *r);
/* For kv_tiers: adds the operations of an event to the chain of the request that asks. run: struct kv_run. */
void kv_dispatch_event(void *run, const struct kv_event *e);
/* It could not be done; tell it before its end. */
void kv_dispatch_failed(struct kv_run *r, uint32_t number);
/* The operation of that number has ended. */
void kv_dispatch_ended(struct kv_run *r, uint32_t number);
/* The operation of that number has asked whether it may move an entry. Else it only deletes it where it is. */
void kv_dispatch_admit(struct kv_run *r, uint32_t number, bool moves);
/* Takes the answers of I/O threads and of other ranks; gives what may begin. */
void kv_dispatch_collect(struct kv_run *r);
void kv_dispatch(struct kv_run *r);
/* When an operation ends that no I/O thread does; UINT64_MAX: none does, or there is no room to tell other ranks of it. */
uint64_t kv_dispatch_due(const struct kv_run *r);

/* bus.c */
/* An operation that an I/O thread does takes a bus on its way. */
void kv_bus_pass(struct kv_run *r, const struct kv_operation *op);
/* An operation that has been taken, and needs no thread: whether it takes time on a bus. It is under way until kv_bus_ended returns its
 * number, when its time is over or the phase is. KV_NONE: none has ended. */
bool kv_bus_take(struct kv_run *r, uint32_t number);
uint32_t kv_bus_ended(struct kv_run *r, struct kv_times *times);
/* When the next one ends; UINT64_MAX: there is none. */
uint64_t kv_bus_due(const struct kv_run *r);

/* scale.c */
void kv_scale_begin(struct kv_run *r);
/* Where it is time, decides how many users ask from now on, or that the phase is over. */
void kv_scale(struct kv_run *r);

/* loop.c */
/* Writes what is there before the first request. Not collective. */
int kv_fill(struct kv_run *r, struct err *err);
/* From the first request to the last answer. Collective. */
int kv_loop(struct kv_run *r, enum stop_reason *stopped);

/* measures.c */
int kv_measure_begin(struct kv_run *r, struct err *err);
/* An operation has ended; times NULL: nothing was done for it. */
void kv_measure_operation(struct kv_run *r, const struct kv_operation *op,
			  const struct kv_times *times);
void kv_measure_request(struct kv_run *r, const struct kv_served *s);
/* Adds what the main thread has counted elsewhere than in the tally of the phase. run: struct kv_run. */
void kv_measure_own(void *run, struct tally *t);
/* Sets the wall time and the accounts, as they are now. */
void kv_measure_time(void *run, struct tally *t);
/* Adds what a thread has counted beside its meter. */
void kv_measure_thread(const struct crew_thread *w, struct tally *t);

#endif
