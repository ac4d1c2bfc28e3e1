#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/units.h"
#include "workloads/train/loader/loader.h"
#include "workloads/train/loader/pin_copy.h"
#include "workloads/train/train.h"

enum { MLPERF_STEPS = 500 };

static void note(struct demand *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void note(struct demand *d, const char *format, ...)
{
	va_list list;

	if (d->note_count == sizeof(d->notes) / sizeof(d->notes[0]))
		return;
	va_start(list, format);
	vsnprintf(d->notes[d->note_count++], sizeof(d->notes[0]), format, list);
	va_end(list);
}

/* Windows of all workers; 0 where the store gives no bytes. */
static uint64_t memory_bytes(const struct train_options *o, const struct dataset *d,
			     const struct job_store *store, struct demand *out)
{
	const struct backend_ops *ops = store->section->owner;
	uint64_t workers = o->loader.workers ? o->loader.workers : 1;
	struct train_sizes sizes;
	char text[2][UNITS_TEXT_BYTES];
	uint32_t depth;

	if (!(ops->capabilities & BACKEND_CONTENT))
		return 0;
	depth = train_depth(o, store, d);
	train_sizes(o, d, ops->capabilities, backend_range(store, train_longest(o, d), depth),
		    train_buffer_bytes(o, depth), &sizes);
	if (sizes.request < sizes.wanted && sizes.request < train_extent(o, d))
		note(out, "buffers of %s cut requests to %s",
		     units_bytes_binary(text[0], (double)o->buffers),
		     units_bytes_binary(text[1], (double)sizes.request));
	return workers * train_buffer_count(o, depth) * sizes.window;
}

static void notes(const struct train_options *o, struct demand *out, uint32_t ranks, bool existing)
{
	char text[UNITS_TEXT_BYTES];

	if (existing)
		note(out,
		     "haul did not make these files: samples are proven by the plan's ids, bytes "
		     "are not verified");
	if (!out->steps_per_epoch)
		note(out, "%s samples do not fill one step of %llu: this will be refused",
		     units_count(text, out->samples), (unsigned long long)(o->batch * ranks));
	else if (out->steps_per_epoch < MLPERF_STEPS)
		note(out, "%llu steps per epoch: MLPerf wants %d",
		     (unsigned long long)out->steps_per_epoch, MLPERF_STEPS);
	if (out->steps_per_epoch && out->steps_per_epoch <= o->warmup_steps)
		note(out, "all %llu steps of an epoch are warm-up: there will be no AU",
		     (unsigned long long)out->steps_per_epoch);
	if (o->loader.workers > out->steps_per_epoch && out->steps_per_epoch)
		note(out, "%llu workers for %llu steps per epoch: some never read",
		     (unsigned long long)o->loader.workers,
		     (unsigned long long)out->steps_per_epoch);
	if (o->loader.workers > train_interleave(o) && train_interleave(o))
		note(out, "%llu workers for %u files at a time: some never read",
		     (unsigned long long)o->loader.workers, train_interleave(o));
	if (o->sync == SYNC_STEP && o->seconds_ns && draw_mean(&o->compute) > (double)o->seconds_ns)
		note(out, "one step takes longer than the limit of seconds");
}

/* From here on what a reader reads beside and again is worth a sentence before the run. */
static const double amplified = 2;

static void note_amplified(const struct dataset *d, double sample_bytes, struct demand *out)
{
	char text[2][UNITS_TEXT_BYTES];
	struct layout l;

	dataset_mean_layout(d, &l);
	if (sample_bytes >= amplified * (double)l.logical_bytes)
		note(out,
		     "a sample of %s moves %s on average: headers, groups and files read again",
		     units_bytes_decimal(text[0], (double)l.logical_bytes),
		     units_bytes_decimal(text[1], sample_bytes));
}

/* Samples that the shuffle window and what waits for it have room for. */
static uint64_t window_places(const struct train_options *o)
{
	bool together = o->loader.kind == LOADER_SAMPLE || train_interleave(o);
	uint64_t work_queues = together || !o->loader.workers ? 1 : o->loader.workers;

	return train_shuffle_samples(o) + work_queues * o->loader.prefetch * o->batch;
}

/* Bytes and steps of the whole phase: epochs cut by steps, evaluations beside. */
static int moved(const struct job *job, const struct job_phase *phase, uint32_t ranks,
		 double sample_bytes, struct demand *out, struct err *err)
{
	const struct train_options *o = phase->options;
	uint64_t global = o->batch * ranks, steps = out->steps_per_epoch * o->epochs, evaluations;
	const struct job_store *store;
	struct train_reads reads;
	struct dataset d;
	int rc;

	out->epochs = o->epochs;
	if (o->steps && o->steps < steps) {
		steps = o->steps;
		out->epochs = (steps + out->steps_per_epoch - 1) / out->steps_per_epoch;
	}
	out->seconds_limit = (double)o->seconds_ns * 1e-9;
	out->total_seconds = (double)steps * draw_mean(&o->compute) * 1e-9;
	if (o->seconds_ns && out->total_seconds > out->seconds_limit) {
		steps = (uint64_t)((double)steps * out->seconds_limit / out->total_seconds);
		out->total_seconds = out->seconds_limit;
		out->epochs = out->steps_per_epoch
				      ? (steps + out->steps_per_epoch - 1) / out->steps_per_epoch
				      : out->epochs;
	}
	out->bytes = (double)steps * (double)global * sample_bytes;
	if (o->evaluation.every) {
		rc = train_dataset(job, phase, o->evaluation.dataset, &d, &store, err);
		if (rc < 0)
			return rc;
		train_reads(o, store, &d, ORDER_AS_IS, o->evaluation.batch, ranks, &reads);
		evaluations = out->steps_per_epoch
				      ? steps / out->steps_per_epoch / o->evaluation.every
				      : 0;
		out->bytes += (double)evaluations *
			      (double)(train_steps(o, &d, o->evaluation.batch, ranks) *
				       o->evaluation.batch * ranks) *
			      reads.bytes;
	}
	out->bytes_per_rank = out->bytes / ranks;
	return 0;
}

int train_size(const struct job *job, const struct job_phase *phase, uint32_t ranks,
	       uint32_t ranks_per_node, struct demand *out, struct err *err)
{
	const struct train_options *o = phase->options;
	double compute_s = draw_mean(&o->compute) * 1e-9;
	uint64_t global = o->batch * ranks;
	const struct job_store *store;
	struct train_reads reads;
	struct order order;
	struct dataset d;
	int rc;

	memset(out, 0, sizeof(*out));
	rc = train_dataset(job, phase, o->dataset, &d, &store, err);
	if (rc < 0)
		return rc;
	train_order(o, &d, job->seed, &order);
	train_reads(o, store, &d, order.kind, o->batch, ranks, &reads);
	out->files = d.options.files;
	out->samples = d.samples;
	out->steps_per_epoch = train_steps(o, &d, o->batch, ranks);
	out->samples_dropped = d.samples - out->steps_per_epoch * global;
	out->bytes_per_second = compute_s > 0 ? (double)global * reads.bytes / compute_s : INFINITY;
	out->opens_per_second = compute_s > 0 ? (double)global * reads.opens / compute_s : INFINITY;
	out->target = fmax(job_target(phase, "target_au"), 0);
	out->seconds = (double)out->steps_per_epoch * compute_s;
	notes(o, out, ranks, d.existing);
	note_amplified(&d, reads.bytes, out);
	out->memory_per_rank = memory_bytes(o, &d, store, out);
	cold_size(&o->cold, ranks_per_node, out);
	if (train_shuffle_samples(o))
		out->memory_per_rank += window_places(o) * sizeof(struct arrival);
	if (o->loader.pin_memory)
		out->memory_per_rank += PIN_COPY_BUFFERS * PIN_COPY_BUFFER_BYTES;
	return moved(job, phase, ranks, reads.bytes, out, err);
}
