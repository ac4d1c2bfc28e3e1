/* What a sample costs the store on average, where files stay open and readers keep something of them.
 *
 * In file order, a file is a stretch of positions, and so is a group of samples in it. Positions are dealt out in batches
 * to the readers in turn, so a stretch of n positions meets 1 + n / B - gcd(n, B) / B batches of B on average, each of
 * another reader until there are no more readers. In shuffled files, a reader meets groups at random. */
#include <math.h>

#include "workloads/train/loader/loader.h"
#include "workloads/train/train.h"

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

/* Groups that are read for m random samples in `groups` groups, of which the last `kept` are kept. */
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
		/* How often a group that is read is the last one. Where few samples of many are read, that is as
		 * rare as the last group has few samples. */
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
