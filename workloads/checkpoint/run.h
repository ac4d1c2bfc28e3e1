/* SPDX-License-Identifier: Apache-2.0 */
/* State of a run of checkpoints on one rank, of a phase of their own or within another phase. Each
 * part of it belongs to the file that its comment names. */
#ifndef HAUL_WORKLOADS_CHECKPOINT_RUN_H
#define HAUL_WORKLOADS_CHECKPOINT_RUN_H

#include <pthread.h>

#include "core/buffers.h"
#include "workloads/archive/archive.h"
#include "workloads/checkpoint/checkpoint.h"
#include "workloads/checkpoint/marker.h"
#include "workloads/common/cold.h"
#include "workloads/common/description.h"
#include "workloads/common/repeat.h"
#include "workloads/common/writer.h"

/* What a thread has counted in a pass. */
enum checkpoint_count {
	COUNT_FILES,
	COUNT_BYTES,
	COUNT_PAYLOAD_ERRORS,
	COUNT_CONSOLIDATE_WRITES,
	COUNT_CONSOLIDATE_BYTES
};

/* A file that one or several threads of this rank write: whole.c. */
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

struct checkpoint_purge_work; /* purge.c */

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
	_Atomic uint64_t next_piece; /* and the next file to consolidate */
	uint64_t needed_bytes;       /* of a checkpoint, by this rank; 0: not known yet */
	struct checkpoint_purge_work *purge;
	bool planned; /* a save of this run has had its plans */
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

/* whole.c. Slot: a file of a checkpoint that one or several threads of this rank write. */

/* Lays file i of this rank out, whose bytes are made as they are written (slot->what). */
int checkpoint_slot_lay_out(struct checkpoint_run *r, struct checkpoint_slot *s, uint32_t i,
			    struct err *err);

/* whole.c. All bytes that this rank writes of a checkpoint, in memory at once: the copy of a snapshot that is held, or the whole
 * tensors of a checkpoint that does not stream. Writers and fillers make them all before the first one is written.
 *
 *	memory   | file 0 ··· | file 1 ··· | …      each file from a multiple of CHECKPOINT_WHOLE_ALIGNMENT on
 *
 * It is one object for the writers that make it (writer_make), and each file of it is one for those that write it. */

/* Takes the memory, which then serves any number of checkpoints. Call the free function also after
 * an error. */
int checkpoint_whole_take(struct checkpoint_run *r, struct err *err);
void checkpoint_whole_free(struct checkpoint_run *r);
/* Before each checkpoint, when its marker is known. */
int checkpoint_whole_lay_out(struct checkpoint_run *r, struct err *err);
/* Each writer calls it, in the body of the crew. Returns when all bytes are there, or -ECANCELED
 * where they will not be. Its time is the writer's fill_ns. */
int checkpoint_whole_make(struct checkpoint_run *r, uint64_t thread);
/* Where the bytes of a file of this rank are; NULL: they stream. */
void *checkpoint_whole_bytes(const struct checkpoint_run *r, uint32_t file);

/* Waits until bytes would have come to the host since began_ns, at the rate of the job. Any
 * thread. */
void checkpoint_pace(const struct checkpoint_run *r, uint64_t began_ns, uint64_t bytes);

/* write.c. Writing a checkpoint: the threads of a rank take its files one after the other. A thread that
 * finds no further file joins one that others write, as long as pieces of it are left. Who leaves a
 * file last commits it. */

/* What all writers of this rank share, and what each has. Call the close function also after an
 * error. */
int checkpoint_write_open(struct checkpoint_run *r, struct err *err);
void checkpoint_write_close(struct checkpoint_run *r);
int checkpoint_writer_open(struct checkpoint_run *r, uint32_t thread, struct err *err);
/* Before a pass. */
void checkpoint_write_reset(struct checkpoint_run *r);
/* Body of the crew, called once per thread. */
int checkpoint_write_thread(struct crew_thread *w, uint64_t thread);

/* read.c. Reading a checkpoint: the threads of a rank share its pieces (common/piece_reader.h), and compare
 * what comes. What a rank reads is computed as each thread walks over it, whatever the mesh of the
 * readers is. */

