/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/scaling.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/numbers.h"
#include "core/units.h"
#include "plan/option_ref.h"
#include "workloads/common/cold.h"

static const double scaling_default_au = 0.9;

static const struct plan_phase *scaling_stepped(const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->phase_count; i++)
		if (plan->phases[i].demand.steps_per_epoch)
			return &plan->phases[i];
	return NULL;
}

/* Bytes per second that a number of nodes can move. INFINITY: no limit is given. */
static double scaling_capacity(const struct scaling_limits *limits, uint64_t nodes)
{
	double nics = limits->nic_per_node > 0 ? limits->nic_per_node * (double)nodes : INFINITY;

	return fmin(nics, limits->storage > 0 ? limits->storage : INFINITY);
}

static uint64_t scaling_option(const struct job_phase *phase, const char *name)
{
	struct option_ref found;

	if (!option_find(phase->section, phase->options, phase->path, name, OPTION_U64, &found))
		return 0;
	return *(const uint64_t *)found.value;
}

static bool scaling_is_cold(const struct job_phase *phase)
{
	struct option_ref found;

	return option_find(phase->section, phase->options, phase->path, "drop", OPTION_CHOICE,
			   &found) &&
	       *(const uint32_t *)found.value != DROP_NONE;
}

static void scaling_phase(struct scaling_row *row, const struct plan *plan,
			  const struct plan_phase *p, double capacity)
{
	const struct demand *d = &p->demand;
	uint64_t workers = scaling_option(p->phase, "workers");
	uint64_t batch = (d->samples - d->samples_dropped) / d->steps_per_epoch;
	double epochs = (double)(d->epochs ? d->epochs : 1);

	row->files = (double)d->files;
	row->global_batch = (double)batch;
	row->data_bytes = d->bytes / epochs;
	if (isfinite(d->bytes_per_second)) {
		row->bytes_per_second = d->bytes_per_second;
		row->node_rate = d->bytes_per_second / row->nodes;
		row->worker_rate =
			d->bytes_per_second / row->ranks / (double)(workers ? workers : 1);
	}
	if (isfinite(capacity) && d->bytes_per_second > 0)
		row->au = fmin(1, capacity / d->bytes_per_second);
	row->epoch_seconds = d->seconds / (isnan(row->au) ? 1 : row->au);
	if (scaling_is_cold(p->phase))
		row->cached_share = 0;
	else if (plan->node_memory_bytes > 0 && row->data_bytes > 0)
		row->cached_share = fmin(1, plan->node_memory_bytes / row->data_bytes);
}

void scaling_row(struct scaling_row *row, const struct plan *plan,
		 const struct scaling_limits *limits)
{
	const struct plan_phase *p = scaling_stepped(plan);
	double capacity = scaling_capacity(limits, plan->nodes), made = 0, training = 0;

	*row = (struct scaling_row){.nodes = plan->nodes,
				    .ranks = plan->ranks,
				    .data_bytes = NAN,
				    .bytes_per_second = NAN,
				    .node_rate = NAN,
				    .worker_rate = NAN,
				    .au = NAN,
				    .epoch_seconds = NAN,
				    .generate_seconds = NAN,
				    .cached_share = NAN,
				    .node_hours = NAN};
	if (p)
		scaling_phase(row, plan, p, capacity);
	for (uint32_t i = 0; i < plan->phase_count; i++) {
		const struct workload *workload = plan->phases[i].phase->section->owner;

		made += workload->generating ? plan->phases[i].demand.bytes : 0;
	}
	row->generate_seconds = made > 0 ? made / capacity : NAN;
	if (!isfinite(capacity))
		row->generate_seconds = NAN;
	if (p && p->demand.seconds > 0)
		training = row->epoch_seconds * p->demand.total_seconds / p->demand.seconds;
	if (isfinite(capacity) && p)
		row->node_hours =
			row->nodes * (training + (made > 0 ? row->generate_seconds : 0)) / 3600;
}

uint64_t scaling_nodes_max(const struct scaling_row *row, const struct scaling_limits *limits,
			   double au)
{
	double each = row->bytes_per_second / row->nodes * au;

	if (!(each > 0))
		return UINT64_MAX;
	if (limits->nic_per_node > 0 && each > limits->nic_per_node)
		return 0;
	return limits->storage > 0 ? (uint64_t)(limits->storage / each) : UINT64_MAX;
}

enum { SCALING_CELL = UNITS_TEXT_BYTES };

static char *scaling_count(char text[UNITS_TEXT_BYTES], double value)
{
	return units_count(text, (uint64_t)value);
}

