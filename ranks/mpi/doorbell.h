/* SPDX-License-Identifier: Apache-2.0 */
/* Doorbell: a UDP datagram that wakes a rank of another node.
 *
 * MPICH cannot sleep until a message comes, so a rank that waits for one has to look again and
 * again. Instead, whoever sends it a message rings its doorbell as well, and the rank sleeps on the
 * socket. A datagram carries no data of the run, and it may be lost: then the rank finds the
 * message when its nap is over.
 *
 * Where there is no network, a doorbell cannot be rung, and sleeping on it is a plain nap. Main
 * thread only. */
#ifndef HAUL_RANKS_MPI_DOORBELL_H
#define HAUL_RANKS_MPI_DOORBELL_H

#include <stdbool.h>
#include <stdint.h>

enum { DOORBELL_ADDRESS_BYTES = 32 };

/* Where a doorbell is. Plain bytes, to be sent to the ranks that may ring it. */
struct doorbell_address {
	uint64_t token; /* known only to them: a datagram without it does not count */
	uint64_t bytes; /* of address, 0 where the doorbell cannot be rung */
	unsigned char address[DOORBELL_ADDRESS_BYTES]; /* struct sockaddr */
};

struct doorbell {
	int fd; /* -1 where there is no network */
	struct doorbell_address address;
};

/* What a datagram says: who rang, and for which round. */
struct doorbell_call {
	uint32_t from;
	uint64_t round;
};

void doorbell_open(struct doorbell *d);
void doorbell_close(struct doorbell *d);

/* Rings the doorbell at that address. Never blocks. */
void doorbell_ring(const struct doorbell *d, const struct doorbell_address *at,
		   const struct doorbell_call *call);

/* Sleeps for nap_ns, or until somebody rings: then it returns true. A call that has not been taken
 * ends it at once. */
bool doorbell_sleep(const struct doorbell *d, uint64_t nap_ns);

/* Takes the next call, if there is one. Never blocks. */
bool doorbell_take(const struct doorbell *d, struct doorbell_call *call);

#endif
