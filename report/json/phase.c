/* SPDX-License-Identifier: Apache-2.0 */
/* Report of one phase as JSON: see json.h. */
#include <math.h>
#include <string.h>

#include "core/measure/quantile.h"
#include "core/numbers.h"
#include "report/accounts.h"
#include "report/against.h"
#include "report/cache.h"
#include "report/client_side.h"
#include "report/doubt.h"
#include "report/json/json.h"
#include "report/phase.h"
#include "report/phase_columns.h"
#include "report/series.h"
#include "report/verdict.h"

void json_sets(cJSON *to, const struct results_phase_read *p)
{
	cJSON *sets = cJSON_AddArrayToObject(to, "sets");

	for (uint32_t i = 0; i < p->set_count; i++)
		cJSON_AddItemToArray(sets, cJSON_CreateString(p->sets[i]));
}

static void add_price(cJSON *to, const char *key, const struct together_figure *figure)
{
	cJSON *o = cJSON_AddObjectToObject(to, key);

	json_add_number(o, "together", figure->beside);
	json_add_number(o, "alone", figure->alone);
}

/* Adds where a phase ran that the job runs at the same time as others, and what that cost it. */
static void add_together(cJSON *to, const struct results_file *f,
			 const struct results_phase_read *p)
{
	struct together_price price;
	cJSON *o, *against;

	if (!p->record.together[0]) {
		cJSON_AddNullToObject(to, "together");
		return;
	}
	o = cJSON_AddObjectToObject(to, "together");
	json_add_number(o, "entry", (double)p->record.entry);
	cJSON_AddStringToObject(o, "set", p->record.together);
	cJSON_AddBoolToObject(o, "alone", p->record.alone != 0);
	if (!together_price_of(f, p, &price)) {
		cJSON_AddNullToObject(o, "against_alone");
		return;
	}
	against = cJSON_AddObjectToObject(o, "against_alone");
	json_add_number(against, "number", (double)price.alone->record.number);
	add_price(against, "bytes_per_second", &price.bytes_per_second);
	add_price(against, "au", &price.au);
}

/* Adds the rate of plain reads from the training's store, where the same file has such a phase. */
static void add_ceiling(cJSON *to, const struct results_file *f, const struct results_phase_read *p)
{
	struct ceiling c;
	cJSON *o;

	if (!plain_io_ceiling(f, p, &c)) {
		cJSON_AddNullToObject(to, "ceiling");
		return;
	}
	o = cJSON_AddObjectToObject(to, "ceiling");
	cJSON_AddStringToObject(o, "phase", c.phase->record.name);
	json_add_number(o, "bytes_per_second", c.bytes_per_second);
	json_add_number(o, "share", c.share);
}

/* Adds the sentences about a training; none for other phases. */
static void add_verdict(cJSON *to, const struct results_file *f, const struct results_phase_read *p)
{
	cJSON *lines = cJSON_AddArrayToObject(to, "verdict");
	struct doubts doubts;
	struct verdict v;

	if (!verdict_is(p))
		return;
	verdict_of(f, p, &v);
	doubts_of(&doubts, f, p);
	doubts_but(v.line[0], VERDICT_BYTES, &doubts, v.target && !isnan(v.target->found));
	for (unsigned i = 0; i < v.count; i++)
		cJSON_AddItemToArray(lines, cJSON_CreateString(v.line[i]));
}

void json_doubts(cJSON *to, const struct doubts *d)
{
	cJSON *list = cJSON_AddArrayToObject(to, "doubts");
	char sentence[DOUBT_SENTENCE_BYTES];

	for (int i = 0; i < DOUBTS; i++) {
		cJSON *one;

		if (!d->raised[i])
			continue;
		one = cJSON_CreateObject();
		cJSON_AddStringToObject(one, "doubt", doubt_kinds[i].name);
		cJSON_AddBoolToObject(one, "voids", doubt_kinds[i].voids);
		cJSON_AddStringToObject(one, "why", d->why[i]);
		doubt_sentence(sentence, d, (enum doubt)i);
		cJSON_AddStringToObject(one, "sentence", sentence);
		cJSON_AddItemToArray(list, one);
	}
}

