/* SPDX-License-Identifier: Apache-2.0 */
/* Phases of a DLIO workload. */
#include "import/dlio/parts.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "core/numbers.h"

/* Whether the job has a data set for evaluation, too. */
static bool phases_have_two(const struct cJSON *job)
{
	return cJSON_GetObjectItemCaseSensitive(job, "datasets") != NULL;
}

static cJSON *phase_add(cJSON *phases, const char *kind)
{
	cJSON *phase = cJSON_CreateObject();

	cJSON_AddItemToArray(phases, phase);
	return cJSON_AddObjectToObject(phase, kind);
}

static void phase_add_generate(struct dlio *d, cJSON *phases, bool two)
{
	static const char *const names[] = {"train", "valid"};

	for (unsigned i = 0; i < (two ? 2 : 1); i++) {
		cJSON *generate = phase_add(phases, "generate");

		if (two)
			cJSON_AddStringToObject(generate, "dataset", names[i]);
		if (dlio_number(d, "reader.write_threads") > 1)
			cJSON_AddNumberToObject(generate, "threads",
						dlio_number(d, "reader.write_threads"));
	}
}

/* TensorFlow reads as many files side by side as it has threads. */
static void phase_add_stream(struct dlio *d, cJSON *loader, double workers)
{
	cJSON *stream = cJSON_AddObjectToObject(loader, "stream");
	double transfer = dlio_number(d, "reader.transfer_size");

	cJSON_AddNumberToObject(stream, "interleave", fmax(workers, 1));
	if (transfer > 0)
		cJSON_AddNumberToObject(stream, "transfer", fmax(transfer, 512));
}

/* DLIO asks torch for ceil(prefetch / workers) batches per worker, and for 2 where prefetch is 0;
 * tf.data and DALI prefetch that many batches in all. */
static void phase_add_loader(struct dlio *d, cJSON *train)
{
	cJSON *loader = cJSON_AddObjectToObject(train, "loader");
	double workers = dlio_number(d, "reader.read_threads");
	double prefetch = dlio_number(d, "reader.prefetch_size");
	const char *name = dlio_text(d, "reader.data_loader");

	if (!d->tensorflow)
		prefetch = prefetch > 0 ? ceil(prefetch / (workers > 0 ? workers : 1)) : 2;
	cJSON_AddStringToObject(loader, "kind",
				d->streams      ? "stream"
				: d->daos       ? "batch"
				: d->tensorflow ? "sample"
						: "pytorch");
	cJSON_AddNumberToObject(loader, "workers", workers);
	cJSON_AddNumberToObject(loader, "prefetch", prefetch > 0 ? prefetch : 1);
	if (d->streams)
		phase_add_stream(d, loader, workers);
	if (dlio_bool(d, "reader.pin_memory"))
		cJSON_AddTrueToObject(loader, "pin_memory");
	if (strcmp(name, "custom") == 0 || strcmp(name, "none") == 0)
		dlio_found(d, IMPORT_CHANGED, "reader.data_loader",
			   "haul loads no Python class: it emulates torch's loader");
	if (d->synthetic && strcmp(name, "synthetic") == 0)
		dlio_found(
			d, IMPORT_CHANGED, "reader.data_loader",
			"haul emulates torch's loader on null://; DLIO itself stops with an error");
}

static bool is_shuffled(struct dlio *d, const char *path)
{
	return strcmp(dlio_switch(d, path), "off") != 0;
}

