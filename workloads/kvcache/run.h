/* SPDX-License-Identifier: Apache-2.0 */
/* A phase "kvcache" while it runs: what the modules of its main thread work on. All of it belongs
 * to the main thread, but for the parts that worker.h names. Each module declares in its own header
 * what it does. */
#ifndef HAUL_WORKLOADS_KVCACHE_RUN_H
#define HAUL_WORKLOADS_KVCACHE_RUN_H

#include "workloads/common/place.h"
#include "workloads/common/status_rounds.h"
#include "workloads/kvcache/board.h"
#include "workloads/kvcache/columns.h"
#include "workloads/kvcache/kvcache.h"
#include "workloads/kvcache/loads.h"
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

/* This rank in its tensor group (part.h). Alone, it leads and writes. */
struct kv_part {
	struct group *group; /* NULL: the rank is alone */
	struct kv_view view;
	uint32_t number, count; /* of the group, of all groups of the phase */
	uint32_t rank;          /* in the group */
	uint32_t writer;        /* the rank that writes to stores what this one holds */
	bool leads;             /* has the requests and the tiers of the group */
	bool writes;            /* it is its own writer */
};

/* The tier that this rank's server shares with others (part.h). */
struct kv_sharing {
	struct group *
		group; /* those of these ranks that are on this node; NULL: there is no such tier */
	struct kv_shared
		*shared; /* the directory, or this node's part of it, in memory of this group */
	uint32_t first;  /* the first of all who share it, under whose folder the entries are */
	bool owns; /* the first server of this node, which reports what its directory has, and removes it */
};

/* A question to the part of another node (remote.h) that has not been answered. */
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

/* What the tiers decide in one call, in that order (dispatch.h). */
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

struct kv_run {
	struct phase_context *ctx;
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

#endif
