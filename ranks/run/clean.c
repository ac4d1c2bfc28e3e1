/* SPDX-License-Identifier: Apache-2.0 */
/* The verb "clean" on all ranks: each kind of phase removes what it made. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/units.h"
#include "ranks/run/progress.h"
#include "ranks/run/state.h"
#include "workloads/common/clean.h"
#include "workloads/workload.h"

/* "removed 200 files, 1.2 GB; left 3 files that are not as haul made them, as file:///d/img_7; a
 * folder stays: …" */
static void clean_message(struct run *run, const struct clean_counts *counts)
{
	char count[UNITS_COUNTED_BYTES], bytes[UNITS_TEXT_BYTES], *out = run->message;
	size_t room = sizeof(run->message), n;

	n = (size_t)snprintf(out, room, "removed %s, %s",
			     units_counted(count, counts->removed, "file"),
			     units_bytes_decimal(bytes, (double)counts->removed_bytes));
	if (counts->versions)
		n += (size_t)snprintf(out + n, room - n,
				      "; the bucket keeps %s of what was removed",
				      units_counted(count, counts->versions, "version"));
	if (counts->parts)
		n += (size_t)snprintf(out + n, room - n, "; removed %s",
				      units_counted(count, counts->parts, "unfinished file"));
	if (counts->uploads)
		n += (size_t)snprintf(out + n, room - n, "; dropped %s",
				      units_counted(count, counts->uploads, "unfinished upload"));
	if (counts->buckets)
		n += (size_t)snprintf(out + n, room - n, "; removed the bucket that haul had made");
	if (counts->kept)
		n += (size_t)snprintf(
			out + n, room - n, "; left %s that %s not as haul made %s%s%.300s",
			units_counted(count, counts->kept, "file"),
			counts->kept == 1 ? "is" : "are", counts->kept == 1 ? "it" : "them",
			counts->kept_name[0] ? ", as " : "", counts->kept_name);
	if (n < room && counts->unmade)
		n += (size_t)snprintf(out + n, room - n, "; %s %s never made: %.300s holds nothing",
				      units_counted(count, counts->unmade, "data set"),
				      counts->unmade == 1 ? "was" : "were", counts->unmade_name);
	if (n < room && counts->holds[0])
		snprintf(out + n, room - n, "; a folder stays: %.400s", counts->holds);
}

/* Cleans in reverse order of making. What one kind cannot remove keeps none of the others. */
static int clean_all(struct phase_context *ctx, struct clean_counts *counts, struct err *err)
{
	const struct workload *const *table = workload_table();
	struct err one = {0};
	unsigned n = 0;
	int first = 0;

	while (table[n])
		n++;
	while (n--)
		if (table[n]->clean &&
		    !clean_goes_on(table[n]->clean(ctx, counts, &one), &one, &first, err))
			break;
	return first;
}

/* "stopped by a signal; up to 300 objects remain: haul clean JOB goes on" */
static void clean_stopped(const struct clean_counts *counts, const char *job, struct err *err)
{
	char count[UNITS_COUNTED_BYTES] = "objects may";

	if (counts->remain)
		units_counted(count, counts->remain, "object");
	err_set(err, -EINTR, "stopped by a signal; %s%s remain: haul clean %.300s goes on",
		counts->remain ? "up to " : "", count, job);
}

enum exit_status run_clean(struct run *run, const char *job, struct err *err)
{
	struct clean_counts counts = {0};
	struct progress_line line;
	struct phase_context ctx = {
		.job = &run->job,
		.place = &run->place,
		.group = run->world,
		.node = run->nodes.node,
		.clock = &run->clock,
		.log = &run->log,
		.stop = &run->stop,
	};
	int rc;

	progress_start(&line, &run->clock, run->world->rank == 0 ? STDERR_FILENO : -1, 1, 1);
	if (run->world->rank == 0) {
		ctx.progress = progress_show;
		ctx.progress_argument = &line;
	}
	rc = clean_all(&ctx, &counts, err);
	progress_end(&line);
	clean_message(run, &counts);
	if (rc < 0 && stop_began(&run->stop)) {
		clean_stopped(&counts, job, err);
		return EXIT_INTERRUPTED;
	}
	if (rc < 0 && counts.failed > 1) {
		size_t told = strlen(err->text);

		snprintf(err->text + told, sizeof(err->text) - told, "; %llu could not be removed",
			 (unsigned long long)counts.failed);
	}
	/* A job may have several data sets and plain I/O, so tell what was removed besides. */
	if (rc < 0 && counts.removed) {
		char count[UNITS_COUNTED_BYTES];
		size_t told = strlen(err->text);

		snprintf(err->text + told, sizeof(err->text) - told, "; elsewhere %s %s removed",
			 units_counted(count, counts.removed, "file"),
			 counts.removed == 1 ? "was" : "were");
	}
	return rc < 0 ? EXIT_FAILED : EXIT_DONE;
}

enum exit_status run_clean_made(struct run *run, const char *job, struct err *err)
{
	enum exit_status status = run_clean(run, job, err);

	if (status != EXIT_FAILED || err->code != -ENOENT)
		return status;
	*err = (struct err){0};
	return EXIT_DONE;
}
