/* SPDX-License-Identifier: Apache-2.0 */
/* A phase "kvcache" while it runs: what the modules of its main thread work on. All of it belongs
 * to the main thread, but for the parts that worker.h names. Each module declares in its own header
 * what it does. */
#ifndef HAUL_WORKLOADS_KVCACHE_RUN_H
#define HAUL_WORKLOADS_KVCACHE_RUN_H

#include "workloads/common/description.h"
#include "workloads/common/status_rounds.h"
#include "workloads/kvcache/board.h"
#include "workloads/kvcache/kvcache.h"
#include "workloads/kvcache/served.h"
#include "workloads/kvcache/tiers/operations.h"
#include "workloads/kvcache/worker.h"

/* Bus of an emulated accelerator (dispatch.c): of a tier. What reads from its memory or writes to
 * it takes bytes / bandwidth, one operation after the other. No thread works meanwhile, and no byte
 * is moved. What a thread moves out of it to another tier takes the bus, too, but is not itself
 * slowed by it. */
struct kv_bus {
	uint64_t free_ns;  /* when all that have taken it have ended */
	struct list taken; /* operations that end on it, in that order */
};

struct kv_buses {
	const struct kv_setup *setup; /* which tiers have a bus, and how fast it is */
	struct kv_bus bus[KV_TIERS_MAX];
};

/* This rank in its tensor group (part.c). Alone, it leads and writes. */
struct kv_part {
	struct group *group; /* NULL: the rank is alone */
	struct kv_view view;
	uint32_t number, count; /* of the group, of all groups of the phase */
	uint32_t rank;          /* in the group */
	uint32_t writer;        /* the rank that writes to stores what this one holds */
	bool leads;             /* has the requests and the tiers of the group */
	bool writes;            /* it is its own writer */
};

/* The tier that this rank's server shares with others (part.c). */
struct kv_sharing {
	struct group *
		group; /* those of these ranks that are on this node; NULL: there is no such tier */
	struct kv_shared
		*shared; /* the directory, or this node's part of it, in memory of this group */
	uint32_t first;  /* the first of all who share it, under whose folder the entries are */
	bool owns; /* the first server of this node, which reports what its directory has, and removes it */
};

/* A question to the part of another node (part.c) that has not been answered. */
struct kv_asked {
	struct list_link link; /* among those that are not sent, or the free ones */
	struct kv_question what;
	struct kv_served *owner;        /* the request whose step asks; NULL */
	struct kv_operation *operation; /* KV_ASK_MOVE: it waits for the answer */
};

struct kv_reply {
	uint64_t asked; /* the question's, as the rank that asks has named it */
	struct kv_answer what;
};

/* The parts of a shared tier's directory, where each of several nodes has one. */
struct kv_remote {
	struct group
		*group; /* of its own, of all ranks; NULL: there is one part, and nobody to ask */
	uint32_t parts, part; /* how many; this node's */
	uint32_t *partners;   /* [parts]: the rank that answers this one */
	struct kv_pool pool;  /* of struct kv_asked */
	uint32_t open,
		sent; /* questions that have not been answered; of them, those that were posted */
	struct list unsent;
	struct kv_reply reply; /* an answer that has not been posted, if `replies` */
	uint32_t reply_to;
	bool replies;
	bool settling, settled; /* a round is under way; see kv_remote_settled */
	uint64_t count;         /* questions asked */
	uint64_t look_ns;       /* from one look for letters to the next */
};

/* What the tiers decide in one call, in that order (dispatch.c). */
struct kv_decision {
	bool asks; /* a question; else an event */
	struct kv_event event;
	struct kv_question question;
};

struct kv_decisions {
	struct kv_decision *all;
	uint64_t count, room;
	bool lost; /* there was no memory for one */
};

/* What the last decision about users was made of (scale.c). */
struct kv_scaling {
	struct kv_autoscale autoscale;
	uint64_t due_ns;         /* of the next decision; UINT64_MAX: there is none */
	struct hist read, write; /* as they were at the last one */
	struct hist between;
	uint64_t bytes, tokens;
};

struct kv_server;

