/* SPDX-License-Identifier: Apache-2.0 */
/* What the threads of a search share, and what each of them has: queries under way, their searches of
 * segments, and slots for reads; and what each part of a phase does with it. */
#ifndef HAUL_WORKLOADS_VECTOR_WORK_H
#define HAUL_WORKLOADS_VECTOR_WORK_H

#include <stdatomic.h>

#include "backends/request.h"
#include "core/group/group.h"
#include "workloads/common/crew.h"
#include "workloads/common/description.h"
#include "workloads/common/options.h"
#include "workloads/common/piece_reader.h"
#include "workloads/common/slots.h"
#include "workloads/common/writer.h"
#include "workloads/vector/frontier.h"
#include "workloads/vector/index.h"
#include "workloads/vector/set.h"

/* A segment that is searched while it changes: two generations of it, of which one is searched. A merge
 * makes the other one, and turns to it; the searches that have begun end on the one that they began
 * with, and when the last has left, its file is closed and removed.
 *
 * Any thread may enter and leave; one thread turns. Handles of open objects are shared by all. */

struct vector_live {
	_Atomic uint64_t turn; /* the generation since the phase began; its lowest bit says where */
	_Atomic uint64_t readers[2];
	/* Far from what all searches write. */
	_Alignas(128) struct vector_index index[2];
	struct hot hot[2];
	struct object object[2]; /* open to read */
};

/* What searches and merges of a rank tell each other. */
struct vector_meanwhile {
	_Atomic bool merging;
	_Atomic bool over; /* searches begin nothing more */
};

/* Where the generation is that is searched from now on, until it is left. */
static inline uint32_t vector_live_enter(struct vector_live *l)
{
	for (;;) {
		uint64_t turn = atomic_load(&l->turn);
		uint32_t at = turn & 1;

		atomic_fetch_add(&l->readers[at], 1);
		/* It turned meanwhile, and nobody waits for this reader. */
		if (atomic_load(&l->turn) == turn)
			return at;
		atomic_fetch_sub(&l->readers[at], 1);
	}
}

static inline void vector_live_leave(struct vector_live *l, uint32_t at)
{
	atomic_fetch_sub(&l->readers[at], 1);
}

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
	uint64_t beam, probes, side; /* side: segments of a query that are searched side by side */
	uint64_t start_ns;           /* of the phase */
	struct slots_warmup warmup;  /* what is counted begins at its end */
	uint64_t until_ns;           /* no query begins from then on; 0: no limit */
	uint64_t first, of;          /* numbers of this rank's threads among all */
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
	struct vector_part *parts; /* [limit], see search.c; NULL: segments are not spread */
	uint64_t warm_issued;      /* begun before the warm-up ended */
	struct residency residency;

	/* Results; times count from the end of the warm-up. */
	uint64_t answered, rounds, expanded, cached, beside, parts_answered, joined_ns;
	uint64_t end_ns, payload_errors, verify_ns, distance_ns, warmup_queries;
};

/* search.c. A thread and its queries. A query is one search of each segment, side by side as far as the store
 * takes so many reads, and is answered when the last of them has ended. A search of a graph goes by rounds: up to `beam` of the nearest candidates
 * are read together, those in memory cost nothing, and the next round begins when all have been answered
 * (or, pipelined, a read as soon as one has). A search of lists reads all of its lists, `beam` at a time.
 *
 * A thread's work belongs to that thread; what is shared is read-only while it works. */

extern const struct meter_layout vector_meter;

/* The nodes of a graph that are kept in memory. -ENOMEM. */
int vector_hot(struct hot *h, const struct vector_options *o, const struct graph *g);

uint64_t vector_thread_bytes(const struct vector_options *o);
int vector_thread_open(struct vector_thread *t, struct vector_work *work, struct crew_thread *w,
		       uint64_t number, struct err *err);
void vector_thread_close(struct vector_thread *t);
/* The body of a crew that runs once; its argument is a struct vector_work. */
int vector_thread_run(struct crew_thread *w, uint64_t number);
/* Drops what a thread counted that ended within its warm-up. */
void vector_thread_drop(void *thread);
/* Adds what a thread has counted beside its meter. */
void vector_thread_count(const struct vector_thread *t, struct tally *tally);

