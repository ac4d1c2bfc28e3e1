/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of core lists on whole nodes. The topologies in tests/fixtures/topologies are generated,
 * not recorded (see fixtures/topologies/make.py there). The expected lists for Aurora are those of
 * ALCF's user guides. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/pin/accelerator.h"
#include "plan/pin/pin.h"
#include "tests/plan/pin/node_load.h"
#include "tests/unit.h"

#define TILES_12 "1-8:9-16:17-24:25-32:33-40:41-48:53-60:61-68:69-76:77-84:85-92:93-100"
#define TILES_6  "1-16:17-32:33-48:53-68:69-84:85-100"
#define NICS_12  "4:9:14:19:20:25:56:61:66:71:74:79"
#define NICS_8   "4:9:14:19:56:61:66:71"
#define NICS_16  "4:9:14:19:20:25:30:35:56:61:66:71:72:77:82:87"
#define RESERVED "an Aurora node: cores 0 and 52 are left to the system's services"

static const struct node_case {
	const char *node;
	enum pin pin;
	uint32_t ranks, gpus;
	const char *reserved;
	const char *wanted;           /* cores of each rank, by their first threads */
	const char *reserved_message; /* NULL: no message */
} cases[] = {
	{"aurora", PIN_TILE, 12, 0, "", TILES_12, RESERVED},
	{"aurora", PIN_TILE, 12, 12, "", TILES_12, RESERVED},
	{"aurora", PIN_TILE, 6, 0, "", TILES_6, RESERVED},
	{"aurora", PIN_TILE, 6, 6, "", TILES_6, RESERVED},
	{"aurora", PIN_TILE, 4, 0, "", "1-24:25-48:53-76:77-100", RESERVED},
	{"aurora", PIN_TILE, 3, 0, "", "1-16:33-48:69-84", RESERVED},
	{"aurora", PIN_TILE, 2, 0, "", "1-48:53-100", RESERVED},
	{"aurora", PIN_TILE, 8, 0, "", "1-8:9-16:25-32:33-40:53-60:61-68:77-84:85-92", RESERVED},
	{"aurora", PIN_TILE, 24, 0, "",
	 "1-4:5-8:9-12:13-16:17-20:21-24:25-28:29-32:33-36:37-40:41-44:45-48:53-56:57-60:61-64:"
	 "65-68:69-72:73-76:77-80:81-84:85-88:89-92:93-96:97-100",
	 RESERVED},
	{"aurora", PIN_TILE, 12, 0, "0,52", TILES_12, NULL},
	{"aurora", PIN_TILE, 12, 0, "104,156", TILES_12, NULL},
	{"aurora", PIN_TILE, 12, 0, "none",
	 "0-7:8-15:16-23:24-31:32-39:40-47:52-59:60-67:68-75:76-83:84-91:92-99", NULL},
	{"aurora", PIN_NUMA, 12, 0, "", TILES_12, RESERVED},
	{"aurora", PIN_NUMA, 2, 0, "", "1-51:53-103", RESERVED},
	{"aurora", PIN_CORE, 2, 0, "", "1-51:53-103", RESERVED},
	{"aurora", PIN_NIC, 12, 0, "", NICS_12, RESERVED},
	{"aurora", PIN_NIC, 8, 0, "", NICS_8, RESERVED},
	{"aurora", PIN_NIC, 16, 0, "", NICS_16, RESERVED},
	{"aurora", PIN_NIC, 2, 0, "", "4:55", RESERVED},
	{"aurora", PIN_NIC, 4, 0, "", "4:9:54:59", RESERVED},
	{"aurora_hidden", PIN_TILE, 12, 0, "", TILES_12, RESERVED},
	{"aurora_hidden", PIN_TILE, 6, 0, "", TILES_6, RESERVED},
	{"aurora_hidden", PIN_NIC, 12, 0, "", NICS_12, RESERVED},
	{"aurora_hidden", PIN_NIC, 8, 0, "", NICS_8, RESERVED},
	{"aurora_cgroup", PIN_TILE, 12, 0, "", TILES_12, NULL},
	{"aurora_cgroup", PIN_TILE, 6, 0, "", TILES_6, NULL},
	{"aurora_cgroup", PIN_NIC, 12, 0, "", NICS_12, NULL},
	{"dual", PIN_TILE, 8, 0, "", "0-7:8-15:16-23:24-31:32-39:40-47:48-55:56-63", NULL},
	{"dual", PIN_TILE, 4, 0, "", "0-15:16-31:32-47:48-63", NULL},
	{"dual", PIN_TILE, 4, 16, "", "0-15:16-31:32-47:48-63", NULL},
	{"dual", PIN_TILE, 8, 0, "0,32", "1-7:8-14:15-21:22-28:33-39:40-46:47-53:54-60", NULL},
	{"dual", PIN_NIC, 4, 0, "", "0-15:16-31:32-47:48-63", NULL},
	{"dual", PIN_NIC, 6, 0, "", "0-7:8-15:16-23:32-39:40-47:48-55", NULL},
	{"dual", PIN_NIC, 2, 0, "", "0-31:32-63", NULL},
	{"slingshot", PIN_NIC, 4, 0, "", "0-15:16-31:32-47:48-63", NULL},
	{"ports", PIN_NIC, 4, 0, "", "0-15:16-31:32-47:48-63", NULL},
	{"ports_inside", PIN_NIC, 4, 0, "", "0-15:16-31:32-47:48-63", NULL},
	{"dual_cgroup", PIN_TILE, 8, 0, "", "8-9:10-11:12-13:14-15:40-41:42-43:44-45:46-47", NULL},
	{"dual_cgroup", PIN_NIC, 4, 0, "", "8-11:12-15:40-43:44-47", NULL},
	{"dual_cgroup", PIN_NUMA, 2, 0, "", "8-15:40-47", NULL},
	{"dual_cgroup", PIN_CORE, 16, 0, "", "8:9:10:11:12:13:14:15:40:41:42:43:44:45:46:47", NULL},
};

