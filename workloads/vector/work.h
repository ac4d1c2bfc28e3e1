/* SPDX-License-Identifier: Apache-2.0 */
/* What the threads of a search share, and what each of them has: queries under way, their searches of
 * segments, and slots for reads. search.c moves them on, reads.c says what is read, shards.c joins what
 * ranks have counted. */
#ifndef HAUL_WORKLOADS_VECTOR_WORK_H
#define HAUL_WORKLOADS_VECTOR_WORK_H

#include "workloads/common/slots.h"
#include "workloads/vector/base_level.h"
#include "workloads/vector/frontier.h"
#include "workloads/vector/live.h"
#include "workloads/vector/set.h"

/* What all threads of a rank share. */
struct vector_work {
	const struct vector_options *options;
	const struct vector_set *set;
	const struct codes *codes; /* of an index that somebody else has built; else NULL */
	struct store *store;
	uint64_t from, own;       /* segments of this rank: the first of them, and how many */
	struct vector_live *live; /* those segments: [own] */
	uint64_t vectors;         /* of a segment as it was built, to which targets belong */
	/* They change while they are searched: their files are open already. NULL: they do not. */
	const struct vector_meanwhile *meanwhile;
	bool inserts;      /* what searches is inserted: it counts as no query */
	uint64_t *targets; /* of query vectors: [query_vectors] */
	bool content;
	uint64_t beam, probes, side;  /* side: segments of a query that are searched side by side */
	uint64_t start_ns, origin_ns; /* of the phase; of what is counted, after the warm-up */
	uint64_t until_ns;            /* no query begins from then on; 0: no limit */
	uint64_t first, of;           /* numbers of this rank's threads among all */
	struct cpu_time warm_from, warm;
	struct vector_thread *threads;
};

/* A rank's part of a query, where segments are spread over the ranks. */
struct vector_part {
	uint64_t took_ns; /* 0: not answered */
	uint32_t expanded, cached, rounds, beside;
};

struct vector_query;

/* Of one segment. */
struct vector_search {
	struct vector_query *query;
	struct vector_live *live;
	uint32_t at; /* which generation of it */
	const struct vector_index *index;
	const struct hot *hot;
	struct object *object;
	struct frontier frontier;
	struct base_level base;  /* of hnsw, in place of the frontier */
	uint64_t target, listed; /* lists asked for so far */
	struct list idle;        /* slots of its own that have no read under way */
	uint32_t in_flight;
	uint64_t rounds, expanded, cached, beside;
};

struct vector_query {
	struct list_link link; /* among the free ones */
	uint64_t index;        /* among those of the thread */
	struct slot *first;    /* that says since when the query is under way */
	uint32_t left, begun;  /* searches that have not ended; that have begun */
	bool failed;
	bool merging;                   /* when it began */
	struct vector_search *searches; /* [own] */
};

struct vector_slot {
	struct slot s;
	struct vector_search *search;
	uint64_t item, within;
};

struct vector_thread {
	struct vector_work *work;
	struct crew_thread *member;
	struct slots slots;
	struct pace pace;
	struct object *objects; /* [own] */
	uint32_t opened;
	struct vector_query *queries; /* [depth] */
	struct vector_search *searches;
	struct list free;
	uint64_t number, issued, limit, key;
	struct vector_part *parts; /* [limit], see shards.h; NULL: segments are not spread */
	uint64_t warm_issued;      /* begun before the warm-up ended */
	struct residency residency;

	/* Results; times count from origin_ns. */
	bool warm;
	uint64_t answered, rounds, expanded, cached, beside, parts_answered, joined_ns;
	uint64_t end_ns, payload_errors, verify_ns, distance_ns, warmup_queries;
};

#endif
