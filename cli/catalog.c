/* SPDX-License-Identifier: Apache-2.0 */
/* The verb "catalog": lists the ready jobs, one line per job, with figures that the plan
 * computes. */
#include "cli/catalog_find.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "core/units.h"
#include "plan/plan.h"
#include "ranks/run/run.h"
#include "workloads/dataset/dataset.h"

enum {
	NAME_COLUMNS = 20,
	FILES_COLUMNS = 13,
	CATALOG_SIZE_COLUMNS = 11,
	RATE_COLUMNS = 11,
	TARGET_COLUMNS = 11
};

#define LEAST_RATE 0.01 /* GB/s; smaller rates would be printed as 0.00 */

static void catalog_print_rate(const struct plan *plan)
{
	char rate[UNITS_TEXT_BYTES] = "–", target[UNITS_TEXT_BYTES] = "–";
	uint32_t i;

	for (i = 0; i < plan->phase_count; i++) {
		const struct demand *d = &plan->phases[i].demand;
		double each;

		if (d->bytes_per_second <= 0 || isinf(d->bytes_per_second))
			continue;
		each = d->bytes_per_second / plan->ranks / 1e9;
		snprintf(rate, sizeof(rate), each < LEAST_RATE ? "< %.2f" : "%.2f",
			 each < LEAST_RATE ? LEAST_RATE : each);
		if (d->target > 0)
			snprintf(target, sizeof(target), "%.0f %%", d->target * 100);
		break;
	}
	cli_pad_left(rate, RATE_COLUMNS);
	cli_pad_left(target, TARGET_COLUMNS);
}

/* A figure that a phase adds to the plan of itself; 0: no phase has it. */
static double catalog_total(const struct plan *plan, const char *name)
{
	for (uint32_t i = 0; i < plan->phase_count; i++)
		for (uint32_t k = 0; k < plan->phases[i].told.total_count; k++)
			if (strcmp(plan->phases[i].told.totals[k].name, name) == 0)
				return plan->phases[i].told.totals[k].value;
	return 0;
}

/* The first data set, or one checkpoint. */
static void catalog_print_size(const struct plan *plan, const struct job *job)
{
	char files[UNITS_TEXT_BYTES] = "–", size[UNITS_TEXT_BYTES] = "–";
	double file_bytes = catalog_total(plan, "file_bytes");
	struct dataset d;

	if (job->dataset_count &&
	    dataset_init(&d, job->datasets[0].options, job->seed, "", NULL) == 0) {
		units_count(files, d.options.files);
		units_bytes_decimal(size, dataset_bytes_expected(&d));
	} else if (file_bytes > 0) {
		units_count(files, (uint64_t)catalog_total(plan, "files"));
		units_bytes_decimal(size, file_bytes);
	}
	cli_pad_left(files, FILES_COLUMNS);
	cli_pad_left(size, CATALOG_SIZE_COLUMNS);
}

static int catalog_print_job(void *argument, const char *name)
{
	char path[4096];
	struct err err = {0};
	struct plan plan;
	struct job job = {0};
	uint32_t ranks;
	int rc;

	if (argument && strncmp(name, argument, strlen(argument)) != 0)
		return 0;
	rc = catalog_resolve(name, path, sizeof(path), &err);
	if (rc == 0)
		rc = job_load(&job, plan_schema(), path, NULL, 0, &err);
	if (rc < 0) {
		cli_say("%s", err.text);
		return EXIT_FAILED;
	}
	ranks = job.cluster.ranks_per_node ? (uint32_t)job.cluster.ranks_per_node : 1;
	rc = plan_scale(&job, ranks, 1, &err);
	if (rc == 0)
		rc = plan_make(&plan, &job, ranks, 1, &err);
	if (rc == 0) {
		cli_pad(name, NAME_COLUMNS);
		catalog_print_size(&plan, &job);
		catalog_print_rate(&plan);
		putchar('\n');
		if (job.about[0])
			printf("  %s\n", job.about);
		plan_free(&plan);
	} else {
		cli_say("%s: %s", path, err.text);
	}
	job_free(&job);
	return rc < 0 ? EXIT_FAILED : 0;
}

static int catalog_run(const struct call *call)
{
	char folder[2048];
	int rc;

	if (!catalog_folder(folder, sizeof(folder))) {
		cli_say("no ready jobs are installed; set HAUL_CATALOG to their folder");
		return EXIT_FAILED;
	}
	cli_pad("job", NAME_COLUMNS);
	cli_pad_left("files", FILES_COLUMNS);
	cli_pad_left("size", CATALOG_SIZE_COLUMNS);
	cli_pad_left("GB/s each", RATE_COLUMNS);
	cli_pad_left("AU limit", TARGET_COLUMNS);
	putchar('\n');
	rc = catalog_each(catalog_print_job,
			  call->argument_count ? (void *)(uintptr_t)call->arguments[0] : NULL);
	if (rc < 0) {
		cli_say("%s: %s", folder, strerror(-rc));
		return EXIT_FAILED;
	}
	if (rc == 0)
		printf("\nGB/s each: what one accelerator reads when it is never idle. See also "
		       "haul plan JOB.\n");
	return rc;
}

const struct verb catalog_verb = {
	.name = "catalog",
	.arguments = "[BEGIN]",
	.help = "lists the ready jobs, or those that BEGIN so; each can be given as JOB",
	.example = "haul catalog mlperf",
	.arguments_max = 1,
	.run = catalog_run,
};
