/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of client-side verdicts, on rows with a known answer: which node was the limit, and what
 * the report says about it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/client/client.h"
#include "report/client_side.h"
#include "report/text/page.h"
#include "tests/unit.h"

enum { NODES = 3, ROWS = 4, COLUMNS = CLIENT_COLUMNS + 2 };
#define SECOND 1000000000ull

static char hosts[NODES][RESULTS_NAME_BYTES] = {"nid01", "nid02", "nid03"};
static struct results_links links[NODES] = {
	{1000000000, 2000000000}, {1000000000, 2000000000}, {1000000000, 2000000000}};
static struct results_column columns[COLUMNS];
static union results_cell cells[NODES * ROWS][COLUMNS];
static struct results_phase_read phase;
static struct results_file file;

static uint64_t *at(unsigned node, unsigned row, enum client_column column)
{
	return &cells[node * ROWS + row][2 + column].count;
}

/* Three nodes for four seconds. On each, the ranks have four of eight cores, which haul keeps a
 * quarter busy. */
static void fresh(void)
{
	memset(cells, 0, sizeof(cells));
	strcpy(columns[0].name, "node");
	strcpy(columns[1].name, "time_ns");
	for (unsigned c = 0; c < CLIENT_COLUMNS; c++)
		snprintf(columns[2 + c].name, RESULTS_NAME_BYTES, "%s",
			 client_columns.measures[c].name);
	for (unsigned n = 0; n < NODES; n++)
		for (unsigned i = 0; i < ROWS; i++) {
			cells[n * ROWS + i][0].count = n;
			cells[n * ROWS + i][1].count = i * SECOND;
			*at(n, i, CLIENT_COVERED_NS) = SECOND;
			*at(n, i, CLIENT_CPU_USER_NS) = SECOND;
			*at(n, i, CLIENT_CPU_IDLE_NS) = 7 * SECOND;
			*at(n, i, CLIENT_RANK_CORES_NS) = 4 * SECOND;
			*at(n, i, CLIENT_RANK_CORES_BUSY_NS) = SECOND;
			*at(n, i, CLIENT_HAUL_CPU_NS) = SECOND;
			*at(n, i, CLIENT_SAMPLER_CPU_NS) = SECOND / 1000;
			*at(n, i, CLIENT_MEMORY_AVAILABLE_BYTES) = 1000 - i;
			*at(n, i, CLIENT_DIRTY_LIMIT_BYTES) = 1000;
		}
	phase = (struct results_phase_read){
		.record = {.kind = "io", .name = "read", .status = "done", .seconds = 4},
		.client = {.column_count = COLUMNS,
			   .row_count = NODES * ROWS,
			   .columns = columns,
			   .cells = &cells[0][0]},
		.client_interval_s = 1,
	};
	file = (struct results_file){
		.nodes = NODES, .hosts = hosts, .links = links, .phase_count = 1, .phases = &phase};
}

static void all_rows(unsigned node, enum client_column column, uint64_t value)
{
	for (unsigned i = 0; i < ROWS; i++)
		*at(node, i, column) = value;
}

static void expect(enum client_limit limit, const char *message)
{
	struct client_side c;

	CU_ASSERT_FATAL(client_side_of(&file, &phase, &c));
	CU_ASSERT_EQUAL(c.limit, limit);
	CU_ASSERT_EQUAL(c.message_count, message ? 1 : 0);
	if (message && c.message_count) {
		if (strcmp(c.message[0], message) != 0)
			fprintf(stderr, "found:    %s\nexpected: %s\n", c.message[0], message);
		CU_ASSERT_STRING_EQUAL(c.message[0], message);
	}
	client_side_free(&c);
}

