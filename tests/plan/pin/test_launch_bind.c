/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of a launcher's binding: what its list gives each rank, and how `haul topo --bind` shows
 * it. */
#include "plan/pin/launch_bind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/pin/pin.h"
#include "tests/plan/pin/node_load.h"
#include "tests/unit.h"

static void test_lists(void)
{
	static const struct {
		const char *text;
		uint32_t ranks;
		const char *wanted; /* a set for each rank */
	} lists[] = {
		{"list:0-7,104-111:8-15,112-119", 0, "0-7,104-111 8-15,112-119"},
		{"list:4:9:14", 2, "4 9"},
		{"map_cpu:0,8,16", 0, "0 8 16"},
		{"map_cpu:0x10,3", 5, "16 3 16 3 16"},
		{"map_cpu:0*2,4*2", 0, "0 0 4 4"},
		{"mask_cpu:0xff,ff00", 0, "0-7 8-15"},
		{"mask_cpu:0x3*2,0xC", 4, "0-1 0-1 2-3 0-1"},
		{"mask_cpu:0x8000000000000000000000001", 0, "0,99"},
	};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct err err = {0};
		struct launch_bind b;
		char text[256] = "";

		CU_ASSERT_FATAL(launch_bind_read(&b, lists[i].text, lists[i].ranks, &err) == 0);
		for (uint32_t r = 0; r < b.ranks; r++) {
			size_t used = strlen(text);

			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s",
						 r ? " " : "");
			hwloc_bitmap_list_snprintf(text + used, sizeof(text) - used,
						   launch_bind_set(&b, r));
		}
		CU_ASSERT_STRING_EQUAL(text, lists[i].wanted);
		launch_bind_free(&b);
	}
}

static void test_refused(void)
{
	static const struct {
		const char *text;
		uint32_t ranks;
		const char *wanted;
	} refused[] = {
		{"", 0, "is not a launcher's list"},
		{"0-7:8-15", 0, "is not a launcher's list"},
		{"depth", 0, "is not a launcher's list"},
		{"list:", 0, "at \"\""},
		{"list:0-7;8-15", 0, "at \";8-15\""},
		{"list:7-0", 0, "is not what list: should hold"},
		{"list:0-7:8-15", 3, "has 2 sets, but the node has 3 ranks"},
		{"list:0-7", 2, "has 1 set, but the node has 2 ranks"},
		{"list:99999", 0, "is not what list: should hold"},
		{"map_cpu:0-7", 0, "at \"-7\""},
		{"map_cpu:1,,2", 0, "at \",2\""},
		{"map_cpu:1*0", 0, "is not what map_cpu: should hold"},
		{"map_cpu:1*9999", 0, "is not what map_cpu: should hold"},
		{"map_cpu:1*4096,2", 0, "more than 4096 entries"},
		{"mask_cpu:0x", 0, "is not what mask_cpu: should hold"},
		{"mask_cpu:0xfg", 0, "at \"g\""},
		{"mask_cpu:0", 0, "is not what mask_cpu: should hold"},
	};

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct err err = {0};
		struct launch_bind b;

		CU_ASSERT(launch_bind_read(&b, refused[i].text, refused[i].ranks, &err) < 0);
		CU_ASSERT(strncmp(err.text, "--bind: ", 8) == 0);
		if (!strstr(err.text, refused[i].wanted))
			printf("\n%s: %s\n", refused[i].text, err.text);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, refused[i].wanted));
	}
}

/* The picture, or the sentence of the refusal. The caller frees it. */
static char *picture(const char *node, const char *list, enum pin pin)
{
	const struct job_cluster cluster = {.pin = pin};
	hwloc_topology_t topology = node_load(node);
	struct err err = {0};
	struct launch_bind b;
	char *text;

	CU_ASSERT_FATAL(launch_bind_read(&b, list, 0, &err) == 0);
	text = pin_picture(&cluster, topology, b.ranks, &b, &err);
	launch_bind_free(&b);
	hwloc_topology_destroy(topology);
	return text ? text : strdup(err.text);
}

static void test_pictures(void)
{
	static const struct {
		const char *node, *list;
		enum pin pin;
		const char *wanted[4], *never;
	} pictures[] = {
		/* ALCF's list for 12 ranks: no rank has anything to be told of. */
		{"aurora",
		 "list:1-8,105-112:9-16:17-24:25-32:33-40:41-48:53-60:61-68:69-76:77-84:85-92:"
		 "93-100",
		 PIN_NONE,
		 {"12 ranks · inside what the launcher gives", "=00000000111111112222",
		  "   0      8  0     hsn0-3 ze0-2                1-8,105-112\n",
		  "  11      8  1     hsn4-7 ze3-5                93-100\n"},
		 "note"},
		/* --cpu-bind=depth --depth=8 from core 0 on: what docs/planning.md warns of. */
		{"aurora",
		 "list:0-7:8-15:16-23:24-31:32-39:40-47:48-55",
		 PIN_NONE,
		 {"note       rank 6 has cores of several packages\n",
		  "note       rank 0 and 1 more have cores that the system keeps for itself\n",
		  "   6      8  0-1  "},
		 "lacks"},
		{"dual",
		 "map_cpu:0,33,200",
		 PIN_NONE,
		 {"--bind: this node has none of rank 2's processors, 200"},
		 "rank  cores"},
		{"dual",
		 "list:0-15:32-63,250",
		 PIN_NONE,
		 {"note       rank 1 has processors that this node lacks\n",
		  "   1     32  1     ib2-3 cuda4-7               32-63\n"},
		 "packages\nnote"},
		/* Two ranks with one mask each: haul divides it between them. */
		{"dual",
		 "mask_cpu:0xffff*2,0xffff00000000*2",
		 PIN_CORE,
		 {"   0      8  0     ib0-1 cuda0-3               0-7\n",
		  "   1      8  0     ib0-1 cuda0-3               8-15\n",
		  "   3      8  1     ib2-3 cuda4-7               40-47\n"},
		 "note"},
		{"dual",
		 "list:0-15:16-31",
		 PIN_TILE,
		 {"its choice is kept", "  16-31\n"},
		 "  0-7\n"},
	};

	for (size_t i = 0; i < sizeof(pictures) / sizeof(pictures[0]); i++) {
		char *text = picture(pictures[i].node, pictures[i].list, pictures[i].pin);

		CU_ASSERT_PTR_NOT_NULL_FATAL(text);
		for (int w = 0; w < 4 && pictures[i].wanted[w]; w++) {
			if (!strstr(text, pictures[i].wanted[w]))
				printf("\nno \"%s\" in\n%s\n", pictures[i].wanted[w], text);
			CU_ASSERT_PTR_NOT_NULL(strstr(text, pictures[i].wanted[w]));
		}
		CU_ASSERT_PTR_NULL(strstr(text, pictures[i].never));
		free(text);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{"lists", test_lists},
		{"what is refused", test_refused},
		{"pictures", test_pictures},
		CU_TEST_INFO_NULL,
	};

	return unit_main("launcher's binding", tests);
}
