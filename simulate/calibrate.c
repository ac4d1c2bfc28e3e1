/* SPDX-License-Identifier: Apache-2.0 */
/* The model of a store from results: see calibrate.h. */
#include "simulate/calibrate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/client/client.h"
#include "core/numbers.h"
#include "core/units.h"
#include "results-schema/results_read.h"

/* The share of its cores beyond which a node may have no more. */
#define CORES_SHARE   0.8
/* So many threads of haul per core that were ready and had none: other programs' time counts, too. */
#define CORES_STARVED 0.1

/* The shares of latencies that are taken from a histogram. */
static const double calibrate_shares[] = {0.01, 0.05, 0.1, 0.2,  0.3,  0.4,  0.5,   0.6,
					  0.7,  0.8,  0.9, 0.95, 0.98, 0.99, 0.999, 1};
/* A fast read: what it takes has little of waiting for others. */
static const double calibrate_fast = 0.1;

/* Requests that took so much longer than a fast one waited for each other. */
static const double calibrate_held_up = 1.5;

/* A phase whose reads held each other up has met the limit, if no other phase is much faster. */
static const double calibrate_near = 0.8;

enum { CALIBRATE_PHASES_MAX = 256 };

struct calibrate_reads {
	const struct hist *hist;
	double bytes, all, rate; /* of a read; of all, per node; per second and node */
};

struct calibrate_found {
	struct calibrate_reads reads[CALIBRATE_PHASES_MAX]; /* plain ones */
	uint32_t count;
	const struct calibrate_reads *small, *large;
	const struct hist *opens;
	double mixed_bytes, mixed_ns; /* of trainings */
	double names_rate;
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

static double calibrate_fast_ns(const struct hist *h)
{
	return (double)hist_quantile_ns(h, calibrate_fast);
}

/* Operations on names, of a phase that does nothing else. */
static void calibrate_names(struct calibrate_found *f, const struct results_phase_read *p)
{
	static const char *const names[] = {"stat", "create"};

	for (unsigned i = 0; i < COUNT(names) && !(calibrate_value(p, "bytes_written") > 0); i++) {
		const struct hist *h = results_find_hist(p, names[i]);

		if (h && hist_count(h) &&
		    calibrate_mean(h) > calibrate_held_up * calibrate_fast_ns(h))
			f->names_rate =
				fmax(f->names_rate, (double)hist_count(h) / p->record.seconds);
	}
}

/* A column of the client's rows, of all nodes and intervals together. */
static double calibrate_client(const struct results_phase_read *p, enum client_column column)
{
	double sum = 0;

	for (uint64_t i = 0; i < p->client.row_count; i++) {
		double value = results_value(&p->client, i, client_columns.measures[column].name);

		sum += value > 0 ? value : 0;
	}
	return sum;
}

/* Processor time by the bytes of a node, in a phase that was faster than those before. */
static void calibrate_cores(const struct results_phase_read *p, uint64_t nodes, double bytes,
			    struct calibration *out)
{
	double had = calibrate_client(p, CLIENT_RANK_CORES_NS),
	       busy = calibrate_client(p, CLIENT_RANK_CORES_BUSY_NS);

