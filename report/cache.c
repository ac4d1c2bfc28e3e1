/* SPDX-License-Identifier: Apache-2.0 */
#include "report/cache.h"

#include <math.h>

#include "core/measure/quantile.h"
#include "report/phase.h"

static const double cache_gib = 1 << 30, cache_ns_per_ms = 1e6;

/* How MLPerf's figure comes from the phase, and haul's. */
enum cache_source {
	CACHE_RATE,   /* bytes per second: MLPerf's is added over the ranks */
	CACHE_P95,    /* MLPerf's is that of the slowest rank, haul's that of a histogram */
	CACHE_TOKENS, /* added over the ranks; haul's is of all of them, if it has one */
};

static const struct cache_kind {
	const char *name, *unit;
	enum cache_source source;
	enum role mlperf, haul;
	const char *note;
} kinds[CACHE_FIGURES] = {
	{"tier_storage_read_bandwidth_gbps", "GiB/s", CACHE_RATE, ROLE_ENTRY_READ_RATE,
	 ROLE_READ_RATE,
	 "as MLPerf divides: the bytes of each rank, also those that came after the duration, by the duration; without entries that "
	 "move between tiers"},
	{"tier_storage_write_bandwidth_gbps", "GiB/s", CACHE_RATE, ROLE_ENTRY_WRITE_RATE,
	 ROLE_WRITE_RATE,
	 "as MLPerf divides: the bytes of each rank, also those that came after the duration, by the duration; without entries that "
	 "move between tiers"},
	{"storage_read_device_p95_ms", "ms", CACHE_P95, ROLE_READ_DEVICE_P95,
	 ROLE_READ_DEVICE_LATENCY,
	 "MLPerf takes the slowest rank; the time of a read that is the store's"},
	{"storage_write_device_p95_ms", "ms", CACHE_P95, ROLE_WRITE_DEVICE_P95,
	 ROLE_WRITE_DEVICE_LATENCY,
	 "MLPerf takes the slowest rank; the time of a write that makes it durable"},
	{"storage_read_p95_ms", "ms", CACHE_P95, ROLE_READ_P95, ROLE_READ_LATENCY,
	 "MLPerf takes the slowest rank; whole entries"},
	{"storage_write_p95_ms", "ms", CACHE_P95, ROLE_WRITE_P95, ROLE_WRITE_LATENCY,
	 "MLPerf takes the slowest rank; whole entries"},
	{"avg_throughput_tokens_per_sec", "1/s", CACHE_TOKENS, ROLE_TOKEN_RATE, ROLE_TOKEN_RATE,
	 "tokens generated per second of the run; MLPerf adds the rates of the ranks"},
	{"storage_throughput_tokens_per_sec", "1/s", CACHE_TOKENS, ROLE_WAITED_TOKEN_RATE,
	 ROLE_NONE,
	 "misleading: tokens per second that requests waited, so it falls as more requests are served at a time, however fast "
	 "the store is; haul also counts that they waited for room, which MLPerf does not"},
};

bool cache_is(const struct results_phase_read *p)
{
	return phase_purpose(p) == PURPOSE_CACHE;
}

/* A phase of the other profile asks for no blocks. */
bool cache_serves(const struct results_phase_read *p)
{
	return cache_is(p) && results_value(&p->merged, 0, "blocks_asked") > 0;
}

static const struct {
	const char *name, *label;
} cache_part_rows[CACHE_PARTS] = {
	{"ttft", "first token"},        {"request_queue", "queue"}, {"lookup", "lookup"},
	{"fetch", "arrival of blocks"}, {"recompute", "recompute"}, {"stall", "stall"},
};

unsigned cache_parts(const struct results_phase_read *p, struct cache_part out[CACHE_PARTS])
{
	unsigned count = 0;

	for (unsigned i = 0; cache_serves(p) && i < CACHE_PARTS; i++) {
		const struct hist *h = results_find_hist(p, cache_part_rows[i].name);

		if (h)
			out[count++] =
				(struct cache_part){.name = cache_part_rows[i].name,
						    .label = cache_part_rows[i].label,
						    .count = hist_count(h),
						    .p50_ns = (double)quantile_ns(h, QUANTILE_P50),
						    .p95_ns = (double)quantile_ns(h, QUANTILE_P95),
						    .p99_ns = (double)quantile_ns(h, QUANTILE_P99)};
	}
	return count;
}

static const struct {
	const char *name, *label, *unit;
	bool none; /* 0: it is not known */
} cache_fact_rows[CACHE_FACTS] = {
	{"memory_hit_rate", "blocks found in memory", "fraction", false},
	{"store_hit_rate", "blocks found in the store", "fraction", false},
	{"hit_rate_prompt", "found, of system prompts", "fraction", false},
	{"hit_rate_turn", "found, of conversations", "fraction", false},
	{"goodput", "first tokens in time, per second", "1/s", false},
	{"good_share", "share of all requests that fell due", "fraction", false},
	{"saved_time", "saved beside recomputing", "s", false},
	{"saved_share", "share of recomputing", "fraction", false},
	{"fetch_pays_from_tokens", "tokens from which fetching is faster", "", true},
	{"start_up", "start-up of a server", "s", true},
};

