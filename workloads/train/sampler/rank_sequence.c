/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/train/sampler/rank_sequence.h"

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

/* The file at position, in orders in which a file's samples stay together. */
static uint64_t order_file(const struct order *o, uint64_t position)
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

void shuffle_buffer_begin(struct shuffle_buffer *b, struct brought_sample *in, uint64_t n,
			  uint64_t key, uint64_t all)
{
	*b = (struct shuffle_buffer){.in = in, .n = n, .key = key, .all = all};
	b->count = shuffle_buffer_ahead(n, all);
	b->came = b->count;
}

bool shuffle_buffer_more(const struct shuffle_buffer *b)
{
	return b->came < b->all;
}

struct brought_sample shuffle_buffer_take(struct shuffle_buffer *b,
					  const struct brought_sample *next)
{
	uint64_t draw = random_at(b->key, b->came, b->count), i;
	struct brought_sample out;

	if (next) {
		b->in[b->count++] = *next;
		b->came++;
	}
	i = (uint64_t)((unsigned __int128)draw * b->count >> 64);
	out = b->in[i];
	b->in[i] = b->in[--b->count];
	return out;
}

/* Keeps the draws of shuffle buffers apart from all other uses of an order's key. */
static const uint64_t shuffle_stream = 0x77696e646f77; /* "window" */

/* Whether each replica has files of its own. */
static bool sequence_by_file(const struct order *o, uint32_t ranks)
{
	return o->files >= ranks;
}

/* Files and records that each replica has. What cannot be dealt out evenly is left out. */
static uint64_t sequence_files(const struct order *o, uint32_t ranks)
{
	return sequence_by_file(o, ranks) ? o->files / ranks : o->files;
}

static uint64_t sequence_record_count(const struct order *o, uint32_t ranks)
{
	return sequence_by_file(o, ranks) ? sequence_files(o, ranks) * o->samples_per_file
					  : o->samples / ranks;
}

uint64_t sequence_batches(const struct order *o, bool streams, uint64_t batch, uint32_t ranks)
{
	return streams ? sequence_record_count(o, ranks) / batch
		       : order_steps(o->samples, batch, ranks);
}

void sequence_init(struct rank_sequence *s)
{
	s->samples = sequence_batches(&s->order, s->interleave, s->batch, s->ranks) * s->batch;
}

/* A record of the files that a rank reads. */
struct record {
	uint64_t file; /* its number among those files */
	uint64_t k;    /* in the file */
	uint32_t stream;
	uint64_t streams; /* that are read side by side: fewer at the end */
};

static struct record sequence_record(const struct rank_sequence *s, uint64_t q)
{
	uint64_t per_file = s->order.samples_per_file, files = sequence_files(&s->order, s->ranks);
	uint64_t first, at;
	struct record r;

	if (!sequence_by_file(&s->order, s->ranks))
		q = q * s->ranks + (s->rank + q) % s->ranks;
	first = q / (s->interleave * per_file) * s->interleave;
	at = q - first * per_file;
	r.streams = files - first < s->interleave ? files - first : s->interleave;
	r.stream = (uint32_t)(at % r.streams);
	r.file = first + r.stream;
	r.k = at / r.streams;
	return r;
}

uint64_t sequence_at(const struct rank_sequence *s, uint64_t q)
{
	struct record r;

	if (!s->interleave)
		return order_at(&s->order, order_position(q / s->batch, s->batch, s->ranks, s->rank,
							  q % s->batch));
	r = sequence_record(s, q);
	if (sequence_by_file(&s->order, s->ranks))
		r.file = r.file * s->ranks + s->rank;
	return order_file(&s->order, r.file) * s->order.samples_per_file + r.k;
}

uint64_t sequence_next(const struct rank_sequence *s, uint64_t q, uint64_t before)
{
	uint64_t j = q % s->batch;

	if (s->interleave || !j)
		return sequence_at(s, q);
	return order_next(&s->order, order_position(q / s->batch, s->batch, s->ranks, s->rank, j),
			  before);
}

uint64_t sequence_stream_next(const struct rank_sequence *s, uint32_t stream, uint64_t q,
			      uint64_t end)
{
	while (q < end) {
		struct record r = sequence_record(s, q);

		if (r.stream == stream)
			return q;
		/* Its turn comes after the streams between, unless the files end before. */
		if (sequence_by_file(&s->order, s->ranks) && stream < r.streams &&
		    stream > r.stream)
			q += stream - r.stream;
		else
			q++;
	}
	return end;
}

/* The end of what is read for the batches before k. */
static uint64_t sequence_reach(const struct rank_sequence *s, uint64_t k)
{
	uint64_t ahead = s->shuffle_samples && k ? s->shuffle_samples - 1 : 0;

	return s->samples - k * s->batch < ahead ? s->samples : k * s->batch + ahead;
}

void sequence_arrivals(const struct rank_sequence *s, uint64_t k, uint64_t *from, uint64_t *to)
{
	*from = sequence_reach(s, k);
	*to = sequence_reach(s, k + 1);
}

void sequence_shuffle_buffer(const struct rank_sequence *s, struct shuffle_buffer *b,
			     struct brought_sample *in)
{
	shuffle_buffer_begin(b, in, s->shuffle_samples,
			     random_at(s->order.key, shuffle_stream, s->rank), s->samples);
}