/* Appends the cores of a set by their first threads. Every core must be complete, except for
 * threads that are not allowed. */
static void add_list(hwloc_topology_t topology, hwloc_const_bitmap_t set, char *text, size_t bytes)
{
	hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(topology);
	hwloc_bitmap_t firsts = hwloc_bitmap_alloc();
	hwloc_obj_t core = NULL;
	size_t used = strlen(text);

	CU_ASSERT(hwloc_bitmap_isincluded(set, allowed));
	while ((core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core))) {
		if (!hwloc_bitmap_intersects(core->cpuset, set))
			continue;
		CU_ASSERT(hwloc_bitmap_isincluded(core->cpuset, set));
		hwloc_bitmap_set(firsts, (unsigned)hwloc_bitmap_first(core->cpuset));
	}
	if (used)
		text[used++] = ':';
	hwloc_bitmap_list_snprintf(text + used, bytes - used, firsts);
	hwloc_bitmap_free(firsts);
}

static struct job_cluster cluster_of(const struct node_case *t)
{
	struct job_cluster cluster = {.pin = t->pin, .gpus = t->gpus};

	snprintf(cluster.reserved_cores, sizeof(cluster.reserved_cores), "%s", t->reserved);
	return cluster;
}

static void check_reserved(const struct node_case *t, hwloc_topology_t topology)
{
	const struct job_cluster cluster = cluster_of(t);
	hwloc_bitmap_t reserved = hwloc_bitmap_alloc();
	const char *message;
	struct err err = {0};

	CU_ASSERT(pin_reserved(&cluster, topology, reserved, &message, &err) == 0);
	if (t->reserved_message)
		CU_ASSERT_STRING_EQUAL(message ? message : "nothing", t->reserved_message);
	else
		CU_ASSERT_PTR_NULL(message);
	hwloc_bitmap_free(reserved);
}

