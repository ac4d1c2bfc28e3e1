/* SPDX-License-Identifier: Apache-2.0 */
/* Autoscaling: see autoscale.h. */
#include "workloads/kvcache/requests/autoscale.h"

#include <errno.h>
#include <math.h>

#include "core/time_ns.h"
#include "workloads/kvcache/requests/source_options.h"

enum { STEP_LEAST = 5, STEP_MOST = 100 };

/* The band around the target in which nothing changes, and the pressure that is too much by
 * itself. */
static const double band = 0.1, too_much = 1.2;
/* How even moved bytes are that have stayed the same (deviation over mean), and how much more
 * tokens are more. */
static const double even = 0.1, gain = 1.01;
static const double step_first = 0.4, step_next = 0.2; /* of the users */

static const char *const autoscale_modes[] = {"off", "qos", "capacity", NULL};

const struct option kv_autoscale_options_table[] = {
	OPT_CHOICE(
		"mode", struct kv_autoscale_options, mode, .choices = autoscale_modes,
		.help = "qos: as many users as keep the limits; capacity: ever more users, until no more "
			"tokens are generated, which ends the phase"),
	OPT_TIME("interval", struct kv_autoscale_options, interval_ns, .def = 10000ull * NS_PER_MS,
		 .min = NS_PER_MS, .max = 13 * NS_PER_D, .help = "time between two decisions"),
	OPT_U64("users_min", struct kv_autoscale_options, users_min, .def = 1, .min = 1,
		.max = KV_USERS_MAX, .help = "the fewest users of a rank"),
	OPT_U64("users_max", struct kv_autoscale_options, users_max, .def = 10000, .min = 1,
		.max = KV_USERS_MAX, .help = "the most users of a rank"),
	OPT_REAL("up", struct kv_autoscale_options, up, .def_real = 1.2, .min_real = 1,
		 .max_real = 1000, .help = "qos: factor by which there are more users"),
	OPT_REAL("down", struct kv_autoscale_options, down, .def_real = 0.8, .max_real = 1,
		 .help = "qos: factor by which there are fewer"),
	OPT_U64("samples", struct kv_autoscale_options, samples, .def = 2, .min = 1, .max = 1000,
		.help = "intervals in a row after which there are fewer users, or capacity is found"),
	OPT_U64("cooldown", struct kv_autoscale_options, cooldown, .def = 3, .max = 1000,
		.help = "qos: intervals after there were fewer users in which nothing changes"),
	OPT_U64("history", struct kv_autoscale_options, history, .def = 10, .min = 2,
		.max = KV_AUTOSCALE_HISTORY_MAX, .help = "qos: intervals that saturation looks at"),
	OPT_REAL("target", struct kv_autoscale_options, target, .def_real = 0.8, .max_real = 1,
		 .help = "qos: saturation to keep, from 0 to 1"),
	OPT_TIME("read_p95", struct kv_autoscale_options, read_ns, .def = 100 * NS_PER_MS, .min = 1,
		 .max = 13 * NS_PER_D, .help = "qos: limit of the 95th percentile of reads"),
	OPT_TIME("write_p95", struct kv_autoscale_options, write_ns, .def = 50 * NS_PER_MS,
		 .min = 1, .max = 13 * NS_PER_D,
		 .help = "qos: limit of the 95th percentile of writes"),
	OPT_U64("waiting", struct kv_autoscale_options, waiting, .def = 100, .min = 1,
		.help = "qos: limit of the requests that wait to be served"),
	OPT_END};

int kv_autoscale_check(const struct kv_autoscale_options *o, uint64_t users, const char *path,
		       struct err *err)
{
	if (o->mode == KV_AUTOSCALE_OFF)
		return 0;
	if (o->users_min > o->users_max)
		return err_set(err, -EINVAL, "%s/autoscaling/users_max: must be at least users_min",
			       path);
	if (users < o->users_min || users > o->users_max)
		return err_set(err, -EINVAL,
			       "%s/users: must be within users_min and users_max of autoscaling",
			       path);
	return 0;
}

