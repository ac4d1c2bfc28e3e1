/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of the objects of a set: one for all, or drawn. The size of an object is a function of its
 * number, so readers, verification and `haul clean` know it without asking the store.
 *
 * Sizes that are drawn come from a list of shares: 90 % of 4 KiB and 10 % log-normal around 8 MiB.
 * Each object has a stratum of its own of the whole distribution, so shares and mean are right for
 * few objects, too. Plain data. */
#ifndef HAUL_WORKLOADS_IO_SIZES_H
#define HAUL_WORKLOADS_IO_SIZES_H

#include "core/content/permutation.h"
#include "core/content/size_draw.h"
#include "core/option/option.h"

enum { IO_SIZES_MAX = 16 };

/* An entry of the list, as the job has it. */
struct io_size_option {
	uint64_t size; /* on average, or the smallest */
	double share;  /* in proportion to those of the others */
	uint64_t to, stdev;
};
extern const struct option io_size_options[];

/* Rules that an option table cannot express. where: the JSON path of the list. */
int io_sizes_check(const struct io_size_option *list, uint32_t count, const char *where,
		   struct err *err);

struct io_sizes {
	uint64_t fixed; /* where count is 0 */
	uint32_t count;
	struct {
		uint64_t
			until; /* the share of this entry and of those before it, as a fraction of 2^64 */
		struct size_draw draw;
	} part[IO_SIZES_MAX];
	struct permutation order; /* of all objects of all ranks */
};

/* Sizes of `objects` objects; count 0: all are fixed. */
void io_sizes_init(struct io_sizes *s, const struct io_size_option *list, uint32_t count,
		   uint64_t fixed, uint64_t objects, uint64_t seed);

/* Of object number i < objects. */
uint64_t io_sizes_at(const struct io_sizes *s, uint64_t i);
uint64_t io_sizes_largest(const struct io_sizes *s);
/* On average, as the list says. */
double io_sizes_mean(const struct io_size_option *list, uint32_t count, uint64_t fixed);

#endif
