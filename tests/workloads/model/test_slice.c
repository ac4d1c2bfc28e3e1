/* SPDX-License-Identifier: Apache-2.0 */
/* Slices, beside a model of them that lists every element: single slices, what two have in common,
 * who holds it. */
#include <string.h>

#include "tests/unit.h"
#include "workloads/model/shard.h"

/* Matrices that divide evenly by some meshes and not by others; a vector that all tensor ranks
 * have. */
static const struct shard_matrix matrices[] = {
	{.name = "by rows", .rows = 12, .columns = 5, .by_rows = true},
	{.name = "by columns", .rows = 5, .columns = 12},
	{.name = "one row", .rows = 1, .columns = 24},
	{.name = "odd", .rows = 7, .columns = 11},
	{.name = "whole", .rows = 29, .whole = true},
	{.name = "uncut", .rows = 17, .whole = true, .uncut = true},
};
static const struct mesh meshes[] = {
	{1, 1, 1, 0, 0, 0}, {2, 1, 1, 0, 0, 0}, {3, 1, 1, 1, 0, 0},  {4, 1, 1, 0, 0, 0},
	{1, 1, 4, 3, 0, 0}, {2, 1, 3, 3, 0, 0}, {3, 1, 5, 3, 0, 0},  {4, 1, 8, 3, 0, 0},
	{6, 1, 1, 2, 0, 0}, {5, 1, 2, 3, 0, 0}, {12, 1, 3, 3, 0, 0}, {2, 1, 100, 3, 0, 0},
};
enum {
	MATRICES = sizeof(matrices) / sizeof(matrices[0]),
	MESHES = sizeof(meshes) / sizeof(meshes[0]),
	ELEMENTS_MAX = 80
};

/* The elements that a rank holds, listed. Returns how many. */
static uint64_t list_elements(const struct mesh *mesh, const struct shard_matrix *x,
			      const struct mesh_place *p, uint64_t list[ELEMENTS_MAX])
{
	uint64_t columns = x->columns ? x->columns : 1, elements = x->rows * columns, n = 0;
	uint64_t cut = x->by_rows || !x->columns ? x->rows : x->columns;
	uint64_t pieces = mesh->zero == 3 && !x->uncut ? mesh->data : 1;

	for (uint64_t e = 0; e < elements; e++) {
		uint64_t at = x->by_rows ? e / columns : e % columns;
		bool mine = at / (cut / mesh->tensor ? cut / mesh->tensor : 1) == p->tensor;

		if (cut % mesh->tensor)
			mine = e >= p->tensor * (elements / mesh->tensor) &&
			       e < (p->tensor + 1) * (elements / mesh->tensor);
		if (x->whole || mine)
			list[n++] = e;
	}
	n /= pieces;
	if (pieces > 1)
		memmove(list, list + p->data * n, n * sizeof(*list));
	return n;
}

static void test_elements(void)
{
	for (unsigned x = 0; x < MATRICES; x++)
		for (unsigned m = 0; m < MESHES; m++)
			for (uint64_t r = 0; r < mesh_ranks(&meshes[m]); r++) {
				uint64_t list[ELEMENTS_MAX], count, before = 0;
				struct mesh_place p;
				struct slice s;

				mesh_at(&meshes[m], r, &p);
				count = list_elements(&meshes[m], &matrices[x], &p, list);
				slice_make(&meshes[m], &matrices[x], &p, &s);
				CU_ASSERT_EQUAL_FATAL(s.count, count);
				for (uint64_t i = 0; i < count; i++)
					CU_ASSERT_EQUAL(slice_element(&s, i), list[i]);
				if (!count)
					continue;
				for (uint64_t e = 0; e <= list[count - 1] + 1; e++) {
					CU_ASSERT_EQUAL(slice_before(&s, e), before);
					before += before < count && list[before] == e;
				}
			}
}

/* The runs of held that are in wanted too: all of them, in order, and no two that touch. Returns
 * how many elements. */