struct kv_run {
	struct phase_context *ctx;
	struct kv_server *server; /* profile serving, in place of source, tiers and operations */
	struct kv_setup setup;
	struct kv_part part;
	struct kv_sharing sharing;
	struct kv_remote remote;
	struct place places[KV_STORES_MAX]; /* of the stores, once each is described */
	char trace[URI_BYTES]; /* rank 0: the file that the options name, see core/uri.h */
	struct store stores[KV_STORES_MAX];
	struct queue side[KV_STORES_MAX]; /* for what is not the phase's own work */
	uint32_t described;               /* stores that have a description */
	struct crew crew;
	struct snapshot snapshot;
	struct kv_memory memory;
	struct kv_work work;
	struct kv_source source;
	struct kv_waiting waiting; /* requests that have fallen due */
	struct kv_serving serving; /* those that are served */
	struct kv_scaling scaling;
	struct kv_tiers tiers;
	struct kv_decisions decisions; /* of one call of the tiers */
	struct kv_operations operations;
	struct kv_buses buses;
	struct kv_loads loads;        /* of the I/O threads */
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

/* The first error counts. */
static inline void kv_run_fail(struct kv_run *r, int rc)
{
	r->rc = r->rc ? r->rc : rc;
}

/* measures.c. From the main thread of a phase "kvcache" to its tally. */

int kv_measure_begin(struct kv_run *r, struct err *err);

/* An operation has ended; times NULL: nothing was done for it. at_once: no thread did it, so it
 * took its time on a bus, if any. */
void kv_measure_operation(struct kv_run *r, const struct kv_operation *op,
			  const struct kv_times *times);
void kv_measure_at_once(struct kv_run *r, const struct kv_operation *op);
/* The step of a request was a read, and the entry was there or not; and a request has been
 * served. */
void kv_measure_found(struct kv_run *r, struct kv_served *s, bool hit);
void kv_measure_request(struct kv_run *r, const struct kv_served *s);

/* Adds what the main thread has counted elsewhere than in the tally of the phase. run: struct
 * kv_run. */
void kv_measure_own(void *run, struct tally *t);
/* Sets the wall time and the accounts, as they are now. */
void kv_measure_time(void *run, struct tally *t);
/* Adds what a thread has counted beside its meter. */
void kv_measure_thread(const struct crew_thread *w, struct tally *t);

/* part.c. This rank among others: in its tensor group, and among the servers that share a tier.
 *
 * The first rank of a group leads: it has the users, the tiers and the operations. The others
 * follow what it posts on the board (board.h). A rank that is alone leads, and writes.
 *
 * A tier that several servers share: the last one, a store that the ranks of a node, or all ranks,
 * fill and read together. A server is a rank, or the leader of a tensor group; the others of a
 * group follow their leader, and know nothing of the directory (tiers/shared.h). Where all ranks
 * are on several nodes, each node has a part of it (part.c).
 *
 *	server a    cpu ─┐                                  FOLDER/FIRST/TIER/…   shards 0 of all entries
 *	server b    cpu ─┼─► directory ─► one store ─►      FOLDER/FIRST+1/TIER/… shards 1
 *	server c    cpu ─┘
 *
 * What several servers mean by one id must be one entry. Prompts and documents are the same for
 * all of them. Users are not, so the ids of their entries get the number of the server. The bytes
 * of an entry are a function of its id and its shard, so each server can compare what another one
 * has written. */

/* Finds this rank's group, and the memory that it shares. Collective over the phase. */
int kv_part_open(struct kv_run *r, struct err *err);

/* Finds the ranks that share the last tier, and its directory. After kv_part_open; collective over
 * the phase. */
int kv_part_open_servers(struct kv_run *r, struct err *err);
/* The id that an entry of this server has among those of all servers. */
struct kv_id kv_part_id(const struct kv_run *r, struct kv_id id);

/* The leader tells the group what is in the tiers; and the counts of a tier, as this rank knows
 * them, in bytes of its shards. */
void kv_part_tell(struct kv_run *r);
struct kv_tier_counts kv_part_counts(const struct kv_run *r, uint32_t tier);

/* Whether this rank puts its shards into that tier. */
bool kv_part_puts(const struct kv_run *r, uint32_t tier);

/* part.c. Parts of a shared tier's directory that are on other nodes (tiers/shared.h): what this rank asks
 * of them, and what it answers.
 *
 *	tiers ──► question ──► unsent ──► sent ─ ─ ─ ─ ─ ─► rank of the other node: asks its part
 *	tiers ◄── answer ◄─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─┘
 *
 * On each other node, a rank asks the one that has the same place there as it has on its own, so
 * that all main threads answer alike, and all that a rank says of an entry arrives in order.
 * Nobody waits for an answer: the request's step waits as it does for I/O. Nobody waits for room
 * either: a question that cannot be posted stays where it is, and whoever cannot post an answer
 * takes no more questions until it can. Answers are always taken, so in the end each can be
 * posted. */

/* Finds the parts of the directory, and whom to ask; after kv_part_open_servers. */
int kv_remote_open(struct kv_run *r, struct err *err);
void kv_remote_close(struct kv_run *r);

/* Asks the part of another node that knows the entry. Returns 0 or -ENOMEM. */
int kv_remote_ask(struct kv_remote *m, const struct kv_asked *asked);
/* The question that has been answered is asked again, behind the others; or is done with. One of
 * the two for each answer. */
void kv_remote_ask_again(struct kv_remote *m, struct kv_asked *asked);
void kv_remote_done(struct kv_remote *m, struct kv_asked *asked);

/* Takes answers, which it hands on, and answers the questions of other ranks; all of it is done at
 * once. */
typedef void kv_remote_answered(struct kv_run *r, struct kv_asked *asked,
				const struct kv_answer *answer);
void kv_remote_poll(struct kv_run *r, kv_remote_answered *answered);
/* When to look again; UINT64_MAX: there is nobody. */
uint64_t kv_remote_due(const struct kv_run *r);

/* Whether all ranks are drained, and have no question that has not been answered; until then, this
 * one must answer. All ranks call it again and again until it returns true, and go on with
 * kv_remote_poll meanwhile. A rank that is drained stays so. */
bool kv_remote_settled(struct kv_run *r, bool drained);

/* shard.c. This rank's shard of an operation, which is all of it where the rank is alone.
 *
 * What several ranks of a tensor group hold is in a store once. So for a rank that is not the first
 * of them, a store is nowhere, unless it reads: it does not write there, and does not delete. What
 * moves from a store into its memory is then made, as if it came from the rank that reads it. */

/* An operation with the bytes of this rank's shard. */
struct kv_operation kv_shard_of(const struct kv_run *r, const struct kv_operation *op);
/* Whether an I/O thread has something to do for it. */
bool kv_shard_needs_thread(const struct kv_run *r, const struct kv_operation *op);
/* Gives a task to the I/O thread with the fewest; one must have room. Returns false where there is
 * nothing to do. */
bool kv_shard_give(struct kv_run *r, const struct kv_task *task);
/* The shard of an operation is done: what leaves this rank's memory is gone. */
void kv_shard_done(struct kv_run *r, const struct kv_operation *what);

/* Takes the answers of I/O threads. Those of a rank that is alone have ended, which `ended` is
 * told (it may be NULL); those of a tensor group are answered on its board. */
typedef void kv_shard_ended(struct kv_run *r, const struct kv_task *task);
void kv_shard_collect(struct kv_run *r, kv_shard_ended *ended);

/* A rank that follows: does its shards of what the leader has posted. */
void kv_shard_follow(struct kv_run *r);

/* dispatch.c. What the tiers decide, as operations for the I/O threads, and for the other ranks of a tensor
 * group.
 *
 *	event of the tiers ──► operation ──► may begin ──► an I/O thread ────► answer ──► next step of the request
 *	                                       ├─ board ──► other ranks ──► last one ─┤
 *	                                       └─ nothing to do for it (an accelerator's memory) ─┘   after its time on a bus
 *
 * The tiers note their events and questions (struct kv_decisions). Whoever has called them then
 * calls kv_dispatch_decided, which makes a chain of operations of the events and asks the
 * questions, in the order in which they were noted.
 *
 * When the phase is over, what has not begun is dropped: entries are neither read nor written, and
 * what was to be moved is only deleted, so that nothing stays in a store that its tier does not
 * know. */

int kv_dispatch_open(struct kv_run *r, struct err *err);
void kv_dispatch_close(struct kv_run *r);

/* For kv_tiers: an event, and a question to the part of another node. decisions: struct
 * kv_decisions. */
void kv_decisions_event(void *decisions, const struct kv_event *e);
int kv_decisions_ask(void *decisions, const struct kv_question *q);

/* After each call of kv_tiers that decides: makes operations of what was noted, for the request
 * that asked; NULL: for none. */
void kv_dispatch_decided(struct kv_run *r, struct kv_served *owner);

/* Takes the answers of I/O threads and of the other ranks of the group; those of other nodes, and
 * their questions; and gives what may begin. */
void kv_dispatch_collect(struct kv_run *r);
void kv_dispatch_poll(struct kv_run *r);
void kv_dispatch(struct kv_run *r);
/* When an operation ends that no I/O thread does; UINT64_MAX: none does, or there is no room to
 * tell other ranks of it. */
uint64_t kv_dispatch_due(const struct kv_run *r);

/* space.c. Sets the capacity of a tier whose options name none, once the stores are open.
 * Collective over the phase. */
int kv_space(struct kv_run *r, struct err *err);
/* What one rank takes of a space that it shares: sharers is how many ranks do, and the other tiers
 * may take the bytes reserved. */
uint64_t kv_space_share(uint64_t free_bytes, uint64_t reserved, uint64_t sharers);

/* loop.c. Writes what is there before the first request. Not collective. */
int kv_fill(struct kv_run *r, struct err *err);
/* From the first request to the last answer. Collective. */
int kv_loop(struct kv_run *r, enum stop_reason *stopped);

/* scale.c. Autoscaling: where it is time, decides how many users ask from now on, or that the phase
 * is over. Each rank, or the leader of each tensor group, decides for itself. */
void kv_scale_begin(struct kv_run *r);
void kv_scale(struct kv_run *r);
bool kv_rounds(const struct job_phase *phase, struct phase_rounds *out);

/* objects.c. Removes what this rank has in a store, all ranks of a tensor group together. Returns
 * how many entries have stayed. */
uint64_t kv_remove(struct kv_run *r, uint32_t store);

/* trace_run.c. In place of all of these: writes what would be done to the file of the options,
 * without I/O. Collective. */
int kv_trace_run(struct kv_run *r, enum stop_reason *stopped, struct err *err);

#endif
