/* SPDX-License-Identifier: Apache-2.0 */
/* Client-side limits: see client_side.h. */
#include "report/client_side.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/client/client.h"
#include "core/numbers.h"
#include "core/units.h"
#include "report/accounts.h"
#include "report/phase.h"

/* Shorter phases are not judged. */
const double client_shortest_s = 0.5;
/* Cores are the limit where, for each of them, so many threads of haul were ready and had none. */
static const double starved_limit = 0.1;
static const double busy_limit = 0.9, link_limit = 0.9, memory_limit = 0.1, throttled_limit = 0.1;
/* Of the bytes of a phase that has at least so many. */
static const double loopback_share = 0.5, loopback_least = 1e6;
static const double steal_noise = 0.02, dirty_noise = 0.2, least_waiting = 0.01;

/* Sums of a node's rows, each row weighted. */
struct sums {
	double column[CLIENT_COLUMNS];
	double dirty_limited_ns;
};

/* Column numbers of the table by enum client_column; -1: the file has none. */
static void find_columns(const struct results_table *t, int column[CLIENT_COLUMNS])
{
	for (int c = 0; c < CLIENT_COLUMNS; c++)
		column[c] = results_column(t, client_columns.measures[c].name);
}

static double client_cell(const struct results_table *t, uint64_t row, int column)
{
	return column < 0 ? 0 : (double)t->cells[row * t->column_count + (uint32_t)column].count;
}

static void sum_row(struct sums *s, const struct results_table *t, uint64_t row,
		    const int column[CLIENT_COLUMNS], double weight)
{
	double limit = client_cell(t, row, column[CLIENT_DIRTY_LIMIT_BYTES]);

	for (int c = 0; c < CLIENT_COLUMNS; c++)
		s->column[c] += weight * client_cell(t, row, column[c]);
	if (limit > 0 && client_cell(t, row, column[CLIENT_DIRTY_BYTES]) +
					 client_cell(t, row, column[CLIENT_WRITEBACK_BYTES]) >=
				 limit)
		s->dirty_limited_ns += weight * client_cell(t, row, column[CLIENT_COVERED_NS]);
}

static struct client_means means_of(const struct sums *s)
{
	const double *c = s->column;
	double cores = 0, clock = c[CLIENT_COVERED_NS], seconds = clock / 1e9;

	for (int i = CLIENT_CPU_USER_NS; i <= CLIENT_CPU_IDLE_NS; i++)
		cores += c[i];
	return (struct client_means){
		.busy = c[CLIENT_RANK_CORES_BUSY_NS] / c[CLIENT_RANK_CORES_NS],
		.haul = c[CLIENT_HAUL_CPU_NS] / c[CLIENT_RANK_CORES_NS],
		.steal = c[CLIENT_CPU_STEAL_NS] / cores,
		.iowait = c[CLIENT_CPU_IOWAIT_NS] / cores,
		.cpu_waited = c[CLIENT_CPU_WAITED_NS] / clock,
		.starved = c[CLIENT_HAUL_WAITED_NS] / c[CLIENT_RANK_CORES_NS],
		/* The time is added over cores, so it may exceed that of the clock. */
		.throttled = fmin(c[CLIENT_CPU_THROTTLED_NS] / clock, 1),
		.memory_stalled = c[CLIENT_MEMORY_STALLED_NS] / clock,
		.dirty_limited = s->dirty_limited_ns / clock,
		.nic_in = c[CLIENT_NIC_IN_BYTES] / seconds,
		.nic_out = c[CLIENT_NIC_OUT_BYTES] / seconds,
		.rdma_in = c[CLIENT_RDMA_IN_BYTES] / seconds,
		.rdma_out = c[CLIENT_RDMA_OUT_BYTES] / seconds,
		.loopback = c[CLIENT_LOOPBACK_BYTES] / seconds,
		.disk_read = c[CLIENT_DISK_READ_BYTES] / seconds,
		.disk_written = c[CLIENT_DISK_WRITTEN_BYTES] / seconds,
	};
}

/* How many ranks waited for storage, on average, in the interval of a row. A row covers one or
 * several intervals of the timeline, or a part of one. */
