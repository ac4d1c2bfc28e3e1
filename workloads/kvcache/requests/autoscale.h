/* SPDX-License-Identifier: Apache-2.0 */
/* Autoscaling: how many users ask, by what was measured since the last decision. A decision follows each interval:
 *
 *	qos        fewer users while the store is saturated, more while it is not: it finds the load that keeps the limits
 *	capacity   more users as long as more tokens are generated: it finds the most that the store can do
 *
 * Saturation is 0 to 1. The pressure of an interval is the largest part of its limit that the read p95, the write p95 or the
 * waiting requests have reached. Saturation is the greatest pressure of the last intervals, at most 1, and half of that unless
 * moved bytes have stayed the same while pressure rose. It is 0 until there are enough intervals, and 1 where the last pressure
 * was above 1.2.
 *
 * This is MLPerf's autoscaler with what it gets wrong put right: its number of users changes no load there, factors and numbers of
 * intervals are constants, write latency and waiting requests do not count, percentiles and rates are those of the whole run,
 * and fewer than five users never become more.
 *
 * Plain data; one thread. */
#ifndef HAUL_WORKLOADS_KVCACHE_AUTOSCALE_H
#define HAUL_WORKLOADS_KVCACHE_AUTOSCALE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"
#include "core/option/option.h"

enum { KV_AUTOSCALE_HISTORY_MAX = 256 };
enum kv_autoscale_mode { KV_AUTOSCALE_OFF, KV_AUTOSCALE_QOS, KV_AUTOSCALE_CAPACITY };

struct kv_autoscale_options {
	uint32_t mode;
	uint64_t interval_ns;
	uint64_t users_min, users_max;
	double up, down;   /* factors */
	uint64_t samples;  /* intervals in a row that must say the same */
	uint64_t cooldown; /* intervals without a decision after there were fewer users */
	uint64_t history;
	double target;                       /* saturation */
	uint64_t read_ns, write_ns, waiting; /* limits */
};
extern const struct option kv_autoscale_options_table[];

/* What was measured in an interval. */
struct kv_autoscale_sample {
	uint64_t read_p95_ns, write_p95_ns;
	uint64_t waiting;     /* requests, at its end */
	double bytes, tokens; /* moved and generated, per second */
};

struct kv_autoscale {
	const struct kv_autoscale_options *options;
	uint64_t users;
	double pressure[KV_AUTOSCALE_HISTORY_MAX], bytes[KV_AUTOSCALE_HISTORY_MAX];
	uint64_t samples; /* so far */
	uint64_t agreeing, cooling;
	double saturation;
	double peak; /* tokens per second */
	uint64_t peak_users;
	uint64_t
		carried; /* qos: the most users with whom an interval kept all limits; 0: none did */
	bool done;       /* capacity: more users do not help */
};

/* users: at the beginning. Options must have passed the check, and live as long. */
void kv_autoscale_open(struct kv_autoscale *a, const struct kv_autoscale_options *options,
		       uint64_t users);

/* Decides, and returns how many users ask from now on. */
uint64_t kv_autoscale_next(struct kv_autoscale *a, const struct kv_autoscale_sample *sample);

/* Checks rules that an option table cannot express. Returns -EINVAL with "path/autoscaling/key:
 * sentence". */
int kv_autoscale_check(const struct kv_autoscale_options *o, uint64_t users, const char *path,
		       struct err *err);

#endif