static void test_lists(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct node_case *t = &cases[i];
		const struct job_cluster cluster = cluster_of(t);
		hwloc_topology_t topology = node_load(t->node);
		char text[1024] = "";

		for (uint32_t r = 0; r < t->ranks; r++) {
			const struct pin_seat seat = {r, t->ranks, r, t->ranks};
			hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(topology);
			hwloc_bitmap_t set;
			const char *message;
			struct err err = {0};

			CU_ASSERT_FATAL(pin_cut(&cluster, topology, allowed, &seat, &set, &message,
						&err) == 0);
			CU_ASSERT_PTR_NULL(message);
			add_list(topology, set, text, sizeof(text));
			hwloc_bitmap_free(set);
		}
		if (strcmp(text, t->wanted) != 0)
			printf("\n%s, pin %s, %u ranks: %s\n", t->node, pin_names[t->pin], t->ranks,
			       text);
		CU_ASSERT_STRING_EQUAL(text, t->wanted);
		check_reserved(t, topology);
		hwloc_topology_destroy(topology);
	}
}

/* For every node, policy and number of ranks, the slices are disjoint, equal, and inside the cores
 * that are allowed and not reserved. */
static void check_any_count(const char *name, enum pin pin, uint32_t ranks)
{
	const struct job_cluster cluster = {.pin = pin};
	hwloc_topology_t topology = node_load(name);
	hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(topology);
	hwloc_bitmap_t used = hwloc_bitmap_alloc();
	const char *message;
	struct err err = {0};
	int weight = 0;

	CU_ASSERT(pin_reserved(&cluster, topology, used, &message, &err) == 0);
	for (uint32_t r = 0; r < ranks; r++) {
		const struct pin_seat seat = {r, ranks, r, ranks};
		hwloc_bitmap_t set;

		CU_ASSERT_FATAL(pin_cut(&cluster, topology, allowed, &seat, &set, &message, &err) ==
				0);
		CU_ASSERT(hwloc_bitmap_isincluded(set, allowed));
		if (!message) {
			CU_ASSERT_FALSE(hwloc_bitmap_intersects(set, used));
			weight = r ? weight : hwloc_bitmap_weight(set);
			CU_ASSERT_EQUAL(hwloc_bitmap_weight(set), weight);
			CU_ASSERT(weight > 0);
		}
		hwloc_bitmap_or(used, used, set);
		hwloc_bitmap_free(set);
	}
	hwloc_bitmap_free(used);
	hwloc_topology_destroy(topology);
}

static void test_any_count(void)
{
	static const uint32_t counts[] = {2, 3, 5, 7, 9, 11, 13, 16, 25, 32, 51, 64, 100, 102};
	static const char *const nodes[] = {"aurora", "aurora_hidden", "dual", "dual_cgroup"};

	for (size_t n = 0; n < sizeof(nodes) / sizeof(nodes[0]); n++)
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
			check_any_count(nodes[n], PIN_TILE, counts[i]);
			check_any_count(nodes[n], PIN_NIC, counts[i]);
		}
}

/* With a multiple of 8 ranks, each of the node's 8 NICs has equally many. */
static void test_nics_even(void)
{
	const struct job_cluster cluster = {.pin = PIN_NIC};
	hwloc_topology_t topology = node_load("aurora");
	hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(topology);

	for (uint32_t ranks = 8; ranks <= 96; ranks += 8) {
		uint32_t on[8] = {0};

		for (uint32_t r = 0; r < ranks; r++) {
			const struct pin_seat seat = {r, ranks, r, ranks};
			hwloc_bitmap_t set;
			struct err err = {0};
			int core;

			CU_ASSERT_FATAL(
				pin_cut(&cluster, topology, allowed, &seat, &set, NULL, &err) == 0);
			core = hwloc_bitmap_first(set);
			on[core < 52 ? core % 4 : 4 + core % 4]++;
			hwloc_bitmap_free(set);
		}
		for (int i = 0; i < 8; i++)
			CU_ASSERT_EQUAL(on[i], ranks / 8);
	}
	hwloc_topology_destroy(topology);
}

