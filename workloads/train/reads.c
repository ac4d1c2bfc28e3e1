/* SPDX-License-Identifier: Apache-2.0 */
/* How a phase reads its data set: in which order, for how many steps, in which requests, and what a
 * sample costs the store. Functions of the options, which the plan and the run share. */
#include <math.h>

#include "backends/queue/queue.h"
#include "workloads/dataset/dataset.h"
#include "workloads/train/loader/loader.h"
#include "workloads/train/train.h"

enum { BATCH_DEPTH = 64, STREAM_WINDOW = 1024 };

int train_dataset(const struct job *job, const struct job_phase *phase, const char *name,
		  struct dataset *d, const struct job_store **store, struct err *err)
{
	char path[DATASET_PATH_BYTES];

	return dataset_find_init(job, phase, name, d, store, path, err);
}

void train_order(const struct train_options *o, const struct dataset *d, uint64_t seed,
		 struct order *order)
{
	enum order_kind kind = ORDER_AS_IS;

	bool samples = o->shuffle.samples && !train_shuffle_samples(o);

	if (o->shuffle.order == SHUFFLE_NONE)
		kind = ORDER_AS_IS;
	else if (o->shuffle.files && samples)
		kind = o->shuffle.whole_files ? ORDER_BOTH : ORDER_ALL;
	else if (o->shuffle.files)
		kind = ORDER_FILES;
	else if (samples)
		kind = ORDER_SAMPLES;
	order_init(order, kind, o->shuffle.order == SHUFFLE_EACH_EPOCH, seed, d->options.files,
		   d->options.samples_per_file);
}

uint64_t train_shuffle_samples(const struct train_options *o)
{
	if (o->shuffle.order == SHUFFLE_NONE || !o->shuffle.samples)
		return 0;
	return o->shuffle.window || !train_interleave(o) ? o->shuffle.window : STREAM_WINDOW;
}

uint32_t train_interleave(const struct train_options *o)
{
	return o->loader.kind == LOADER_STREAM ? (uint32_t)o->loader.stream.interleave : 0;
}

uint64_t train_steps(const struct train_options *o, const struct dataset *d, uint64_t batch,
		     uint32_t replicas)
{
	struct order order;

	order_init(&order, ORDER_AS_IS, false, 0, d->options.files, d->options.samples_per_file);
	return sequence_batches(&order, train_interleave(o), batch, replicas);
}

/* As many pieces of a sample as the store wants at once and the buffers hold; no piece is cut for
 * that. */
static uint32_t train_piece_depth(const struct train_options *o, const struct job_store *store,
				  uint64_t largest)
{
	uint32_t depth = backend_in_flight(store);

	while (depth > 1) {
		uint64_t range = backend_range(store, largest, depth);

		if (range <= train_buffer_bytes(o, depth) && range < largest &&
		    (largest - 1) / range >= depth - 1)
			break;
		depth--;
	}
	return depth;
}

uint32_t train_depth(const struct train_options *o, const struct job_store *store,
		     const struct dataset *d)
{
	uint64_t depth = o->batch < BATCH_DEPTH ? o->batch : BATCH_DEPTH;
	uint32_t most = backend_depth(store);

	if (o->loader.depth)
		return (uint32_t)o->loader.depth;
	if (o->loader.kind == LOADER_STREAM)
		depth = train_buffer_count(o, 1);
	else if (o->loader.kind != LOADER_BATCH)
		return train_piece_depth(o, store, train_longest(o, d));
	return depth < most ? (uint32_t)depth : most;
}

void train_settle(const struct job *job, struct job_phase *phase, uint32_t ranks)
{
	struct train_options *o = phase->options;
	struct train_checkpoint *c = &o->checkpoint;
	uint64_t depth = o->loader.depth;
	const struct job_store *store;
	struct err none = {0};
	struct dataset d;

	o->loader.depth = 0;
	/* The store and the data set may decide it, which are compared themselves. */
	if (depth && (train_dataset(job, phase, o->dataset, &d, &store, &none) < 0 ||
		      train_depth(o, store, &d) != depth))
		o->loader.depth = depth;
	if (train_interleave(o))
		o->shuffle.window = train_shuffle_samples(o);
	if (c->first_epoch == c->every_epochs)
		c->first_epoch = 0;
	checkpoint_settle_use(job, &c->options, ranks);
}

uint32_t train_buffer_count(const struct train_options *o, uint32_t depth)
{
	struct loader_options l = {
		.kind = (enum loader_kind)o->loader.kind,
		.workers = (uint32_t)o->loader.workers,
		.interleave = train_interleave(o),
	};
	uint32_t read_slots = loader_read_slots(&l, depth);

	return read_slots > depth ? read_slots : depth;
}

uint64_t train_buffer_bytes(const struct train_options *o, uint32_t depth)
{
	return o->buffers / (o->loader.workers ? o->loader.workers : 1) /
	       train_buffer_count(o, depth);
}

uint64_t train_longest(const struct train_options *o, const struct dataset *d)
{
	return train_interleave(o) ? UINT64_MAX : dataset_extent_bytes_max(d);
}

uint64_t train_extent(const struct train_options *o, const struct dataset *d)
{
	uint64_t longest = train_longest(o, d);

	return longest < UINT64_MAX ? longest + READER_PIECE_BYTES : longest;
}

