/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the parsers of /proc, on recorded and made-up texts and trees of files
 * (tests/fixtures/client/README.md), against values that were determined by hand. The argument is
 * the folder of the fixtures. */
#include <CUnit/CUnit.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/client/source.h"
#include "core/proc.h"
#include "tests/unit.h"

static const char *folder;

static uint64_t tick(void)
{
	return 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
}

static void read_tree(const char *tree, uint64_t reading[CLIENT_COLUMNS],
		      struct client_facts *facts)
{
	struct client_source *s;
	struct err err = {0};
	char root[4096];

	snprintf(root, sizeof(root), "%s/%s", folder, tree);
	CU_ASSERT_EQUAL_FATAL(client_source_open(&s, root, NULL, 0, &err), 0);
	client_source_read(s, reading);
	*facts = *client_source_facts(s);
	client_source_close(s);
}

static void a_recorded_machine(void)
{
	uint64_t r[CLIENT_COLUMNS];
	struct client_facts facts;

	read_tree("recorded", r, &facts);
	CU_ASSERT_EQUAL(r[CLIENT_CPU_USER_NS], (403427 + 7127) * tick());
	CU_ASSERT_EQUAL(r[CLIENT_CPU_SYSTEM_NS], 227099 * tick());
	CU_ASSERT_EQUAL(r[CLIENT_CPU_IDLE_NS], 1610611 * tick());
	CU_ASSERT_EQUAL(r[CLIENT_CPU_IOWAIT_NS], 14940 * tick());
	CU_ASSERT_EQUAL(r[CLIENT_CPU_IRQ_NS], 0);
	CU_ASSERT_EQUAL(r[CLIENT_CPU_SOFTIRQ_NS], 1883 * tick());
	CU_ASSERT_EQUAL(r[CLIENT_CPU_STEAL_NS], 2189 * tick());
	CU_ASSERT_EQUAL(r[CLIENT_RANK_CORES_NS], 0); /* there are no ranks */
	CU_ASSERT_EQUAL(r[CLIENT_MEMORY_FREE_BYTES], 22918124ull * 1024);
	CU_ASSERT_EQUAL(r[CLIENT_CACHED_BYTES], 1011456ull * 1024);
	CU_ASSERT_EQUAL(r[CLIENT_DIRTY_BYTES], 16912ull * 1024);
	CU_ASSERT_EQUAL(r[CLIENT_DIRTY_LIMIT_BYTES],
			(1188955 / 2 + 593751 / 2) * (uint64_t)sysconf(_SC_PAGESIZE));
	CU_ASSERT_EQUAL(r[CLIENT_NIC_IN_BYTES], 1493913242);
	CU_ASSERT_EQUAL(r[CLIENT_NIC_OUT_BYTES], 1809368);
	CU_ASSERT_EQUAL(r[CLIENT_LOOPBACK_BYTES], 548331);
	CU_ASSERT_EQUAL(r[CLIENT_DISK_READ_BYTES], 474035014ull * 512);
	CU_ASSERT_EQUAL(r[CLIENT_DISK_WRITTEN_BYTES], 89824104ull * 512);
	CU_ASSERT_EQUAL(r[CLIENT_CPU_WAITED_NS], 1577303078000);
	CU_ASSERT_EQUAL(facts.nics.count, 1);
	CU_ASSERT_STRING_EQUAL(facts.nics.name[0], "eth0");
	CU_ASSERT_EQUAL(facts.nic_bytes_per_s, 0);
	CU_ASSERT_EQUAL(facts.rdma.count, 0);
}