/* The launcher gave each socket to 6 ranks: they divide it among them and do not leave it. */
static void test_masks_by_socket(void)
{
	static const char *const wanted[] = {"53-60", "61-68", "69-76", "77-84", "85-92", "93-100"};
	const struct job_cluster cluster = {.pin = PIN_TILE};
	hwloc_topology_t topology = node_load("aurora");
	hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 1);

	for (uint32_t i = 0; i < 6; i++) {
		const struct pin_seat seat = {6 + i, 12, i, 6};
		char text[64] = "";
		hwloc_bitmap_t set;
		const char *message;
		struct err err = {0};

		CU_ASSERT_FATAL(pin_cut(&cluster, topology, package->cpuset, &seat, &set, &message,
					&err) == 0);
		CU_ASSERT_PTR_NULL(message);
		add_list(topology, set, text, sizeof(text));
		CU_ASSERT_STRING_EQUAL(text, wanted[i]);
		hwloc_bitmap_free(set);
	}
	hwloc_topology_destroy(topology);
}

/* A mask that contains nothing but a reserved core is kept, because the rank needs a core. */
static void test_only_reserved_given(void)
{
	const struct job_cluster cluster = {.pin = PIN_NIC};
	const struct pin_seat seat = {0, 1, 0, 1};
	hwloc_topology_t topology = node_load("aurora");
	hwloc_bitmap_t mask = hwloc_bitmap_alloc(), set;
	struct err err = {0};

	hwloc_bitmap_set(mask, 52);
	CU_ASSERT_FATAL(pin_cut(&cluster, topology, mask, &seat, &set, NULL, &err) == 0);
	CU_ASSERT(hwloc_bitmap_isequal(set, mask));
	hwloc_bitmap_free(set);
	hwloc_bitmap_free(mask);
	hwloc_topology_destroy(topology);
}

/* A node whose topology shows no accelerators or NICs is pinned by NUMA node, and the message says
 * so. */
static void test_no_devices(void)
{
	static const enum pin pins[] = {PIN_TILE, PIN_NIC};
	const struct pin_seat seat = {1, 2, 1, 2};
	hwloc_topology_t topology;

	CU_ASSERT_FATAL(hwloc_topology_init(&topology) == 0);
	hwloc_topology_set_synthetic(topology, "pack:2 [numa] core:4 pu:1");
	CU_ASSERT_FATAL(hwloc_topology_load(topology) == 0);
	for (size_t i = 0; i < sizeof(pins) / sizeof(pins[0]); i++) {
		const struct job_cluster cluster = {.pin = pins[i]};
		char text[64];
		hwloc_bitmap_t set;
		const char *message;
		struct err err = {0};

		CU_ASSERT_FATAL(pin_cut(&cluster, topology,
					hwloc_topology_get_allowed_cpuset(topology), &seat, &set,
					&message, &err) == 0);
		hwloc_bitmap_list_snprintf(text, sizeof(text), set);
		CU_ASSERT_STRING_EQUAL(text, "4-7");
		CU_ASSERT_PTR_NOT_NULL_FATAL(message);
		CU_ASSERT_PTR_NOT_NULL(strstr(message, "pinned as with pin numa"));
		hwloc_bitmap_free(set);
	}
	hwloc_topology_destroy(topology);
}