unsigned cache_facts(const struct results_phase_read *p, struct cache_fact out[CACHE_FACTS])
{
	unsigned count = 0;

	for (unsigned i = 0; cache_serves(p) && i < CACHE_FACTS; i++) {
		double value = results_value(&p->merged, 0, cache_fact_rows[i].name);

		/* No server was started anew. */
		if (cache_fact_rows[i].none && isnan(value))
			continue;
		out[count++] = (struct cache_fact){
			cache_fact_rows[i].name, cache_fact_rows[i].label, cache_fact_rows[i].unit,
			cache_fact_rows[i].none && value <= 0 ? NAN : value};
	}
	return count;
}

static double cache_value(const struct results_phase_read *p, enum role role)
{
	return results_role_value(&p->merged, 0, role);
}

/* The original adds the rates of its processes. NaN: no rank has one. */
static double cache_sum(const struct results_phase_read *p, enum role role)
{
	const struct results_table *ranks = results_ranks(p);
	double sum = NAN;

	for (uint64_t i = 0; i < ranks->row_count; i++) {
		double rate = results_role_value(ranks, i, role);

		if (isfinite(rate))
			sum = isfinite(sum) ? sum + rate : rate;
	}
	return sum;
}

static double cache_p95(const struct results_phase_read *p, enum role role)
{
	const struct results_hist *h = results_role_hist(p, role);

	return h ? (double)quantile_ns(&h->hist, QUANTILE_P95) / cache_ns_per_ms : NAN;
}

/* Returns false where there is nothing to tell. */
static bool cache_figure(const struct results_phase_read *p, const struct cache_kind *kind,
			 struct cache_figure *out)
{
	*out = (struct cache_figure){kind->name, kind->unit, NAN, NAN, kind->note};
	switch (kind->source) {
	case CACHE_RATE:
		out->mlperf = cache_sum(p, kind->mlperf) / cache_gib;
		out->haul = cache_value(p, kind->haul) / cache_gib;
		return isfinite(out->mlperf);
	case CACHE_P95:
		out->mlperf = cache_value(p, kind->mlperf) / cache_ns_per_ms;
		out->haul = cache_p95(p, kind->haul);
		return out->mlperf > 0;
	case CACHE_TOKENS:
		break;
	}
	out->mlperf = cache_sum(p, kind->mlperf);
	out->haul = kind->haul == ROLE_NONE ? NAN : cache_value(p, kind->haul);
	return isfinite(out->mlperf);
}

/* Without I/O there are no times. */
static bool cache_timed(const struct results_phase_read *p)
{
	return cache_is(p) && !cache_serves(p) &&
	       (cache_value(p, ROLE_READ_P95) > 0 || cache_value(p, ROLE_WRITE_P95) > 0);
}

unsigned cache_figures(const struct results_phase_read *p, struct cache_figure out[CACHE_FIGURES])
{
	unsigned count = 0;

	for (unsigned i = 0; cache_timed(p) && i < CACHE_FIGURES; i++)
		count += cache_figure(p, &kinds[i], &out[count]);
	return count;
}

/* Criteria of the original's profile "latency". device: judged instead, where it is known. */
static const struct cache_rule {
	const char *name, *unit;
	enum role role, device;
	double asked;
	bool most;
} cache_rules[CACHE_CRITERIA] = {
	{"writes p95", "ns", ROLE_WRITE_P95, ROLE_WRITE_DEVICE_P95, 500e6, true},
	{"reads p95", "ns", ROLE_READ_P95, ROLE_READ_DEVICE_P95, 200e6, true},
	{"memory p95", "ns", ROLE_MEMORY_P95, ROLE_NONE, 150e6, true},
	{"hits", "fraction", ROLE_HIT_RATE, ROLE_NONE, 0.3, false},
};

unsigned cache_criteria(const struct results_phase_read *p, bool voided,
			struct cache_criterion out[CACHE_CRITERIA])
{
	unsigned count = 0;

	for (unsigned i = 0; cache_timed(p) && i < CACHE_CRITERIA; i++) {
		const struct cache_rule *rule = &cache_rules[i];
		double found = cache_value(p, rule->role), part = NAN;
		bool reached;

		if (rule->device != ROLE_NONE)
			part = cache_value(p, rule->device);
		found = part > 0 ? part : found;
		if (!isfinite(found) || (rule->most && found <= 0))
			continue;
		reached = rule->most ? found < rule->asked : found > rule->asked;
		out[count++] = (struct cache_criterion){.name = rule->name,
							.unit = rule->unit,
							.asked = rule->asked,
							.found = found,
							.most = rule->most,
							.device = part > 0,
							.reached = reached,
							.met = reached && !voided,
							.state = voided    ? CLAIM_UNKNOWN
								 : reached ? CLAIM_HELD
									   : CLAIM_MISSED};
	}
	return count;
}
