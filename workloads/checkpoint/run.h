/* A phase of checkpoints while it runs: what phase.c, write.c and read.c share. */
#ifndef HAUL_WORKLOADS_CHECKPOINT_RUN_H
#define HAUL_WORKLOADS_CHECKPOINT_RUN_H

#include "core/buffers.h"
#include "workloads/checkpoint/checkpoint.h"
#include "workloads/checkpoint/columns.h"
#include "workloads/checkpoint/marker.h"
#include "workloads/common/crew.h"
#include "workloads/common/piece_reader.h"
#include "workloads/common/repeat.h"
#include "workloads/common/residency.h"
#include "workloads/common/shared_object.h"
#include "workloads/common/writer.h"

/* Of a file that one or several threads of this rank write. */
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

/* What the threads of this rank write together: file by file, and where fewer files are left than threads, several
 * threads one file. The lock guards files and the states of slots; no piece takes it. */
struct checkpoint_write {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t files, next_file;
	struct checkpoint_slot *slots; /* [options->writers] */
};

/* All bytes that this rank writes of a checkpoint, in memory at once: see whole.c. */
struct checkpoint_whole_file;
struct checkpoint_whole {
	struct checkpoint_whole_file *files; /* [file_count]; NULL: bytes stream through the ring */
	uint32_t file_count;
	struct buffers memory;
	struct writer_object what; /* all files, one after the other */
	_Atomic uint64_t next;     /* of what: the next piece */
	/* Writers that make bytes now, and whether one of them failed: guarded by the lock of struct checkpoint_write. */
	uint32_t makers;
	bool failed;
	uint64_t began_ns; /* when the memory was asked for */
};

/* What a thread has. */
struct checkpoint_reader;
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
	/* Reading: as which rank of the readers' mesh, whose files it reads whole, or ranges of all, where the readers have
	 * a mesh of their own or share replicas; and the next piece of this rank that no thread has taken. */
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

/* Folder and file of the checkpoint at work. */
void checkpoint_file_key(const struct checkpoint_run *r, const struct checkpoint_file *f,
			 char key[OBJECT_KEY_BYTES]);

/* Bodies of the crew, each called once per thread. */
int checkpoint_write_thread(struct crew_thread *w, uint64_t thread);
int checkpoint_read_thread(struct crew_thread *w, uint64_t thread);

/* The memory of the first piece of a writer or reader, of which each has so many. NULL: the store keeps no content. */
void *checkpoint_ring_piece(const struct checkpoint_run *r, uint32_t thread, uint32_t pieces);

/* What a thread has counted in a pass. */
enum checkpoint_count { COUNT_FILES, COUNT_BYTES, COUNT_PAYLOAD_ERRORS };

/* write.c: what all writers of this rank share, and what each has. Call the close functions also after an error. */
int checkpoint_write_open(struct checkpoint_run *r, struct err *err);
void checkpoint_write_close(struct checkpoint_run *r);
int checkpoint_writer_open(struct checkpoint_run *r, uint32_t thread, struct err *err);
/* Before a pass. */
void checkpoint_write_reset(struct checkpoint_run *r);

/* Of a file, in whichever thread's slot: lays file i of this rank out; makes bytes of it, for struct writer_object. */
int checkpoint_slot_lay_out(struct checkpoint_run *r, struct checkpoint_slot *s, uint32_t i,
			    struct err *err);
void checkpoint_slot_image(const void *slot, uint64_t at, void *to, uint64_t bytes);

/* whole.c: takes the memory, which then serves any number of checkpoints; and before each of them, when its marker is
 * known. Call the close function also after an error. */
int checkpoint_whole_open(struct checkpoint_run *r, struct err *err);
void checkpoint_whole_close(struct checkpoint_run *r);
int checkpoint_whole_lay_out(struct checkpoint_run *r, struct err *err);
/* Each writer calls it, in the body of the crew. Returns when all bytes are there, or -ECANCELED where they will not be.
 * Its time is the writer's fill_ns. */
int checkpoint_whole_make(struct checkpoint_run *r, uint64_t thread);
/* Where the bytes of a file of this rank are; NULL: they stream. */
void *checkpoint_whole_bytes(const struct checkpoint_run *r, uint32_t file);

/* within.c: waits until so many bytes have come to the host, at the rate of the job. Any thread. */
void checkpoint_pace(const struct checkpoint_run *r, uint64_t began_ns, uint64_t bytes);

/* read.c */
int checkpoint_reader_open(struct checkpoint_run *r, uint32_t thread, struct err *err);
void checkpoint_reader_close(struct checkpoint_run *r, uint32_t thread);
/* Calls range for all that this rank reads of the checkpoint at work; of a file that it reads whole, once with the
 * tensor CHECKPOINT_WHOLE_FILE. */
#define CHECKPOINT_WHOLE_FILE UINT64_MAX
int checkpoint_read_walk(const struct checkpoint_run *r,
			 int (*range)(void *argument, const struct checkpoint_range *g),
			 void *argument);

/* How long a pass took. */
struct checkpoint_took {
	struct repeat_took time;
	const struct checkpoint_member *last; /* of the threads that ended */
	uint64_t bytes, files;
};

/* pass.c: all is made ready for the threads to write checkpoint r->number; they have written it, or failed with written
 * or were stopped: it is published and counted. Collective. */
int checkpoint_write_begin(struct checkpoint_run *r, struct err *err);
int checkpoint_write_end(struct checkpoint_run *r, int written, bool stopped, struct err *err);

/* Both and the work between them; and removes the checkpoint that is then too many. */
int checkpoint_write_one(struct checkpoint_run *r, enum stop_reason *stopped, struct err *err);
int checkpoint_write_next(struct checkpoint_run *r, enum stop_reason *stopped, struct err *err);
int checkpoint_remove_old(struct checkpoint_run *r, struct err *err);
int checkpoint_read_one(struct checkpoint_run *r, enum stop_reason *stopped, struct err *err);

/* phase.c */
int checkpoint_open(struct checkpoint_run *r, struct err *err);
/* Writes and reads all checkpoints of the phase. */
int checkpoint_all(struct checkpoint_run *r, enum stop_reason *stopped, struct err *err);
void checkpoint_close(struct checkpoint_run *r);
/* This rank's results: from the threads and the accounts into the tally. */
void checkpoint_measure(struct checkpoint_run *r);
/* Memory for bytes of checkpoints has been taken. */
void checkpoint_count_memory(struct checkpoint_run *r);

/* null.c: counts what haul itself costs in the tally of the phase, before the phase begins. Collective. */
int checkpoint_null(const struct phase_context *ctx, const struct checkpoint_options *options,
		    struct err *err);

/* cold.c: before checkpoint r->number is read, in none of its times: drops it from the page cache where the job asks for
 * it, and looks how much of it is there. Collective. */
int checkpoint_cold_before(struct checkpoint_run *r, struct err *err);

#endif