static void phase_add_shuffle(struct dlio *d, cJSON *train)
{
	bool files = is_shuffled(d, "reader.file_shuffle"),
	     samples = is_shuffled(d, "reader.sample_shuffle");
	const char *order = dlio_bool(d, "train.seed_change_epoch") ? "each_epoch" : "once";
	bool as_dlio = d->as == IMPORT_AS_DLIO_BUGS;
	cJSON *shuffle;

	if (as_dlio && !d->tensorflow && (files || samples)) {
		files = samples = false;
		dlio_found(d, IMPORT_CHANGED, "reader.sample_shuffle",
			   "as DLIO does with torch: it shuffles nothing");
	} else if (as_dlio && !files && cJSON_IsString(dlio_at(d, "reader.file_shuffle"))) {
		files = true;
		dlio_found(d, IMPORT_CHANGED, "reader.file_shuffle",
			   "as DLIO does where \"off\" is a text: it shuffles files");
	}
	if (!files && !samples) {
		cJSON_AddStringToObject(train, "shuffle", "none");
		return;
	}
	shuffle = cJSON_AddObjectToObject(train, "shuffle");
	cJSON_AddStringToObject(shuffle, "order", order);
	cJSON_AddBoolToObject(shuffle, "files", files);
	cJSON_AddBoolToObject(shuffle, "samples", samples);
	/* TensorFlow reads records in their order and draws from a shuffle buffer. */
	if (samples && d->streams)
		cJSON_AddNumberToObject(shuffle, "window",
					fmax(dlio_number(d, "reader.shuffle_size"), 1));
}

/* Drawn times: the distributions that DLIO has. */
static const struct {
	const char *type;
	const char *from[2], *to[2]; /* DLIO's names, haul's */
} draws[] = {
	{"normal", {"mean", "stdev"}, {"mean", "stdev"}},
	{"uniform", {"min", "max"}, {"min", "max"}},
	{"gamma", {"shape", "scale"}, {"shape", "scale"}},
	{"exponential", {"scale", NULL}, {"mean", NULL}},
	{"poisson", {"lam", NULL}, {"mean", NULL}},
};

static void draw_check_parts(struct dlio *d, const char *path, const cJSON *value, unsigned kind)
{
	const cJSON *child;

	cJSON_ArrayForEach(child, value)
	{
		bool known = strcmp(child->string, "type") == 0;

		for (unsigned i = 0; i < 2; i++)
			known |= draws[kind].from[i] &&
				 strcmp(child->string, draws[kind].from[i]) == 0;
		if (!known)
			dlio_refuse(d, "%s.%.64s: %s has no such key", path, child->string,
				    draws[kind].type);
	}
}

static cJSON *draw_make(struct dlio *d, const char *path, const cJSON *value, unsigned kind)
{
	cJSON *out = cJSON_CreateObject();

	draw_check_parts(d, path, value, kind);
	cJSON_AddStringToObject(out, "type", draws[kind].type);
	for (unsigned i = 0; i < 2 && draws[kind].from[i]; i++) {
		const cJSON *part = cJSON_GetObjectItemCaseSensitive(value, draws[kind].from[i]);

		if (!cJSON_IsNumber(part))
			dlio_refuse(d, "%s.%s: must be a number", path, draws[kind].from[i]);
		else
			cJSON_AddNumberToObject(out, draws[kind].to[i], part->valuedouble);
	}
	/* numpy's Poisson distribution counts events; DLIO takes each of them as one second. */
	if (strcmp(draws[kind].type, "poisson") == 0)
		cJSON_AddNumberToObject(out, "unit", 1);
	return out;
}

static cJSON *draw_object(struct dlio *d, const char *path, const cJSON *value)
{
	const cJSON *type = cJSON_GetObjectItemCaseSensitive(value, "type");
	const cJSON *mean = cJSON_GetObjectItemCaseSensitive(value, "mean");
	const char *name = cJSON_IsString(type) ? type->valuestring : "normal";

	if (type && !cJSON_IsString(type))
		dlio_refuse(d, "%s: type must be a text", path);
	if (!type && cJSON_IsNumber(mean) && !mean->next && mean == value->child)
		return cJSON_CreateNumber(mean->valuedouble);
	for (unsigned i = 0; i < COUNT(draws); i++)
		if (strcmp(draws[i].type, name) == 0)
			return draw_make(d, path, value, i);
	dlio_refuse(d, "%s: type must be normal, uniform, gamma, exponential or poisson", path);
	return NULL;
}

/* Adds the time at path, with its standard deviation at stdev_path, to an object of the job;
 * nothing where the text gives none. */
