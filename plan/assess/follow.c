/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from the ceilings: see assess.h. */
#include "plan/assess/assess.h"

#include <math.h>

#include "core/utf8.h"

/* Which ceiling is reached first. */
enum assess_limit {
	LIMIT_UNKNOWN,
	LIMIT_READ,
	LIMIT_OBJECTS,
	LIMIT_WRITE,
	LIMIT_LOADER,   /* fewer accelerators were carried than follow from the ceilings */
	LIMIT_REQUESTS, /* or fewer users */
	LIMITS
};

static void follow_limit(struct assess_row *row, enum assess_limit limit)
{
	static const char *const words[LIMITS] = {
		[LIMIT_UNKNOWN] = "unknown", [LIMIT_READ] = "read",
		[LIMIT_OBJECTS] = "objects", [LIMIT_WRITE] = "write",
		[LIMIT_LOADER] = "loader",   [LIMIT_REQUESTS] = "requests"};

	utf8_copy(row->limit, sizeof(row->limit), words[limit]);
}

/* The number was found where the workload ran. */
static void follow_measured(struct assess_row *row, double carried)
{
	utf8_copy(row->basis, sizeof(row->basis), "measured");
	row->carries = carried;
}

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
	follow_limit(row, objects < read ? LIMIT_OBJECTS : LIMIT_READ);
	row->carries = row->follows = floor(least);
	/* All ranks that ran say only that it is at least so many. */
	if (w->decided || (w->carried > row->carries)) {
		follow_measured(row, w->carried);
		if (row->carries + 1 < row->follows)
			follow_limit(row, LIMIT_LOADER);
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
	follow_limit(row, write > read ? LIMIT_WRITE : LIMIT_READ);
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
	follow_limit(row, writers < readers ? LIMIT_WRITE : LIMIT_READ);
	row->follows = floor(fmin(readers, writers));
	if (w->request_bytes > w->target * fmax(read, write))
		row->follows = 0;
	if (row->follows < 1)
		row->carries = row->follows;
	if (!w->decided && !(w->carried > row->follows))
		return;
	follow_measured(row, w->carried);
	if (row->carries < row->follows)
		follow_limit(row, LIMIT_REQUESTS);
}

void assess_follow(const struct assess *a, const struct assess_workload *w, struct assess_row *row)
{
	static const char *const units[] = {[ASSESS_TRAIN] = "accelerators",
					    [ASSESS_CHECKPOINT] = "checkpoints/h",
					    [ASSESS_USERS] = "users"};

	*row = (struct assess_row){
		.carries = (double)NAN,
		.follows = (double)NAN,
		.full_seconds = (double)NAN,
		.target = w->target,
		.measured = w->carried,
		.step = w->step,
		.found = w->found,
		.bytes_per_second = (w->kind == ASSESS_TRAIN ? w->target : 1) * w->bytes_per_second,
		.opens_per_second = w->target * w->opens_per_second,
		.written_per_second = w->written_per_second,
		.data_bytes = w->data_bytes,
	};
	utf8_copy(row->name, sizeof(row->name), w->name);
	utf8_copy(row->unit, sizeof(row->unit), units[w->kind]);
	follow_limit(row, LIMIT_UNKNOWN);
	if (w->kind == ASSESS_TRAIN)
		follow_train(a, w, row);
	else if (w->kind == ASSESS_CHECKPOINT)
		follow_checkpoint(a, w, row);
	else
		follow_users(a, w, row);
	if (isnan(row->carries))
		utf8_copy(row->basis, sizeof(row->basis), "unknown");
	else if (!*row->basis)
		utf8_copy(row->basis, sizeof(row->basis), "follows");
}

void assess_answer(const struct assess *a, bool over, struct assess_head *head)
{
	const double *c = a->ceilings;

	utf8_copy(head->uri, sizeof(head->uri), a->ask.uri);
	utf8_copy(head->end, sizeof(head->end), over ? "found" : "stopped");
	head->ranks = a->ask.ranks;
	head->budget = a->ask.budget_s;
	head->space = a->ask.space_bytes;
	utf8_copy(head->read_settings, sizeof(head->read_settings),
		  a->settings[ASSESS_SETTLED_READ]);
	utf8_copy(head->random_settings, sizeof(head->random_settings),
		  a->settings[ASSESS_SETTLED_RANDOM]);
	head->write = c[ASSESS_WRITE];
	head->read = c[ASSESS_READ];
	head->random = c[ASSESS_RANDOM];
	head->put = c[ASSESS_PUT];
	head->get = c[ASSESS_GET];
	head->create = c[ASSESS_CREATE];
	head->stat = c[ASSESS_STAT];
	head->remove = c[ASSESS_REMOVE];
	/* Each rank waits for one after the other. */
	head->commit = a->ask.ranks / c[ASSESS_COMMIT];
}
