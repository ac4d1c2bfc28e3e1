/* SPDX-License-Identifier: Apache-2.0 */
/* Team: what the ranks of a thread group share. It holds a lock, a condition, one round of
 * collective calls and one of status, messages, letters, and blocks. For thread_group.c only.
 *
 * Rounds alternate between two buffers. A rank enters round k + 1 only after it has read the result
 * of round k, and round k + 1 ends only when all have entered it. So the first rank in round k + 2
 * may clear the buffer of round k. A rank that leaves ends every round that it has not entered, for
 * all. Nobody spins. */
#ifndef HAUL_TESTS_THREAD_TEAM_H
#define HAUL_TESTS_THREAD_TEAM_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/group/group.h"

struct team_message;

struct team_block {
	struct team_block *next;
	void *base;
	size_t bytes;
};

struct team_round {
	uint64_t number;  /* of the round under way */
	uint32_t entered; /* ranks that have entered it */
	uint8_t *data[2]; /* by parity of number */
	size_t capacity[2], bytes[2];
	int rc[2]; /* result of a round: 0, -ENOMEM, or -EINVAL where the ranks differ in bytes */
};

struct team {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* seats: those that have not left; the last to leave frees the team */
	uint32_t size, seats;
	struct team_round round;
	uint64_t status_number;
	uint32_t status_posted;
	struct status status[2];
	_Atomic uint64_t stop; /* the largest reason that a rank has told */
	struct team_message *messages, **messages_end;
	struct team_message *letters, **letters_end;
	struct team_block *blocks;
	bool left[]; /* [size]: which ranks have left */
};

/* All seats count as taken from the start: no rank may free the team before the others sit down.
 * Returns NULL where there is no memory. */
struct team *team_new(uint32_t size);
void team_free(struct team *t); /* only for a team in which nobody ever sat; may be NULL */

/* This rank takes part in nothing any more. The last to leave frees the team. */
void team_leave(struct team *t, uint32_t rank);

/* A round. team_enter takes the lock and gives the buffer, of bytes (the same on all ranks), to
 * which this rank adds; *first tells that no rank has added yet. It returns NULL where there is no
 * buffer, and all ranks will learn that. team_finish waits until all have entered. The caller then
 * reads the result and unlocks team->lock, whatever was returned: 0, or -EPIPE when a rank has
 * left, -ENOMEM, -EINVAL. */
uint8_t *team_enter(struct team *t, size_t bytes, bool *first);
int team_finish(struct team *t, uint8_t **result);
void team_merge(enum merge merge, uint64_t *into, const uint64_t *from, size_t n);

/* Copies the message and returns at once, so two ranks may send to each other. */
int team_send(struct team *t, uint32_t from, uint32_t to, const void *data, size_t bytes);
int team_receive(struct team *t, uint32_t from, uint32_t to, void *data, size_t bytes);
bool team_arrived(struct team *t, uint32_t from, uint32_t to);

/* Letters of core/group/group.h. A rank has at most TEAM_LETTERS of a channel that it has not
 * taken. */
enum { TEAM_LETTERS = 16 };
int team_post(struct team *t, uint32_t from, uint32_t to, uint32_t channel, const void *data,
	      size_t bytes);
int team_take(struct team *t, uint32_t to, uint32_t channel, uint32_t *from, void *data,
	      size_t bytes);

/* Returns the number of the round, which team_status_test takes. */
uint64_t team_status_post(struct team *t, const struct status *mine);
bool team_status_test(struct team *t, uint64_t number, struct status *merged);

#endif