static char *scaling_percent(char text[UNITS_TEXT_BYTES], double value)
{
	snprintf(text, UNITS_TEXT_BYTES, "%.1f %%", value * 100);
	return text;
}

static char *scaling_number(char text[UNITS_TEXT_BYTES], double value)
{
	snprintf(text, UNITS_TEXT_BYTES, "%.3g", value);
	return text;
}

/* The columns of the table, in JSON by their keys and in the text below their heads. */
#define ROW_AT(member) offsetof(struct scaling_row, member)
static const struct scaling_column {
	const char *key, *head; /* NULL: not in JSON, not in the text */
	size_t at;              /* of a double in the row */
	char *(*text)(char text[UNITS_TEXT_BYTES], double value);
} scaling_columns[] = {
	{"nodes", "nodes", ROW_AT(nodes), scaling_count},
	{"ranks", "ranks", ROW_AT(ranks), scaling_count},
	{"files", "files", ROW_AT(files), scaling_count},
	{"global_batch", NULL, ROW_AT(global_batch), NULL},
	{"data_bytes", "data set", ROW_AT(data_bytes), units_bytes_decimal},
	{"bytes_per_second", "needs", ROW_AT(bytes_per_second), units_rate},
	{NULL, "per node", ROW_AT(node_rate), units_rate},
	{"worker_bytes_per_second", NULL, ROW_AT(worker_rate), NULL},
	{"au", "AU", ROW_AT(au), scaling_percent},
	{"seconds_per_epoch", "epoch", ROW_AT(epoch_seconds), units_time},
	{"generate_seconds", "generate", ROW_AT(generate_seconds), units_time},
	{"cached_share", "cached", ROW_AT(cached_share), scaling_percent},
	{"node_hours", "node-hours", ROW_AT(node_hours), scaling_number},
};
enum { SCALING_COLUMNS = COUNT(scaling_columns) };

static double scaling_value(const struct scaling_row *r, const struct scaling_column *c)
{
	return *(const double *)((const char *)r + c->at);
}

/* Without a figure, and without files, a cell is "-". */
static const char *scaling_cell(char cell[SCALING_CELL], const struct scaling_row *r,
				const struct scaling_column *c)
{
	double value = scaling_value(r, c);

	return isnan(value) || (value <= 0 && c->text == scaling_count) ? "-"
									: c->text(cell, value);
}

/* Cells of a row are plain ASCII. A column without a figure in any row is left out. */
static void scaling_print(FILE *out, const struct scaling_row *rows, uint32_t count)
{
	int width[SCALING_COLUMNS] = {0};
	char cell[SCALING_CELL];

	for (unsigned c = 0; c < SCALING_COLUMNS; c++) {
		const struct scaling_column *column = &scaling_columns[c];

		for (uint32_t i = 0; column->head && i < count; i++) {
			const char *text = scaling_cell(cell, &rows[i], column);

			if (strcmp(text, "-") != 0)
				width[c] = max_int(width[c], (int)strlen(text));
		}
		if (!column->head || !width[c])
			continue;
		width[c] = max_int(width[c], (int)strlen(column->head));
		fprintf(out, "%s%*s", c ? "  " : "", width[c], column->head);
	}
	fputc('\n', out);
	for (uint32_t i = 0; i < count; i++) {
		for (unsigned c = 0; c < SCALING_COLUMNS; c++)
			if (width[c])
				fprintf(out, "%s%*s", c ? "  " : "", width[c],
					scaling_cell(cell, &rows[i], &scaling_columns[c]));
		fputc('\n', out);
	}
}

static void scaling_print_summary(FILE *out, const struct scaling_row *last,
				  const struct scaling_limits *limits, double target)
{
	char text[UNITS_TEXT_BYTES], count[UNITS_COUNTED_BYTES];
	uint64_t most = scaling_nodes_max(last, limits, target);

	if (!isnan(last->worker_rate))
		fprintf(out, "each worker has to deliver %s at AU 100 %%\n",
			units_rate(text, last->worker_rate));
	if (isnan(last->bytes_per_second) || (limits->storage <= 0 && limits->nic_per_node <= 0))
		return;
	if (most == 0)
		fprintf(out, "the network cards of a node keep no AU of %.4g %%\n", target * 100);
	else if (most == UINT64_MAX)
		fprintf(out, "the network cards keep an AU of %.4g %% on any number of nodes\n",
			target * 100);
	else
		fprintf(out,
			"an AU of %.4g %% is kept on up to %s at best; haul simulate knows latencies and barriers, too\n",
			target * 100, units_counted(count, most, "node"));
}

