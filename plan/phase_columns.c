/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of a phase in a plan: see rows.h. */
#include <math.h>

#include "plan/option_ref.h"
#include "plan/rows.h"

static const char *column_kind(const void *row)
{
	return ((const struct plan_phase *)row)->phase->section->name;
}

static const char *column_name(const void *row)
{
	return ((const struct plan_phase *)row)->phase->name;
}

static const char *column_store(const void *row)
{
	return ((const struct plan_phase *)row)->stores[0].store->name;
}

static double column_batch(const void *row, int which)
{
	const struct plan_phase *p = row;
	struct option_ref look;

	(void)which;
	return option_find(p->phase->section, p->phase->options, p->phase->path, "batch",
			   OPTION_U64, &look)
		       ? (double)*(const uint64_t *)look.value
		       : NAN;
}

static bool column_has_batch(const void *row)
{
	return !isnan(column_batch(row, 0));
}

static double column_global_batch(const void *row, int which)
{
	const struct demand *d = &((const struct plan_phase *)row)->demand;

	(void)which;
	return d->steps_per_epoch ? (double)((d->samples - d->samples_dropped) / d->steps_per_epoch)
				  : NAN;
}

static bool column_has_steps(const void *row)
{
	return ((const struct plan_phase *)row)->demand.steps_per_epoch > 0;
}

static bool column_has_epochs(const void *row)
{
	return ((const struct plan_phase *)row)->demand.epochs > 0;
}

static bool column_has_none(const void *row)
{
	return !column_has_epochs(row);
}

static bool column_has_expected(const void *row)
{
	return ((const struct plan_phase *)row)->demand.expected_seconds > 0;
}

static double column_files_per_node(const void *row, int which)
{
	const struct plan_phase *p = row;

	(void)which;
	return (double)p->demand.files / p->nodes;
}

static double column_total_seconds(const void *row, int which)
{
	const struct demand *d = &((const struct plan_phase *)row)->demand;

	(void)which;
	return d->epochs ? d->total_seconds : d->seconds;
}

static double column_creates(const void *row, int which)
{
	(void)which;
	return plan_creates(row);
}

static bool column_has_creates(const void *row)
{
	return plan_creates(row) > 0;
}

/* What the phase asks for at an AU of 100 %, and at its target; of all nodes, and of one. */
enum { DEMAND_OPENS = 1, DEMAND_NODE = 2, DEMAND_TARGET = 4 };

static double column_demand(const void *row, int which)
{
	const struct plan_phase *p = row;
	const struct demand *d = &p->demand;
	double rate = which & DEMAND_OPENS ? d->opens_per_second : d->bytes_per_second;

	if (which & DEMAND_TARGET)
		rate *= d->target > 0 ? d->target : NAN;
	return which & DEMAND_NODE ? rate / p->nodes : rate;
}

static double column_target(const void *row, int which)
{
	const struct demand *d = &((const struct plan_phase *)row)->demand;

	(void)which;
	return d->target > 0 ? d->target : NAN;
}

static bool column_has_results(const void *row)
{
	return ((const struct plan_phase *)row)->results.bytes > 0;
}

/* clang-format off */
#define RESULTS(member, key) COLUMN(U64, struct plan_phase, results.member, key, NULL, .when = column_has_results)
#define DEMAND(type, member, key, ...) COLUMN(type, struct plan_phase, demand.member, key, NULL, __VA_ARGS__)
#define VALUE(key_, number_, which_, ...) {.type = COLUMN_VALUE, .key = (key_), .number = (number_), .which = (which_), __VA_ARGS__}
#define WORD(key_, word_) {.type = COLUMN_WORD, .key = (key_), .word = (word_)}
#define SAID(place_, words_) .line = "steps", .format = FORMAT_COUNT, .place = (place_), .words = (words_)
const struct column plan_phase_columns[] = {
	WORD("kind", column_kind),
	WORD("name", column_name),
	WORD("store", column_store),
	DEMAND(U64, steps_per_epoch, "steps_per_epoch", SAID(1, "% per epoch"), .noun = "step"),
	DEMAND(U64, epochs, "epochs"),
	VALUE("batch", column_batch, 0, .when = column_has_batch, SAID(0, "batch %")),
	VALUE("global_batch", column_global_batch, 0, .when = column_has_steps, SAID(0, "global batch %")),
	DEMAND(U64, files, "files"),
	VALUE("files_per_node", column_files_per_node, 0),
	DEMAND(U64, samples, "samples"),
	DEMAND(U64, samples_dropped, "samples_dropped", SAID(1, "% dropped"), .noun = "sample"),
	DEMAND(REAL, bytes_per_rank, "bytes_per_rank"),
	DEMAND(REAL, bytes, "bytes"),
	VALUE("creates_per_gigabyte", column_creates, 0, .when = column_has_creates),
	DEMAND(REAL, seconds, "seconds_per_epoch", .when = column_has_epochs),
	DEMAND(REAL, seconds, "seconds", .when = column_has_none),
	VALUE("total_seconds", column_total_seconds, 0),
	DEMAND(REAL, expected_seconds, "expected.seconds_per_epoch", .when = column_has_expected),
	DEMAND(REAL, expected_au, "expected.au", .when = column_has_expected),
	DEMAND(U64, memory_per_rank, "memory_bytes_per_rank"),
	RESULTS(bytes, "results.bytes"),
	RESULTS(per_rank, "results.bytes_per_rank"),
	RESULTS(per_node, "results.bytes_per_node"),
	COLUMNS_END};
const struct column plan_demand_columns[] = {
	VALUE("demand.bytes_per_second", column_demand, 0),
	VALUE("demand.bytes_per_second_per_node", column_demand, DEMAND_NODE),
	VALUE("demand.opens_per_second", column_demand, DEMAND_OPENS),
	VALUE("demand.target", column_target, 0),
	VALUE("demand.at_target_bytes_per_second", column_demand, DEMAND_TARGET),
	VALUE("demand.at_target_bytes_per_second_per_node", column_demand, DEMAND_TARGET | DEMAND_NODE),
	VALUE("demand.at_target_opens_per_second", column_demand, DEMAND_TARGET | DEMAND_OPENS),
	COLUMNS_END};
/* clang-format on */