static void add_utilisation(cJSON *to, const struct results_phase_read *p)
{
	struct spread s = phase_spread(p, ROLE_UTILISATION);
	cJSON *au;

	if (isnan(s.mean)) {
		cJSON_AddNullToObject(to, "au");
		return;
	}
	au = cJSON_AddObjectToObject(to, "au");
	json_add_number(au, "mean", series_figure_of(p, SERIES_AU));
	json_add_number(au, "min", s.min);
	json_add_number(au, "max", s.max);
}

static const char *target_bound(const void *target)
{
	return ((const struct target_result *)target)->most ? "most" : "least";
}

static const char *target_words(const void *target)
{
	return target_state_names[target_state(target)];
}

static void add_targets(cJSON *to, const struct results_phase_read *p)
{
	static const struct column columns[] = {
		FIELD(NAME, struct target_result, name),
		FIELD(NAME, struct target_result, label),
		FIELD(NAME, struct target_result, unit),
		{.type = COLUMN_WORD, .key = "bound", .word = target_bound},
		FIELD(REAL, struct target_result, asked),
		FIELD(REAL, struct target_result, found),
		FIELD(YES, struct target_result, met),
		{.type = COLUMN_WORD, .key = "state", .word = target_words},
		COLUMNS_END};
	const struct report_table table = {
		.key = "targets", .columns = columns, TABLE_ROWS(p->targets, p->target_count)};

	json_table(to, &table);
}

/* The members of "accounts" add up to the phase's time. The parts of storage are shown once more
 * beside it. */
static void add_accounts(cJSON *to, const struct results_phase_read *p)
{
	struct account_shares a;
	cJSON *accounts, *storage;

	if (!accounts_of(p, &a)) {
		cJSON_AddNullToObject(to, "accounts");
		return;
	}
	accounts = cJSON_AddObjectToObject(to, "accounts");
	storage = cJSON_AddObjectToObject(to, "accounts_storage");
	json_add_number(accounts, "compute", accounts_seconds(&a, ROLE_ACCOUNT_COMPUTE));
	json_add_number(accounts, "storage", accounts_seconds(&a, ROLE_ACCOUNT_STORAGE));
	for (uint32_t i = 0; i < a.count; i++) {
		if (a.list[i].role == ROLE_ACCOUNT_STORAGE)
			json_add_number(storage, a.list[i].name, a.list[i].seconds);
		else if (a.list[i].role == ROLE_ACCOUNT_OTHER)
			json_add_number(accounts, a.list[i].name, a.list[i].seconds);
	}
}

static void add_latencies(cJSON *to, const struct results_phase_read *p)
{
	cJSON *all = cJSON_AddObjectToObject(to, "latency_ns");

	p = results_whole(p);
	for (uint32_t i = 0; i < p->hist_count; i++) {
		const struct hist *h = &p->hists[i].hist;
		cJSON *one = cJSON_AddObjectToObject(all, p->hists[i].name);

		json_add_number(one, "count", (double)hist_count(h));
		json_add_number(one, "mean", hist_mean_ns(h));
		json_add_number(one, "min", (double)~h->min_not_ns);
		for (int q = 0; q < QUANTILES; q++)
			json_add_number(one, quantile_kinds[q].name,
					(double)quantile_ns(h, (enum quantile)q));
		json_add_number(one, "max", (double)h->max_ns);
	}
}

/* Adds every merged column under its name. */
static void add_columns(cJSON *to, const struct results_phase_read *p)
{
	cJSON *measures = cJSON_AddObjectToObject(to, "measures");
	cJSON *figures = cJSON_AddObjectToObject(to, "figures");

	for (uint32_t c = 0; c < p->merged.column_count; c++)
		json_cell(p->merged.columns[c].real ? figures : measures, &p->merged, 0, c);
}

