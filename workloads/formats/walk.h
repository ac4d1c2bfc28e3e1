/* SPDX-License-Identifier: Apache-2.0 */
/* Walk through the bytes of a sample as they come, piece by piece, as one who decodes them would:
 * structure and checksums, nothing is stored. A walk believes no byte, and says in a sentence what
 * is wrong. It belongs to one thread.
 *
 * A walk begins zeroed but for the size. */
#ifndef HAUL_WORKLOADS_FORMATS_WALK_H
#define HAUL_WORKLOADS_FORMATS_WALK_H

#include <stdbool.h>
#include <stdint.h>

/* Room for a tar head, or for the state of a walk and of another one within it. */
enum { WALK_STATE_BYTES = 768 };

struct walk {
	uint64_t size; /* of the file, not of objects beside it */
	/* Kept by walk_take, for the hooks to read. */
	uint64_t next;   /* offset at which the next piece goes on, unless it jumps */
	uint32_t object; /* … of this object of the file */
	bool whole;    /* every byte of the file has come so far, from the first one on, in order */
	bool last;     /* the last byte of the file has come */
	bool overlong; /* more was to be gathered than there is room for */
	/* The format's. */
	uint32_t part;                                     /* what comes next; 0: the begin */
	uint32_t have;                                     /* bytes gathered */
	uint64_t left;                                     /* bytes left to pass over */
	_Alignas(8) unsigned char state[WALK_STATE_BYTES]; /* WALK_STATE */
};

/* The state of a format's walk, as a struct of its own. A struct that does not fit stops the
 * build. */
#define WALK_STATE(type, w) \
	((type *)((w)->state + 0 * sizeof(char[sizeof(type) <= WALK_STATE_BYTES ? 1 : -1])))

/* What is left to look at of a piece, and where in which object of the file it is. */
struct walk_piece {
	const uint8_t *at;
	uint64_t left, offset;
	uint32_t object;
	bool jumps; /* set by walk_take: begins elsewhere than where the piece before it ended */
};

struct walk_ops {
	/* Looks at a piece, all of it (p->left becomes 0). Returns NULL, or what is wrong. */
	const char *(*take)(struct walk *w, struct walk_piece *p);
	/* After the last byte of a sample, or of a file that is read as a stream: w->last tells the
	 * two apart. samples: in the file. Returns NULL, or what is wrong. */
	const char *(*end)(const struct walk *w, uint64_t samples);
	/* Takes any file of the format from its first byte to its last, whoever made it. Otherwise
	 * the walk relies on the order in which haul reads its own files. */
	bool whole_file;
};

/* What callers use: the hooks, and what all walks share. */
const char *walk_take(const struct walk_ops *ops, struct walk *w, struct walk_piece *p);
const char *walk_end(const struct walk_ops *ops, const struct walk *w, uint64_t samples);

/* For hooks. Collects the next n bytes in bytes, which has room for that many. False: the piece
 * ended before n bytes were there, or n is more than the room, which ends the walk. The caller sets
 * w->have to 0 when it has used the bytes. */
bool walk_gather(struct walk *w, struct walk_piece *p, uint8_t *bytes, uint32_t room, uint64_t n);
/* Passes over w->left bytes, as many as the piece has; returns how many, at *span. */
uint64_t walk_span(struct walk *w, struct walk_piece *p, const uint8_t **span);
/* The next part, with that many bytes to pass over. */
void walk_part(struct walk *w, uint32_t part, uint64_t bytes);

uint64_t walk_little(const uint8_t *bytes, unsigned n);
uint64_t walk_big(const uint8_t *bytes, unsigned n);

#endif
