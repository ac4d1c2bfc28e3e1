/* SPDX-License-Identifier: Apache-2.0 */
/* Option tables with every kind of option, for the tests of options. */
#ifndef HAUL_TESTS_CORE_OPTION_SAMPLE_OPTIONS_H
#define HAUL_TESTS_CORE_OPTION_SAMPLE_OPTIONS_H

#include "core/arena.h"
#include "core/option/option.h"

/* One struct with every kind of option. */
struct inner {
	uint32_t kind;
	uint64_t workers;
};
struct all {
	uint64_t number, size, time_ns, rate, unset;
	double real;
	bool yes;
	char text[8];
	struct texts texts;
	uint32_t choice;
	struct draw draw;
	struct factors factors;
	struct inner inner;
	struct inner list[3];
	uint32_t listed;
};

extern const char *const inner_names[], *const phase_filter_names[]; /* NULL-terminated */
extern const struct option inner_options[], all_options[];
extern const struct option *const tables[]; /* all_options and others, NULL-terminated */

/* Parses JSON text into *all; paths in messages begin with "/p". The texts belong to the arena. */
int parse(const char *text, struct all *all, struct arena *arena, struct err *err);

#endif