#define MEAN(member, key) COLUMN(REAL, struct client_means, member, key, NULL)
static const struct column client_means[] = {MEAN(busy, "cores_busy"),
					     MEAN(haul, "haul"),
					     MEAN(steal, "steal"),
					     MEAN(iowait, "iowait"),
					     MEAN(cpu_waited, "cpu_waited"),
					     MEAN(throttled, "cpu_throttled"),
					     MEAN(memory_stalled, "memory_stalled"),
					     MEAN(dirty_limited, "dirty_limited"),
					     MEAN(nic_in, "nic_in_bytes_per_second"),
					     MEAN(nic_out, "nic_out_bytes_per_second"),
					     MEAN(rdma_in, "rdma_in_bytes_per_second"),
					     MEAN(rdma_out, "rdma_out_bytes_per_second"),
					     MEAN(loopback, "loopback_bytes_per_second"),
					     MEAN(disk_read, "disk_read_bytes_per_second"),
					     MEAN(disk_written, "disk_written_bytes_per_second"),
					     COLUMNS_END};

/* Adds figures of the machines that ran the ranks, or null where nothing is known of them. */
static void add_client(cJSON *to, const struct results_file *f, const struct results_phase_read *p)
{
	struct client_side c;
	cJSON *client, *message, *nodes;

	if (!client_side_of(f, p, &c)) {
		cJSON_AddNullToObject(to, "client");
		return;
	}
	client = cJSON_AddObjectToObject(to, "client");
	json_add_text(client, "limit", client_limit_name(c.limit));
	message = cJSON_AddArrayToObject(client, "said");
	for (uint32_t i = 0; i < c.message_count; i++)
		cJSON_AddItemToArray(message, cJSON_CreateString(c.message[i]));
	nodes = cJSON_AddArrayToObject(client, "nodes");
	for (uint32_t i = 0; i < c.node_count; i++) {
		const struct client_node *n = &c.nodes[i];
		cJSON *one = cJSON_CreateObject();

		json_row(one, client_means, &n->whole);
		json_add_number(one, "node", i);
		if (i < f->nodes)
			cJSON_AddStringToObject(one, "host", f->hosts[i]);
		json_add_number(one, "seconds", n->seconds);
		json_add_number(one, "memory_available_bytes", n->memory_available);
		json_add_number(one, "cached_bytes", n->cached);
		json_add_number(one, "sampler", n->sampler);
		if (c.weighed)
			json_row(cJSON_AddObjectToObject(one, "while_waiting"), client_means,
				 &n->waiting);
		cJSON_AddItemToArray(nodes, one);
	}
	client_side_free(&c);
}

static void add_failures(cJSON *to, const struct results_file *f,
			 const struct results_phase_read *p)
{
	cJSON *all = cJSON_AddArrayToObject(to, "failures");

	p = results_whole(p);
	for (uint32_t i = 0; i < p->failure_rows; i++) {
		const struct failure *x = &p->failures[i];
		cJSON *one = cJSON_CreateObject();

		json_add_number(one, "seconds", (double)x->time_ns / 1e9);
		json_add_number(one, "rank", x->rank);
		json_add_number(one, "node", x->node);
		if (x->node < f->nodes)
			cJSON_AddStringToObject(one, "host", f->hosts[x->node]);
		cJSON_AddStringToObject(one, "operation", x->operation);
		cJSON_AddStringToObject(one, "object", x->object);
		json_add_number(one, "offset", (double)x->offset);
		json_add_number(one, "length", (double)x->length);
		json_add_number(one, "errno", x->error < 0 ? -x->error : x->error);
		json_add_number(one, "protocol_status", x->protocol_status);
		json_add_number(one, "attempts", x->attempts);
		json_add_number(one, "epoch", x->epoch);
		json_add_number(one, "step", x->step);
		cJSON_AddStringToObject(one, "text", x->text);
		cJSON_AddItemToArray(all, one);
	}
}

static const char *cache_bound(const void *criterion)
{
	return ((const struct cache_criterion *)criterion)->most ? "most" : "least";
}