void train_sizes(const struct train_options *o, const struct dataset *d, uint32_t capabilities,
		 uint64_t range, uint64_t budget, struct train_sizes *out)
{
	uint64_t piece = o->loader.stream.transfer;

	out->wanted = train_interleave(o) && piece < range ? piece : range;
	out->request = out->wanted;
	out->buffer = 0;
	if (!(capabilities & BACKEND_CONTENT))
		return;
	/* A stream looks back at what its buffer held, so it holds whole requests. */
	if (capabilities & BACKEND_STREAMS && !train_interleave(o)) {
		out->buffer = reader_request_bytes(QUEUE_STREAM_BYTES, budget, train_extent(o, d));
		return;
	}
	out->request = reader_request_bytes(out->wanted, budget, train_extent(o, d));
	out->buffer = out->request;
}

void train_length(const struct train_options *o, uint64_t steps, struct train_length *out)
{
	uint64_t all = steps * o->epochs;
	double seconds, limit = (double)o->seconds_ns * 1e-9;

	out->epoch = steps;
	out->phase = o->steps && o->steps < all ? o->steps : all;
	seconds = (double)out->phase * draw_mean(&o->compute) * 1e-9;
	out->part = limit > 0 && seconds > limit ? limit / seconds : 1;
	out->done = (uint64_t)((double)out->phase * out->part);
}

/* The rest is about what a sample costs, where files stay open and readers keep something of them.
 *
 * In file order, a file is a stretch of positions, and so is a group of samples in it. Positions
 * are dealt out in batches to the readers in turn, so a stretch of n positions meets 1 + n / B -
 * gcd(n, B) / B batches of B on average, each of another reader until there are no more readers. In
 * shuffled files, a reader meets groups at random. */
static double reads_gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return (double)a;
}

/* Readers take batches in turn, and the read slots of a reader take samples. */
struct reads_by {
	double readers, read_slots;
	uint64_t batch;
};

static struct reads_by reads_by_whom(const struct train_options *o, const struct job_store *store,
				     const struct dataset *d, uint64_t batch, uint32_t ranks)
{
	double workers = o->loader.workers ? (double)o->loader.workers : 1;

	if (o->loader.kind == LOADER_SAMPLE)
		return (struct reads_by){ranks, workers, batch};
	return (struct reads_by){ranks * workers,
				 o->loader.kind == LOADER_BATCH ? train_depth(o, store, d) : 1,
				 batch};
}

/* Read slots that come to a stretch of n positions. */
static double reads_visits(const struct reads_by *r, uint64_t n)
{
	double batch = (double)r->batch;
	double batches = 1 + (double)n / batch - reads_gcd(n, r->batch) / batch;
	double reader_count = fmin(r->readers, batches);

	return reader_count * fmin(r->read_slots, fmax(1, (double)n / reader_count));
}

/* Groups that are read for m random samples in `groups` groups, of which the last `kept` are
 * kept. */
static double reads_random(double m, double groups, double kept)
{
	double before = 0; /* samples until as many groups are kept as can be */

	if (kept < 1)
		return m;
	for (double i = 0; i < kept && i < groups; i++)
		before += groups / (groups - i);
	if (kept >= groups || m <= before)
		return groups * (1 - pow(1 - 1 / groups, m));
	return kept + (m - before) * (1 - kept / groups);
}

/* Bytes of a file of samples of mean size: per visit, per group (on average) and per sample. */
struct reads_costs {
	double file, group, sample;
};

static void reads_add_costs(const struct layout *l, uint64_t sample, struct reads_costs *c)
{
	struct extent e[FORMAT_EXTENTS_MAX];
	uint32_t n = l->format->extents(l, sample, e);

	*c = (struct reads_costs){0};
	for (uint32_t i = 0; i < n; i++) {
		double *to = e[i].cache == CACHE_FOR_FILE    ? &c->file
			     : e[i].cache == CACHE_FOR_GROUP ? &c->group
							     : &c->sample;

		*to += (double)e[i].length;
	}
}

void train_reads(const struct train_options *o, const struct job_store *store,
		 const struct dataset *d, enum order_kind kind, uint64_t batch, uint32_t ranks,
		 struct train_reads *out)
{
	uint64_t samples = d->options.samples_per_file, files = d->options.files;
	struct reads_by r = reads_by_whom(o, store, d, batch, ranks);
	bool in_order = kind == ORDER_AS_IS || kind == ORDER_FILES;
	double visit, groups, reads = 0; /* per file: visits, groups, and reads of groups */
	struct reads_costs c, last;
	struct layout l;

	dataset_mean_layout(d, &l);
	if (train_interleave(o)) {
		visit = files >= ranks ? 1 : ranks;
		out->bytes = visit * (double)l.size / (double)samples;
		out->opens = visit / (double)samples;
		return;
	}
	reads_add_costs(&l, 0, &c);
	out->bytes = c.file + c.group + c.sample;
	out->opens = d->objects;
	if (!d->stays_open)
		return;
	visit = reads_visits(&r, samples);
	if (kind == ORDER_ALL && files > 1)
		visit = (double)samples * (1 - (double)(samples - 1) / (double)(d->samples - 1));
	if (l.group_samples) {
		double m = (double)samples / visit, sequence;

		groups = ceil((double)samples / (double)l.group_samples);
		reads_add_costs(&l, samples - 1, &last);
		/* How often a group that is read is the last one. Where few samples of many are
		 * read, that is as rare as the last group has few samples. */
		sequence = 1 / groups;
		if (in_order && o->loader.keep) {
			reads = groups * reads_visits(&r, samples < l.group_samples
								  ? samples
								  : l.group_samples);
		} else {
			reads = visit * reads_random(m, groups, (double)o->loader.keep);
			if (m < groups || !o->loader.keep)
				sequence = (double)((samples - 1) % l.group_samples + 1) /
					   (double)samples;
		}
		c.group += (last.group - c.group) * sequence;
	}
	out->bytes = (visit * c.file + reads * c.group) / (double)samples + c.sample;
	out->opens = visit * d->objects / (double)samples;
}
