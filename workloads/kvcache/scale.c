/* SPDX-License-Identifier: Apache-2.0 */
/* Autoscaling of a phase "kvcache": what was measured since the last decision, and the users that
 * ask from now on. */
#include "workloads/kvcache/run.h"

#include <string.h>

#include "core/measure/quantile.h"
#include "core/numbers.h"

static const double ns_per_s = 1e9;

void kv_scale_begin(struct kv_run *r)
{
	struct kv_scaling *s = &r->scaling;
	const struct kv_autoscale_options *o = &r->setup.options->autoscaling;

	s->due_ns = UINT64_MAX;
	if (o->mode == KV_AUTOSCALE_OFF || !r->part.leads)
		return;
	kv_autoscale_open(&s->autoscale, o, r->setup.source.users);
	s->due_ns = r->start_ns + o->interval_ns;
}

/* The percentile of what a histogram has got since the last time. before: as it was then, and is
 * from now on. */
static uint64_t scale_p95(struct kv_scaling *s, const struct hist *now, struct hist *before)
{
	s->between = *now;
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		s->between.bucket[i] -= before->bucket[i];
	*before = *now;
	return quantile_ns(&s->between, QUANTILE_P95);
}

/* Bytes of all tiers: those that were written, read and moved. */
static uint64_t scale_bytes(const struct kv_run *r)
{
	static const enum kv_tier_measure moved[] = {KV_TIER_READ_BYTES, KV_TIER_WRITTEN_BYTES,
						     KV_TIER_DEMOTED_IN_BYTES,
						     KV_TIER_PROMOTED_BYTES};
	const struct table *t = &r->ctx->tally->tables[KV_TABLE_TIERS];
	uint64_t bytes = 0;

	for (uint32_t k = 0; k < r->setup.tier_count; k++)
		for (size_t i = 0; i < COUNT(moved); i++)
			bytes += table_row(t, k)[moved[i]];
	return bytes;
}

static void scale_sample(struct kv_run *r, struct kv_autoscale_sample *out)
{
	struct kv_scaling *s = &r->scaling;
	const struct hist *hists = r->ctx->tally->hists;
	double seconds = (double)r->setup.options->autoscaling.interval_ns / ns_per_s;
	uint64_t bytes = scale_bytes(r), tokens = r->ctx->tally->rank_row[KV_TOKENS];

	*out = (struct kv_autoscale_sample){
		.read_p95_ns = scale_p95(s, &hists[KV_HIST_READ], &s->read),
		.write_p95_ns = scale_p95(s, &hists[KV_HIST_WRITE], &s->write),
		.waiting = r->waiting.count,
		.bytes = (double)(bytes - s->bytes) / seconds,
		.tokens = (double)(tokens - s->tokens) / seconds,
	};
	s->bytes = bytes;
	s->tokens = tokens;
}

static void scale_measure(struct kv_run *r, const struct kv_autoscale_sample *sample)
{
	const struct kv_autoscale *a = &r->scaling.autoscale;
	uint64_t *row = table_numbered(&r->ctx->tally->tables[KV_TABLE_AUTOSCALING], a->samples);

	if (!row)
		return;
	row[KV_SCALE_NS] = r->now_ns - r->start_ns;
	row[KV_SCALE_USERS] = a->users;
	row[KV_SCALE_READ_P95_NS] = sample->read_p95_ns;
	row[KV_SCALE_WRITE_P95_NS] = sample->write_p95_ns;
	row[KV_SCALE_WAITING] = sample->waiting;
	row[KV_SCALE_TOKENS] = (uint64_t)(sample->tokens + 0.5);
	row[KV_SCALE_SATURATION_PPM] = (uint64_t)(a->saturation * 1e6 + 0.5);
}

void kv_scale(struct kv_run *r)
{
	struct kv_scaling *s = &r->scaling;
	struct kv_autoscale_sample sample;
	uint64_t before, users;

	if (r->over || r->now_ns < s->due_ns || r->now_ns >= r->until_ns)
		return;
	s->due_ns += r->setup.options->autoscaling.interval_ns;
	scale_sample(r, &sample);
	before = s->autoscale.users;
	users = kv_autoscale_next(&s->autoscale, &sample);
	scale_measure(r, &sample);
	if (users != before)
		kv_source_scale(&r->source, (uint32_t)users, r->now_ns - r->start_ns);
	if (s->autoscale.done)
		r->over = true;
}

bool kv_rounds(const struct job_phase *phase, struct phase_rounds *out)
{
	const struct kvcache_options *options = phase->options;
	const struct kv_autoscale_options *o = &options->autoscaling;

	*out = (struct phase_rounds){
		.load = "users",
		.table = KV_TABLE_AUTOSCALING,
		.next = KV_SCALE_USERS,
		.first = options->source.users,
		.most = o->users_max,
		.limit_count = 3,
		.limits = {{"autoscaling.read_p95", "95th percentile of reads of entries", "ns",
			    KV_SCALE_READ_P95_NS, (double)o->read_ns},
			   {"autoscaling.write_p95", "95th percentile of writes of entries", "ns",
			    KV_SCALE_WRITE_P95_NS, (double)o->write_ns},
			   {"autoscaling.waiting", "requests that wait", "", KV_SCALE_WAITING,
			    (double)o->waiting}},
	};
	return o->mode == KV_AUTOSCALE_QOS;
}
