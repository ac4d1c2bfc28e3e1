/* SPDX-License-Identifier: Apache-2.0 */
/* The question of haul run --tune: see choice.h. */
#include "plan/search/choice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/numbers.h"
#include "workloads/workload.h"

bool choice_is(const struct job_phase *phase, const char *name)
{
	char place[sizeof(phase->path)];

	if (strcmp(phase->name, name) == 0 || strcmp(phase->section->name, name) == 0)
		return true;
	snprintf(place, sizeof(place), "%s", phase->path + 1);
	for (char *c = place; *c; c++)
		*c = *c == '/' ? '.' : *c;
	return strcmp(place, name) == 0;
}

static bool choice_measures(const struct choice *c, const struct job_phase *phase)
{
	return !((const struct workload *)phase->section->owner)->generating &&
	       (!c->filter || phase_filter_wants(c->filter, phase));
}

/* Whether the path begins with the phase: "read.threads" with "read". */
static bool choice_names(const struct job_phase *phase, const char *path)
{
	char name[CHOICE_TEXT_BYTES];

	snprintf(name, sizeof(name), "%s", path);
	for (char *dot = strrchr(name, '.'); dot; dot = strrchr(name, '.')) {
		*dot = '\0';
		if (choice_is(phase, name))
			return true;
	}
	return false;
}

/* The last phase that a path names, or else the last one. */
static uint32_t choice_last(const struct choice *c, const struct job *job, const char *const *paths,
			    uint32_t count)
{
	uint32_t last = job->phase_count;

	for (uint32_t i = 0; i < job->phase_count; i++)
		for (uint32_t k = 0; k < count; k++)
			if (choice_measures(c, &job->phases[i]) &&
			    choice_names(&job->phases[i], paths[k]))
				last = i;
	for (uint32_t i = job->phase_count; last == job->phase_count && i--;)
		if (choice_measures(c, &job->phases[i]))
			last = i;
	return last;
}

/* The phase and the name of the figure; figure stays "" where none is given. */
static int choice_phase(struct choice *c, const struct job *job, const char *const *paths,
			uint32_t count, char figure[CHOICE_TEXT_BYTES], struct err *err)
{
	const char *by = c->by ? c->by : "", *dot = strrchr(by, '.');
	char name[CHOICE_TEXT_BYTES];

	snprintf(figure, CHOICE_TEXT_BYTES, "%s", dot ? dot + 1 : by);
	c->phase_index = dot ? 0 : choice_last(c, job, paths, count);
	snprintf(name, sizeof(name), "%.*s", dot ? (int)(dot - by) : 0, by);
	while (dot && c->phase_index < job->phase_count &&
	       !choice_is(&job->phases[c->phase_index], name))
		c->phase_index++;
	if (dot && c->phase_index == job->phase_count)
		return err_set(err, -EINVAL, "--tune-by: the job has no phase \"%s\"", name);
	if (c->phase_index == job->phase_count)
		return err_set(err, -EINVAL, "--tune: the job has no phase to judge settings by");
	return 0;
}

/* The option that limits the time of the phase, where the job sets it. */
static void choice_limit(struct choice *c, const struct job_phase *phase)
{
	static const char *const names[] = {"seconds", "duration"};
	const struct section *s = phase->section;

	c->limit = NULL;
	for (unsigned t = 0; t < SECTION_TABLES && s->tables[t]; t++)
		for (const struct option *o = s->tables[t]; o->name; o++)
			for (unsigned i = 0; i < COUNT(names); i++) {
				uint64_t ns = 0;

				if (o->kind != OPTION_TIME || strcmp(o->name, names[i]) != 0)
					continue;
				memcpy(&ns, (const char *)phase->options + o->offset, sizeof(ns));
				if (ns && (!c->limit || ns < c->limit_ns)) {
					c->limit = o->name;
					c->limit_ns = ns;
				}
			}
}

int choice_meet(struct choice *c, const struct job *job, const char *const *paths, uint32_t count,
		struct err *err)
{
	char figure[CHOICE_TEXT_BYTES];
	int rc = choice_phase(c, job, paths, count, figure, err);
	const struct tally_schema *schema;
	const struct job_phase *phase;
	struct tally tally = {0};

	if (rc < 0)
		return rc;
	phase = &job->phases[c->phase_index];
	snprintf(c->place, sizeof(c->place), "%s", phase->path + 1);
	for (char *at = c->place; *at; at++)
		*at = *at == '/' ? '.' : *at;
	choice_limit(c, phase);
	c->judge = (struct target){.name = NULL};
	schema = ((const struct workload *)phase->section->owner)->schema;
	if (!figure[0] && schema->tuned_by)
		snprintf(figure, sizeof(figure), "%s", schema->tuned_by);
	if (!figure[0])
		return 0;
	rc = workload_tally(phase->section->owner, phase, &tally, err);
	if (rc < 0)
		return rc;
	if (workload_judge_by(phase->section, tally.schema, figure, &c->judge) < 0)
		rc = err_set(
			err, -EINVAL,
			"--tune-by: a phase of the kind %s has no figure and no target \"%s\"; "
			"docs/reference-results.md has their names",
			phase->section->name, figure);
	tally_free(&tally);
	return rc;
}

void choice_shorten(const struct choice *c, uint32_t part, char out[2 * CHOICE_TEXT_BYTES])
{
	snprintf(out, 2 * CHOICE_TEXT_BYTES, "%s.%s=%.6f s", c->place, c->limit,
		 (double)c->limit_ns / 1e9 / part);
}
