/* A made-up workload's tables, and tallies whose every figure a test can compute. */
#ifndef HAUL_TESTS_RESULTS_SYNTHETIC_H
#define HAUL_TESTS_RESULTS_SYNTHETIC_H

#include "core/client/client.h"
#include "core/measure/tally.h"

enum synthetic_measure {
	SYN_SAMPLES = TALLY_COMMON,
	SYN_COMPUTE,
	SYN_OPEN,
	SYN_FIRST_BYTE,
	SYN_TRANSFER,
	SYN_QUEUE,
	SYN_RANKS,
	SYN_DECODE,
	SYN_HAUL,
	SYN_AU_COMPUTE,
	SYN_AU_WALL,
	SYN_LEAST,
	SYN_MEASURES
};
enum synthetic_epoch { SYN_E_SAMPLES, SYN_E_ID_SUM, SYN_E_ID_HASH, SYN_E_WALL, SYN_E_MEASURES };
enum synthetic_hist { SYN_READ, SYN_WRITE, SYN_STALL, SYN_HISTS };

extern const struct tally_schema synthetic_schema;

/* Rank's part of a training phase with two epochs, of a generating one without, and of an empty one. */
void synthetic_train(struct tally *t, uint32_t rank);
void synthetic_generate(struct tally *t, uint32_t rank);

/* What a node did in five seconds, on odd nodes in rows of two. A quarter of the cores' time was idle, and
 * in second s node + s bytes came in. */
void synthetic_client(struct client_series *s, uint32_t node);

#endif
