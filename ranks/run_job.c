/* Rank 0 alone reads the job; the others get its resolved text, so that what runs is what stands in
 * the results. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "ranks/run_state.h"

static bool listed(const char *const *names, unsigned count, const struct job_phase *phase)
{
	for (unsigned i = 0; i < count; i++)
		if (strcmp(names[i], phase->name) == 0 ||
		    strcmp(names[i], phase->section->name) == 0)
			return true;
	return false;
}

bool run_wants(const struct run_options *options, const struct job_phase *phase)
{
	const struct workload *workload = phase->section->owner;

	if (options->verb == RUN_GENERATE && !workload->generating)
		return false;
	if (options->only_count && !listed(options->only, options->only_count, phase))
		return false;
	return !listed(options->skip, options->skip_count, phase);
}

static int check_names(const struct job *job, const char *option, const char *const *names,
		       unsigned count, struct err *err)
{
	for (unsigned i = 0; i < count; i++) {
		bool found = false;

		for (uint32_t k = 0; k < job->phase_count && !found; k++)
			found = listed(&names[i], 1, &job->phases[k]);
		if (!found)
			return err_set(err, -EINVAL, "%s %s: the job has no phase of that name",
				       option, names[i]);
	}
	return 0;
}

/* Rank 0's part: the checked job as text. */
static int read_job(struct run *run, const struct run_options *options, char **text,
		    struct err *err)
{
	struct job *job = &run->job;
	int rc;

	rc = job_load(job, plan_schema(), options->job, options->sets, options->set_count, err);
	if (rc < 0)
		return rc;
	rc = check_names(job, "--only", options->only, options->only_count, err);
	if (rc == 0)
		rc = check_names(job, "--skip", options->skip, options->skip_count, err);
	if (rc == 0) {
		rc = plan_check(job, run->world->size, run->nodes.count, true, err);
		if (rc < 0)
			return err_wrap(err, rc, "%s", options->job);
	}
	if (rc < 0)
		return rc;
	*text = job_text(job, plan_schema());
	return *text ? 0 : err_set(err, -ENOMEM, "no memory for the job's text");
}

int run_share_job(struct run *run, const struct run_options *options, struct err *err)
{
	bool first = run->world->rank == 0;
	char *text = NULL;
	uint64_t length = 0;
	int rc = 0;

	if (first)
		rc = read_job(run, options, &text, err);
	rc = group_agree(run->world, rc, err);
	if (rc < 0)
		goto out_free;
	if (text)
		length = strlen(text);
	group_broadcast(run->world, &length, sizeof(length));
	if (!first) {
		text = malloc(length + 1);
		if (!text)
			rc = err_set(err, -ENOMEM, "no memory for the job's text");
	}
	rc = group_agree(run->world, rc, err);
	if (rc < 0)
		goto out_free;
	group_broadcast(run->world, text, length);
	if (!first)
		rc = job_parse(&run->job, plan_schema(), options->job, text, length, NULL, 0, err);
	rc = group_agree(run->world, rc, err);
out_free:
	free(text);
	return rc;
}
