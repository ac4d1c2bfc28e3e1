/* SPDX-License-Identifier: Apache-2.0 */
/* The model of a store from results: see calibrate.h. */
#include "simulate/calibrate.h"

#include <errno.h>
#include <math.h>

#include "core/numbers.h"
#include "results-schema/results_read.h"

/* The shares of latencies that are taken from a histogram. */
static const double calibrate_shares[] = {0.01, 0.05, 0.1, 0.2,  0.3,  0.4,  0.5,   0.6,
					  0.7,  0.8,  0.9, 0.95, 0.98, 0.99, 0.999, 1};
/* A fast read: what it takes has little of waiting for others. */
static const double calibrate_fast = 0.1;

/* Requests that took so much longer than a fast one waited for each other. */
static const double calibrate_held_up = 1.5;

struct calibrate_found {
	const struct hist *small, *large, *opens, *fastest; /* of plain reads, but opens of any */
	double mixed_bytes, mixed_ns;                       /* of trainings */
	double small_bytes, large_bytes, fastest_bytes;     /* of a read */
	double rate, names_rate;
};

static double calibrate_value(const struct results_phase_read *p, const char *name)
{
	double value = results_value(&p->merged, 0, name);

	return value > 0 ? value : 0;
}

static double calibrate_mean(const struct hist *h)
{
	uint64_t count = hist_count(h);

	return count ? (double)h->sum_ns / (double)count : 0;
}

/* Operations on names, of a phase that does nothing else. */
static void calibrate_names(struct calibrate_found *f, const struct results_phase_read *p)
{
	static const char *const names[] = {"stat", "create"};

	for (unsigned i = 0; i < COUNT(names); i++) {
		const struct hist *h = results_find_hist(p, names[i]);
		double fast = h ? (double)hist_quantile_ns(h, calibrate_fast) : 0;

		if (h && hist_count(h) && calibrate_mean(h) > calibrate_held_up * fast)
			f->names_rate =
				fmax(f->names_rate, (double)hist_count(h) / p->record.seconds);
	}
}

static void calibrate_phase(struct calibrate_found *f, const struct results_phase_read *p)
{
	const struct hist *reads = results_find_hist(p, "read"),
			  *opens = results_find_hist(p, "open");
	double bytes = calibrate_value(p, "bytes_read"), size;

	if (!(p->record.seconds > 0))
		return;
	if (opens && hist_count(opens))
		f->opens = opens;
	if (!reads || !hist_count(reads) || !(bytes > 0)) {
		calibrate_names(f, p);
		return;
	}
	if (results_role(&p->merged, ROLE_UTILISATION) >= 0) {
		f->mixed_bytes += bytes;
		f->mixed_ns += (double)reads->sum_ns;
		return;
	}
	size = bytes / (double)hist_count(reads);
	if (bytes / p->record.seconds > f->rate) {
		f->rate = bytes / p->record.seconds;
		f->fastest = reads;
		f->fastest_bytes = size;
	}
	if (!f->small || size < f->small_bytes) {
		f->small = reads;
		f->small_bytes = size;
	}
	if (!f->large || size > f->large_bytes) {
		f->large = reads;
		f->large_bytes = size;
	}
}

/* The distribution without `less`, which every read has taken for its bytes. */
static void calibrate_latencies(struct sim_options *into, const struct hist *h, double less)
{
	uint64_t before = 0;

	into->latency_ns = into->latency_stdev_ns = into->p50_ns = into->p99_ns = 0;
	into->latency_count = 0;
	for (unsigned i = 0; i < COUNT(calibrate_shares); i++) {
		double ns = (double)hist_quantile_ns(h, calibrate_shares[i]) - less;
		uint64_t within = ns > 0 ? (uint64_t)ns : 0;

		within = max_u64(within, before);
		into->latencies[into->latency_count++] =
			(struct sim_latency){calibrate_shares[i], within};
		before = within;
	}
}

/* Large reads at the rate of a fast one; where all reads have one size, that rate has their latency, too, of which
 * then only what goes beyond a fast read is left. */
static void calibrate_apply(struct sim_options *into, const struct calibrate_found *f,
			    uint64_t nodes)
{
	double fast_large, fast_small, per_byte, alone;
	bool sizes;

	into->opens = f->names_rate;
	if (f->opens)
		into->open_latency_ns = hist_quantile_ns(f->opens, 0.5);
	if (!f->small) {
		into->stream = (uint64_t)(f->mixed_bytes * 1e9 / f->mixed_ns);
		return;
	}
	fast_large = (double)hist_quantile_ns(f->large, calibrate_fast);
	fast_small = (double)hist_quantile_ns(f->small, calibrate_fast);
	sizes = f->large_bytes > 4 * f->small_bytes && fast_large > fast_small;
	per_byte = sizes ? (fast_large - fast_small) / (f->large_bytes - f->small_bytes)
			 : fast_large / f->large_bytes;
	if (per_byte > 0)
		into->stream = (uint64_t)(1e9 / per_byte);
	calibrate_latencies(into, f->small, per_byte * f->small_bytes);
	alone = fast_small + per_byte * (f->fastest_bytes - f->small_bytes);
	if (calibrate_mean(f->fastest) > calibrate_held_up * alone)
		into->node = (uint64_t)(f->rate / (double)(nodes ? nodes : 1));
}

static int calibrate_from(struct sim_options *into, const struct results_file *r,
			  struct calibration *out, struct err *err)
{
	struct calibrate_found f = {0};

	if (r->simulated)
		return err_set(err, -EINVAL, "%s was simulated, not measured", r->path);
	for (uint32_t i = 0; i < r->phase_count; i++)
		calibrate_phase(&f, results_whole(&r->phases[i]));
	if (!f.small && !(f.mixed_ns > 0))
		return err_set(err, -EINVAL,
			       "%s has no reads to calibrate by; haul assess measures them",
			       r->path);
	*out = (struct calibration){.nodes = r->nodes,
				    .ranks = r->ranks,
				    .cores = r->machines ? r->machines[0].cores : 0,
				    .read_bytes = f.small_bytes};
	calibrate_apply(into, &f, r->nodes);
	return 0;
}

int calibrate(struct sim_options *into, const char *path, struct calibration *out, struct err *err)
{
	struct results_file *r;
	int rc = results_load(&r, path, err);

	if (rc < 0)
		return rc;
	rc = calibrate_from(into, r, out, err);
	results_unload(r);
	return rc;
}
