/* Keys are a contract (results-schema/schema.md): added, never renamed. Sizes in bytes, times in seconds unless
 * the key says _ns; AU is a fraction; sums of ids are decimal strings, for they use all 64 bits. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/accounts.h"
#include "report/report.h"
#include "report/series.h"
#include "report/text/client_side.h"
#include "report/text/plain_io.h"

/* cJSON adds nothing when memory ends, so a text is checked once, at the end, by its printing. */
static void number(cJSON *to, const char *key, double value)
{
	if (isfinite(value))
		cJSON_AddNumberToObject(to, key, value);
	else
		cJSON_AddNullToObject(to, key);
}

static void cell(cJSON *to, const struct results_table *t, uint64_t row, uint32_t column)
{
	const struct results_column *c = &t->columns[column];
	const union results_cell *value = &t->cells[row * t->column_count + column];
	char text[32];

	if (c->real) {
		number(to, c->name, value->real);
	} else if (strcmp(c->unit, "id") == 0) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)value->count);
		cJSON_AddStringToObject(to, c->name, text);
	} else {
		number(to, c->name, (double)value->count);
	}
}

/* A key that must be there: null where the table has no such column. */
static void named(cJSON *to, const struct results_table *t, uint64_t row, const char *name)
{
	int column = results_column(t, name);

	if (column < 0)
		cJSON_AddNullToObject(to, name);
	else
		cell(to, t, row, (uint32_t)column);
}

/* What the store of a training gives to plain reads, where the same file tells. */
static void add_ceiling(cJSON *to, const struct results_file *f, const struct results_phase_read *p)
{
	struct ceiling c;
	cJSON *o;

	if (!plain_io_ceiling(f, p, &c)) {
		cJSON_AddNullToObject(to, "ceiling");
		return;
	}
	o = cJSON_AddObjectToObject(to, "ceiling");
	cJSON_AddStringToObject(o, "phase", c.phase->name);
	number(o, "bytes_per_second", c.bytes_per_second);
	number(o, "share", c.share);
}

static void add_utilisation(cJSON *to, const struct results_file *f,
			    const struct results_phase_read *p)
{
	struct spread s = spread_of(&p->ranks, "au");
	cJSON *au;

	if (isnan(s.mean)) {
		cJSON_AddNullToObject(to, "au");
	} else {
		au = cJSON_AddObjectToObject(to, "au");
		number(au, "mean", s.mean);
		number(au, "min", s.min);
		number(au, "max", s.max);
	}
	number(to, "au_mlperf", results_value(&p->merged, 0, "au_mlperf"));
	number(to, "au_without_skew", results_value(&p->merged, 0, "au_without_skew"));
	number(to, "null_au", p->null_au);
	add_ceiling(to, f, p);
	number(to, "target_au", p->target_au);
}

/* "accounts" adds up to the phase's time; its storage is divided once more beside it. */
static void add_accounts(cJSON *to, const struct results_phase_read *p)
{
	struct accounts a;
	cJSON *accounts, *storage;

	if (!accounts_of(p, &a)) {
		cJSON_AddNullToObject(to, "accounts");
		return;
	}
	accounts = cJSON_AddObjectToObject(to, "accounts");
	number(accounts, "compute", a.seconds[ACCOUNT_COMPUTE]);
	number(accounts, "storage",
	       a.seconds[ACCOUNT_OPEN] + a.seconds[ACCOUNT_FIRST_BYTE] +
		       a.seconds[ACCOUNT_TRANSFER] + a.seconds[ACCOUNT_QUEUE]);
	number(accounts, "ranks", a.seconds[ACCOUNT_RANKS]);
	number(accounts, "decode", a.seconds[ACCOUNT_DECODE]);
	number(accounts, "copy", a.seconds[ACCOUNT_COPY]);
	number(accounts, "haul", a.seconds[ACCOUNT_HAUL]);
	storage = cJSON_AddObjectToObject(to, "accounts_storage");
	number(storage, "open", a.seconds[ACCOUNT_OPEN]);
	number(storage, "first_byte", a.seconds[ACCOUNT_FIRST_BYTE]);
	number(storage, "transfer", a.seconds[ACCOUNT_TRANSFER]);
	number(storage, "queue", a.seconds[ACCOUNT_QUEUE]);
}