char *scaling_text(const struct scaling_row *rows, uint32_t count,
		   const struct scaling_limits *limits, double target)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return NULL;
	scaling_print(out, rows, count);
	if (count)
		scaling_print_summary(out, &rows[count - 1], limits,
				      target > 0 ? target : scaling_default_au);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static cJSON *scaling_row_json(const struct scaling_row *r)
{
	cJSON *json = cJSON_CreateObject();

	for (unsigned c = 0; c < SCALING_COLUMNS; c++)
		if (scaling_columns[c].key)
			json_add_number(json, scaling_columns[c].key,
					scaling_value(r, &scaling_columns[c]));
	return json;
}

cJSON *scaling_object(const struct scaling_row *rows, uint32_t count,
		      const struct scaling_limits *limits, double target)
{
	double au = target > 0 ? target : scaling_default_au;
	cJSON *json = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(json, "scaling");
	uint64_t most = count ? scaling_nodes_max(&rows[count - 1], limits, au) : UINT64_MAX;

	for (uint32_t i = 0; i < count; i++)
		cJSON_AddItemToArray(list, scaling_row_json(&rows[i]));
	json_add_number(json, "target_au", au);
	json_add_number(json, "nodes_max", most == UINT64_MAX ? NAN : (double)most);
	return json;
}

char *scaling_json(const struct scaling_row *rows, uint32_t count,
		   const struct scaling_limits *limits, double target)
{
	cJSON *json = scaling_object(rows, count, limits, target);
	char *text = json_print(json);

	cJSON_Delete(json);
	return text;
}

static bool scaling_is_dots(const char *text, size_t length)
{
	return (length == 3 && strncmp(text, "...", 3) == 0) ||
	       (length == 3 && strncmp(text, "\xe2\x80\xa6", 3) == 0);
}

/* Numbers between the last two of nodes, which grow as those before them do. Returns how many there
 * are then; 0: they cannot grow so, or are too many. */
static uint32_t scaling_fill(uint32_t *nodes, uint32_t count, uint32_t last, uint32_t max)
{
	uint64_t factor = 2, step = 0, next;

	if (count >= 2 && nodes[count - 1] % nodes[count - 2] == 0)
		factor = nodes[count - 1] / nodes[count - 2];
	else if (count >= 2)
		step = nodes[count - 1] - (uint64_t)nodes[count - 2];
	if (!step && factor < 2)
		return 0;
	for (next = nodes[count - 1];;) {
		next = step ? next + step : next * factor;
		if (next >= last)
			break;
		if (count + 1 >= max)
			return 0;
		nodes[count++] = (uint32_t)next;
	}
	nodes[count++] = last;
	return count;
}

static int scaling_refuse_nodes(const char *text, struct err *err)
{
	return err_set(
		err, -EINVAL,
		"--nodes: must be a number of nodes, or growing ones such as 1,2,4,...,512; is "
		"\"%s\"",
		text);
}

int scaling_parse_nodes(const char *text, uint32_t *nodes, uint32_t max, struct err *err)
{
	uint32_t count = 0;
	bool dots = false;

	for (const char *at = text;;) {
		size_t length = strcspn(at, ",");
		unsigned long value;
		char *end;

		if (scaling_is_dots(at, length)) {
			if (!count || dots || !at[length])
				return scaling_refuse_nodes(text, err);
			dots = true;
		} else {
			errno = 0;
			value = strtoul(at, &end, 10);
			if (errno || end != at + length || at[0] < '0' || at[0] > '9' || !value ||
			    value > 1 << 20 || (count && value <= nodes[count - 1]) || count == max)
				return scaling_refuse_nodes(text, err);
			if (dots)
				count = scaling_fill(nodes, count, (uint32_t)value, max);
			else
				nodes[count++] = (uint32_t)value;
			if (!count)
				return scaling_refuse_nodes(text, err);
			dots = false;
		}
		if (!at[length])
			return (int)count;
		at += length + 1;
	}
}

int scaling_parse_rate(const char *text, double *bytes_per_second, struct err *err)
{
	uint64_t each = 0;
	unsigned long count = 1;
	char *end;

	count = strtoul(text, &end, 10);
	if (end != text && (*end == 'x' || *end == 'X') && count)
		text = end + 1;
	else
		count = 1;
	if (units_parse_rate(text, &each, err) < 0)
		return -EINVAL;
	if (!each)
		return err_set(err, -EINVAL, "must be more than 0");
	*bytes_per_second = (double)each * (double)count;
	return 0;
}
