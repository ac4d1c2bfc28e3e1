/* Filler threads: make the bytes of pieces that writers will write next, so that making and writing
 * overlap even where a write keeps its thread waiting. They serve all writers of a rank.
 *
 * A piece is handed over by its state alone. A writer sets it to PIECE_ASKED. Whoever changes that
 * to PIECE_FILLING (a filler, or the writer when it has nothing else to do) makes the bytes.
 * PIECE_FULL gives the piece back. No lock is shared. fillers_open, fillers_add and fillers_close
 * are for one thread, while no writer works. A writer that was added must live until
 * fillers_close. */
#ifndef HAUL_WORKLOADS_COMMON_FILLERS_H
#define HAUL_WORKLOADS_COMMON_FILLERS_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/clock.h"
#include "core/credits.h"
#include "core/err.h"

enum piece_state { PIECE_IDLE, PIECE_ASKED, PIECE_FILLING, PIECE_FULL };

/* A piece of an object, and the buffer that it is made in. It belongs to the writer, except between
 * PIECE_FILLING and PIECE_FULL. Each has a cache line of its own. */
struct piece {
	_Alignas(64) _Atomic uint32_t state; /* enum piece_state */
	uint64_t at, length;                 /* bytes of the object */
	void *memory;
	uint64_t fill_ns; /* the time that making it took */
	/* Makes bytes [at, at + length) of the object at memory; several threads call it at once. */
	void (*image)(const void *argument, uint64_t at, void *to, uint64_t bytes);
	const void *argument;
	struct filled *filled;
};

/* How a writer learns that one of its pieces is full. */
struct filled {
	_Atomic bool waited_for;
	sem_t posted;
};

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

/* The pieces of one more writer, which it will ask for. */
void fillers_add(struct fillers *f, struct piece *pieces, uint32_t count);

/* Tells that this many pieces have become PIECE_ASKED. Any writer's thread. */
void fillers_ask(struct fillers *f, uint32_t count);

/* Makes the piece if no other thread does. Any thread. */
bool piece_fill(struct piece *p, struct clock *clock);

/* Waits until a piece of the writer that was PIECE_FILLING is full. May also return without
 * reason. */
void filled_wait(struct filled *f, const struct piece *pieces, uint32_t count);

#endif
