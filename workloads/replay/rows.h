/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a trace that a rank replays, as a list for each of its threads, and the keys in them.
 *
 *	trace ──► through tiers, if asked for ──► tiers that reach the store? ──► key of this rank? ──► list of the key's thread, in the order of the trace
 *
 * A key belongs to one rank and one thread, by a hash of its text. So the rows of a key stay in their order, and no two threads
 * share a key. All rows are read before the phase begins: then what is wrong in the trace is known, and which objects must be
 * made first. 32 bytes per row and about 40 per key, with its text, are kept.
 *
 * Loading is for the main thread. Afterwards a list and its keys belong to their thread. */
#ifndef HAUL_WORKLOADS_REPLAY_ROWS_H
#define HAUL_WORKLOADS_REPLAY_ROWS_H

#include "core/list.h"
#include "workloads/replay/replay.h"
#include "workloads/trace/trace.h"

/* What of a trace this rank replays, and how. */
struct replay_part {
	double speed; /* 0: no row has a time */
	double size_scale;
	uint32_t tiers; /* that reach the store, as bits */
	bool lenient;
	uint32_t rank, ranks, threads;
	struct replay_through through;
};

struct replay_row {
	uint64_t due_ns;        /* since the beginning of the phase */
	uint64_t offset, bytes; /* offset: of a read */
	uint32_t key;
	uint8_t operation, tier;
};

/* A key, and what its thread does with it now. Reads go on side by side. A write or delete waits
 * for all operations of its key that came before it, and those that come after it wait for it. */
struct replay_key {
	uint64_t hash;
	struct list waiting; /* slots, in the order of the trace */
	uint32_t readers;
	bool writing;  /* or deleting */
	uint8_t tiers; /* in which an object of it may exist, as bits */
};

struct replay_list {
	struct replay_row *rows;
	uint64_t count, room;
};

/* An object that is read or deleted before it is written, as large as the largest of those rows. */
struct replay_made {
	uint64_t bytes;
	uint32_t key, tier;
};

struct replay_rows {
	struct replay_list *lists; /* [threads] */
	uint32_t threads;
	struct trace_names names;
	struct replay_key *keys; /* [names.count] */
	uint32_t key_room;
	struct replay_made *made;
	uint64_t made_count, made_room;
	uint64_t rows;        /* of all lists */
	uint64_t other_tiers; /* of the whole trace */
	uint64_t beyond;      /* lenient: reads of more than was written, of this rank's keys */
	uint64_t wrong;       /* lenient: all other rows that are wrong, of the whole trace */
	uint64_t bytes_most;  /* of the largest object */
	uint64_t passed;      /* of the whole log: see struct trace_reader */
	uint64_t misses;      /* of the whole trace: see replay_through_all */
	bool bytes_differ;    /* see trace_bytes_differ */
	char passed_text[TRACE_SKIPPED_BYTES]; /* what these were; "": there are none */
	char skipped[TRACE_SKIPPED_BYTES];     /* what was wrong with them; "": nothing */
};

/* Reads the trace to its end. Call replay_rows_free also after an error. Returns -EINVAL or another
 * errno, with a sentence that begins with "line N: " where it is about a line, and that does not
 * name the path. */
int replay_rows_load(struct replay_rows *r, struct trace_reader *from,
		     const struct replay_part *part, struct err *err);
void replay_rows_free(struct replay_rows *r);

#endif