static double stalled_at(const struct results_phase_read *p, double from_s)
{
	const struct results_timeline *t = &p->timeline;
	const double *stalled = t->column[SECOND_STALLED_NS];
	double first = floor(from_s / t->interval_s), sum = 0;
	double last = ceil((from_s + p->client_interval_s) / t->interval_s);

	if (!stalled || !(first >= 0) || !(last > first) || !(first < (double)t->rows))
		return 0;
	for (uint64_t i = (uint64_t)first; i < t->rows && (double)i < last; i++)
		sum += stalled[i];
	return sum / (last - first);
}

/* The busier direction of a kind of link, with all its ports together, as a share of its speed.
 * NaN: that is not known. */
static double link_share(double in, double out, uint64_t speed)
{
	return speed ? fmax(in, out) / (double)speed : NAN;
}

static void node_of(const struct results_phase_read *p, uint64_t first, uint64_t rows,
		    const int column[CLIENT_COLUMNS], struct results_links link,
		    struct client_node *n)
{
	const struct results_table *t = &p->client;
	struct sums whole = {0}, waiting = {0};

	n->memory_available = INFINITY;
	for (uint64_t i = first; i < first + rows; i++) {
		double time_s = results_value(t, i, "time_ns") / 1e9;

		if (client_cell(t, i, column[CLIENT_COVERED_NS]) <= 0)
			continue;
		sum_row(&whole, t, i, column, 1);
		sum_row(&waiting, t, i, column, stalled_at(p, time_s));
		n->memory_available =
			fmin(n->memory_available,
			     client_cell(t, i, column[CLIENT_MEMORY_AVAILABLE_BYTES]));
		n->cached = fmax(n->cached, client_cell(t, i, column[CLIENT_CACHED_BYTES]));
	}
	n->seconds = whole.column[CLIENT_COVERED_NS] / 1e9;
	n->sampler = whole.column[CLIENT_SAMPLER_CPU_NS] / whole.column[CLIENT_COVERED_NS];
	n->whole = means_of(&whole);
	n->waiting = means_of(waiting.column[CLIENT_COVERED_NS] > 0 ? &waiting : &whole);
	if (column[CLIENT_HAUL_WAITED_NS] < 0)
		n->whole.starved = n->waiting.starved = NAN;
	n->busy_starved = n->waiting.starved < starved_limit ? 0 : n->waiting.busy;
	n->nic_share = link_share(n->waiting.nic_in, n->waiting.nic_out, link.nic_bytes_per_s);
	n->rdma_share = link_share(n->waiting.rdma_in, n->waiting.rdma_out, link.rdma_bytes_per_s);
}

void client_side_free(struct client_side *c)
{
	free(c->nodes);
	memset(c, 0, sizeof(*c));
}

const char *client_limit_name(enum client_limit limit)
{
	static const char *const names[] = {
		[CLIENT_LIMIT_NONE] = NULL,       [CLIENT_LIMIT_CPU] = "cpu",
		[CLIENT_LIMIT_NIC] = "nic",       [CLIENT_LIMIT_RDMA] = "rdma",
		[CLIENT_LIMIT_MEMORY] = "memory",
	};

	return names[limit];
}

/* The node that a sentence is about, and the number of other nodes for which it also holds. */
struct worst_node {
	uint32_t node, more;
	double worst;
};

#define NODE(member) offsetof(struct client_node, member)

/* value: where a node has it. */
static bool find_worst(const struct client_side *c, size_t value, double limit,
		       struct worst_node *found)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < c->node_count; i++) {
		double v = *(const double *)((const char *)&c->nodes[i] + value);

		if (!(c->nodes[i].seconds >= client_shortest_s && v >= limit))
			continue;
		if (!count || v > found->worst)
			*found = (struct worst_node){.node = i, .worst = v};
		count++;
	}
	found->more = count ? count - 1 : 0;
	return count > 0;
}

static void client_say(struct client_side *c, const struct worst_node *found, const char *format,
		       ...) __attribute__((format(printf, 3, 4)));