/* The five keys of the contract first, then every other column. */
static cJSON *epoch(const struct results_table *t, uint64_t row)
{
	static const char *const first[] = {"samples", "id_sum", "id_hash", "au"};
	cJSON *e = cJSON_CreateObject();

	for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
		named(e, t, row, first[i]);
	number(e, "seconds", results_value(t, row, "wall_ns") / 1e9);
	for (uint32_t c = 0; c < t->column_count; c++)
		if (!cJSON_HasObjectItem(e, t->columns[c].name))
			cell(e, t, row, c);
	return e;
}

/* Cells by their columns' names; the statuses that it gave, by number. */
static cJSON *endpoint(const struct results_phase_read *p, uint64_t row)
{
	const struct results_table *t = &p->endpoints;
	cJSON *o = cJSON_CreateObject(), *statuses;
	char status[8];

	cJSON_AddStringToObject(o, "name", p->endpoint_names[row]);
	for (uint32_t c = 0; c < t->column_count; c++) {
		if (strcmp(t->columns[c].name, "endpoint") != 0)
			cell(o, t, row, c);
	}
	statuses = cJSON_AddObjectToObject(o, "statuses");
	for (uint64_t i = 0; i < p->status_count; i++) {
		if (p->statuses[i][0] != row)
			continue;
		snprintf(status, sizeof(status), "%u", (unsigned)p->statuses[i][1] % 1000);
		cJSON_AddNumberToObject(statuses, status, (double)p->statuses[i][2]);
	}
	return o;
}

static void add_endpoints(cJSON *to, const struct results_phase_read *p)
{
	cJSON *list;

	if (!p->endpoints.row_count)
		return;
	list = cJSON_AddArrayToObject(to, "endpoints");
	for (uint64_t i = 0; i < p->endpoints.row_count; i++)
		cJSON_AddItemToArray(list, endpoint(p, i));
}

/* Evaluations stand apart: they are no epochs of training. */
static void add_epochs(cJSON *to, const struct results_phase_read *p)
{
	cJSON *epochs = cJSON_AddArrayToObject(to, "epochs"), *evaluations = NULL;

	for (uint64_t i = 0; i < p->epochs.row_count; i++) {
		bool evaluation = results_value(&p->epochs, i, "evaluation") > 0;

		if (evaluation && !evaluations)
			evaluations = cJSON_AddArrayToObject(to, "evaluations");
		cJSON_AddItemToArray(evaluation ? evaluations : epochs, epoch(&p->epochs, i));
	}
}

