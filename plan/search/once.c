/* SPDX-License-Identifier: Apache-2.0 */
/* Which phases a search has to run only once: see once.h. */
#include "plan/search/once.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"
#include "core/json.h"
#include "workloads/dataset/dataset.h"
#include "workloads/workload.h"

bool once_each(const struct job *job, uint32_t judged, uint32_t phase, bool *before)
{
	const struct job_together *together = job->phases[judged].together;

	*before = phase < judged;
	return phase == judged || (together && job->phases[phase].together == together);
}

static bool once_write(FILE *out, const struct section *section, const void *options)
{
	cJSON *json = options_to_json(section->tables, options);
	char *text = json ? json_print(json) : NULL;
	bool whole = text && fprintf(out, "%s %s\n", section->name, text) > 0;

	cJSON_Delete(json);
	free(text);
	return whole;
}

/* Where the data lie and what they are, but not how they are moved: another engine of a store makes
 * the same data. What makes data for all ranks does not depend on how many take part. */
static bool once_describe(FILE *out, const struct job *job, uint32_t judged,
			  const struct phase_filter *filter)
{
	bool whole = true, before;

	for (uint32_t i = 0; i < job->store_count; i++) {
		const struct store_options *common = job->stores[i].options;

		for (uint32_t k = 0; k < common->uri.count; k++)
			fprintf(out, "%s ", common->uri.items[k]);
	}
	fprintf(out, "%" PRIu64 "\n", job->seed);
	for (uint32_t i = 0; i < job->dataset_count; i++)
		whole = whole && once_write(out, &dataset_section, job->datasets[i].options);
	for (uint32_t i = 0; i < job->phase_count; i++) {
		const struct job_phase *phase = &job->phases[i];

		if (once_each(job, judged, i, &before) || !before ||
		    (filter && !phase_filter_wants(filter, phase)))
			continue;
		if (!((const struct workload *)phase->section->owner)->generating)
			fprintf(out, "%" PRIu64 " ranks ", job->ranks);
		whole = whole && once_write(out, phase->section, phase->options);
	}
	return whole;
}

int once_see(struct once *o, const struct job *job, uint32_t judged,
	     const struct phase_filter *filter, struct err *err)
{
	const struct job_phase *phase = &job->phases[judged];
	const struct workload *workload = phase->section->owner;
	size_t size = 0;
	char *text = NULL;
	FILE *out;
	bool whole;

	o->again = o->again || !workload->leaves || !workload->leaves(phase);
	if (o->again)
		return 0;
	out = open_memstream(&text, &size);
	whole = out && once_describe(out, job, judged, filter);
	if (out && fclose(out) != 0)
		whole = false;
	if (!whole) {
		free(text);
		return err_set(err, -ENOMEM, "no memory for what a search has made");
	}
	o->again = o->before && strcmp(o->before, text) != 0;
	if (o->before)
		free(text);
	else
		o->before = text;
	return 0;
}

void once_free(struct once *o)
{
	free(o->before);
	*o = (struct once){.before = NULL};
}