	out->rate = bytes / p->record.seconds;
	out->cpu_s_per_byte =
		(calibrate_value(p, "cpu_user_ns") + calibrate_value(p, "cpu_system_ns")) * 1e-9 /
		(double)nodes / bytes;
	out->busy_s_per_byte =
		had > 0 ? busy / had * (double)out->cores / out->rate : out->cpu_s_per_byte;
	out->starved = had > 0 ? calibrate_client(p, CLIENT_HAUL_WAITED_NS) / had : 0;
}

static void calibrate_phase(struct calibrate_found *f, const struct results_phase_read *p,
			    uint64_t nodes, struct calibration *out)
{
	const struct hist *reads = results_find_hist(p, "read"),
			  *opens = results_find_hist(p, "open");
	double bytes = calibrate_value(p, "bytes_read");

	if (!(p->record.seconds > 0))
		return;
	if (opens && hist_count(opens))
		f->opens = opens;
	if (!reads || !hist_count(reads) || !(bytes > 0)) {
		calibrate_names(f, p);
		return;
	}
	bytes /= (double)nodes;
	if (bytes / p->record.seconds > out->rate)
		calibrate_cores(p, nodes, bytes, out);
	if (results_role(&p->merged, ROLE_UTILISATION) >= 0) {
		f->mixed_bytes += bytes * (double)nodes;
		f->mixed_ns += (double)reads->sum_ns;
		return;
	}
	if (f->count == CALIBRATE_PHASES_MAX)
		return;
	f->reads[f->count++] =
		(struct calibrate_reads){reads, bytes * (double)nodes / (double)hist_count(reads),
					 bytes, bytes / p->record.seconds};
}

/* The smallest and the largest reads; of those of one size the ones that fewest others held up. */
static void calibrate_choose(struct calibrate_found *f)
{
	for (uint32_t i = 0; i < f->count; i++) {
		const struct calibrate_reads *r = &f->reads[i];
		double fast = calibrate_fast_ns(r->hist);

		if (!f->small || r->bytes < f->small->bytes ||
		    (r->bytes == f->small->bytes && fast < calibrate_fast_ns(f->small->hist)))
			f->small = r;
		if (!f->large || r->bytes > f->large->bytes ||
		    (r->bytes == f->large->bytes && fast < calibrate_fast_ns(f->large->hist)))
			f->large = r;
	}
}

static bool calibrate_waited(const struct calibrate_found *f, const struct calibrate_reads *r,
			     double per_byte)
{
	return calibrate_mean(r->hist) >
	       calibrate_held_up * (calibrate_fast_ns(f->small->hist) +
				    per_byte * (r->bytes - f->small->bytes));
}

/* The rate of a node in the phases that met its limit, by their bytes; 0: no limit was met. */
static double calibrate_node(const struct calibrate_found *f, double per_byte)
{
	double most = 0, bytes = 0, seconds = 0;

	for (uint32_t i = 0; i < f->count; i++)
		most = fmax(most, f->reads[i].rate);
	for (uint32_t i = 0; i < f->count; i++) {
		const struct calibrate_reads *r = &f->reads[i];

		if (r->rate < calibrate_near * most || !calibrate_waited(f, r, per_byte))
			continue;
		bytes += r->all;
		seconds += r->all / r->rate;
	}
	return seconds > 0 ? bytes / seconds : 0;
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
static void calibrate_apply(struct sim_options *into, const struct calibrate_found *f)
{
	double fast_large, fast_small, per_byte;
	bool sizes;

	into->opens = f->names_rate;
	if (f->opens)
		into->open_latency_ns = hist_quantile_ns(f->opens, 0.5);
	if (!f->small) {
		into->stream = (uint64_t)(f->mixed_bytes * 1e9 / f->mixed_ns);
		return;
	}
	fast_large = calibrate_fast_ns(f->large->hist);
	fast_small = calibrate_fast_ns(f->small->hist);
	sizes = f->large->bytes > 4 * f->small->bytes && fast_large > fast_small;
	per_byte = sizes ? (fast_large - fast_small) / (f->large->bytes - f->small->bytes)
			 : fast_large / f->large->bytes;
	if (per_byte > 0)
		into->stream = (uint64_t)(1e9 / per_byte);
	calibrate_latencies(into, f->small->hist, per_byte * f->small->bytes);
	into->node = (uint64_t)calibrate_node(f, per_byte);
}

static int calibrate_from(struct calibrate_found *f, const struct results_file *r,
			  struct calibration *out, struct err *err)
{
	uint32_t count = f->count;
	double mixed = f->mixed_ns;

	if (r->simulated)
		return err_set(err, -EINVAL, "%s was simulated, not measured", r->path);
	out->cores = r->machines ? r->machines[0].cores : 0;
	for (uint32_t i = 0; i < r->phase_count; i++)
		calibrate_phase(f, results_whole(&r->phases[i]), max_u64(r->nodes, 1), out);
	return f->count > count || f->mixed_ns > mixed
		       ? 0
		       : err_set(err, -EINVAL,
				 "%s has no reads to calibrate by; haul assess measures them",
				 r->path);
}

int calibrate(struct sim_options *into, const char *const *paths, uint32_t count,
	      struct calibration *out, struct err *err)
{
	struct results_file *files[CALIBRATE_FILES_MAX];
	struct calibrate_found *f = calloc(1, sizeof(*f));
	uint32_t n = 0;
	int rc = 0;

	*out = (struct calibration){0};
	if (!f)
		return err_set(err, -ENOMEM, "no memory for a calibration");
	if (count > CALIBRATE_FILES_MAX)
		rc = err_set(err, -E2BIG, "at most %d files calibrate a store",
			     CALIBRATE_FILES_MAX);
	for (; n < count && rc == 0; n++) {
		rc = results_load(&files[n], paths[n], err);
		if (rc < 0)
			break;
		rc = calibrate_from(f, files[n], out, err);
	}
	if (rc == 0) {
		calibrate_choose(f);
		calibrate_apply(into, f);
	}
	while (n)
		results_unload(files[--n]);
	free(f);
	return rc;
}

bool calibration_cores(const struct calibration *from, const struct simulate_case *c,
		       char text[CALIBRATION_CORES_BYTES])
{
	double rate = simulate_case_rate(c) / c->nodes, cores = (double)from->cores;
	bool waited = from->starved >= CORES_STARVED;
	double asked = rate * (waited ? from->busy_s_per_byte : from->cpu_s_per_byte);
	char simulated[UNITS_TEXT_BYTES], measured[UNITS_TEXT_BYTES];

	text[0] = '\0';
	if (!(asked > CORES_SHARE * cores && cores > 0))
		return false;
	snprintf(
		text, CALIBRATION_CORES_BYTES,
		"%s are simulated per node, and for that the measured reads would need the time of %.3g "
		"of its %.0f cores: there the cores may be the limit, not the storage (measured: %s, of "
		"which haul took %.2g cores and all programs %.2g, while %.2g threads of haul waited for "
		"one)",
		units_rate(simulated, rate), asked, cores, units_rate(measured, from->rate),
		from->rate * from->cpu_s_per_byte, from->rate * from->busy_s_per_byte,
		from->starved * cores);
	return true;
}