static void a_large_node(void)
{
	uint64_t r[CLIENT_COLUMNS];
	struct client_facts facts;

	read_tree("large", r, &facts);
	CU_ASSERT_EQUAL(r[CLIENT_CPU_USER_NS], 41938 * tick());
	CU_ASSERT_EQUAL(r[CLIENT_CPU_STEAL_NS], 832 * tick());
	CU_ASSERT_EQUAL(r[CLIENT_MEMORY_AVAILABLE_BYTES],
			3000 * 1024); /* not in the file: free plus cached */
	CU_ASSERT_EQUAL(r[CLIENT_DIRTY_BYTES], 30 * 1024);
	CU_ASSERT_EQUAL(r[CLIENT_WRITEBACK_BYTES], 40 * 1024);
	CU_ASSERT_EQUAL(r[CLIENT_DIRTY_LIMIT_BYTES], 200 * (uint64_t)sysconf(_SC_PAGESIZE));
	CU_ASSERT_EQUAL(facts.nics.count, 4);
	CU_ASSERT_EQUAL(r[CLIENT_NIC_IN_BYTES], UINT64_MAX); /* too large for 64 bits */
	CU_ASSERT_EQUAL(r[CLIENT_NIC_OUT_BYTES], 13000);
	CU_ASSERT_EQUAL(r[CLIENT_LOOPBACK_BYTES], 999);
	CU_ASSERT_EQUAL(facts.nic_bytes_per_s, 50125000000);
	CU_ASSERT_EQUAL(facts.disks.count, 3);
	CU_ASSERT_EQUAL(r[CLIENT_DISK_READ_BYTES], 107 * 512);
	CU_ASSERT_EQUAL(r[CLIENT_DISK_WRITTEN_BYTES], 209 * 512);
	CU_ASSERT_EQUAL(facts.rdma.count, 2);
	CU_ASSERT_STRING_EQUAL(facts.rdma.name[0], "mlx5_0");
	CU_ASSERT_STRING_EQUAL(facts.rdma.name[1], "cxi0");
	CU_ASSERT_EQUAL(facts.rdma_bytes_per_s, 12500000000);
	CU_ASSERT_EQUAL(r[CLIENT_RDMA_IN_BYTES], 4070);
	CU_ASSERT_EQUAL(r[CLIENT_RDMA_OUT_BYTES], 1030);
	CU_ASSERT_EQUAL(r[CLIENT_CPU_WAITED_NS], 12345000);
	CU_ASSERT_EQUAL(r[CLIENT_MEMORY_STALLED_NS], 7000);
	CU_ASSERT_EQUAL(r[CLIENT_CPU_THROTTLED_NS], 123456789);
}

static void a_container_shows_little(void)
{
	uint64_t r[CLIENT_COLUMNS];
	struct client_facts facts;

	read_tree("container", r, &facts);
	CU_ASSERT_EQUAL(r[CLIENT_CPU_USER_NS], 30 * tick());
	CU_ASSERT_EQUAL(r[CLIENT_CPU_STEAL_NS], 0);
	CU_ASSERT_EQUAL(r[CLIENT_MEMORY_AVAILABLE_BYTES], 15 * 1024);
	CU_ASSERT_EQUAL(facts.nics.count, 1);
	CU_ASSERT_EQUAL(r[CLIENT_NIC_IN_BYTES], 40);
	CU_ASSERT_EQUAL(r[CLIENT_NIC_OUT_BYTES], 60);
	CU_ASSERT_EQUAL(r[CLIENT_LOOPBACK_BYTES], 1);
	CU_ASSERT_EQUAL(facts.nic_bytes_per_s, 0); /* the speed of a virtual link means nothing */
	CU_ASSERT_EQUAL(facts.disks.count, 0);
	CU_ASSERT_EQUAL(r[CLIENT_CPU_THROTTLED_NS], 2500000);
	CU_ASSERT_EQUAL(r[CLIENT_DISK_READ_BYTES], 0);
	read_tree("nothing", r, &facts);
	for (unsigned i = 0; i < CLIENT_COLUMNS; i++)
		CU_ASSERT_EQUAL(r[i], 0);
}