static void add_latencies(cJSON *to, const struct results_phase_read *p)
{
	static const struct {
		const char *key;
		double q;
	} quantiles[] = {
		{"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}, {"p9999", 0.9999},
	};
	cJSON *all = cJSON_AddObjectToObject(to, "latency_ns");

	for (uint32_t i = 0; i < p->hist_count; i++) {
		const struct hist *h = &p->hists[i].hist;
		cJSON *one = cJSON_AddObjectToObject(all, p->hists[i].name);

		number(one, "count", (double)hist_count(h));
		number(one, "mean", hist_mean_ns(h));
		number(one, "min", (double)~h->min_not_ns);
		for (size_t k = 0; k < sizeof(quantiles) / sizeof(*quantiles); k++)
			number(one, quantiles[k].key, (double)hist_quantile_ns(h, quantiles[k].q));
		number(one, "max", (double)h->max_ns);
	}
}

static void add_failures(cJSON *to, const struct results_file *f,
			 const struct results_phase_read *p)
{
	cJSON *all = cJSON_AddArrayToObject(to, "failures");

	for (uint32_t i = 0; i < p->failure_rows; i++) {
		const struct failure *x = &p->failures[i];
		cJSON *one = cJSON_CreateObject();

		number(one, "seconds", (double)x->time_ns / 1e9);
		number(one, "rank", x->rank);
		number(one, "node", x->node);
		if (x->node < f->nodes)
			cJSON_AddStringToObject(one, "host", f->hosts[x->node]);
		cJSON_AddStringToObject(one, "operation", x->operation);
		cJSON_AddStringToObject(one, "object", x->object);
		number(one, "offset", (double)x->offset);
		number(one, "length", (double)x->length);
		number(one, "errno", x->error < 0 ? -x->error : x->error);
		number(one, "protocol_status", x->protocol_status);
		number(one, "attempts", x->attempts);
		number(one, "epoch", x->epoch);
		number(one, "step", x->step);
		cJSON_AddStringToObject(one, "text", x->text);
		cJSON_AddItemToArray(all, one);
	}
}

static cJSON *client_means(const struct client_means *m)
{
	const struct {
		const char *key;
		double value;
	} values[] = {
		{"cores_busy", m->busy},
		{"haul", m->haul},
		{"steal", m->steal},
		{"iowait", m->iowait},
		{"cpu_waited", m->cpu_waited},
		{"cpu_throttled", m->throttled},
		{"memory_stalled", m->memory_stalled},
		{"dirty_limited", m->dirty_limited},
		{"nic_in_bytes_per_second", m->nic_in},
		{"nic_out_bytes_per_second", m->nic_out},
		{"rdma_in_bytes_per_second", m->rdma_in},
		{"rdma_out_bytes_per_second", m->rdma_out},
		{"disk_read_bytes_per_second", m->disk_read},
		{"disk_written_bytes_per_second", m->disk_written},
	};
	cJSON *o = cJSON_CreateObject();

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		number(o, values[i].key, values[i].value);
	return o;
}

/* The machines that ran the ranks: null where nothing is known of them. */
static void add_client(cJSON *to, const struct results_file *f, const struct results_phase_read *p)
{
	struct client_side c;
	cJSON *client, *message, *nodes;

	if (!client_side_of(f, p, &c)) {
		cJSON_AddNullToObject(to, "client");
		return;
	}
	client = cJSON_AddObjectToObject(to, "client");
	if (c.limit == CLIENT_LIMIT_NONE)
		cJSON_AddNullToObject(client, "limit");
	else
		cJSON_AddStringToObject(client, "limit", client_limit_name(c.limit));
	message = cJSON_AddArrayToObject(client, "said");
	for (uint32_t i = 0; i < c.message_count; i++)
		cJSON_AddItemToArray(message, cJSON_CreateString(c.message[i]));
	nodes = cJSON_AddArrayToObject(client, "nodes");
	for (uint32_t i = 0; i < c.node_count; i++) {
		const struct client_node *n = &c.nodes[i];
		cJSON *one = client_means(&n->whole);

		number(one, "node", i);
		if (i < f->nodes)
			cJSON_AddStringToObject(one, "host", f->hosts[i]);
		number(one, "seconds", n->seconds);
		number(one, "memory_available_bytes", n->memory_available);
		number(one, "cached_bytes", n->cached);
		number(one, "sampler", n->sampler);
		if (c.weighed)
			cJSON_AddItemToObject(one, "while_waiting", client_means(&n->waiting));
		cJSON_AddItemToArray(nodes, one);
	}
	client_side_free(&c);
}

static void add_sets(cJSON *to, const struct results_phase_read *p)
{
	cJSON *sets = cJSON_AddArrayToObject(to, "sets");

	cJSON_AddStringToObject(to, "sweep", p->sweep);
	for (uint32_t i = 0; i < p->set_count; i++)
		cJSON_AddItemToArray(sets, cJSON_CreateString(p->sets[i]));
}

/* Where the phase stands in a series of runs. */
static void add_run(cJSON *to, const struct results_phase_read *p)
{
	number(to, "run", (double)p->run);
	number(to, "combination", (double)p->combination);
	number(to, "repeat", (double)p->repeat);
	cJSON_AddBoolToObject(to, "warmup", p->warmup);
	add_sets(to, p);
}

static void add_stats(cJSON *to, const char *key, const struct stats *s)
{
	cJSON *o = cJSON_AddObjectToObject(to, key);

	number(o, "mean", s->mean);
	number(o, "stdev", s->stdev);
	number(o, "ci95_low", s->low);
	number(o, "ci95_high", s->high);
	number(o, "cv", s->cv);
	number(o, "min", s->min);
	number(o, "max", s->max);
}

/* An object for each phase of each combination: its repeats together. */
static bool add_series(cJSON *to, const struct results_file *f)
{
	static const char *const keys[SERIES_FIGURES] = {
		[SERIES_AU] = "au",
		[SERIES_BYTES] = "bytes_per_second",
		[SERIES_SAMPLES] = "samples_per_second",
		[SERIES_OPERATIONS] = "operations_per_second",
		[SERIES_P99] = "p99_ns",
	};
	cJSON *all = cJSON_AddArrayToObject(to, "series");
	struct series_lines s;
	bool whole = series_make(&s, f);

	for (uint32_t i = 0; whole && i < s.count; i++) {
		const struct results_phase_read *p = s.lines[i].first;
		cJSON *o = cJSON_CreateObject();

		cJSON_AddStringToObject(o, "phase", p->name);
		cJSON_AddStringToObject(o, "kind", p->kind);
		number(o, "combination", (double)p->combination);
		add_sets(o, p);
		number(o, "repeats", s.lines[i].repeats);
		cJSON_AddStringToObject(o, "latency", p->main_hist);
		for (int k = 0; k < SERIES_FIGURES; k++)
			add_stats(o, keys[k], &s.lines[i].figures[k]);
		cJSON_AddItemToArray(all, o);
	}
	series_free_lines(&s);
	return whole;
}

static cJSON *phase(const struct results_file *f, const struct results_phase_read *p)
{
	static const char *const counts[] = {"bytes_read", "bytes_written", "operations", "errors",
					     "retries"};
	cJSON *o = cJSON_CreateObject(), *measures, *figures;

	cJSON_AddStringToObject(o, "kind", p->kind);
	cJSON_AddStringToObject(o, "name", p->name);
	cJSON_AddStringToObject(o, "store", p->store);
	cJSON_AddStringToObject(o, "status", p->status);
	cJSON_AddStringToObject(o, "said", p->message);
	add_run(o, p);
	cJSON_AddStringToObject(o, "error", p->error);
	number(o, "seconds", p->seconds);
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		named(o, &p->merged, 0, counts[i]);
	add_utilisation(o, f, p);
	add_accounts(o, p);
	add_epochs(o, p);
	add_endpoints(o, p);
	add_latencies(o, p);
	measures = cJSON_AddObjectToObject(o, "measures");
	figures = cJSON_AddObjectToObject(o, "figures");
	for (uint32_t c = 0; c < p->merged.column_count; c++)
		cell(p->merged.columns[c].real ? figures : measures, &p->merged, 0, c);
	add_client(o, f, p);
	add_failures(o, f, p);
	return o;
}

static cJSON *store(const struct store_facts *s)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "name", s->name);
	cJSON_AddStringToObject(o, "uri", s->uri);
	cJSON_AddStringToObject(o, "engine", s->engine);
	cJSON_AddBoolToObject(o, "direct", s->direct != 0);
	number(o, "block_bytes", (double)s->block_bytes);
	cJSON_AddStringToObject(o, "file_system", s->file_system);
	cJSON_AddStringToObject(o, "layout", s->layout);
	cJSON_AddStringToObject(o, "client", s->client);
	number(o, "copies_read", (double)s->copies_read);
	number(o, "copies_streamed", (double)s->copies_streamed);
	number(o, "copies_written", (double)s->copies_written);
	number(o, "nodes", (double)s->nodes);
	cJSON_AddStringToObject(o, "note", s->note);
	return o;
}

