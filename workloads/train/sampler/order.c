/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/train/sampler/order.h"

#include "core/content/random.h"

/* Keeps the keys of orders apart from all other uses of the job's seed. */
static const uint64_t order_stream = 0x6f72646572; /* "order" */

void order_init(struct order *o, enum order_kind kind, bool each_epoch, uint64_t seed,
		uint64_t files, uint64_t samples_per_file)
{
	o->kind = kind;
	o->each_epoch = each_epoch;
	o->seed = seed;
	o->files = files;
	o->samples_per_file = samples_per_file;
	o->samples = files * samples_per_file;
	order_epoch(o, 1);
}

void order_epoch(struct order *o, uint64_t epoch)
{
	o->key = random_at(o->seed, order_stream, o->each_epoch ? epoch : 1);
	permutation_init(&o->all, o->kind == ORDER_ALL ? o->samples : o->files, o->key);
}

/* The sample of a file that stands at place k of it. */
static uint64_t order_within(const struct order *o, uint64_t file, uint64_t k)
{
	struct permutation inside;

	permutation_init(&inside, o->samples_per_file, random_at(o->key, 1, file));
	return permutation_at(&inside, k);
}

uint64_t order_file(const struct order *o, uint64_t position)
{
	return o->kind == ORDER_FILES || o->kind == ORDER_BOTH ? permutation_at(&o->all, position)
							       : position;
}

uint64_t order_at(const struct order *o, uint64_t position)
{
	uint64_t file, k;

	if (o->kind == ORDER_AS_IS)
		return position;
	if (o->kind == ORDER_ALL)
		return permutation_at(&o->all, position);
	file = order_file(o, position / o->samples_per_file);
	k = position % o->samples_per_file;
	if (o->kind == ORDER_SAMPLES || o->kind == ORDER_BOTH)
		k = order_within(o, file, k);
	return file * o->samples_per_file + k;
}

uint64_t order_next(const struct order *o, uint64_t position, uint64_t before)
{
	if (o->kind == ORDER_FILES && position % o->samples_per_file)
		return before + 1;
	return order_at(o, position);
}