/* The ranks have the first and the last of the node's 208 cores. */
static void only_the_ranks_cores(void)
{
	static char text[1 << 16];
	struct client_cores cores = {{1}};
	uint64_t r[CLIENT_COLUMNS] = {0};
	char path[4096];
	size_t length;
	FILE *f;

	cores.bits[207 / 64] |= 1ul << 207 % 64;
	snprintf(path, sizeof(path), "%s/large/proc/stat", folder);
	f = fopen(path, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	length = fread(text, 1, sizeof(text), f);
	fclose(f);
	client_parse_stat(text, length, 10, &cores, r);
	CU_ASSERT_EQUAL(r[CLIENT_RANK_CORES_BUSY_NS], (120 + 327) * 10);
	CU_ASSERT_EQUAL(r[CLIENT_RANK_CORES_NS], (1125 + 1332) * 10);
	CU_ASSERT(!client_cores_has(&cores, CLIENT_CORES));
}

static void truncated_texts(void)
{
	static const char stat[] = "cpu  1 2 3\ncpu0 4 5 6 7\ncpu1 8";
	struct client_cores cores = {{3}};
	uint64_t r[CLIENT_COLUMNS] = {0}, value = 5;

	for (size_t n = 0; n < sizeof(stat); n++)
		client_parse_stat(stat, n, 1, &cores, r);
	CU_ASSERT_EQUAL(r[CLIENT_CPU_USER_NS], 3);
	CU_ASSERT_EQUAL(r[CLIENT_RANK_CORES_NS], 22);
	CU_ASSERT_EQUAL(r[CLIENT_RANK_CORES_BUSY_NS], 15);
	CU_ASSERT(!client_parse_number("-1\n", 3, &value));
	CU_ASSERT(!client_parse_number("", 0, &value));
	CU_ASSERT_EQUAL(value, 5);
	CU_ASSERT(client_parse_number("99999999999999999999999", 23, &value));
	CU_ASSERT_EQUAL(value, UINT64_MAX);
}

static void control_groups(void)
{
	static const struct {
		const char *text, *path;
		bool old;
	} cases[] = {
		{"0::/user.slice/a:b\n", "/user.slice/a:b", false},
		{"0::/\n5:cpu,cpuacct:/job\n4:memory:/m\n", "/job", true},
		{"5:cpuacct,cpu:/job/12\n", "/job/12", true},
		{"4:cpuset:/x\n3:cpuacct:/y\n", NULL, false},
		{"0::/a_path_longer_than_16\n", "/a_path_longer_", false},
		{"0::/cut", NULL, false},
		{"0:\n:\n\n", NULL, false},
	};
	char path[16];
	bool old;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		bool found = client_parse_cgroup(cases[i].text, strlen(cases[i].text), path,
						 sizeof(path), &old);

		CU_ASSERT_EQUAL(found, cases[i].path != NULL);
		CU_ASSERT_EQUAL(old, cases[i].old);
		if (found && cases[i].path)
			CU_ASSERT_STRING_EQUAL(path, cases[i].path);
	}
}

/* Readings of this machine while this process works. */
static void a_reading_of_this_process(void)
{
	uint64_t before[CLIENT_COLUMNS], after[CLIENT_COLUMNS];
	pid_t self[2] = {getpid(), 0x3ffffff}; /* no process has the second one */
	struct client_source *s;
	uint64_t run_ns, waited_ns;
	struct timespec spent, from;
	struct err err = {0};
	cpu_set_t mine;

	CU_ASSERT_EQUAL_FATAL(client_source_open(&s, "", self, 2, &err), 0);
	sched_times(&run_ns, &waited_ns);
	client_source_read(s, before);
	CU_ASSERT(before[CLIENT_HAUL_WAITED_NS] >= waited_ns);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
	while ((spent.tv_sec - from.tv_sec) * 1000000000L + spent.tv_nsec - from.tv_nsec <
	       50000000);
	client_source_read(s, after);
	sched_times(&run_ns, &waited_ns);
	CU_ASSERT(after[CLIENT_HAUL_WAITED_NS] >= before[CLIENT_HAUL_WAITED_NS]);
	CU_ASSERT(after[CLIENT_HAUL_WAITED_NS] <= waited_ns);
	CU_ASSERT(after[CLIENT_HAUL_CPU_NS] - before[CLIENT_HAUL_CPU_NS] >= 50000000);
	CU_ASSERT(after[CLIENT_HAUL_CPU_NS] - before[CLIENT_HAUL_CPU_NS] < 100000000);
	CU_ASSERT(after[CLIENT_RANK_CORES_BUSY_NS] >= before[CLIENT_RANK_CORES_BUSY_NS]);
	CU_ASSERT(sched_getaffinity(0, sizeof(mine), &mine) == 0 && CPU_COUNT(&mine) > 0);
	CU_ASSERT(after[CLIENT_RANK_CORES_NS] > 0);
	client_source_close(s);
}

int main(int argc, char **argv)
{
	const CU_TestInfo tests[] = {
		{"a recorded machine", a_recorded_machine},
		{"a large node", a_large_node},
		{"a container shows little", a_container_shows_little},
		{"only the ranks' cores", only_the_ranks_cores},
		{"truncated texts", truncated_texts},
		{"control groups", control_groups},
		{"a reading of this process", a_reading_of_this_process},
		CU_TEST_INFO_NULL,
	};

	folder = argc > 1 ? argv[1] : ".";
	return unit_main("client source", tests);
}