static void test_accelerators(void)
{
	static const struct {
		const char *node, *allowed; /* "": all are allowed */
		struct pin_seat seat;
		uint32_t gpus;
		int wanted; /* -1: unknown */
	} accelerators[] = {
		{"aurora", "", {0, 12, 0, 12}, 0, 0},
		{"aurora", "", {11, 12, 11, 12}, 0, 11},
		{"aurora", "", {5, 6, 5, 6}, 0, 10},
		{"aurora", "", {1, 2, 1, 2}, 0, 6},
		{"aurora", "53-103", {7, 12, 1, 6}, 0, 7},
		{"aurora", "53-60", {6, 12, 0, 1}, 0, -1},
		{"dual", "", {3, 8, 3, 8}, 0, 3},
		{"dual", "", {3, 4, 3, 4}, 0, 6},
		{"dual", "", {3, 4, 3, 4}, 16, 12},
		{"dual", "32-63,96-127", {5, 8, 1, 4}, 0, 5},
		{"ports", "", {1, 4, 1, 4}, 0, -1},
	};

	for (size_t i = 0; i < sizeof(accelerators) / sizeof(accelerators[0]); i++) {
		const struct job_cluster cluster = {.pin = PIN_TILE, .gpus = accelerators[i].gpus};
		hwloc_topology_t topology = node_load(accelerators[i].node);
		hwloc_bitmap_t allowed =
			hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology));
		uint32_t number = 99;
		bool told;

		if (accelerators[i].allowed[0])
			hwloc_bitmap_list_sscanf(allowed, accelerators[i].allowed);
		told = accelerator_near(&cluster, topology, allowed, &accelerators[i].seat,
					&number);
		CU_ASSERT_EQUAL(told ? (int)number : -1, accelerators[i].wanted);
		hwloc_bitmap_free(allowed);
		hwloc_topology_destroy(topology);
	}
}

static void test_accelerators_of_launcher(void)
{
	static const char *const none[] = {NULL, "",   "0,1", "GPU-3a",   "1.0",
					   "-1", " 1", "1 ",  "99999999", "all"};
	uint32_t number = 7;

	CU_ASSERT(accelerator_told("11", &number) && number == 11);
	CU_ASSERT(accelerator_told("0", &number) && number == 0);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		CU_ASSERT(!accelerator_told(none[i], &number) && number == 0);
}

static void test_pictures(void)
{
	static const struct {
		const char *node;
		enum pin pin;
		uint32_t ranks;
		const char *wanted[3];
	} pictures[] = {
		{"aurora", PIN_TILE, 12, {"=00000000111111112222", "hsn4-7 ze3-5", "9-16,113-120"}},
		{"aurora_hidden", PIN_NIC, 12, {"=...0....1....2....34....5", "hsn6", "79,183"}},
		{"dual", PIN_NIC, 4, {"NICs     ib0-1\n", "GPUs     cuda4-7\n", "0-15,64-79"}},
		{"slingshot", PIN_NIC, 4, {"NICs     hsi0-1\n", "NICs     hsi2-3\n", "0-15,64-79"}},
		{"ports", PIN_NIC, 4, {"NICs     enp0-1\n", "NICs     enp2-3\n", "0-15,64-79"}},
		{"ports_inside",
		 PIN_NIC,
		 4,
		 {"NICs     enp0-1\n", "NICs     enp2-3\n", "0-15,64-79"}},
		{"dual_cgroup", PIN_NUMA, 16, {"16 cores · 32 threads", "01234567", "47,111"}},
	};

	for (size_t i = 0; i < sizeof(pictures) / sizeof(pictures[0]); i++) {
		const struct job_cluster cluster = {.pin = pictures[i].pin};
		hwloc_topology_t topology = node_load(pictures[i].node);
		struct err err = {0};
		char *text = pin_picture(&cluster, topology, pictures[i].ranks, NULL, &err);

		CU_ASSERT_PTR_NOT_NULL_FATAL(text);
		for (int w = 0; w < 3; w++)
			CU_ASSERT_PTR_NOT_NULL(strstr(text, pictures[i].wanted[w]));
		free(text);
		hwloc_topology_destroy(topology);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"core lists", test_lists},
		{"any count of ranks", test_any_count},
		{"NICs evenly", test_nics_even},
		{"masks by socket", test_masks_by_socket},
		{"only reserved cores given", test_only_reserved_given},
		{"a node without devices", test_no_devices},
		{"accelerators", test_accelerators},
		{"accelerators named by the launcher", test_accelerators_of_launcher},
		{"pictures", test_pictures},
		CU_TEST_INFO_NULL,
	};

	return unit_main("pin on nodes", tests);
}
