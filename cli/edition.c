/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of an edition: see edition.h. */
#include "cli/edition.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/catalog.h"
#include "core/file_read.h"
#include "core/json.h"
#include "core/json_path.h"
#include "judge/judge.h"

enum { LOOK_PATH_BYTES = 4096, LOOK_BYTES = 1 << 20, LOOK_DEPTH = 8, LOOK_VALUES = 1 << 14 };

int edition_read(struct rules **out, const char *edition, const char *file, struct err *err)
{
	char path[LOOK_PATH_BYTES];
	int rc = 0;

	*out = calloc(1, sizeof(**out));
	if (!*out)
		return err_set(err, -ENOMEM, "no memory for the rules");
	if (!file)
		rc = catalog_edition(edition ? edition : EDITION_USUAL, path, sizeof(path), err);
	return rc < 0 ? rc : rules_read(*out, file ? file : path, err);
}

void edition_free(struct rules *r)
{
	if (r)
		rules_free(r);
	free(r);
}

int edition_data(struct editions **out, const char *benchmark, struct err *err)
{
	char folder[LOOK_PATH_BYTES], path[LOOK_PATH_BYTES + 16];

	*out = NULL;
	if (!catalog_folder(folder, sizeof(folder)))
		return err_set(err, -ENOENT, "there is no catalogue with the editions of MLPerf");
	snprintf(path, sizeof(path), "%s/editions", folder);
	return editions_read(out, path, benchmark, err);
}

struct rule_sizes edition_sizes(void)
{
	struct rule_sizes sizes = {0};
	struct rules *rules = NULL;

	if (edition_read(&rules, NULL, NULL, NULL) == 0)
		sizes = rules_sizes(rules);
	edition_free(rules);
	return sizes;
}

const char *edition_of_rules(const struct rules *r)
{
	static const char before[] = "MLPerf Storage ";

	return strncmp(r->edition, before, sizeof(before) - 1) == 0
		       ? r->edition + sizeof(before) - 1
		       : "";
}

bool edition_is(const char *file)
{
	char *text = NULL;
	size_t length;
	cJSON *json = NULL;
	bool is = file_read(file, LOOK_BYTES, &text, &length, NULL) == 0 &&
		  json_parse(&json, text, length, LOOK_DEPTH, LOOK_VALUES, NULL) == 0 &&
		  json_at(json, "edition");

	json_free(json);
	free(text);
	return is;
}

/* Of the editions' files those are read by which a phase may have a class. */
static int class_of_any(struct workload_class out[CLASSES_MAX], const struct job *job,
			const struct plan *plan, const struct cJSON *job_json, struct err *err)
{
	struct editions *editions = NULL;
	bool trains = false, saves = false;
	int rc = 0;

	for (uint32_t i = 0; i < plan->phase_count; i++) {
		trains |= workload_purpose(plan->phases[i].phase) == PURPOSE_TRAINING;
		saves |= workload_purpose(plan->phases[i].phase) == PURPOSE_CHECKPOINTS;
	}
	if ((trains || saves) &&
	    edition_data(&editions,
			 trains && saves ? NULL
					 : edition_benchmark_of(trains ? PURPOSE_TRAINING
								       : PURPOSE_CHECKPOINTS),
			 NULL) == 0)
		rc = class_of_plan(out, editions, job, plan, job_json, err);
	editions_free(editions);
	return rc;
}

int class_add_to_plan(struct plan *plan, const struct job *job, struct err *err)
{
	cJSON *json = NULL;
	int rc = check_job_json(&json, job, err);

	if (rc == 0)
		rc = class_of_any(plan->classes, job, plan, json, err);
	json_free(json);
	plan->class_count = rc > 0 ? (uint32_t)rc : 0;
	return rc < 0 ? rc : 0;
}

uint32_t class_of_results(struct workload_class out[CLASSES_MAX], const struct results_file *f)
{
	struct check_job j = {.job_json = NULL};
	int rc = check_job_of_file(&j, f, 0, NULL);

	if (rc == 0)
		rc = class_of_any(out, &j.job, &j.plan, j.job_json, NULL);
	check_job_free(&j);
	return rc > 0 ? (uint32_t)rc : 0;
}