/* NULL: no memory. */
static cJSON *file_object(const struct results_file *f)
{
	cJSON *o = cJSON_CreateObject(), *stores, *phases;

	cJSON_AddStringToObject(o, "file", f->path);
	cJSON_AddStringToObject(o, "name", f->name);
	cJSON_AddStringToObject(o, "status", f->status);
	cJSON_AddStringToObject(o, "error", f->error);
	cJSON_AddStringToObject(o, "started", f->started);
	cJSON_AddStringToObject(o, "finished", f->finished);
	number(o, "seconds", f->seconds);
	number(o, "ranks", (double)f->ranks);
	number(o, "nodes", (double)f->nodes);
	number(o, "runs", (double)f->runs);
	cJSON_AddStringToObject(o, "haul_version", f->version);
	cJSON_AddStringToObject(o, "build", f->build);
	cJSON_AddStringToObject(o, "command_line", f->command_line);
	stores = cJSON_AddArrayToObject(o, "stores");
	for (uint64_t i = 0; i < f->store_count; i++)
		cJSON_AddItemToArray(stores, store(&f->stores[i]));
	phases = cJSON_AddArrayToObject(o, "phases");
	for (uint32_t i = 0; i < f->phase_count; i++)
		cJSON_AddItemToArray(phases, phase(f, &f->phases[i]));
	if (add_series(o, f))
		return o;
	cJSON_Delete(o);
	return NULL;
}

char *report_json(const struct results_file *const *files, unsigned count)
{
	cJSON *all = count == 1 ? file_object(files[0]) : cJSON_CreateArray();
	char *plain, *text = NULL;

	for (unsigned i = 0; all && count != 1 && i < count; i++) {
		cJSON *one = file_object(files[i]);

		if (one) {
			cJSON_AddItemToArray(all, one);
		} else {
			cJSON_Delete(all);
			all = NULL;
		}
	}
	plain = all ? cJSON_Print(all) : NULL;
	if (plain && asprintf(&text, "%s\n", plain) < 0)
		text = NULL;
	cJSON_free(plain);
	cJSON_Delete(all);
	return text;
}