/* What a thread reads with. Call the close function also after an error. */
int checkpoint_reader_open(struct checkpoint_run *r, uint32_t thread, struct err *err);
void checkpoint_reader_close(struct checkpoint_run *r, uint32_t thread);
/* Body of the crew, called once per thread. */
int checkpoint_read_thread(struct crew_thread *w, uint64_t thread);

/* Calls range for all that this rank reads of the checkpoint at work; of a file that it reads
 * whole, once with the tensor CHECKPOINT_WHOLE_FILE. */
#define CHECKPOINT_WHOLE_FILE UINT64_MAX
int checkpoint_read_walk(const struct checkpoint_run *r,
			 int (*range)(void *argument, const struct checkpoint_range *g),
			 void *argument);

/* pass.c. Passes over a checkpoint: one is written, with its marker, or read, or removed because newer ones
 * stay. Collective. */

/* Writes checkpoint r->number, and removes the one that is then too many. */
int checkpoint_write_next(struct checkpoint_run *r, enum stop_reason *stopped, struct err *err);

/* The steps of that, for whoever does something else while the threads write. begin: all is made
 * ready for them. end: they have written it, or failed with written, or were stopped; it is
 * consolidated, which may be stopped, published and counted. */
int checkpoint_write_begin(struct checkpoint_run *r, struct err *err);
int checkpoint_write_end(struct checkpoint_run *r, int written, enum stop_reason *stopped,
			 struct err *err);

/* Reads checkpoint r->number. */
int checkpoint_read_next(struct checkpoint_run *r, enum stop_reason *stopped, struct err *err);

/* protocol.c. What the ranks do around the writes of a checkpoint with a state dict, as torch does: plans are gathered
 * and scattered before, results are gathered after, and the metadata is written last. All do nothing for other layouts.
 * Collective. */
int checkpoint_protocol_plan(struct checkpoint_run *r, struct err *err);
int checkpoint_protocol_finish(struct checkpoint_run *r, enum stop_reason *stopped,
			       struct err *err);
/* Before a load: how many bytes this rank needs (needed_bytes), computed once; and then reads the metadata, as each rank
 * does. */
int checkpoint_protocol_needed(struct checkpoint_run *r, struct err *err);
int checkpoint_protocol_load(struct checkpoint_run *r, struct err *err);
/* Removes the metadata of a checkpoint, before anything else of it changes: it is no longer whole. */
int checkpoint_metadata_remove(struct checkpoint_run *r, uint64_t number, struct err *err);

/* consolidate.c. Makes the model's files of the shards that all ranks have written, where the layout has them: each thread reads
 * the shards of one file after the other and writes every tensor to its place there, a row at a time where ranks share the
 * columns. As torch does: a slice of a shard is read, and then written. Collective. */
int checkpoint_consolidate(struct checkpoint_run *r, enum stop_reason *stopped, struct err *err);

/* purge.c. Removal of checkpoints that are too many. */
int checkpoint_remove_old(struct checkpoint_run *r, struct err *err);
/* Waits for a thread that removes one; collective. And gives back what it needs. */
int checkpoint_purge_end(struct checkpoint_run *r, struct err *err);
void checkpoint_purge_close(struct checkpoint_run *r);
/* For rank 0, where no file of the checkpoint is open: removes what runs that were killed have left of files that they had
 * not published. */
void checkpoint_drop_parts(struct checkpoint_run *r, uint64_t number);

/* session.c. A run of checkpoints from its opening to its closing: its store and threads, and all its
 * checkpoints. */

/* Opens the store and the threads, and closes them, also after an error. The caller has set ctx,
 * options, described, and what a checkpoint within another phase needs. Collective. */
int checkpoint_open(struct checkpoint_run *r, struct err *err);
void checkpoint_close(struct checkpoint_run *r);
/* Writes and reads all checkpoints of the phase. Collective. */
int checkpoint_all(struct checkpoint_run *r, enum stop_reason *stopped, struct err *err);
/* This rank's results: from the threads and the accounts into the tally. */
void checkpoint_measure(struct checkpoint_run *r);
/* Memory for bytes of checkpoints has been taken. */
void checkpoint_count_memory(struct checkpoint_run *r);

#endif
