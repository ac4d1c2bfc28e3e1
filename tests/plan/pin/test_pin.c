/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of core slices, on synthetic topologies, so that the machine of the test does not
 * matter. */
#include <stdlib.h>
#include <string.h>

#include "plan/pin/pin.h"
#include "tests/unit.h"

/* An Aurora node: two packages of 52 cores with 2 threads each, and DDR and HBM for each
 * package. */
static const char aurora[] =
	"pack:2 [numa(memory=549755813888)] [numa(memory=68719476736)] core:52 pu:2";

struct node {
	hwloc_topology_t topology;
	hwloc_bitmap_t allowed;
};

static void node_open(struct node *n, const char *synthetic)
{
	CU_ASSERT_FATAL(hwloc_topology_init(&n->topology) == 0);
	CU_ASSERT_FATAL(hwloc_topology_set_synthetic(n->topology, synthetic) == 0);
	CU_ASSERT_FATAL(hwloc_topology_load(n->topology) == 0);
	n->allowed = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(n->topology));
}

static void node_close(struct node *n)
{
	hwloc_bitmap_free(n->allowed);
	hwloc_topology_destroy(n->topology);
}

static hwloc_obj_t core(const struct node *n, unsigned index)
{
	return hwloc_get_obj_by_type(n->topology, HWLOC_OBJ_CORE, index);
}

/* Cores 0 and 52 belong to the system's services. */
static void reserve(struct node *n)
{
	hwloc_bitmap_andnot(n->allowed, n->allowed, core(n, 0)->cpuset);
	hwloc_bitmap_andnot(n->allowed, n->allowed, core(n, 52)->cpuset);
}

static hwloc_bitmap_t cut(const struct node *n, const struct job_cluster *cluster, uint32_t rank,
			  uint32_t ranks, const char **message)
{
	hwloc_bitmap_t set = NULL;
	struct err err = {0};

	CU_ASSERT_FATAL(pin_cut(cluster, n->topology, n->allowed,
				&(struct pin_seat){rank, ranks, rank, ranks}, &set, message,
				&err) == 0);
	CU_ASSERT(hwloc_bitmap_isincluded(set, n->allowed));
	return set;
}

/* Writes the cores of a set, numbered in their order, such as "1-8". */
static void core_list(const struct node *n, hwloc_const_bitmap_t set, char *text, int bytes)
{
	hwloc_bitmap_t cores = hwloc_bitmap_alloc();
	hwloc_obj_t c = NULL;

	while ((c = hwloc_get_next_obj_by_type(n->topology, HWLOC_OBJ_CORE, c)))
		if (hwloc_bitmap_intersects(c->cpuset, set))
			hwloc_bitmap_set(cores, c->logical_index);
	hwloc_bitmap_list_snprintf(text, (size_t)bytes, cores);
	hwloc_bitmap_free(cores);
}

static void check_lists(const struct node *n, const struct job_cluster *cluster,
			const char *const *wanted, uint32_t ranks)
{
	hwloc_bitmap_t used = hwloc_bitmap_alloc();
	uint32_t r;

	for (r = 0; r < ranks; r++) {
		const char *message;
		hwloc_bitmap_t set = cut(n, cluster, r, ranks, &message);
		char text[128];

		core_list(n, set, text, sizeof(text));
		CU_ASSERT_STRING_EQUAL(text, wanted[r]);
		CU_ASSERT_PTR_NULL(message);
		CU_ASSERT_FALSE(hwloc_bitmap_intersects(used, set));
		hwloc_bitmap_or(used, used, set);
		hwloc_bitmap_free(set);
	}
	hwloc_bitmap_free(used);
}

static void test_aurora_numa(void)
{
	static const char *const wanted[] = {"1-8",   "9-16",  "17-24", "25-32", "33-40", "41-48",
					     "53-60", "61-68", "69-76", "77-84", "85-92", "93-100"};
	const struct job_cluster cluster = {.pin = PIN_NUMA};
	struct node n;

	node_open(&n, aurora);
	reserve(&n);
	check_lists(&n, &cluster, wanted, 12);
	node_close(&n);
}