/* Segments that are spread over the ranks: each rank has a part of every query, that of its own segments,
 * and a query is answered when its last part is. Thread i of each rank works on the same queries in
 * the same order. While they search, ranks say nothing to each other: each keeps what every part
 * took, and afterwards the parts are joined.
 *
 *	rank 0, thread i   [part of its query 0][part of query 1][part of query 2] …
 *	rank 1, thread i   [part of its query 0][part of query 1] …
 *	                    └ the slowest of a column: what the query took
 *
 * A query counts at the rank whose part of it was the slowest. Those that all ranks began during the
 * warm-up are not counted, nor those that a rank has not answered. */

/* Joins the parts of all ranks: each counts, into what its threads have counted, the queries in which it
 * was the slowest. Collective, when no thread works any more. */
int shards_join(struct vector_work *work, struct group *g);

/* reads.c. What a search of one segment reads next, and what it makes of the bytes that have come back. For each
 * kind of index: a graph round by round (frontier.h), the base level of HNSW (frontier.h), or lists.
 *
 * Called by the thread of the search. */

/* The search begins; nothing is read yet. */
void reads_begin(struct vector_thread *t, struct vector_search *s);
/* Sends the reads that may go now. Where none are in flight then, the search has ended. */
void reads_next(struct vector_thread *t, struct vector_search *s);
/* Whether a read goes as soon as one has come back; else when all of a round have. Those of a round of HNSW
 * are known together. */
bool reads_go_on(const struct vector_options *o);
/* The bytes of the read, looked at: a negative errno with a text where they are wrong. */
int reads_look(struct vector_thread *t, struct vector_slot *slot, char text[FAILURE_TEXT_BYTES]);

/* build.c. The files of an index written, each by one thread, from its first byte to its last: as builders write
 * them when the graph is done. */

/* A file of an index read from its first byte to its last, with several reads in flight, by one who
 * consumes it in order. What it brings is compared, and dropped.
 *
 * One thread. Nothing is allocated after stream_open. */

enum { STREAM_READS = 4 };

struct stream {
	/* Set by the caller before stream_open. */
	struct crew_thread *member; /* whose meter counts */
	struct store *store;
	uint32_t verify;
	uint64_t piece; /* bytes of a read */
	uint32_t depth; /* at most STREAM_READS */
	void *memory;   /* [depth * buffer_bytes], NULL: the store keeps no content */
	uint64_t buffer_bytes;

	/* Counted. */
	uint64_t verify_ns, payload_errors;
	struct hist reads; /* how long they took; the member has only their number */

	/* Used by the stream only. */
	struct queue queue;
	const struct vector_index *index;
	struct object *object;
	uint64_t sent, taken; /* bytes */
	uint64_t reads_sent, reads_taken;
	int rc; /* the first error */
	bool back[STREAM_READS];
	struct request requests[STREAM_READS];
};

/* Close it also after an error. */
int stream_open(struct stream *s, struct err *err);
void stream_close(struct stream *s);

/* From the first byte of that file on, which is open. */
void stream_begin(struct stream *s, const struct vector_index *x, struct object *object);
/* Consumes it up to there, or to its end: 0, or the first error, with the member's err. */
int stream_until(struct stream *s, uint64_t at);
/* Waits for what is in flight. */
void stream_end(struct stream *s);

/* Of a thread. */
enum { VECTOR_BUILD_BUFFERS = 4 };

struct vector_build {
	const struct vector_set *set;
	struct store *store;
	uint64_t piece; /* bytes of a write */
	struct fillers fillers;
	struct writer *writers; /* [threads] */
};

/* Bytes of a write on that store, and of the buffers of a thread; part: as store_part says. */
uint64_t vector_build_piece(const struct backend_ops *ops, uint64_t part);
uint64_t vector_build_buffers(const struct backend_ops *ops, uint64_t part);

/* Memory of a program that builds the graph of a segment, as DiskANN estimates it; 0: it is none of
 * DiskANN. */
uint64_t vector_builder_bytes(const struct vector_shape *shape);

/* The members of the crew have their buffers. Close it also after an error. */
int vector_build_open(struct vector_build *b, struct crew *crew, struct err *err);
void vector_build_close(struct vector_build *b, const struct crew *crew);
/* The body of a crew whose argument is a struct vector_build. */
int vector_build_one(struct crew_thread *w, uint64_t segment);
/* The name of a segment's file, as a crew asks for it. */
void vector_build_name(const struct crew *crew, uint64_t segment, char key[OBJECT_KEY_BYTES]);
/* Files that a thread has written whole: their bytes. */
uint64_t vector_build_bytes(const struct crew_thread *w);