static uint64_t check_common(const struct slice *held, const uint64_t *has,
			     const struct slice *wanted, const uint64_t *wants)
{
	uint64_t first, count, next = 0, end = 0, sum = 0;
	struct slice_common c;

	slice_common_begin(&c, held, wanted);
	while (slice_common_next(&c, &first, &count)) {
		CU_ASSERT(count > 0 && first + count <= held->count);
		CU_ASSERT(sum == 0 || first > end);
		for (end = first; end < first + count; end++) {
			while (next < wanted->count && wants[next] < has[end])
				next++;
			CU_ASSERT(next < wanted->count && wants[next] == has[end]);
		}
		sum += count;
	}
	for (uint64_t i = 0, j = 0; i < held->count; i++) {
		while (j < wanted->count && wants[j] < has[i])
			j++;
		sum -= j < wanted->count && wants[j] == has[i];
	}
	CU_ASSERT_EQUAL(sum, 0);
	return end;
}

/* A rank of mesh b reads what the ranks of mesh a hold. */
static void check_pair(const struct shard_matrix *x, const struct mesh *a, const struct mesh *b,
		       uint64_t rank)
{
	uint64_t wants[ELEMENTS_MAX] = {0}, has[ELEMENTS_MAX] = {0};
	struct slice wanted, held;
	struct slice_holders h;
	struct mesh_place p;
	bool any;

	mesh_at(b, rank, &p);
	slice_make(b, x, &p, &wanted);
	list_elements(b, x, &p, wants);
	any = slice_holders_find(a, x, &wanted, &h);
	for (uint64_t r = 0; r < mesh_ranks(a); r++) {
		mesh_at(a, r, &p);
		slice_make(a, x, &p, &held);
		list_elements(a, x, &p, has);
		if (check_common(&held, has, &wanted, wants))
			CU_ASSERT(any && p.tensor >= h.tensor && p.tensor < h.tensor_end &&
				  p.data >= h.data && p.data < h.data_end);
	}
}

static void test_common(void)
{
	for (unsigned x = 0; x < MATRICES; x++)
		for (unsigned a = 0; a < MESHES; a++)
			for (unsigned b = 0; b < MESHES; b++)
				for (uint64_t r = 0; r < mesh_ranks(&meshes[b]); r++)
					check_pair(&matrices[x], &meshes[a], &meshes[b], r);
}

/* A rank that reads what it wrote is led to itself, not to all ranks. */
static void test_holders_are_few(void)
{
	static const struct shard_matrix large[] = {
		{.rows = 1 << 16, .columns = 1 << 14, .by_rows = true},
		{.rows = 1 << 14, .columns = 1 << 16},
	};
	static const struct mesh mesh = {8, 1, 4096, 3, 0, 0}, twice = {8, 1, 8192, 3, 0, 0};

	for (unsigned x = 0; x < 2; x++)
		for (uint64_t r = 0; r < mesh_ranks(&mesh); r += 1001) {
			struct slice_holders h;
			struct mesh_place p;
			struct slice s;

			mesh_at(&mesh, r, &p);
			slice_make(&mesh, &large[x], &p, &s);
			CU_ASSERT(slice_holders_find(&mesh, &large[x], &s, &h));
			CU_ASSERT(h.data == p.data && h.data_end == p.data + 1);
			CU_ASSERT(h.tensor == p.tensor && h.tensor_end == p.tensor + 1);
			CU_ASSERT(slice_holders_find(&twice, &large[x], &s, &h));
			CU_ASSERT(h.data == 2 * p.data && h.data_end == 2 * p.data + 2);
			CU_ASSERT(h.tensor == p.tensor && h.tensor_end == p.tensor + 1);
		}
}

int main(void)
{
	static const CU_TestInfo tests[] = {
		{"elements", test_elements},
		{"what two slices have in common", test_common},
		{"holders are few", test_holders_are_few},
		CU_TEST_INFO_NULL,
	};

	return unit_main("slice", tests);
}