static void test_aurora_few(void)
{
	static const char *const one[] = {"1-51,53-103"}, *const two[] = {"1-51", "53-103"};
	static const char *const three[] = {"1-25", "26-50", "53-77"};
	const struct job_cluster cluster = {.pin = PIN_NUMA};
	struct node n;

	node_open(&n, aurora);
	reserve(&n);
	check_lists(&n, &cluster, one, 1);
	check_lists(&n, &cluster, two, 2);
	check_lists(&n, &cluster, three, 3);
	node_close(&n);
}

static void test_core(void)
{
	static const char *const wanted[] = {"0-2", "3-5", "6-8"};
	const struct job_cluster cluster = {.pin = PIN_CORE};
	struct node n;

	node_open(&n, "pack:2 core:5 pu:2");
	check_lists(&n, &cluster, wanted, 3);
	node_close(&n);
}

/* With at least as many domains as ranks, each rank gets whole domains, and all ranks get equally
 * many cores. */
static void test_fewer_ranks_than_domains(void)
{
	static const char *const wanted[] = {"0-7", "8-15"};
	const struct job_cluster cluster = {.pin = PIN_NUMA};
	struct node n;

	node_open(&n, "pack:2 [numa] core:8 pu:1");
	check_lists(&n, &cluster, wanted, 2);
	node_close(&n);
	node_open(&n, "numa:4 core:4 pu:1");
	check_lists(&n, &cluster, wanted, 2);
	node_close(&n);
}

static void test_two_cores(void)
{
	static const char *const wanted[] = {"0", "1"};
	const struct job_cluster numa = {.pin = PIN_NUMA}, by_core = {.pin = PIN_CORE};
	const char *message;
	hwloc_bitmap_t set;
	struct node n;

	node_open(&n, "core:2 pu:1");
	check_lists(&n, &numa, wanted, 2);
	check_lists(&n, &by_core, wanted, 2);
	set = cut(&n, &numa, 2, 3, &message);
	CU_ASSERT_STRING_EQUAL(message, "more ranks than cores: not pinned");
	CU_ASSERT(hwloc_bitmap_isequal(set, n.allowed));
	hwloc_bitmap_free(set);
	node_close(&n);
}

static void test_none(void)
{
	const struct job_cluster cluster = {.pin = PIN_NONE};
	hwloc_bitmap_t set;
	struct node n;

	node_open(&n, aurora);
	reserve(&n);
	set = cut(&n, &cluster, 3, 12, NULL);
	CU_ASSERT(hwloc_bitmap_isequal(set, n.allowed));
	hwloc_bitmap_free(set);
	node_close(&n);
}

static void test_launcher_mask_is_kept(void)
{
	static const enum pin pins[] = {PIN_CORE, PIN_NUMA, PIN_TILE, PIN_NIC};
	hwloc_bitmap_t mask, set;
	unsigned i, c;
	struct node n;

	node_open(&n, aurora);
	mask = hwloc_bitmap_alloc();
	for (c = 9; c <= 16; c++) /* one thread per core, as with --cpu-bind=list:9-16 */
		hwloc_bitmap_set(mask, (unsigned)hwloc_bitmap_first(core(&n, c)->cpuset));
	hwloc_bitmap_copy(n.allowed, mask);
	for (i = 0; i < sizeof(pins) / sizeof(pins[0]); i++) {
		const struct job_cluster cluster = {.pin = pins[i]};
		const struct pin_seat seat = {1, 12, 0, 1};
		const char *message;
		struct err err = {0};

		CU_ASSERT_FATAL(
			pin_cut(&cluster, n.topology, n.allowed, &seat, &set, &message, &err) == 0);
		CU_ASSERT(hwloc_bitmap_isequal(set, mask));
		CU_ASSERT_PTR_NOT_NULL_FATAL(message);
		CU_ASSERT_PTR_NOT_NULL(strstr(message, "its choice is kept"));
		hwloc_bitmap_free(set);
	}
	hwloc_bitmap_free(mask);
	node_close(&n);
}

static int refuse(const struct node *n, const struct job_cluster *cluster, uint32_t rank,
		  uint32_t ranks, struct err *err)
{
	const struct pin_seat seat = {rank, ranks, rank, ranks};
	hwloc_bitmap_t set;

	return pin_cut(cluster, n->topology, n->allowed, &seat, &set, NULL, err);
}

