/* SPDX-License-Identifier: Apache-2.0 */
/* Piece reader: a thread that reads, in pieces of one size and with several in flight, its share of what its rank reads.
 *
 *	ranges of the rank   |------- file a -------|--- file a ---|------------ file b ------------|
 *	pieces               | 0    | 1    | 2    |3| 4    | 5     | 6    | 7    | 8    | 9    | 10 |
 *	thread 0               x             x             x              x      x             x
 *	thread 1                      x             x               x                   x
 *
 * The threads of a rank take the pieces from a counter that they share. Each thread walks over all ranges, which costs
 * nothing but counting, and reads the pieces that it takes; so nothing needs to be listed, and a slow piece delays no
 * other thread. The ranges of a file come one after the other, in the same order for every thread.
 *
 * A reader belongs to its thread. Nothing is allocated after piece_reader_open. */
#ifndef HAUL_WORKLOADS_COMMON_PIECE_READER_H
#define HAUL_WORKLOADS_COMMON_PIECE_READER_H

#include "workloads/common/slots.h"

enum { PIECES_MAX = 64, PIECE_BYTES_MIN = 4096 };

/* Memory of a rank that pieces stream through: buffers bytes in pieces of chunk, at least `least`.
 * threads of each kind share them, at least one piece for each; key names them in the job. path: of
 * the phase. -EINVAL with a sentence. */
int piece_check_memory(uint64_t buffers, uint64_t chunk, uint64_t least, const char *path,
		       struct err *err);
int piece_check_threads(uint64_t buffers, uint64_t chunk, uint64_t threads, const char *key,
			const char *path, struct err *err);

struct piece_reader;
struct piece_hooks {
	/* The file of the range is about to be opened, and no read of another one is in flight.
	 * Fills in the key of x->object, and its size where it is known. A negative errno with the
	 * thread's err ends the reader. */
	int (*open)(struct piece_reader *x, const void *range);
	/* Where the range begins in its file, which is the one that was opened last. */
	uint64_t (*begin)(const struct piece_reader *x, const void *range);
	/* What a read has brought; NULL where the store keeps no content. 0, or what ends the
	 * reader. The hook may be NULL. */
	int (*received)(struct piece_reader *x, const struct request *req, const void *bytes);
};

struct piece_reader {
	/* Set by the caller before piece_reader_open. */
	struct crew_thread *thread;
	const struct piece_hooks *hooks;
	void *owner; /* for the hooks */
	_Atomic uint64_t
		*next;  /* shared by the threads of the rank: the next piece that none has taken */
	uint64_t chunk; /* bytes of a piece */
	uint32_t depth; /* pieces in flight */
	void *memory;   /* [depth] windows of a read each; NULL: the store keeps no content */
	uint64_t window_bytes;
	bool counts_errors; /* what fails is counted, and the reader goes on */
	bool touch;         /* the file is mapped, and read by page faults: see struct request */
	/* Ranks that divide the pieces among them: this one has pieces first, first + stride … 0: all. */
	uint64_t first, stride;

	/* Counted since piece_reader_start, for the caller. */
	uint64_t files, bytes; /* files opened, bytes read */
	uint64_t request_ns;   /* in opens and closes */

	/* The file that is open, or the last one. */
	struct object object;
	uint64_t file, size; /* its number; its size as the hook knew it */
	bool open;

	/* Used by the reader only. Pieces of the rank: how many it has walked over, and the one
	 * that it has taken. */
	uint64_t walked, taken;
	struct slots slots; /* the reads in flight; their buffers are the windows */
};

/* Call piece_reader_close also after an error. */
int piece_reader_open(struct piece_reader *x, struct err *err);
void piece_reader_close(struct piece_reader *x);

/* Before the walk; *next is 0 when the first thread comes. Then, for each range of the rank in
 * turn, reads those of its pieces that this thread takes: length bytes of the file of that number.
 * After the walk, or an error of it: waits for what is in flight. All but start return 0 or a
 * negative errno with the thread's err; -ECANCELED: the crew halts. */
void piece_reader_start(struct piece_reader *x);
int piece_reader_range(struct piece_reader *x, uint64_t file, uint64_t length, const void *range);
int piece_reader_end(struct piece_reader *x);

/* For hooks: what the request met, in words. 0 where errors are counted, else rc. */
int piece_reader_fail(struct piece_reader *x, const struct request *req, int rc, const char *text);

#endif
