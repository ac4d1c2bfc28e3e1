/* The verb "clean" on all ranks: each kind of phase removes what it made. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/units.h"
#include "ranks/run/progress.h"
#include "ranks/run/state.h"
#include "workloads/workload.h"

/* "removed 200 files, 1.2 GB; 3 files that are not as haul made them were left" */
static void clean_message(struct run *run, const struct clean_counts *counts)
{
	char count[UNITS_COUNTED_BYTES], bytes[UNITS_TEXT_BYTES], *out = run->message;
	size_t room = sizeof(run->message), n;

	n = (size_t)snprintf(out, room, "removed %s, %s",
			     units_counted(count, counts->removed, "file"),
			     units_bytes_decimal(bytes, (double)counts->removed_bytes));
	if (counts->parts)
		n += (size_t)snprintf(out + n, room - n, "; removed %s",
				      units_counted(count, counts->parts, "unfinished file"));
	if (counts->uploads)
		n += (size_t)snprintf(out + n, room - n, "; dropped %s",
				      units_counted(count, counts->uploads, "unfinished upload"));
	if (counts->kept == 1)
		snprintf(out + n, room - n, "; 1 file that is not as haul made it was left");
	else if (counts->kept)
		snprintf(out + n, room - n, "; %s files that are not as haul made them were left",
			 units_count(bytes, counts->kept));
}

/* Cleans in reverse order of making. */
static int clean_all(struct phase_context *ctx, struct clean_counts *counts, struct err *err)
{
	const struct workload *const *table = workload_table();
	unsigned n = 0;
	int rc = 0;

	while (table[n])
		n++;
	while (rc == 0 && n--)
		if (table[n]->clean)
			rc = table[n]->clean(ctx, counts, err);
	return rc;
}

enum exit_status run_clean(struct run *run, struct err *err)
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

	progress_start(&line, &run->clock, STDERR_FILENO, 1, 1);
	if (run->world->rank == 0) {
		ctx.progress = progress_show;
		ctx.progress_argument = &line;
	}
	rc = clean_all(&ctx, &counts, err);
	progress_end(&line);
	clean_message(run, &counts);
	/* A job may have several data sets and plain I/O, so tell what was removed before the
	 * error. */
	if (rc < 0 && counts.removed) {
		char count[UNITS_COUNTED_BYTES];
		size_t told = strlen(err->text);

		snprintf(err->text + told, sizeof(err->text) - told, "; before that %s %s removed",
			 units_counted(count, counts.removed, "file"),
			 counts.removed == 1 ? "was" : "were");
	}
	return rc < 0 ? EXIT_FAILED : EXIT_DONE;
}
