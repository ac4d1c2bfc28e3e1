/* SPDX-License-Identifier: Apache-2.0 */
/* What workloads of the catalogue need, from the plan of their jobs: see assess.h. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/utf8.h"
#include "plan/assess/assess.h"
#include "plan/option_ref.h"
#include "plan/plan.h"

const char *const assess_workloads[] = {
	"unet3d_h100", "unet3d_b200", "resnet50_h100",  "cosmoflow_h100",
	"dlrm_b200",   "flux_b200",   "retinanet_b200", "llama3_8b",
	"llama3_70b",  "llama3_405b", "llama3_1t",      "kvcache_users",
	NULL};

/* A figure that a phase tells about itself; 0: it does not. */
static double told(const struct plan_phase *p, const char *name)
{
	for (uint32_t i = 0; i < p->told.total_count; i++)
		if (strcmp(p->told.totals[i].name, name) == 0)
			return p->told.totals[i].value;
	return 0;
}

/* A number of the phase's options; 1 where it has no such. */
static double train_option(const struct job_phase *phase, const char *name)
{
	struct option_ref found;

	return option_find(phase->section, phase->options, phase->path, name, OPTION_U64, &found)
		       ? fmax((double)*(const uint64_t *)found.value, 1)
		       : 1;
}

static bool workload_train(const struct plan *plan, struct assess_workload *w)
{
	const struct plan_phase *train = NULL;

	for (uint32_t i = 0; i < plan->phase_count; i++) {
		const struct plan_phase *p = &plan->phases[i];

		for (uint32_t k = 0; k < p->store_count; k++)
			if (workload_purpose(p->phase) == PURPOSE_DATA)
				w->data_bytes += p->stores[k].space_bytes;
		if (workload_purpose(p->phase) == PURPOSE_TRAINING)
			train = p;
	}
	if (!train)
		return false;
	w->kind = ASSESS_TRAIN;
	w->target = train->demand.target > 0 ? train->demand.target : 1;
	w->bytes_per_second = train->demand.bytes_per_second;
	w->opens_per_second = train->demand.opens_per_second;
	w->run_seconds = train->demand.total_seconds;
	w->carried = w->found = (double)NAN;
	if (train->demand.steps_per_epoch && train->demand.epochs && train->demand.files) {
		w->files = (double)train->demand.files;
		w->step_bytes = w->data_bytes / (double)train->demand.steps_per_epoch;
		w->step_seconds = train->demand.seconds / (double)train->demand.steps_per_epoch;
		w->workers = train_option(train->phase, "workers");
		w->ahead = w->workers * train_option(train->phase, "prefetch");
	}
	return true;
}

/* How many checkpoints the job writes, and reads. */
static double checkpoint_count(const struct job_phase *phase)
{
	struct option_ref count;

	return option_find(phase->section, phase->options, phase->path, "count", OPTION_U64, &count)
		       ? (double)*(const uint64_t *)count.value
		       : 1;
}

static bool workload_checkpoint(const struct plan *plan, struct assess_workload *w)
{
	for (uint32_t i = 0; i < plan->phase_count; i++) {
		const struct plan_phase *p = &plan->phases[i];

		if (workload_purpose(p->phase) != PURPOSE_CHECKPOINTS)
			continue;
		w->kind = ASSESS_CHECKPOINT;
		w->data_bytes = told(p, "file_bytes");
		w->run_seconds = checkpoint_count(p->phase);
		return w->data_bytes > 0;
	}
	return false;
}

static bool workload_users(const struct plan *plan, struct assess_workload *w)
{
	for (uint32_t i = 0; i < plan->phase_count; i++) {
		const struct plan_phase *p = &plan->phases[i];

		if (workload_purpose(p->phase) != PURPOSE_CACHE)
			continue;
		w->kind = ASSESS_USERS;
		w->target = job_target(p->phase, "target_request_p95") / 1e9;
		w->bytes_per_second = told(p, "user_reads_per_second");
		w->written_per_second = told(p, "user_writes_per_second");
		w->request_bytes = told(p, "request_bytes_p95");
		w->data_bytes = w->carried = w->found = (double)NAN;
		w->run_seconds = p->demand.seconds;
		return w->target > 0 && w->request_bytes > 0;
	}
	return false;
}

/* A part of the job, which is measured as it stands there; "" where there is no room for it. */
static void keep_part(char out[ASSESS_TEXT_BYTES], const cJSON *part)
{
	char *text = part ? json_print_line(part) : NULL;

	if (text && strlen(text) < ASSESS_TEXT_BYTES)
		strcpy(out, text);
	free(text);
}

/* The only data set of the job, and its only phase of that kind. */
static void keep_parts(struct assess_workload *w, const char *name, const char *text)
{
	const char *kind = w->kind == ASSESS_TRAIN ? "train" : "kvcache";
	cJSON *job = cJSON_Parse(text), *entry,
	      *phases = cJSON_GetObjectItemCaseSensitive(job, "phases");
	unsigned count = 0;

	snprintf(w->data_phase, sizeof(w->data_phase), "%.60s_data", name);
	keep_part(w->dataset, cJSON_GetObjectItemCaseSensitive(job, "dataset"));
	cJSON_ArrayForEach(entry, phases)
	{
		const cJSON *phase = cJSON_GetObjectItemCaseSensitive(entry, kind);

		count += phase != NULL;
		/* A cache with several tiers is one of memory, too. */
		if (phase && !cJSON_HasObjectItem(phase, "tiers"))
			keep_part(w->phase, phase);
	}
	if (count != 1 || (w->kind == ASSESS_TRAIN && (w->step_seconds <= 0 || w->step_bytes <= 0)))
		w->phase[0] = '\0';
	cJSON_Delete(job);
}

int assess_add_workload(struct assess *a, const char *name, const char *text, size_t bytes,
			struct err *err)
{
	struct assess_workload *w = &a->workloads[a->workload_count];
	struct plan plan = {0};
	struct job job = {0};
	int rc;

	if (a->workload_count == ASSESS_WORKLOADS_MAX)
		return err_set(err, -EINVAL, "%s: more workloads than can be assessed", name);
	memset(w, 0, sizeof(*w));
	utf8_copy(w->name, sizeof(w->name), name);
	rc = job_parse(&job, plan_schema(), name, text, bytes, NULL, 0, err);
	if (rc == 0)
		rc = plan_scale(&job, 1, 1, err);
	if (rc == 0)
		rc = plan_make(&plan, &job, 1, 1, err);
	if (rc == 0 && !workload_train(&plan, w) && !workload_checkpoint(&plan, w) &&
	    !workload_users(&plan, w))
		rc = err_set(err, -EINVAL,
			     "%s: trains nothing, writes no checkpoints, and has no users of a "
			     "key-value cache with a target for their requests",
			     name);
	if (rc == 0 && w->kind != ASSESS_CHECKPOINT)
		keep_parts(w, name, text);
	a->workload_count += rc == 0;
	plan_free(&plan);
	job_free(&job);
	return rc;
}
