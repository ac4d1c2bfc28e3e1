/* SPDX-License-Identifier: Apache-2.0 */
/* Targets as options of a phase: in a job each target has a key beside the options of the phase's
 * kind. */
#include <math.h>
#include <string.h>

#include "core/job/internal.h"

static bool is_unit(const struct target *t, const char *unit)
{
	return strcmp(t->unit, unit) == 0;
}

static enum option_kind target_kind(const struct target *t)
{
	return is_unit(t, "ns") ? OPTION_TIME : is_unit(t, "B/s") ? OPTION_RATE : OPTION_REAL;
}

unsigned job_target_count(const struct section *section)
{
	unsigned n = 0;

	while (section->targets && section->targets[n].name && n < TARGETS_MAX)
		n++;
	return n;
}

void job_target_options(struct job_target_options *o, const struct section *section)
{
	unsigned count = job_target_count(section);

	memset(o, 0, sizeof(*o));
	o->tables[0] = o->list;
	for (unsigned i = 0; i < count; i++) {
		const struct target *t = &section->targets[i];

		o->list[i] = (struct option){.name = t->name,
					     .kind = target_kind(t),
					     .offset = (uint32_t)(i * sizeof(union job_target)),
					     .size = sizeof(union job_target),
					     .max_real = is_unit(t, "fraction") ? 1 : INFINITY,
					     .def_text = "none",
					     .help = t->help};
	}
}

double job_target_at(const struct job_phase *phase, unsigned i)
{
	const union job_target *value = &phase->targets[i];
	double asked = target_kind(&phase->section->targets[i]) == OPTION_REAL
			       ? value->real
			       : (double)value->whole;

	return asked > 0 ? asked : NAN;
}

double job_target(const struct job_phase *phase, const char *name)
{
	unsigned count = phase->targets ? job_target_count(phase->section) : 0;

	for (unsigned i = 0; i < count; i++)
		if (strcmp(phase->section->targets[i].name, name) == 0)
			return job_target_at(phase, i);
	return NAN;
}
