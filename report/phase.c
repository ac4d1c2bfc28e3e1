/* SPDX-License-Identifier: Apache-2.0 */
/* Common facts of a phase: see phase.h. */
#include "report/phase.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json_path.h"
#include "core/measure/quantile.h"
#include "report/fence.h"

double phase_common(const struct results_phase_read *p, enum tally_common measure)
{
	return results_value(&p->merged, 0, tally_common_columns.measures[measure].name);
}

enum purpose phase_purpose(const struct results_phase_read *p)
{
	const struct results_table *t = &p->merged;

	return results_role(t, ROLE_UTILISATION) >= 0 ? PURPOSE_TRAINING
	       : results_role(t, ROLE_HIT_RATE) >= 0  ? PURPOSE_CACHE
	       : results_role(t, ROLE_BYTE_RATE_SLOWEST) >= 0 &&
			       results_role(t, ROLE_WRITE_RATE) >= 0
		       ? PURPOSE_CHECKPOINTS
	       : results_column(t, "fill_rate") >= 0 ? PURPOSE_DATA
						     : PURPOSE_OTHER;
}

double phase_bytes(const struct results_phase_read *p)
{
	return phase_common(p, TALLY_BYTES_READ) + phase_common(p, TALLY_BYTES_WRITTEN);
}

struct spread phase_spread(const struct results_phase_read *p, enum role role)
{
	const struct results_table *ranks = results_ranks(p);
	struct spread s = {NAN, NAN, NAN};
	int column = results_role(ranks, role);
	double sum = 0;
	uint64_t n = 0;

	for (uint64_t i = 0; i < ranks->row_count; i++) {
		double v = results_cell(ranks, i, column);

		if (isnan(v))
			continue;
		s.min = n && s.min < v ? s.min : v;
		s.max = n && s.max > v ? s.max : v;
		sum += v;
		n++;
	}
	if (n)
		s.mean = sum / (double)n;
	return s;
}

const struct target_result *phase_target(const struct results_phase_read *p, const char *name)
{
	for (uint32_t i = 0; i < p->target_count; i++)
		if (strcmp(p->targets[i].name, name) == 0)
			return &p->targets[i];
	return NULL;
}

const char *phase_items(const struct results_phase_read *p)
{
	int column = results_role(&p->merged, ROLE_ITEMS);

	return column < 0 ? "" : p->merged.columns[column].name;
}

static const struct results_phase_read *phase_around(const struct results_file *f,
						     const struct results_phase_read *p)
{
	/* A phase is published after the phase that it is a part of, so no chain is a cycle. */
	for (uint32_t i = 0; i < f->phase_count; i++)
		if (f->phases[i].record.number == p->record.within &&
		    p->record.within < p->record.number)
			return &f->phases[i];
	return NULL;
}

unsigned phase_depth(const struct results_file *f, const struct results_phase_read *p)
{
	unsigned depth = 0;

	for (p = phase_around(f, p); p && depth < 8; p = phase_around(f, p))
		depth++;
	return depth;
}

void phase_name(const struct results_file *f, const struct results_phase_read *p,
		char name[PHASE_NAME_BYTES])
{
	const struct phase_record *r = &p->record;
	const char *alone = r->alone ? ", alone" : "";

	if (f->runs > 1)
		snprintf(name, PHASE_NAME_BYTES, "%llu %s%s%s", (unsigned long long)r->run, r->name,
			 alone, r->warmup ? ", warm-up" : "");
	else
		snprintf(name, PHASE_NAME_BYTES, "%s%s", r->name, alone);
}

struct phase_row phase_row_of(const struct results_file *f, const struct results_phase_read *p)
{
	struct phase_row row = {.phase = p, .file = f};

	phase_name(f, p, row.name);
	return row;
}

struct phase_row *phase_rows_of(const struct results_file *f,
				bool (*is)(const struct results_phase_read *p), size_t *count)
{
	struct phase_row *rows = calloc(f->phase_count + 1, sizeof(*rows));

	*count = 0;
	for (uint32_t i = 0; rows && i < f->phase_count; i++)
		if (!is || is(&f->phases[i]))
			rows[(*count)++] = phase_row_of(f, &f->phases[i]);
	return rows;
}

double phase_role(const void *row, int role)
{
	const struct phase_row *r = row;

	return results_role_value(&r->phase->merged, 0, (enum role)role);
}

double phase_quantile_ns(const struct hist *h, int quantile)
{
	if (!h)
		return NAN;
	return (double)(quantile == QUANTILES ? h->max_ns
					      : quantile_ns(h, (enum quantile)quantile));
}

static const struct hist *phase_main(const struct phase_row *row)
{
	return results_find_hist(row->phase, row->phase->record.main_hist);
}

double phase_main_ns(const void *row, int quantile)
{
	const struct results_phase_read *p = ((const struct phase_row *)row)->phase;
	const struct hist *main = phase_main(row);

	/* Without the side file, those of /summary. */
	return !main && p->gone && quantile < QUANTILES ? p->gone_ns[quantile]
							: phase_quantile_ns(main, quantile);
}

bool phase_has_main(const struct phase_row *row)
{
	return phase_main(row) != NULL;
}

const cJSON *phase_options(const cJSON *job, const struct phase_record *r)
{
	const cJSON *phase, *name, *options;

	cJSON_ArrayForEach(phase, json_at(job, "phases"))
	{
		options = json_at(phase, r->kind);
		name = json_at(options, "name");
		if (options && (!cJSON_IsString(name) || !name->valuestring[0] ||
				strcmp(name->valuestring, r->name) == 0))
			return options;
	}
	return NULL;
}

double phase_slowest_node(const struct results_file *f, const struct results_phase_read *p)
{
	const struct results_table *ranks = results_ranks(p);
	int node_column = results_column(ranks, "node");
	double *rates = f->nodes > 1 ? calloc(f->nodes, sizeof(*rates)) : NULL;
	double least = INFINITY, median;

	if (!rates || node_column < 0 || results_role(ranks, ROLE_BYTE_RATE) < 0) {
		free(rates);
		return NAN;
	}
	for (uint64_t i = 0; i < ranks->row_count; i++) {
		double node = results_cell(ranks, i, node_column);

		if (node >= 0 && node < (double)f->nodes)
			rates[(uint64_t)node] += results_role_value(ranks, i, ROLE_BYTE_RATE);
	}
	for (uint64_t i = 0; i < f->nodes; i++)
		least = isnan(rates[i]) ? NAN : fmin(least, rates[i]);
	median = fence_median(rates, f->nodes);
	free(rates);
	return median > 0 ? least / median : NAN;
}