static const char *cache_words(const void *criterion)
{
	return target_state_names[((const struct cache_criterion *)criterion)->state];
}

void json_cache(cJSON *to, const struct results_phase_read *p, bool voided)
{
	static const struct column figure_columns[] = {
		FIELD(TEXT, struct cache_figure, name),   FIELD(TEXT, struct cache_figure, unit),
		FIELD(REAL, struct cache_figure, mlperf), FIELD(REAL, struct cache_figure, haul),
		FIELD(TEXT, struct cache_figure, note),   COLUMNS_END};
	static const struct column criterion_columns[] = {
		FIELD(TEXT, struct cache_criterion, name),
		FIELD(TEXT, struct cache_criterion, unit),
		{.type = COLUMN_WORD, .key = "bound", .word = cache_bound},
		FIELD(REAL, struct cache_criterion, asked),
		FIELD(REAL, struct cache_criterion, found),
		FIELD(FLAG, struct cache_criterion, device),
		FIELD(FLAG, struct cache_criterion, met),
		{.type = COLUMN_WORD, .key = "state", .word = cache_words},
		COLUMNS_END};
	static const struct column part_columns[] = {
		FIELD(TEXT, struct cache_part, name),   FIELD(U64, struct cache_part, count),
		FIELD(REAL, struct cache_part, p50_ns), FIELD(REAL, struct cache_part, p95_ns),
		FIELD(REAL, struct cache_part, p99_ns), COLUMNS_END};
	static const struct column fact_columns[] = {
		FIELD(TEXT, struct cache_fact, name), FIELD(TEXT, struct cache_fact, label),
		FIELD(TEXT, struct cache_fact, unit), FIELD(REAL, struct cache_fact, value),
		COLUMNS_END};
	struct cache_part parts[CACHE_PARTS];
	struct cache_fact facts[CACHE_FACTS];
	struct cache_figure figures[CACHE_FIGURES];
	struct cache_criterion criteria[CACHE_CRITERIA];
	const struct report_table serving[] = {
		{.key = "first_tokens",
		 .columns = part_columns,
		 TABLE_ROWS(parts, cache_parts(p, parts))},
		{.key = "serving",
		 .columns = fact_columns,
		 TABLE_ROWS(facts, cache_facts(p, facts))},
	};
	const struct report_table tables[] = {
		{.key = "mlperf_figures",
		 .columns = figure_columns,
		 TABLE_ROWS(figures, cache_figures(p, figures))},
		{.key = "mlperf_criteria",
		 .columns = criterion_columns,
		 TABLE_ROWS(criteria, cache_criteria(p, voided, criteria))},
	};

	for (size_t i = 0; cache_is(p) && i < COUNT(tables); i++)
		json_table(to, cache_serves(p) ? &serving[i] : &tables[i]);
}

static uint32_t json_rows(uint32_t wanted)
{
	return wanted ? wanted : REPORT_ROWS;
}

cJSON *json_phase(const struct results_file *f, const struct results_phase_read *p,
		  const struct report_options *o)
{
	const struct phase_row row = phase_row_of(f, p);
	cJSON *object = cJSON_CreateObject();
	struct doubts doubts;

	json_row(object, phase_columns, &row);
	json_sets(object, p);
	add_verdict(object, f, p);
	doubts_of(&doubts, f, p);
	json_doubts(object, &doubts);
	add_utilisation(object, p);
	add_ceiling(object, f, p);
	add_targets(object, p);
	add_together(object, f, p);
	add_accounts(object, p);
	json_cache(object, p, doubts_void(&doubts));
	json_tables(object, p);
	add_latencies(object, p);
	json_distributions(object, p);
	json_steps(object, p, json_rows(o->steps_rows));
	json_timeline(object, p, json_rows(o->time_rows));
	json_units(object, f, p, json_rows(o->unit_rows));
	add_columns(object, p);
	add_client(object, f, p);
	json_slow(object, f, p);
	add_failures(object, f, p);
	return object;
}
