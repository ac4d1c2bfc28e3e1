/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from the ceilings: see assess.h. */
#include "plan/assess/assess.h"

#include <math.h>

const char *const assess_limits[LIMITS] = {
	[LIMIT_UNKNOWN] = "unknown", [LIMIT_READ] = "read",     [LIMIT_OBJECTS] = "objects",
	[LIMIT_WRITE] = "write",     [LIMIT_LOADER] = "loader", [LIMIT_REQUESTS] = "requests"};

/* How many times a need fits into a ceiling; what needs nothing is not limited by it. */
static double fits(double ceiling, double need)
{
	return need > 0 ? ceiling / need : (double)INFINITY;
}

static void follow_train(const struct assess *a, const struct assess_workload *w,
			 struct assess_row *row)
{
	double read = fits(a->ceilings[ASSESS_READ], w->target * w->bytes_per_second);
	double objects = fits(a->ceilings[ASSESS_GET], w->target * w->opens_per_second);
	double least = fmin(read, objects);

	if (isnan(read) || isnan(objects) || isinf(least))
		return;
	row->limit = objects < read ? LIMIT_OBJECTS : LIMIT_READ;
	row->carries = row->follows = floor(least);
	/* All ranks that ran say only that it is at least so many. */
	if (w->decided || (w->carried > row->carries)) {
		row->measured = true;
		row->carries = w->carried;
		if (row->carries + 1 < row->follows)
			row->limit = LIMIT_LOADER;
	}
	if (row->carries >= 1)
		row->full_seconds = w->data_bytes / a->ceilings[ASSESS_WRITE] +
				    w->run_seconds / w->target / row->carries;
}

static void follow_checkpoint(const struct assess *a, const struct assess_workload *w,
			      struct assess_row *row)
{
	double write = w->data_bytes / a->ceilings[ASSESS_WRITE],
	       read = w->data_bytes / a->ceilings[ASSESS_READ];

	if (isnan(write) || isnan(read) || write + read <= 0)
		return;
	row->limit = write > read ? LIMIT_WRITE : LIMIT_READ;
	row->carries = row->follows = 3600 / (write + read);
	row->full_seconds = w->run_seconds * (write + read);
}

/* A request reads and writes one entry after the other, so that it takes at least as long as its bytes at
 * the greatest rate. How long it takes beside others depends on when they come: only a bound follows. */
static void follow_users(const struct assess *a, const struct assess_workload *w,
			 struct assess_row *row)
{
	double read = a->ceilings[ASSESS_READ], write = a->ceilings[ASSESS_WRITE];
	double readers = fits(read, w->bytes_per_second),
	       writers = fits(write, w->written_per_second);

	if (isnan(read) || isnan(write) || isinf(fmin(readers, writers)))
		return;
	row->limit = writers < readers ? LIMIT_WRITE : LIMIT_READ;
	row->follows = floor(fmin(readers, writers));
	if (w->request_bytes > w->target * fmax(read, write))
		row->follows = 0;
	if (row->follows < 1)
		row->carries = row->follows;
	if (!w->decided && !(w->carried > row->follows))
		return;
	row->measured = true;
	row->carries = w->carried;
	if (row->carries < row->follows)
		row->limit = LIMIT_REQUESTS;
}

void assess_follow(const struct assess *a, const struct assess_workload *w, struct assess_row *row)
{
	*row = (struct assess_row){
		.carries = (double)NAN, .follows = (double)NAN, .full_seconds = (double)NAN};
	if (w->kind == ASSESS_TRAIN)
		follow_train(a, w, row);
	else if (w->kind == ASSESS_CHECKPOINT)
		follow_checkpoint(a, w, row);
	else
		follow_users(a, w, row);
}