static void test_list(void)
{
	struct job_cluster cluster = {.pin = PIN_LIST, .cores = "2-9:10-10,12-13:300"};
	hwloc_bitmap_t set;
	struct err err = {0};
	const char *message;
	char text[64];
	struct node n;

	node_open(&n, aurora);
	set = cut(&n, &cluster, 1, 3, &message);
	hwloc_bitmap_list_snprintf(text, sizeof(text), set);
	CU_ASSERT_STRING_EQUAL(text, "10,12-13");
	CU_ASSERT_PTR_NULL(message);
	hwloc_bitmap_free(set);
	hwloc_bitmap_clr(n.allowed, 12); /* the slice is never wider than the launcher's mask */
	set = cut(&n, &cluster, 1, 3, &message);
	hwloc_bitmap_list_snprintf(text, sizeof(text), set);
	CU_ASSERT_STRING_EQUAL(text, "10,13");
	CU_ASSERT_PTR_NOT_NULL(message);
	hwloc_bitmap_free(set);
	CU_ASSERT(refuse(&n, &cluster, 2, 3, &err) < 0);
	CU_ASSERT(refuse(&n, &cluster, 0, 4, &err) < 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "names 3 sets, but a node has 4 ranks"));
	node_close(&n);
}

static void test_list_refused(void)
{
	static const char *const broken[] = {"",    "1-",   "a",   "1:",          ":1",
					     "3-1", "1,,2", "1 2", "99999999999", "1-2-3"};
	struct node n;
	unsigned i;

	node_open(&n, "core:2 pu:1");
	for (i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		struct job_cluster cluster = {.pin = PIN_LIST};
		struct err err = {0};

		strcpy(cluster.cores, broken[i]);
		CU_ASSERT(refuse(&n, &cluster, 0, 1, &err) < 0);
		CU_ASSERT(strncmp(err.text, "/cluster/cores: ", 16) == 0);
	}
	node_close(&n);
}

/* For any number of ranks, the slices are equal, disjoint and inside one domain. */
static void test_equal_for_any_count(void)
{
	const struct job_cluster cluster = {.pin = PIN_NUMA};
	struct node n;
	uint32_t ranks, r;

	node_open(&n, aurora);
	reserve(&n);
	for (ranks = 2; ranks <= 102; ranks++) {
		hwloc_bitmap_t used = hwloc_bitmap_alloc();
		int weight = 0;

		for (r = 0; r < ranks; r++) {
			hwloc_bitmap_t set = cut(&n, &cluster, r, ranks, NULL);
			hwloc_const_bitmap_t package =
				hwloc_get_obj_by_type(n.topology, HWLOC_OBJ_PACKAGE,
						      hwloc_bitmap_first(set) >= 104)
					->cpuset;

			CU_ASSERT(hwloc_bitmap_isincluded(set, package));
			CU_ASSERT_FALSE(hwloc_bitmap_intersects(used, set));
			hwloc_bitmap_or(used, used, set);
			weight = r ? weight : hwloc_bitmap_weight(set);
			CU_ASSERT_EQUAL(hwloc_bitmap_weight(set), weight);
			hwloc_bitmap_free(set);
		}
		hwloc_bitmap_free(used);
	}
	node_close(&n);
}

static void test_picture(void)
{
	const struct job_cluster cluster = {.pin = PIN_NUMA};
	struct err err = {0};
	struct node n;
	char *text;

	node_open(&n, aurora);
	text = pin_picture(&cluster, n.topology, 12, NULL, &err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "2 packages · 4 NUMA nodes · 104 cores · 208 threads"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(text, "000000001111111122222222333333334444444455555555...."));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "the same cores"));
	free(text);
	node_close(&n);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"12 ranks on an Aurora node", test_aurora_numa},
		{"1, 2 and 3 ranks on it", test_aurora_few},
		{"equal for any count", test_equal_for_any_count},
		{"pin core", test_core},
		{"fewer ranks than domains", test_fewer_ranks_than_domains},
		{"two cores", test_two_cores},
		{"pin none", test_none},
		{"the launcher's mask is kept", test_launcher_mask_is_kept},
		{"pin list", test_list},
		{"lists refused", test_list_refused},
		{"the picture", test_picture},
		CU_TEST_INFO_NULL,
	};

	return unit_main("pin", tests);
}