static void draw_add(struct dlio *d, struct cJSON *to, const char *name, const char *path,
		     const char *stdev_path)
{
	const cJSON *value = dlio_at(d, path);
	double stdev = cJSON_IsNumber(value) ? dlio_number(d, stdev_path) : 0;
	cJSON *draw;

	/* {} is DLIO's default: no time at all. */
	if (!value || (cJSON_IsObject(value) && !value->child))
		return;
	if (cJSON_IsObject(value)) {
		draw = draw_object(d, path, value);
	} else if (stdev > 0) {
		draw = cJSON_CreateObject();
		cJSON_AddStringToObject(draw, "type", "normal");
		cJSON_AddNumberToObject(draw, "mean", value->valuedouble);
		cJSON_AddNumberToObject(draw, "stdev", stdev);
	} else {
		draw = cJSON_CreateNumber(value->valuedouble);
	}
	if (!cJSON_AddItemToObject(to, name, draw)) {
		cJSON_Delete(draw);
		dlio_no_memory(d);
	}
}

static void phase_add_evaluation(struct dlio *d, cJSON *train)
{
	double every = dlio_number(d, "evaluation.epochs_between_evals");
	double first = dlio_number(d, "evaluation.eval_after_epoch");
	cJSON *evaluation;

	if (!d->evaluates)
		return;
	every = every > 0 ? every : 1;
	evaluation = cJSON_AddObjectToObject(train, "evaluation");
	cJSON_AddNumberToObject(evaluation, "every", every);
	cJSON_AddStringToObject(evaluation, "dataset", "valid");
	cJSON_AddNumberToObject(evaluation, "batch", dlio_number(d, "reader.batch_size_eval"));
	if (first != every)
		dlio_found(d, IMPORT_CHANGED, "evaluation.eval_after_epoch",
			   "haul evaluates every %.0f epochs, and first after epoch %.0f", every,
			   every);
	draw_add(d, evaluation, "compute", "evaluation.eval_time", "evaluation.eval_time_stdev");
}

static void phase_add_steps(struct dlio *d, cJSON *train)
{
	double steps = dlio_number(d, "train.total_training_steps");

	cJSON_AddNumberToObject(train, "epochs", dlio_number(d, "train.epochs"));
	if (steps <= 0)
		return;
	cJSON_AddNumberToObject(train, "steps", steps);
	if (dlio_number(d, "train.epochs") > 1)
		dlio_found(
			d, IMPORT_CHANGED, "train.total_training_steps",
			"haul takes it as the steps of the whole phase; DLIO takes as many in each "
			"epoch");
}

/* DLIO's own files give a fraction such as 0.9; some others give a percentage. */
static void phase_add_target(struct dlio *d, cJSON *train)
{
	double au = dlio_number(d, "metric.au");

	if (au < 0 || au > 100)
		dlio_refuse(d, "metric.au: must be from 0 to 1, is %g", au);
	cJSON_AddNumberToObject(train, "target_au", au > 1 ? au / 100 : au);
	if (au > 1)
		dlio_found(d, IMPORT_CHANGED, "metric.au",
			   "haul takes a value above 1 for a percentage");
}

static void phase_add_train(struct dlio *d, cJSON *phases, bool two)
{
	cJSON *train = phase_add(phases, "train");

	if (two)
		cJSON_AddStringToObject(train, "dataset", "train");
	phase_add_steps(d, train);
	cJSON_AddNumberToObject(train, "batch", dlio_number(d, "reader.batch_size"));
	draw_add(d, train, "compute", "train.computation_time", "train.computation_time_stdev");
	draw_add(d, train, "preprocess", "reader.preprocess_time", "reader.preprocess_time_stdev");
	phase_add_loader(d, train);
	phase_add_shuffle(d, train);
	cJSON_AddStringToObject(train, "sync", "step");
	cJSON_AddNumberToObject(train, "warmup_steps",
				dlio_number(d, "output.metric.exclude_start_steps"));
	phase_add_target(d, train);
	if (d->saves)
		dlio_add_saves(d, train);
	phase_add_evaluation(d, train);
}

void dlio_add_phases(struct dlio *d, struct cJSON *job)
{
	cJSON *phases = cJSON_AddArrayToObject(job, "phases");

	if (d->generates)
		phase_add_generate(d, phases, phases_have_two(job));
	if (d->checkpoints)
		dlio_add_checkpoints(d, phases);
	else if (d->trains)
		phase_add_train(d, phases, phases_have_two(job));
}
