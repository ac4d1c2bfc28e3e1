/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs for tests: see job_text.h. */
#include "tests/workloads/generate/job_text.h"

#include <stdio.h>
#include <string.h>

#include "backends/backend.h"
#include "workloads/dataset/dataset.h"

int job_of_text(struct job *job, const struct workload *workload, const char *text)
{
	const struct section *stores[16] = {NULL};
	const struct section *phases[] = {&workload->section, NULL};
	const struct job_schema schema = {
		.stores = stores, .dataset = &dataset_section, .phases = phases};
	const struct backend_ops *const *backends = backend_table();
	struct err err = {0};
	int rc;

	for (unsigned i = 0; backends[i] && i < 15; i++)
		stores[i] = &backends[i]->section;
	rc = job_parse(job, &schema, "test", text, strlen(text), NULL, 0, &err);
	if (rc < 0)
		fprintf(stderr, "%s\n", err.text);
	return rc;
}