static void an_idle_client_says_nothing(void)
{
	struct client_side c;

	fresh();
	expect(CLIENT_LIMIT_NONE, NULL);
	CU_ASSERT_FATAL(client_side_of(&file, &phase, &c));
	CU_ASSERT_EQUAL(c.node_count, NODES);
	CU_ASSERT_DOUBLE_EQUAL(c.nodes[1].seconds, 4, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(c.nodes[1].whole.busy, 0.25, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(c.nodes[1].whole.haul, 0.25, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(c.nodes[1].sampler, 0.001, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(c.nodes[1].memory_available, 997, 0);
	CU_ASSERT(!c.weighed);
	client_side_free(&c);
}

static void busy_cores(void)
{
	fresh();
	all_rows(1, CLIENT_RANK_CORES_BUSY_NS, 3880000000);
	all_rows(1, CLIENT_HAUL_CPU_NS, 2440000000);
	/* Nothing of haul waited for them: they limited nobody. */
	expect(CLIENT_LIMIT_NONE, NULL);
	all_rows(1, CLIENT_HAUL_WAITED_NS, 399999999);
	expect(CLIENT_LIMIT_NONE, NULL);
	all_rows(1, CLIENT_HAUL_WAITED_NS, 800000000);
	expect(CLIENT_LIMIT_CPU,
	       "node nid02's cores were 97 % busy, 61 % with haul, and for each of them 0.2 threads of haul "
	       "waited on average: the client was the limit, not the storage.");
	all_rows(2, CLIENT_RANK_CORES_BUSY_NS, 3700000000);
	all_rows(2, CLIENT_HAUL_WAITED_NS, 400000000);
	expect(CLIENT_LIMIT_CPU,
	       "node nid02's cores were 97 % busy, 61 % with haul, and for each of them 0.2 threads of haul "
	       "waited on average: the client was the limit, not the storage. The same on 1 other node.");
	/* Others had the cores: that is told, and voids nothing. */
	all_rows(1, CLIENT_HAUL_CPU_NS, 400000000);
	all_rows(2, CLIENT_RANK_CORES_BUSY_NS, SECOND);
	expect(CLIENT_LIMIT_NONE,
	       "node nid02's cores were 97 % busy, 10 % with haul, and for each of them 0.2 threads of haul "
	       "waited on average: other work on the node had them.");
	all_rows(1, CLIENT_RANK_CORES_BUSY_NS, 3560000000); /* 89 % */
	expect(CLIENT_LIMIT_NONE, NULL);
	/* A file that is older than the column names no cause. */
	all_rows(1, CLIENT_RANK_CORES_BUSY_NS, 3880000000);
	all_rows(1, CLIENT_HAUL_CPU_NS, 2440000000);
	strcpy(columns[2 + CLIENT_HAUL_WAITED_NS].name, "old");
	expect(CLIENT_LIMIT_NONE,
	       "node nid02's cores were 97 % busy, 61 % with haul; whether haul's threads waited for them was "
	       "not measured.");
}

/* Cores are idle because the quota of the control group is used up. */
static void a_quota_used_up(void)
{
	fresh();
	all_rows(2, CLIENT_CPU_THROTTLED_NS, 400000000);
	expect(CLIENT_LIMIT_CPU,
	       "node nid03's control group had used up its quota of processor time 40 % of the time: "
	       "the client was the limit, not the storage.");
	all_rows(2, CLIENT_CPU_THROTTLED_NS, 90000000);
	expect(CLIENT_LIMIT_NONE, NULL);
}

/* The cores are busy only in the one second in which ranks waited for storage; then only in the
 * other seconds. */
static void busy_while_ranks_waited(void)
{
	double stalled[ROWS] = {0, 0, 2, 0};

	fresh();
	phase.timeline.column[SECOND_STALLED_NS] = stalled;
	phase.timeline.rows = ROWS;
	phase.timeline.interval_s = 1;
	*at(0, 2, CLIENT_RANK_CORES_BUSY_NS) = 4 * SECOND;
	*at(0, 2, CLIENT_HAUL_CPU_NS) = 4 * SECOND;
	*at(0, 2, CLIENT_HAUL_WAITED_NS) = 4 * SECOND;
	expect(CLIENT_LIMIT_CPU,
	       "node nid01's cores were 100 % busy while ranks waited for storage, 100 % with haul, and for each "
	       "of them 1.0 threads of haul waited on average: the client was the limit, not the storage.");
	for (unsigned i = 0; i < ROWS; i++)
		*at(0, i, CLIENT_RANK_CORES_BUSY_NS) = i == 2 ? SECOND : 4 * SECOND;
	expect(CLIENT_LIMIT_NONE, NULL);
}

/* No rank waited for storage, so busy cores did not limit anything. */
static void no_wait_no_limit(void)
{
	static const char *const names[] = {"compute_ns", "transfer_ns"};
	struct results_column account_columns[2];
	union results_cell row[2] = {{1000000}, {9000}};

	fresh();
	for (int i = 0; i < 2; i++) {
		memset(&account_columns[i], 0, sizeof(account_columns[i]));
		strcpy(account_columns[i].name, names[i]);
		account_columns[i].role = i ? ROLE_ACCOUNT_STORAGE : ROLE_ACCOUNT_COMPUTE;
	}
	phase.merged = (struct results_table){2, 1, account_columns, row};
	phase.ranks = phase.merged;
	all_rows(0, CLIENT_RANK_CORES_BUSY_NS, 4 * SECOND);
	expect(CLIENT_LIMIT_NONE, NULL);
	row[1].count = 20000;
	all_rows(0, CLIENT_HAUL_CPU_NS, 4 * SECOND);
	all_rows(0, CLIENT_HAUL_WAITED_NS, 6 * SECOND);
	expect(CLIENT_LIMIT_CPU,
	       "node nid01's cores were 100 % busy, 100 % with haul, and for each of them 1.5 threads of haul "
	       "waited on average: the client was the limit, not the storage.");
}

static void links_at_their_speed(void)
{
	fresh();
	all_rows(2, CLIENT_NIC_IN_BYTES, 950000000);
	expect(CLIENT_LIMIT_NIC,
	       "node nid03's network interfaces ran at 95 % of their links' speed: the "
	       "client's network was the limit, not the storage.");
	all_rows(2, CLIENT_NIC_IN_BYTES, 600000000);
	all_rows(2, CLIENT_NIC_OUT_BYTES, 600000000); /* each direction is below its limit */
	expect(CLIENT_LIMIT_NONE, NULL);
	all_rows(0, CLIENT_RDMA_OUT_BYTES, 2000000000);
	expect(CLIENT_LIMIT_RDMA,
	       "node nid01's RDMA ports ran at 100 % of their links' speed: the client's "
	       "network was the limit, not the storage.");
	links[0].rdma_bytes_per_s = 0; /* unknown */
	expect(CLIENT_LIMIT_NONE, NULL);
	links[0].rdma_bytes_per_s = 2000000000;
}

/* Half of the bytes of the phase, or less; and only if haul's own connections moved them. */
static void bytes_over_loopback(void)
{
	static const struct {
		const char *endpoint;
		uint64_t bytes;
		bool told;
	} cases[] = {
		{"127.0.0.1:9000", 8000000000, true},        {"127.0.0.1:9000", 3999999999, false},
		{"http://localhost:9000", 8000000000, true}, {"[::1]:9000", 8000000000, true},
		{"https://nid02:443", 8000000000, true},     {"nid021:443", 8000000000, false},
		{"10.0.0.2:9000", 8000000000, false},
	};
	struct results_column read = {.name = "bytes_read", .unit = "bytes"},
			      written = {.name = "bytes_written", .unit = "bytes"},
			      moved = {.name = "bytes", .unit = "bytes"};
	struct results_column both[] = {read, written};
	union results_cell row[] = {{.count = 8000000000}, {.count = 0}}, own;
	char name[1][TABLE_TEXT_BYTES];
	struct results_rows endpoints = {.name = "endpoints", .names = name};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		fresh();
		phase.merged = (struct results_table){
			.column_count = 2, .row_count = 1, .columns = both, .cells = row};
		own.count = cases[i].bytes;
		snprintf(name[0], sizeof(name[0]), "%s", cases[i].endpoint);
		endpoints.table = (struct results_table){
			.column_count = 1, .row_count = 1, .columns = &moved, .cells = &own};
		phase.tables = &endpoints;
		phase.table_count = 1;
		all_rows(1, CLIENT_LOOPBACK_BYTES, 999999999);
		expect(CLIENT_LIMIT_NONE, NULL);
		all_rows(1, CLIENT_LOOPBACK_BYTES, SECOND);
		expect(CLIENT_LIMIT_NONE,
		       cases[i].told
			       ? "node nid02 moved 1 GB/s over its own loopback: the store is on the node "
				 "that measures it, no network is between them, and both share its cores."
			       : NULL);
		/* Other work on the node moves as much, and haul has no such connection. */
		phase.table_count = 0;
		expect(CLIENT_LIMIT_NONE, NULL);
	}
}

static void memory_steal_and_dirty_pages(void)
{
	fresh();
	all_rows(0, CLIENT_MEMORY_STALLED_NS, 230000000);
	expect(CLIENT_LIMIT_MEMORY,
	       "node nid01 was short of memory: something waited for it 23 % of the time.");
	fresh();
	all_rows(1, CLIENT_CPU_STEAL_NS, 421052632); /* of 8.42 s */
	expect(CLIENT_LIMIT_NONE,
	       "the hypervisor took 5.0 % of node nid02's processor time (steal): times "
	       "and rates are less sure than they look.");
	fresh();
	for (unsigned i = 0; i < 2; i++) {
		*at(0, i, CLIENT_DIRTY_BYTES) = 700;
		*at(0, i, CLIENT_WRITEBACK_BYTES) = 300;
	}
	expect(CLIENT_LIMIT_NONE,
	       "node nid01 held as much unwritten data as its kernel allows 50 % of the "
	       "time: writers were slowed to the speed of the disks behind the page cache.");
}

/* No verdict: seconds shorter than the kernel's ticks, a table of unknown shape, seconds without a
 * reading. */
static void rows_without_verdict(void)
{
	struct client_side c;

	fresh();
	for (unsigned n = 0; n < NODES; n++) {
		all_rows(n, CLIENT_RANK_CORES_BUSY_NS, 4 * SECOND);
		all_rows(n, CLIENT_COVERED_NS, SECOND / 10);
	}
	expect(CLIENT_LIMIT_NONE, NULL);
	fresh();
	phase.client.row_count = 0;
	CU_ASSERT(!client_side_of(&file, &phase, &c));
	phase.client.row_count = NODES * ROWS - 1;
	CU_ASSERT(!client_side_of(&file, &phase, &c));
	fresh();
	cells[NODES * ROWS - 1][0].count = UINT64_MAX;
	CU_ASSERT(!client_side_of(&file, &phase, &c));
	fresh();
	strcpy(columns[0].name, "knot");
	CU_ASSERT(!client_side_of(&file, &phase, &c));
	fresh();
	all_rows(0, CLIENT_COVERED_NS, 0);
	all_rows(0, CLIENT_MEMORY_AVAILABLE_BYTES, 0);
	expect(CLIENT_LIMIT_NONE, NULL);
}

static void the_table_names_the_busiest_node(void)
{
	char *text = NULL;
	size_t size;
	FILE *out;

	fresh();
	all_rows(1, CLIENT_RANK_CORES_BUSY_NS, 3880000000);
	all_rows(1, CLIENT_HAUL_CPU_NS, 2440000000);
	all_rows(1, CLIENT_HAUL_WAITED_NS, 800000000);
	all_rows(1, CLIENT_NIC_IN_BYTES, 500000000);
	out = open_memstream(&text, &size);
	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	text_client_side(&(struct page){.out = out, .file = &file});
	fclose(out);
	CU_ASSERT_STRING_EQUAL(
		text,
		"\n"
		"client   busiest node   cores busy   haul   steal     net in   net out   disk read   disk write\n"
		"read            nid02         97 %   61 %     0 %   500 MB/s         0           0            0\n"
		"\n"
		"read: node nid02's cores were 97 % busy, 61 % with haul, and for each of them 0.2 threads of haul\n"
		"  waited on average: the client was the limit, not the storage.\n");
	free(text);
}

int main(void)
{
	const CU_TestInfo tests[] = {
		{"an idle client says nothing", an_idle_client_says_nothing},
		{"busy cores", busy_cores},
		{"a quota used up", a_quota_used_up},
		{"busy while ranks waited", busy_while_ranks_waited},
		{"no wait, no limit", no_wait_no_limit},
		{"links at their speed", links_at_their_speed},
		{"bytes over loopback", bytes_over_loopback},
		{"memory, steal and dirty pages", memory_steal_and_dirty_pages},
		{"rows that allow no verdict", rows_without_verdict},
		{"the table names the busiest node", the_table_names_the_busiest_node},
		CU_TEST_INFO_NULL,
	};

	return unit_main("client side", tests);
}
