/* SPDX-License-Identifier: Apache-2.0 */
/* Look-up of catalogue jobs: see catalog.h. */
#include "cli/catalog.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/numbers.h"
#include "core/option/option.h"
#include "core/units.h"
#include "haul_build.h"
#include "plan/plan.h"
#include "ranks/run/run.h"
#include "workloads/dataset/dataset.h"

enum { NAMES_MAX = 1024, LIST_BYTES = 768 };

static bool catalog_is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Finds PREFIX/share/haul/catalog for PREFIX/bin/haul, because an installation may have been
 * moved. */
static bool catalog_beside_program(char *path, unsigned bytes)
{
	char program[2048], *slash;
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (n <= 0)
		return false;
	program[n] = '\0';
	slash = strrchr(program, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return (unsigned)snprintf(path, bytes, "%s/../share/haul/catalog", program) < bytes &&
	       catalog_is_folder(path);
}

const char *catalog_folder(char *path, unsigned bytes)
{
	const char *named = getenv("HAUL_CATALOG");

	if (named && *named) {
		snprintf(path, bytes, "%s", named);
		return path;
	}
	if (catalog_beside_program(path, bytes))
		return path;
	snprintf(path, bytes, "%s", HAUL_CATALOG_SOURCE);
	if (catalog_is_folder(path))
		return path;
	snprintf(path, bytes, "%s", HAUL_CATALOG_INSTALLED);
	return catalog_is_folder(path) ? path : NULL;
}

static int catalog_is_job(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return entry->d_name[0] != '.' && length > 5 &&
	       strcmp(entry->d_name + length - 5, ".json") == 0;
}

int catalog_each(int (*found)(void *argument, const char *name), void *argument)
{
	struct dirent **entries;
	char folder[2048];
	int n, i, rc = 0;

	if (!catalog_folder(folder, sizeof(folder)))
		return -ENOENT;
	n = scandir(folder, &entries, catalog_is_job, alphasort);
	if (n < 0)
		return -errno;
	for (i = 0; i < n; i++) {
		entries[i]->d_name[strlen(entries[i]->d_name) - 5] = '\0';
		if (rc == 0)
			rc = found(argument, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return rc;
}

struct catalog_names {
	unsigned count;
	const char *names[NAMES_MAX + 1]; /* the last is NULL */
};

static int names_add(void *argument, const char *name)
{
	struct catalog_names *n = argument;

	if (n->count < NAMES_MAX) {
		n->names[n->count] = strdup(name);
		n->count += n->names[n->count] ? 1 : 0;
	}
	return 0;
}

static void names_free(struct catalog_names *n)
{
	for (unsigned i = 0; i < n->count; i++)
		free((void *)(uintptr_t)n->names[i]);
}

/* Lists the names that begin with word, such as "unet3d_a100, unet3d_demo" for "unet3d", or, where
 * none does, those that contain it, as many as there is room for. Returns their number. */
static unsigned names_like(const struct catalog_names *n, const char *word, bool begin, char *list,
			   unsigned bytes)
{
	unsigned found = 0, length = 0;

	list[0] = '\0';
	for (unsigned i = 0; *word && i < n->count; i++) {
		const char *there = strcasestr(n->names[i], word);

		if (!there || (begin && there != n->names[i]))
			continue;
		if (length + strlen(n->names[i]) + sizeof(", ...") > bytes) {
			snprintf(list + length, bytes - length, ", ...");
			return found;
		}
		length += (unsigned)snprintf(list + length, bytes - length, "%s%s",
					     found ? ", " : "", n->names[i]);
		found++;
	}
	return found;
}

static int catalog_refuse(const char *job, struct err *err)
{
	struct catalog_names known = {0};
	char list[LIST_BYTES];
	const char *near;
	unsigned n;
	int rc;

	catalog_each(names_add, &known);
	n = names_like(&known, job, true, list, sizeof(list));
	if (!n)
		n = names_like(&known, job, false, list, sizeof(list));
	near = option_nearest(job, known.names);
	if (n)
		rc = err_set(err, -ENOENT,
			     "\"%s\" is not a file, and no ready job is called that; there %s %s",
			     job, n > 1 ? "are" : "is", list);
	else if (near)
		rc = err_set(err, -ENOENT,
			     "\"%s\" is not a file, and no ready job is called that; did you mean "
			     "\"%s\"?",
			     job, near);
	else
		rc = err_set(err, -ENOENT,
			     "\"%s\" is not a file, and no ready job is called that; haul catalog "
			     "lists them",
			     job);
	names_free(&known);
	return rc;
}

/* The ready job of another spelling: "llama3.1-8b" is llama3_8b. */
static bool catalog_spelled(const char *job, const char *folder, char *path, unsigned bytes)
{
	struct catalog_names known = {0};
	const char *name;
	bool found;

	catalog_each(names_add, &known);
	name = option_spelled(job, known.names);
	found = name && (unsigned)snprintf(path, bytes, "%s/%s.json", folder, name) < bytes;
	names_free(&known);
	return found;
}

int catalog_resolve(const char *job, char *path, unsigned bytes, struct err *err)
{
	char folder[2048];

	if (access(job, F_OK) == 0) {
		if ((unsigned)snprintf(path, bytes, "%s", job) >= bytes)
			return err_set(err, -ENAMETOOLONG, "%.64s…: the path is too long", job);
		return 0;
	}
	if (!strchr(job, '/') && catalog_folder(folder, sizeof(folder)) &&
	    (unsigned)snprintf(path, bytes, "%s/%s.json", folder, job) < bytes &&
	    access(path, F_OK) == 0)
		return 0;
	if (!strchr(job, '/') && catalog_folder(folder, sizeof(folder)) &&
	    catalog_spelled(job, folder, path, bytes))
		return 0;
	if (strchr(job, '/') || strstr(job, ".json"))
		return err_set(err, -ENOENT, "%s: %s", job, strerror(ENOENT));
	return catalog_refuse(job, err);
}

void catalog_rules(const char *rules, char *path, unsigned bytes)
{
	static const char *const folders[] = {"rules", "editions"};
	struct stat there;
	char folder[2048];

	if ((stat(rules, &there) != 0 || S_ISDIR(there.st_mode)) && !strchr(rules, '/') &&
	    catalog_folder(folder, sizeof(folder)))
		for (unsigned i = 0; i < COUNT(folders); i++)
			if ((unsigned)snprintf(path, bytes, "%s/%s/%s.json", folder, folders[i],
					       rules) < bytes &&
			    access(path, F_OK) == 0)
				return;
	snprintf(path, bytes, "%s", rules);
}

int catalog_edition(const char *edition, char *path, unsigned bytes, struct err *err)
{
	char folder[2048];

	if (!strchr(edition, '/') && catalog_folder(folder, sizeof(folder)) &&
	    (unsigned)snprintf(path, bytes, "%s/editions/mlperf-%s.json", folder, edition) <
		    bytes &&
	    access(path, F_OK) == 0)
		return 0;
	return err_set(err, -ENOENT,
		       "--edition %s: the catalogue has no such rules; --rules FILE names others",
		       edition);
}

int catalog_published(char *path, unsigned bytes, struct err *err)
{
	char folder[2048];

	if (catalog_folder(folder, sizeof(folder)) &&
	    (unsigned)snprintf(path, bytes, "%s/published/values.json", folder) < bytes &&
	    access(path, F_OK) == 0)
		return 0;
	return err_set(err, -ENOENT,
		       "the catalogue has no published values; --rows FILE names others");
}

/* The verb "catalog": lists the ready jobs, one line per job, with figures that the plan
 * computes. */

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
