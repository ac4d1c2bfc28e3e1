#include "workloads/train/sampler/rank_sequence.h"

#include "core/content/random.h"

/* Keeps the draws of shuffle windows apart from every other use of an order's key. */
static const uint64_t window_stream = 0x77696e646f77; /* "window" */

static bool by_file(const struct order *o, uint32_t ranks)
{
	return o->files >= ranks;
}

/* Files and records that each rank has; what does not come out even is nobody's. */
static uint64_t stream_files(const struct order *o, uint32_t ranks)
{
	return by_file(o, ranks) ? o->files / ranks : o->files;
}

static uint64_t stream_samples(const struct order *o, uint32_t ranks)
{
	return by_file(o, ranks) ? stream_files(o, ranks) * o->samples_per_file
				 : o->samples / ranks;
}

uint64_t sequence_batches(const struct order *o, bool streams, uint64_t batch, uint32_t ranks)
{
	return streams ? stream_samples(o, ranks) / batch : order_steps(o->samples, batch, ranks);
}

void sequence_init(struct rank_sequence *s)
{
	s->samples = sequence_batches(&s->order, s->interleave, s->batch, s->ranks) * s->batch;
}

/* A record of the files that a rank reads. */
struct record {
	uint64_t file; /* of them */
	uint64_t k;
	uint32_t stream;
	uint64_t streams; /* read side by side with it: fewer at the end */
};

static struct record record_at(const struct rank_sequence *s, uint64_t q)
{
	uint64_t per_file = s->order.samples_per_file, files = stream_files(&s->order, s->ranks);
	uint64_t first, at;
	struct record r;

	if (!by_file(&s->order, s->ranks))
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
	r = record_at(s, q);
	if (by_file(&s->order, s->ranks))
		r.file = r.file * s->ranks + s->rank;
	return order_file(&s->order, r.file) * s->order.samples_per_file + r.k;
}

uint32_t sequence_stream(const struct rank_sequence *s, uint64_t q)
{
	return record_at(s, q).stream;
}

uint64_t sequence_stream_next(const struct rank_sequence *s, uint32_t stream, uint64_t q,
			      uint64_t end)
{
	while (q < end) {
		struct record r = record_at(s, q);

		if (r.stream == stream)
			return q;
		/* Its turn comes after those between, unless the files end before. */
		if (by_file(&s->order, s->ranks) && stream < r.streams && stream > r.stream)
			q += stream - r.stream;
		else
			q++;
	}
	return end;
}

/* Ends of what is read for the batches before k. */
static uint64_t reach(const struct rank_sequence *s, uint64_t k)
{
	uint64_t ahead = s->window && k ? s->window - 1 : 0;

	return s->samples - k * s->batch < ahead ? s->samples : k * s->batch + ahead;
}

void sequence_arrivals(const struct rank_sequence *s, uint64_t k, uint64_t *from, uint64_t *to)
{
	*from = reach(s, k);
	*to = reach(s, k + 1);
}

void sequence_shuffle_buffer(const struct rank_sequence *s, struct shuffle_buffer *w,
			     struct arrival *in)
{
	shuffle_buffer_begin(w, in, s->window, random_at(s->order.key, window_stream, s->rank),
			     s->samples);
}
