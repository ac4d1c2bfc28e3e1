/* SPDX-License-Identifier: Apache-2.0 */
/* Selection of phases by --only and --skip: see phase_filter.h. */
#include "plan/phase_filter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool phase_filter_lists(const char *const *names, unsigned count,
			       const struct job_phase *phase)
{
	for (unsigned i = 0; i < count; i++)
		if (strcmp(names[i], phase->name) == 0 ||
		    strcmp(names[i], phase->section->name) == 0)
			return true;
	return false;
}

bool phase_filter_wants(const struct phase_filter *c, const struct job_phase *phase)
{
	if (c->only_count && !phase_filter_lists(c->only, c->only_count, phase))
		return false;
	return !phase_filter_lists(c->skip, c->skip_count, phase);
}

/* "there are generate, train (train), warm (train)". The list is cut where it is very long. */
static int phase_filter_refuse(const struct job *job, const char *option, const char *name,
			       struct err *err)
{
	char known[512] = "";
	size_t n = 0;

	for (uint32_t k = 0; k < job->phase_count && n < sizeof(known); k++) {
		const struct job_phase *phase = &job->phases[k];
		bool told = strcmp(phase->name, phase->section->name) == 0;

		n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s%s%s%s", k ? ", " : "",
				      phase->name, told ? "" : " (",
				      told ? "" : phase->section->name, told ? "" : ")");
	}
	return err_set(err, -EINVAL, "%s %.100s: no phase is called %.100s; there are %s%s", option,
		       name, name, n ? known : "none", n < sizeof(known) ? "" : "…");
}

static int phase_filter_check(const struct job *job, const char *option, const char *const *names,
			      unsigned count, struct err *err)
{
	for (unsigned i = 0; i < count; i++) {
		bool found = false;

		for (uint32_t k = 0; k < job->phase_count && !found; k++)
			found = phase_filter_lists(&names[i], 1, &job->phases[k]);
		if (!found)
			return phase_filter_refuse(job, option, names[i], err);
	}
	return 0;
}

int phase_filter_apply(const struct phase_filter *c, struct job *job, struct err *err)
{
	uint32_t kept = 0;
	int rc;

	rc = phase_filter_check(job, "--only", c->only, c->only_count, err);
	if (rc == 0)
		rc = phase_filter_check(job, "--skip", c->skip, c->skip_count, err);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < job->phase_count; i++)
		if (phase_filter_wants(c, &job->phases[i]))
			job->phases[kept++] = job->phases[i];
	if (job->phase_count && !kept)
		return err_set(err, -EINVAL, "--only and --skip leave no phase to run");
	job->phase_count = kept;
	return 0;
}
