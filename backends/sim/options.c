/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the model of a store: see model.h. */
#include <errno.h>

#include "backends/sim/model.h"

enum { USUAL_S = 60 };
#define LATENCY(name, member, ...) \
	OPT_TIME(name, struct sim_options, member, .def = 0, \
		 .usual = (uint64_t)USUAL_S * 1000000000, __VA_ARGS__)

static const struct option latency_options[] = {
	OPT_REAL("share", struct sim_latency, share, .required = true, .min_real = 0, .max_real = 1,
		 .help = "of all latencies, those that are at most that long"),
	OPT_TIME("within", struct sim_latency, within_ns, .required = true, .help = "so long"),
	OPT_END};

const struct option sim_options[] = {
	OPT_RATE(
		"bandwidth", struct sim_options, bandwidth, .def = 0,
		.help = "bandwidth of the whole store, for which all nodes compete; each node of a run "
			"has an equal share; 0: unlimited"),
	OPT_RATE("node", struct sim_options, node, .def = 0,
		 .help = "bandwidth of a node's network cards; 0: unlimited"),
	OPT_RATE("rank_bandwidth", struct sim_options, rank_bandwidth, .def = 0,
		 .help = "bandwidth of one rank; 0: unlimited"),
	OPT_RATE("stream", struct sim_options, stream, .def = 0,
		 .help = "bandwidth of one request; 0: unlimited"),
	OPT_REAL(
		"opens", struct sim_options, opens, .def_real = 0, .min_real = 0, .max_real = 1e12,
		.help = "requests of metadata per second of the whole store (opens, stats, commits, "
			"renames, deletes, pages of listings); 0: unlimited"),
	OPT_U64("servers", struct sim_options, servers, .def = 1, .min = 1, .max = SIM_SERVERS_MAX,
		.help = "servers that divide the bandwidth; an object lies on one of them at random"),
	OPT_BYTES(
		"stripe", struct sim_options, stripe, .def = 0,
		.help = "an object lies on another server from this many bytes on, and so forth; 0: "
			"whole on one"),
	OPT_REAL(
		"imbalance", struct sim_options, imbalance, .def_real = 0, .min_real = 0,
		.max_real = 1e6,
		.help = "so much more than the average lies on the fullest server: 0.2 is 20 % more"),
	LATENCY("latency", latency_ns,
		.help = "mean latency of a read or write; with p99, its median"),
	LATENCY("latency_stdev", latency_stdev_ns,
		.help = "its standard deviation (normal, before what is below 0 counts as 0)"),
	LATENCY("p50", p50_ns, .help = "median latency, together with p99, in place of latency"),
	LATENCY("p99", p99_ns, .help = "99 % of the latencies are at most that long (log-normal)"),
	OPT_LIST(
		"latencies", struct sim_options, latencies, latency_count, .min = 0,
		.table = latency_options,
		.help = "a measured distribution of latencies, in place of latency: shares and times "
			"that increase"),
	LATENCY("first_byte", first_byte_ns,
		.help = "time to the first byte, in addition to the latency"),
	LATENCY("open_latency", open_latency_ns,
		.help = "latency of open, stat, rename and a page of a listing"),
	LATENCY("begin_latency", begin_latency_ns, .help = "latency of beginning a new object"),
	LATENCY("commit_latency", commit_latency_ns,
		.help = "latency of a commit, and of closing an object that was written in place"),
	LATENCY("delete_latency", delete_latency_ns, .help = "latency of a delete"),
	OPT_REAL("stragglers", struct sim_options, stragglers, .def_real = 0, .min_real = 0,
		 .max_real = 1, .help = "chance that a read or write is slow"),
	OPT_REAL("straggler_speed", struct sim_options, straggler_speed, .def_real = 0.25,
		 .min_real = 1e-6, .max_real = 1,
		 .help = "speed of a slow one, of latency and bytes: 0.25 is a quarter"),
	OPT_REAL("cached", struct sim_options, cached, .def_real = 0, .min_real = 0, .max_real = 1,
		 .help = "chance that a read is answered by the node's own memory, at once"),
	OPT_REAL("failure_rate", struct sim_options, failure_rate, .def_real = 0, .min_real = 0,
		 .max_real = 1, .help = "chance that a read or write fails"),
	OPT_FACTORS("slow_ranks", struct sim_options, slow_ranks, .min_real = 1e-6, .max_real = 1e6,
		    .help = "a factor on the speed of each given rank: {\"3\": 0.25}"),
	OPT_END,
};

/* One way to say what the latency is. */
static int check_latency(const struct sim_options *o, const char *path, struct err *err)
{
	double before = 0;

	if (o->latency_stdev_ns && !o->latency_ns)
		return err_set(err, -EINVAL, "%s/latency_stdev: set latency, too", path);
	if (o->latency_stdev_ns && o->p99_ns)
		return err_set(err, -EINVAL, "%s/p99: say either p99 or latency_stdev", path);
	if (o->p50_ns && o->latency_ns)
		return err_set(err, -EINVAL, "%s/p50: say either p50 or latency", path);
	if (o->p50_ns && !o->p99_ns)
		return err_set(err, -EINVAL, "%s/p50: set p99, too", path);
	if (o->p99_ns && o->p99_ns < (o->p50_ns ? o->p50_ns : o->latency_ns))
		return err_set(err, -EINVAL, "%s/p99: must not be less than the median", path);
	if (o->p99_ns && !o->p50_ns && !o->latency_ns)
		return err_set(err, -EINVAL, "%s/p99: set latency (its median) or p50, too", path);
	if (o->latency_count && (o->latency_ns || o->p99_ns))
		return err_set(err, -EINVAL, "%s/latencies: say either latencies or latency", path);
	for (uint32_t i = 0; i < o->latency_count; i++) {
		const struct sim_latency *l = &o->latencies[i];

		if (l->share <= before || (i && l->within_ns < l[-1].within_ns))
			return err_set(err, -EINVAL,
				       "%s/latencies/%u: shares and times must increase", path, i);
		before = l->share;
	}
	return 0;
}

int sim_check(const void *options, const char *path, struct err *err)
{
	const struct sim_options *o = options;

	if (o->slow_ranks.count && !o->rank_bandwidth && !o->bandwidth)
		return err_set(
			err, -EINVAL,
			"%s/slow_ranks: has no effect on an unlimited store; set rank_bandwidth or bandwidth",
			path);
	if ((o->servers > 1 || o->stripe || o->imbalance > 0) && !o->bandwidth)
		return err_set(err, -EINVAL,
			       "%s/%s: has no effect on an unlimited store; set bandwidth", path,
			       o->servers > 1 ? "servers"
			       : o->stripe    ? "stripe"
					      : "imbalance");
	if ((o->stripe || o->imbalance > 0) && o->servers < 2)
		return err_set(err, -EINVAL, "%s/%s: set servers, too", path,
			       o->stripe ? "stripe" : "imbalance");
	if (o->imbalance > (double)o->servers - 1)
		return err_set(
			err, -EINVAL,
			"%s/imbalance: must be at most %llu, for then all lies on one of %llu "
			"servers",
			path, (unsigned long long)o->servers - 1, (unsigned long long)o->servers);
	return check_latency(o, path, err);
}