static void client_say(struct client_side *c, const struct worst_node *found, const char *format,
		       ...)
{
	char *text;
	va_list arguments;
	size_t n;

	if (c->message_count == CLIENT_SENTENCES)
		return;
	text = c->message[c->message_count++];
	va_start(arguments, format);
	vsnprintf(text, CLIENT_SENTENCE_BYTES, format, arguments);
	va_end(arguments);
	n = strlen(text);
	if (found->more)
		snprintf(text + n, CLIENT_SENTENCE_BYTES - n, " The same on %u other node%s.",
			 found->more, found->more == 1 ? "" : "s");
}

static void limited_by(struct client_side *c, enum client_limit limit)
{
	if (c->limit == CLIENT_LIMIT_NONE)
		c->limit = limit;
}

/* Only a phase that keeps accounts may say that ranks did not wait for storage; other phases do
 * nothing else. */
static bool client_waited(const struct results_phase_read *p)
{
	struct account_shares a;

	if (!accounts_of(p, &a))
		return true;
	return accounts_seconds(&a, ROLE_ACCOUNT_STORAGE) >= least_waiting * a.total;
}

const char *client_host(const struct results_file *f, uint32_t node)
{
	return node < f->nodes ? f->hosts[node] : "?";
}

static void judge_links(const struct results_file *f, struct client_side *c)
{
	static const struct {
		size_t share;
		enum client_limit limit;
		const char *ports;
	} links[] = {{NODE(nic_share), CLIENT_LIMIT_NIC, "network interfaces"},
		     {NODE(rdma_share), CLIENT_LIMIT_RDMA, "RDMA ports"}};
	struct worst_node found;

	for (size_t i = 0; i < COUNT(links); i++) {
		if (!find_worst(c, links[i].share, link_limit, &found))
			continue;
		limited_by(c, links[i].limit);
		client_say(
			c, &found,
			"node %s's %s ran at %.0f %% of their links' speed: the client's network "
			"was the limit, not the storage.",
			client_host(f, found.node), links[i].ports, found.worst * 100);
	}
}

/* Busy cores are a cause only if threads of haul were seen to wait for them. */
static void judge_cores(const struct results_file *f, struct client_side *c,
			const struct worst_node *found, const char *when)
{
	const struct client_means *m = &c->nodes[found->node].waiting;
	bool own = m->haul >= 0.5 * m->busy;
	char waited[128] = "; whether haul's threads waited for them was not measured";

	if (m->starved >= starved_limit)
		snprintf(waited, sizeof(waited),
			 ", and for each of them %.1f threads of haul waited on average: %s",
			 m->starved,
			 own ? "the client was the limit, not the storage"
			     : "other work on the node had them");
	if (m->starved >= starved_limit && own)
		limited_by(c, CLIENT_LIMIT_CPU);
	client_say(c, found, "node %s's cores were %.0f %% busy%s, %.0f %% with haul%s.",
		   client_host(f, found->node), m->busy * 100, when, fmin(m->haul, m->busy) * 100,
		   waited);
}

static void judge_limits(const struct results_file *f, struct client_side *c)
{
	const char *when = c->weighed ? " while ranks waited for storage" : "";
	struct worst_node found;

	if (find_worst(c, NODE(busy_starved), busy_limit, &found))
		judge_cores(f, c, &found, when);
	if (find_worst(c, NODE(waiting.throttled), throttled_limit, &found)) {
		limited_by(c, CLIENT_LIMIT_CPU);
		client_say(
			c, &found,
			"node %s's control group had used up its quota of processor time %.0f %% of the "
			"time%s: the client was the limit, not the storage.",
			client_host(f, found.node), found.worst * 100, when);
	}
	judge_links(f, c);
	if (find_worst(c, NODE(waiting.memory_stalled), memory_limit, &found)) {
		limited_by(c, CLIENT_LIMIT_MEMORY);
		client_say(
			c, &found,
			"node %s was short of memory: something waited for it %.0f %% of the time%s.",
			client_host(f, found.node), found.worst * 100, when);
	}
}