/* load.c. An index loaded, as a query node does before its first search: all of its files, in slices of one size,
 * read by the threads of a rank side by side. A slice is received and compared, or written into the
 * same folder of another store, where searches then find the index. Each rank loads the segments that
 * it would search where they are spread over the ranks.
 *
 * Main thread, but for vector_load_one. */

struct vector_load {
	/* Set by the caller before vector_load_open. */
	struct phase_context *ctx;
	const struct vector_options *options;
	const struct vector_set *set; /* the index that is there; known when it runs */
	struct crew *crew;            /* open */

	/* Used by the load only. */
	bool copies; /* into the store `to` */
	struct store to;
	struct queue side;
	struct place place;
	struct vector_set copy;
	uint64_t start_ns;
	_Atomic uint64_t next;
	struct vector_loader *loaders; /* [crew->threads] */
};

/* Slices in flight for a thread. */
uint64_t vector_load_depth(const struct vector_options *o, const struct job_store *from);

/* Close it also after an error. Collective. */
int vector_load_open(struct vector_load *l, struct err *err);
void vector_load_close(struct vector_load *l);
/* From before the first slice until the index is whole in its place. Collective. */
int vector_load_run(struct vector_load *l, enum stop_reason *stopped, struct err *err);
/* Adds what a thread has counted beside its meter. */
void vector_load_count(const struct vector_load *l, uint32_t thread, uint64_t *row);

/* merge.c. Inserts and deletes beside searches, as FreshDiskANN has them: they are kept in memory, at a rate, until
 * a segment has so many that they are merged into its file by a thread of its own, while searches go on:
 *
 *	delete    the file is read from its first byte to its last, and written without what was deleted
 *	insert    each new vector searches that file for its neighbours: random reads of nodes
 *	patch     the file is read and written once more, with the new vectors and all edges to them
 *
 * With one pass, delete is left out, and what is inserted searches the file that is there. Vectors that
 * wait in memory cost no I/O, so there is only their number. Each file is written anew and has other bytes,
 * a function of the seed, the segment and its version (set.h); searches turn to it (work.h)
 * when it is whole.
 *
 * Main thread, but for the body of its crew. */

struct vector_merges {
	/* Set by the caller before vector_merges_open. */
	struct phase_context *ctx;
	const struct vector_options *options;
	struct vector_work *work; /* whose segments change */
	struct vector_meanwhile meanwhile;

	/* Used by the merges only. */
	struct crew crew;  /* of one thread */
	struct queue side; /* for what is not counted: which generation it is */
	struct stream stream;
	struct writer writer;
	struct vector_options inserts; /* as a search of one segment */
	struct vector_live target;     /* that what is inserted searches */
	struct vector_work insert_work;
	struct vector_thread inserter;
	struct vector_generation *generations; /* [work->own] */
	uint64_t *merged;                      /* [the same]: merges in this phase */
	uint64_t start_ns;
	uint64_t piece; /* bytes of a write */
	uint64_t opened;
	_Atomic bool stops; /* the file that is being written */
	bool asks, flies;

	/* Counted. */
	uint64_t merges, left, merge_ns, inserted, deleted, waiting;
};

/* Changes of a segment after which it is merged, and how many of them are inserts. */
uint64_t vector_merge_at(const struct vector_options *o, uint64_t *inserts);
/* Memory for merges. */
uint64_t vector_merge_bytes(const struct vector_options *o, const struct job_store *store);

/* Opens the segments, too. Not collective. Close it also after an error. */
int vector_merges_open(struct vector_merges *m, const struct job_store *described, struct err *err);
void vector_merges_close(struct vector_merges *m);
/* From start_ns on, until vector_merges_end, which ends a merge in the middle. */
int vector_merges_start(struct vector_merges *m, uint64_t start_ns, struct err *err);
int vector_merges_end(struct vector_merges *m, struct err *err);
/* Adds what the thread that merges has counted. By itself, or when it has ended. */
void vector_merges_add(void *merges, struct tally *t);

#endif
