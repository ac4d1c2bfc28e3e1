/* SPDX-License-Identifier: Apache-2.0 */
/* Writer: streams the bytes of an object into a store while the next bytes of it are made.
 *
 *	        ┌──────────────── buffers, the caller's ────────────────┐
 *	idle ──► asked ──► filling ──► full ──► with the store ──► idle
 *	          │  fillers, or the writer     │  as many as depth, and
 *	          │  when it has nothing else   │  back in any order
 *
 * An object is written in pieces: a write each, of the store's part size. Several writers may share one object; each
 * takes the piece that comes next. Begin and commit are the caller's, and so is the memory.
 *
 * Three cases need no fillers, and are written by the same loop: a store that keeps no content is asked to write
 * without any bytes; a piece longer than a buffer is made as the store asks for it (request.chunk); and without
 * filler threads the writer makes each piece itself before it writes it.
 *
 * An object may have memory for all of its bytes. They are then made first, in the same pieces and by the same threads
 * (writer_make), and written afterwards.
 *
 * A writer belongs to the thread of its queue. Nothing allocates after writer_open. */
#ifndef HAUL_WORKLOADS_COMMON_WRITER_H
#define HAUL_WORKLOADS_COMMON_WRITER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "core/credits.h"
#include "workloads/common/crew.h"

enum { WRITER_PIECES_MAX = 64 };

/* Filler threads: make the bytes of pieces that writers will write next, so that making and writing
 * overlap even where a write keeps its thread waiting. They serve all writers of a rank.
 *
 * A piece is handed over by its state alone. A writer sets it to PIECE_ASKED. Whoever changes that
 * to PIECE_FILLING (a filler, or the writer when it has nothing else to do) makes the bytes.
 * PIECE_FULL gives the piece back. No lock is shared. fillers_open, writer_open and fillers_close
 * are for one thread, while no writer works. A writer must live until fillers_close. */
struct fillers {
	uint32_t count; /* threads */
	pthread_t *threads;
	struct clock *clock;
	struct credits asked;
	_Atomic bool closing;
	struct piece **pieces; /* of each writer added: [piece_counts[i]] */
	uint32_t *piece_counts;
	uint32_t writers, writers_max;
};

/* Starts count threads (0: none), for at most writers_max writers. Call fillers_close also after an
 * error. */
int fillers_open(struct fillers *f, uint32_t count, uint32_t writers_max, struct clock *clock,
		 struct err *err);
void fillers_close(struct fillers *f);

/* How a writer learns that one of its pieces is full. */
struct filled {
	_Atomic bool waited_for;
	sem_t posted;
};

/* What is written: size bytes of an object that has been begun, from offset on, in writes of piece
 * bytes. */
struct writer_object {
	struct object *object;
	uint64_t offset, size, piece;
	/* Memory for all of them, aligned as the store needs it: writer_make makes them there, and
	 * writer_put writes them from there. NULL: writer_put makes them piece by piece in the
	 * writer's buffers. */
	void *bytes;
	/* Makes bytes [at, at + bytes) of them; fillers call it at the same time as the writer. Not
	 * called where the store keeps no content. */
	void (*image)(const void *argument, uint64_t at, void *to, uint64_t bytes);
	const void *argument;
	/* Where the next piece begins: 0 at first, shared by all writers of the object, which have
	 * copies of its handle. NULL: only this writer writes it. */
	_Atomic uint64_t *next;
};

struct writer {
	/* Set by the caller before writer_open; all of it must outlive the writer. */
	struct queue *queue;
	struct fillers *fillers; /* NULL: the writer makes all pieces itself */
	/* [buffers * buffer_bytes], aligned as the store needs it; NULL: the store keeps no
	 * content, or objects have memory of their own. Pieces that can be under way: buffers, at
	 * least depth and at most WRITER_PIECES_MAX. */
	void *memory;
	uint64_t buffer_bytes;
	uint32_t buffers;
	uint32_t depth;           /* writes in flight at most */
	const _Atomic bool *halt; /* the writer stops at the next piece; NULL: never */
	/* Called when a write has failed; rc is its errno. Returns what writer_put returns. NULL:
	 * rc. */
	int (*failed)(void *argument, const struct request *req, int rc);
	/* Called when a piece is in the store, as durable as its writes are. May be NULL. */
	void (*written)(void *argument, struct object *object, uint64_t at, uint64_t length);
	void *argument;

	/* Used by the writer only. Times over all objects so far: fill_ns in which this writer or a
	 * filler made bytes for writer_put, write_ns in which at least one write was in flight. The
	 * caller adds the time of writer_make. */
	uint64_t fill_ns, write_ns;
	const struct writer_object *now; /* the current object */
	bool making;                     /* its bytes, and writing none */
	uint64_t at; /* where the next piece begins, if only this writer takes pieces */
	bool ended;  /* no piece is left to take */
	uint32_t idle_count, made_count;
	uint32_t idle[WRITER_PIECES_MAX];
	uint32_t made
		[WRITER_PIECES_MAX]; /* requested, filling or full, in the order of the object */
	uint64_t done_ns;            /* when the last write came back */
	struct filled filled;
	struct piece *pieces;
	struct request *requests, **done; /* [buffers] */
};

/* Returns -ENOMEM with a sentence. Call writer_close also after an error; call fillers_close before
 * it. */
int writer_open(struct writer *w, struct err *err);
void writer_close(struct writer *w);

/* Writes the object, or what other writers leave of it. Returns 0, -ECANCELED where the writer is
 * to halt, or the first error. Afterwards nothing is in flight, and no filler works for it. */
int writer_put(struct writer *w, const struct writer_object *object);

/* Makes the bytes of an object that has memory for them, or what other writers leave of them, and
 * writes nothing. The fillers help. Returns 0, or -ECANCELED where the writer is to halt. All bytes
 * are there when all writers of the object have returned 0. */
int writer_make(struct writer *w, const struct writer_object *object);

/* Shared object: one object that all ranks of a group write as one version, where the store cannot
 * be written in place. Rank 0 begins it and sends its id to the others, which join. Once all are
 * done, rank 0 publishes or drops it. Every call is collective, made by the group's thread, with a
 * crew thread that does nothing else meanwhile. */

struct shared_object {
	/* The caller sets the key. While it is begun, threads of this rank write parts of it
	 * through queues of their own, with it or with copies of it. */
	struct object object;
	uint64_t length;
	bool begun;
};

/* Begins length bytes in all, in parts of part bytes, which are the same on all ranks. Either all
 * ranks have it or none does. The worker keeps failures. -EINVAL: the ranks' stores are different
 * ones. */
int shared_object_begin(struct shared_object *s, uint64_t length, uint64_t part,
			struct crew_thread *w, struct group *g, struct err *err);

/* No rank may have a write in flight. *whole: this rank has written all of its part; afterwards:
 * all ranks have, and the object is published. Otherwise nothing of it remains, which by itself is
 * not an error. Does nothing where it is not begun. */
int shared_object_end(struct shared_object *s, bool *whole, struct crew_thread *w, struct group *g,
		      struct err *err);

#endif