/* Whether an endpoint is on the machine that asks it: by its address, or by the name of a node. */
static bool endpoint_is_local(const struct results_file *f, const char *name)
{
	static const char *const local[] = {"localhost", "127.", "[::1]", "::1"};
	const char *scheme = strstr(name, "://");
	const char *host = scheme ? scheme + 3 : name;
	size_t length = strcspn(host, ":/");

	for (size_t i = 0; i < COUNT(local); i++)
		if (strncmp(host, local[i], strlen(local[i])) == 0)
			return true;
	for (uint64_t i = 0; f->hosts && i < f->nodes; i++)
		if (strlen(f->hosts[i]) == length && strncmp(host, f->hosts[i], length) == 0)
			return true;
	return false;
}

/* What haul's own connections moved to endpoints of the nodes themselves. */
static double local_bytes(const struct results_file *f, const struct results_phase_read *p)
{
	const struct results_rows *rows = results_find_table(results_whole(p), "endpoints");
	double sum = 0;

	for (uint64_t i = 0; rows && rows->names && i < rows->table.row_count; i++)
		if (endpoint_is_local(f, rows->names[i]))
			sum += results_value(&rows->table, i, "bytes");
	return sum;
}

/* The sum over nodes that were measured for long enough. */
static double loopback_bytes(const struct client_side *c)
{
	double sum = 0;

	for (uint32_t i = 0; i < c->node_count; i++)
		sum += c->nodes[i].whole.loopback * c->nodes[i].seconds;
	return sum;
}

/* Where what the phase moved went over loopback, no network was measured. Other work may use loopback,
 * too: haul's own connections must have moved as much. */
static void judge_loopback(const struct results_file *f, const struct results_phase_read *p,
			   struct client_side *c)
{
	double bytes = phase_bytes(p);
	struct worst_node found;
	char rate[UNITS_TEXT_BYTES];

	if (bytes >= loopback_least && loopback_bytes(c) >= loopback_share * bytes &&
	    local_bytes(f, p) >= loopback_share * bytes &&
	    find_worst(c, NODE(whole.loopback), 1, &found))
		client_say(c, &found,
			   "node %s moved %s over its own loopback: the store is on the node that "
			   "measures it, no network is between them, and both share its cores.",
			   client_host(f, found.node), units_rate(rate, found.worst));
}

static void client_judge(const struct results_file *f, const struct results_phase_read *p,
			 struct client_side *c)
{
	struct worst_node found;

	if (client_waited(p))
		judge_limits(f, c);
	judge_loopback(f, p, c);
	if (find_worst(c, NODE(whole.dirty_limited), dirty_noise, &found))
		client_say(
			c, &found,
			"node %s held as much unwritten data as its kernel allows %.0f %% of the time: "
			"writers were slowed to the speed of the disks behind the page cache.",
			client_host(f, found.node), found.worst * 100);
	if (find_worst(c, NODE(whole.steal), steal_noise, &found))
		client_say(
			c, &found,
			"the hypervisor took %.1f %% of node %s's processor time (steal): times and rates are "
			"less sure than they look.",
			found.worst * 100, client_host(f, found.node));
}

bool client_side_of(const struct results_file *f, const struct results_phase_read *phase,
		    struct client_side *c)
{
	const struct results_phase_read *p = results_whole(phase);
	const double *stalled = p->timeline.column[SECOND_STALLED_NS];
	const struct results_table *t = &p->client;
	double last = t->row_count ? results_value(t, t->row_count - 1, "node") : NAN;
	uint64_t nodes, rows;
	int column[CLIENT_COLUMNS];

	memset(c, 0, sizeof(*c));
	/* Refuses everything that haul does not write: each node has the same number of rows. */
	if (!(last >= 0) || !(last < (double)t->row_count))
		return false;
	nodes = (uint64_t)last + 1;
	if (t->row_count % nodes)
		return false;
	rows = t->row_count / nodes;
	c->nodes = calloc(nodes, sizeof(*c->nodes));
	if (!c->nodes)
		return false;
	c->node_count = (uint32_t)nodes;
	find_columns(t, column);
	for (uint64_t i = 0; stalled && i < p->timeline.rows; i++)
		c->weighed |= stalled[i] > 0;
	for (uint64_t n = 0; n < nodes; n++)
		node_of(p, n * rows, rows, column,
			f->links && n < f->nodes ? f->links[n] : (struct results_links){0},
			&c->nodes[n]);
	client_judge(f, phase, c);
	return true;
}
