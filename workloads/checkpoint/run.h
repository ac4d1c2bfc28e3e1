/* SPDX-License-Identifier: Apache-2.0 */
/* State of a run of checkpoints on one rank, of a phase of their own or within another phase. Each
 * part of it belongs to the file that its comment names. */
#ifndef HAUL_WORKLOADS_CHECKPOINT_RUN_H
#define HAUL_WORKLOADS_CHECKPOINT_RUN_H

#include <pthread.h>

#include "core/buffers.h"
#include "workloads/archive/archive.h"
#include "workloads/checkpoint/checkpoint.h"
#include "workloads/checkpoint/columns.h"
#include "workloads/checkpoint/marker.h"
#include "workloads/common/cold.h"
#include "workloads/common/place.h"
#include "workloads/common/repeat.h"
#include "workloads/common/shared_object.h"
#include "workloads/common/writer.h"

/* What a thread has counted in a pass. */
enum checkpoint_count { COUNT_FILES, COUNT_BYTES, COUNT_PAYLOAD_ERRORS };

/* A file that one or several threads of this rank write: slot.c. */
enum checkpoint_slot_state { SLOT_FREE, SLOT_OPENING, SLOT_OPEN, SLOT_FAILED };
struct checkpoint_slot {
	enum checkpoint_slot_state state;
	uint32_t users; /* threads that write it */
	struct object object;
	struct checkpoint_file file;
	struct archive archive;
	struct arena arena;
	uint64_t content; /* key */
	struct writer_object what;
	_Atomic uint64_t next; /* of what: the next piece */
};

/* What the threads of this rank write together: write.c. The lock guards files and the states of
 * slots; no piece takes it. */
struct checkpoint_write {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t files, next_file;
	struct checkpoint_slot *slots; /* [options->writers] */
};

/* All bytes that this rank writes of a checkpoint, in memory at once: whole.c. */
struct checkpoint_whole_file;
struct checkpoint_whole {
	struct checkpoint_whole_file *files; /* [file_count]; NULL: bytes stream through the ring */
	uint32_t file_count;
	struct buffers memory;
	struct writer_object what; /* all files, one after the other */
	_Atomic uint64_t next;     /* of what: the next piece */
	/* Writers that make bytes now, and whether one of them failed: guarded by the lock of
	 * struct checkpoint_write. */
	uint32_t makers;
	bool failed;
	uint64_t began_ns; /* when the memory was asked for */
};

struct checkpoint_reader; /* read.c */

/* What a thread has. */
struct checkpoint_member {
	struct writer writer;
	struct checkpoint_reader *reader;
	/* Of the pass at work: in begins, commits, opens and closes; and comparing bytes. */
	uint64_t request_ns, verify_ns;
};

struct checkpoint_run {
	struct phase_context *ctx;
	struct phase_context within; /* of another phase: its context, but for the tally */
	const struct checkpoint_options *options;
	const struct job_store *described;
	struct store store;
	struct place place; /* of a run that writes */
	struct queue
		side; /* for what is not the phase's own work: markers, looking at what is there */
	struct crew crew;
	struct fillers fillers;
	struct checkpoint_member *members; /* [crew.threads] */
	struct checkpoint_write write;
	struct checkpoint_whole whole;
	struct cold cold;
	struct checkpoint_shape shape; /* of what is written */
	struct mesh readers;
	uint64_t chunk; /* bytes of a piece */
	struct buffers ring;
	uint32_t write_pieces, write_depth; /* of a writer: in its part of the ring, in flight */
	uint32_t read_pieces;               /* of a reader, all in flight */
	uint64_t window_bytes;              /* memory of a piece */
	/* Reading: as which rank of the readers' mesh, whose files it reads whole, or ranges of
	 * all, where the readers have a mesh of their own or share replicas; and the next piece of
	 * this rank that no thread has taken. */
	uint64_t read_rank;
	bool ranges;
	_Atomic uint64_t next_piece;
	bool content; /* the store keeps what is written */
	bool in_place; /* the shared file is written in place by all ranks; else as one version of all */
	struct shared_object shared;
	bool keeps;           /* and the marker with it */
	uint64_t number;      /* of the checkpoint at work, from 0 */
	struct marker marker; /* of it */
	struct repeat repeat; /* the one at work: a checkpoint written or read */
	uint64_t asked_ns;    /* when the checkpoint was asked for */
	/* What whoever asked waited for it; 0: until it was whole. */
	uint64_t blocked_ns;
	uint64_t shared_end_ns; /* when the version of all ranks was published; 0: there is none */
	/* A checkpoint that is written while another phase goes on: see within.c. */
	bool flies;
	uint32_t snapshot; /* enum checkpoint_snapshot */
	void *windows;     /* two of chunk bytes, for copies; NULL: none are made */
	uint64_t d2h;      /* bytes per second that come to the host; 0: as many as memory allows */
	bool dropped;      /* caches, once for the phase */
};

/* Where the pieces of a writer or reader begin in the ring; pieces: how many each of them has.
 * NULL: the store keeps no content. */
static inline void *checkpoint_ring_piece(const struct checkpoint_run *r, uint32_t thread,
					  uint32_t pieces)
{
	return r->ring.base ? (char *)r->ring.base + (uint64_t)thread * pieces * r->window_bytes
			    : NULL;
}

#endif
