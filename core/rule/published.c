/* SPDX-License-Identifier: Apache-2.0 */
/* What others published: see published.h. */
#include "core/rule/published.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json_path.h"
#include "core/numbers.h"

const char *const published_states[PUBLISHED_STATES] = {"held", "missed", "unknown", "predicted"};

enum { RANKS_MAX = 1 << 20 };

/* A unit is one of these, and never a number of a row's own. */
const char *const published_units[] = {"",     "bytes", "files", "samples/s", "MB/s",
				       "GB/s", "MiB/s", "GiB/s", "GB",        "TB",
				       "GiB",  "TiB",   "%",     NULL};
static const double unit_sizes[] = {
	1, 1, 1, 1, 1e6, 1e9, 1 << 20, 1 << 30, 1e9, 1e12, 1 << 30, 1099511627776.0, 0.01};
_Static_assert(COUNT(published_units) == COUNT(unit_sizes) + 1, "each unit has a size");

/* clang-format off */
static const struct option row_options[] = {
	OPT_TEXT("of", struct published_row, of, .required = true, .help = "whose value it is"),
	OPT_TEXT("quantity", struct published_row, quantity, .required = true, .help = "what it is, in words"),
	OPT_TEXT("source", struct published_row, source, .required = true, .help = "where it is published"),
	OPT_REAL("published", struct published_row, value, .max_real = 1e30, .help = "the value"),
	OPT_TEXT("text", struct published_row, text, .def_text = "", .help = "the value, where it is a text"),
	OPT_CHOICE("unit", struct published_row, unit, .choices = published_units,
		   .help = "unit of the value; one by which haul counts is left out"),
	OPT_REAL("tolerance", struct published_row, tolerance, .max_real = 1,
		 .help = "part of the value by which haul's may differ"),
	OPT_TEXT("because", struct published_row, because, .def_text = "", .help = "why it may differ"),
	OPT_TEXT("job", struct published_row, job, .required = true, .help = "job whose plan has haul's value"),
	OPT_TEXTS("set", struct published_row, set, .help = "changes of the job, PATH=VALUE"),
	OPT_U64("ranks", struct published_row, ranks, .def = 1, .min = 1, .max = RANKS_MAX, .help = "ranks of the job"),
	OPT_U64("nodes", struct published_row, nodes, .def = 1, .min = 1, .max = RANKS_MAX, .help = "nodes of the job"),
	OPT_TEXT("phase", struct published_row, phase, .required = true, .help = "phase of the job"),
	OPT_TEXT("fact", struct published_row, fact, .required = true, .help = "path of haul's value"),
	OPT_TEXT("over", struct published_row, over, .def_text = "", .help = "fact by which it is divided"),
	OPT_TEXT("submitter", struct published_row, submitter, .def_text = "",
		 .help = "whose result it is: the storage of the largest of three or more of a job predicts the others"),
	OPT_END
};
static const struct option published_options[] = {
	OPT_LIST("rows", struct published, rows, count, .required = true, .min = 1, .table = row_options,
		 .help = "what is published"),
	OPT_END
};
/* clang-format on */
static const struct option *const published_tables[] = {published_options, NULL};

static int published_check(const void *into, struct err *err)
{
	const struct published *p = into;

	for (uint32_t i = 0; i < p->count; i++) {
		const struct published_row *row = &p->rows[i];

		if (!*row->text && row->value <= 0)
			return err_set(err, -EINVAL,
				       "/rows/%u: needs \"published\" above 0, or \"text\"", i);
		if (row->tolerance > 0 && !*row->because)
			return err_set(err, -EINVAL, "/rows/%u: a tolerance needs \"because\"", i);
	}
	return 0;
}

int published_read(struct published *p, const char *path, struct err *err)
{
	static const struct rule_file kind = {published_tables, "rows", published_check};

	memset(p, 0, sizeof(*p));
	return rule_file_read(&kind, p, &p->arena, path, err);
}

void published_free(struct published *p)
{
	arena_free(&p->arena);
}

void published_compare(const struct published_row *row, const struct cJSON *tree,
		       struct published_match *out)
{
	/* Quotients of whole numbers are not the same to the last bit. */
	static const double same = 1e-9;
	const cJSON *fact = json_at(tree, row->fact);

	*out = (struct published_match){.state = PUBLISHED_MISSED, .value = NAN, .difference = NAN};
	if (*row->text) {
		if (cJSON_IsString(fact))
			snprintf(out->text, sizeof(out->text), "%s", fact->valuestring);
		if (strcmp(out->text, row->text) == 0)
			out->state = PUBLISHED_HELD;
		else if (cJSON_IsString(fact) && !*out->text)
			out->state = PUBLISHED_UNKNOWN;
		return;
	}
	out->value = json_number_at(fact, "", NAN) / unit_sizes[row->unit];
	if (*row->over)
		out->value /= json_number_at(tree, row->over, NAN);
	out->difference = (out->value - row->value) / row->value;
	if (fabs(out->difference) <= fmax(row->tolerance, same))
		out->state = PUBLISHED_HELD;
}
