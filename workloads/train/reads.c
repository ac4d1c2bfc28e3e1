/* What a sample costs the store in the mean, where files stay open and readers keep something of them.
 *
 * In file order a file, and a group of samples in it, is a stretch of positions. Those are dealt out in
 * batches to readers in turn, so a stretch of n meets 1 + n / B - gcd(n, B) / B batches of B in the
 * mean, each another reader's until there are no more. Inside shuffled files a reader meets
 * groups at random. */
#include <math.h>

#include "workloads/train/loader/loader.h"
#include "workloads/train/train.h"

static double gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return (double)a;
}

/* Who reads: readers take batches in turn, and inside each so many lanes take samples. */
struct reader_count {
	double number, read_slots;
	uint64_t batch;
};

static struct reader_count reader_count_of(const struct train_options *o,
					   const struct job_store *store, const struct dataset *d,
					   uint64_t batch, uint32_t ranks)
{
	double workers = o->loader.workers ? (double)o->loader.workers : 1;

	if (o->loader.kind == LOADER_SAMPLE)
		return (struct reader_count){ranks, workers, batch};
	return (struct reader_count){ranks * workers,
				     o->loader.kind == LOADER_BATCH ? train_depth(o, store, d) : 1,
				     batch};
}

/* Lanes that come to a stretch of n positions. */
static double visits(const struct reader_count *r, uint64_t n)
{
	double batch = (double)r->batch;
	double batches = 1 + (double)n / batch - gcd(n, r->batch) / batch;
	double reader_count = fmin(r->number, batches);

	return reader_count * fmin(r->read_slots, fmax(1, (double)n / reader_count));
}

/* Groups read for m samples at random in groups of which kept are kept. */
static double random_reads(double m, double groups, double kept)
{
	double before = 0; /* samples until as many are kept as can be */

	if (kept < 1)
		return m;
	for (double i = 0; i < kept && i < groups; i++)
		before += groups / (groups - i);
	if (kept >= groups || m <= before)
		return groups * (1 - pow(1 - 1 / groups, m));
	return kept + (m - before) * (1 - kept / groups);
}

/* Of a file of samples of mean size: bytes a visit, a group (in the mean) and a sample. */
struct costs {
	double file, group, sample;
};

static void add_costs(const struct layout *l, uint64_t sample, struct costs *c)
{
	struct extent e[FORMAT_EXTENTS_MAX];
	uint32_t n = l->format->extents(l, sample, e);

	*c = (struct costs){0};
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
	struct reader_count r = reader_count_of(o, store, d, batch, ranks);
	bool in_order = kind == ORDER_AS_IS || kind == ORDER_FILES;
	double visit, groups, reads = 0; /* visits, groups and reads of groups, a file */
	struct costs c, last;
	struct layout l;

	dataset_mean_layout(d, &l);
	if (train_interleave(o)) {
		visit = files >= ranks ? 1 : ranks;
		out->bytes = visit * (double)l.size / (double)samples;
		out->opens = visit / (double)samples;
		return;
	}
	add_costs(&l, 0, &c);
	out->bytes = c.file + c.group + c.sample;
	out->opens = d->objects;
	if (!d->stays_open)
		return;
	visit = visits(&r, samples);
	if (kind == ORDER_ALL && files > 1)
		visit = (double)samples * (1 - (double)(samples - 1) / (double)(d->samples - 1));
	if (l.group_samples) {
		double m = (double)samples / visit, sequence;

		groups = ceil((double)samples / (double)l.group_samples);
		add_costs(&l, samples - 1, &last);
		/* Of the last group among those read; few samples of many come as rarely to it as it
		 * has samples. */
		sequence = 1 / groups;
		if (in_order && o->loader.keep) {
			reads = groups *
				visits(&r, samples < l.group_samples ? samples : l.group_samples);
		} else {
			reads = visit * random_reads(m, groups, (double)o->loader.keep);
			if (m < groups || !o->loader.keep)
				sequence = (double)((samples - 1) % l.group_samples + 1) /
					   (double)samples;
		}
		c.group += (last.group - c.group) * sequence;
	}
	out->bytes = (visit * c.file + reads * c.group) / (double)samples + c.sample;
	out->opens = visit * d->objects / (double)samples;
}