void kv_autoscale_open(struct kv_autoscale *a, const struct kv_autoscale_options *options,
		       uint64_t users)
{
	*a = (struct kv_autoscale){.options = options, .users = users};
}

static double autoscale_pressure(const struct kv_autoscale_options *o,
				 const struct kv_autoscale_sample *s)
{
	double read = (double)s->read_p95_ns / (double)o->read_ns;
	double write = (double)s->write_p95_ns / (double)o->write_ns;
	double waiting = (double)s->waiting / (double)o->waiting;

	return fmax(read, fmax(write, waiting));
}

/* Whether values of the last intervals, oldest first, rise: the sign of the slope of the line
 * through them. */
static bool autoscale_rises(const double *values, uint64_t count, uint64_t first)
{
	double slope = 0, middle = (double)(count - 1) / 2;

	for (uint64_t i = 0; i < count; i++)
		slope += ((double)i - middle) * values[(first + i) % count];
	return slope > 0;
}

static bool autoscale_even(const double *values, uint64_t count)
{
	double sum = 0, squares = 0, mean;

	for (uint64_t i = 0; i < count; i++)
		sum += values[i];
	mean = sum / (double)count;
	for (uint64_t i = 0; i < count; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	return sqrt(squares / (double)count) < even * mean;
}

static double autoscale_saturation(const struct kv_autoscale *a)
{
	uint64_t history = a->options->history, first = a->samples % history;
	double last = a->pressure[(a->samples - 1) % history], most = 0;

	if (last > too_much)
		return 1;
	if (a->samples < history)
		return 0;
	for (uint64_t i = 0; i < history; i++)
		most = fmax(most, a->pressure[i]);
	if (!autoscale_even(a->bytes, history) || !autoscale_rises(a->pressure, history, first))
		return fmin(most, 1) / 2;
	return fmin(most, 1);
}

static void autoscale_qos(struct kv_autoscale *a)
{
	const struct kv_autoscale_options *o = a->options;
	uint64_t users = a->users;

	if (a->cooling) {
		a->cooling--;
		return;
	}
	a->agreeing = a->saturation > o->target * (1 + band) ? a->agreeing + 1 : 0;
	if (a->agreeing >= o->samples) {
		users = (uint64_t)((double)users * o->down);
		a->users = users > o->users_min ? users : o->users_min;
		a->agreeing = 0;
		a->cooling = o->cooldown;
	} else if (a->saturation < o->target * (1 - band)) {
		users = (uint64_t)((double)users * o->up);
		users += users == a->users && o->up > 1;
		a->users = users < o->users_max ? users : o->users_max;
	}
}

static void autoscale_step(struct kv_autoscale *a, double part)
{
	uint64_t step = (uint64_t)((double)a->users * part);

	step = step < STEP_LEAST ? STEP_LEAST : step > STEP_MOST ? STEP_MOST : step;
	a->users =
		a->users + step < a->options->users_max ? a->users + step : a->options->users_max;
}

static void autoscale_capacity(struct kv_autoscale *a, double tokens)
{
	bool first = a->samples == 1;

	if (first || tokens > a->peak * gain) {
		a->peak = tokens;
		a->peak_users = a->users;
		a->agreeing = 0;
		autoscale_step(a, first ? step_first : step_next);
		return;
	}
	a->done = ++a->agreeing >= a->options->samples;
}

uint64_t kv_autoscale_next(struct kv_autoscale *a, const struct kv_autoscale_sample *sample)
{
	const struct kv_autoscale_options *o = a->options;
	uint64_t at = a->samples++ % o->history;

	a->pressure[at] = autoscale_pressure(o, sample);
	a->bytes[at] = sample->bytes;
	a->saturation = autoscale_saturation(a);
	if (o->mode == KV_AUTOSCALE_QOS && a->pressure[at] <= 1 && a->users > a->carried)
		a->carried = a->users;
	if (o->mode == KV_AUTOSCALE_QOS)
		autoscale_qos(a);
	else if (o->mode == KV_AUTOSCALE_CAPACITY && !a->done)
		autoscale_capacity(a, sample->tokens);
	return a->users;
}
