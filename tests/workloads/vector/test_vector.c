/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of vector search: layouts against published sizes, bytes that do not depend on how they
 * are made, and searches that find exactly the nearest. */
#include <string.h>

#include "core/numbers.h"
#include "tests/unit.h"
#include "workloads/vector/frontier.h"
#include "workloads/vector/index.h"

static struct vector_shape shape(uint32_t kind, uint64_t vectors, uint64_t dimension, uint32_t type,
				 uint64_t degree)
{
	return (struct vector_shape){.index = kind,
				     .type = type,
				     .vectors = vectors,
				     .segments = 1,
				     .dimension = dimension,
				     .degree = degree,
				     .pq_bytes = 32,
				     .list_pages = 3};
}

/* Node bytes, the unit of a read, nodes in a sector and the file of 1 M vectors, as DiskANN has them. */
static void test_sizes(void)
{
	static const struct {
		uint64_t dimension, degree, node, unit, per_sector;
		double gigabytes;
		uint32_t type;
	} rows[] = {
		{128, 64, 388, 4096, 10, 0.41, VECTOR_UINT8},
		{128, 64, 772, 4096, 5, 0.82, VECTOR_FLOAT32},
		{96, 64, 644, 4096, 6, 0.68, VECTOR_FLOAT32},
		{768, 56, 3300, 4096, 1, 4.10, VECTOR_FLOAT32},
		{1024, 64, 4356, 8192, 0, 8.19, VECTOR_FLOAT32},
		{1536, 64, 6404, 8192, 0, 8.19, VECTOR_FLOAT32},
		{1536, 59, 6384, 8192, 0, 8.19, VECTOR_FLOAT32},
		{1536, 56, 6372, 8192, 0, 8.19, VECTOR_FLOAT32},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct vector_shape s = shape(VECTOR_DISKANN, 1000000, rows[i].dimension,
					      rows[i].type, rows[i].degree);
		struct vector_index x;

		vector_index_of(&x, &s, 42, 0);
		CU_ASSERT_EQUAL(x.item_bytes, rows[i].node);
		CU_ASSERT_EQUAL(vector_index_unit(&x), rows[i].unit);
		CU_ASSERT_EQUAL(x.per_sector, rows[i].per_sector);
		CU_ASSERT_DOUBLE_EQUAL((double)x.size / 1e9, rows[i].gigabytes, 0.01);
	}
}

enum { IMAGE = 1 << 20 };

/* Any range of a file has the bytes that the file has when it is made at once. */
static void test_ranges(void)
{
	static const uint64_t dimensions[] = {3, 128, 1500};
	static char whole[IMAGE], part[IMAGE];

	for (uint32_t kind = VECTOR_DISKANN; kind <= VECTOR_IVF; kind++)
		for (unsigned d = 0; d < COUNT(dimensions); d++) {
			struct vector_shape s = shape(kind, 2000, dimensions[d], VECTOR_INT8, 20);
			struct vector_index x;
			uint64_t bytes;

			vector_index_of(&x, &s, 7, 0);
			bytes = min_u64(x.size, IMAGE);
			vector_index_image(&x, 0, whole, bytes);
			for (uint64_t at = 0, step = 1; at < bytes; at += step) {
				step = min_u64(1 + at * 7 % 5003, bytes - at);
				vector_index_image(&x, at, part, step);
				CU_ASSERT_EQUAL(memcmp(whole + at, part, step), 0);
			}
		}
}

/* AISAQ's nodes of 512 numbers with 32 neighbours, whose codes of 32 bytes are with them. */
static void test_codes(void)
{
	struct vector_shape s = shape(VECTOR_AISAQ, 1000, 512, VECTOR_FLOAT32, 32);
	struct vector_index x;

	vector_index_of(&x, &s, 1, 0);
	CU_ASSERT_EQUAL(x.item_bytes, 512 * 4 + 4 * 33 + 32 * 32);
	CU_ASSERT_EQUAL(x.per_sector, 1);
}

/* Each node, and each list, stands where its read finds it, and a byte that differs is found. */
static void test_items(void)
{
	static char data[1 << 16];

	for (uint32_t kind = VECTOR_DISKANN; kind <= VECTOR_IVF; kind++) {
		struct vector_shape s = shape(kind, 3000, 100, VECTOR_FLOAT16, 12);
		struct vector_index x;

		vector_index_of(&x, &s, 7, 0);
		for (uint64_t item = 0; item < x.items; item += 7) {
			uint64_t offset, within, at = 0;
			uint64_t length = vector_index_read(&x, item, &offset, &within);

			vector_index_image(&x, offset, data, length);
			CU_ASSERT_TRUE(offset + length <= x.size);
			CU_ASSERT_TRUE(
				vector_index_same(&x, item, data + within, 0, x.item_bytes, &at));
			data[within + item % x.item_bytes] ^= 1;
			CU_ASSERT_FALSE(
				vector_index_same(&x, item, data + within, 0, x.item_bytes, &at));
			CU_ASSERT_EQUAL(at, item % x.item_bytes);
		}
	}
}

/* The neighbours that a node's bytes name are those of the graph; others are no node. */
static void test_neighbours(void)
{
	struct vector_shape s = shape(VECTOR_DISKANN, 5000, 100, VECTOR_FLOAT32, 32);
	uint32_t made[GRAPH_DEGREE_MAX], read[GRAPH_DEGREE_MAX], wrong = 5000;
	struct vector_index x;
	static char data[8192];

	vector_index_of(&x, &s, 9, 0);
	for (uint64_t node = 0; node < x.items; node += 13) {
		uint64_t offset, within;

		vector_index_image(&x, (vector_index_read(&x, node, &offset, &within), offset),
				   data, vector_index_unit(&x));
		CU_ASSERT_EQUAL(vector_index_neighbours(&x, node, data + within, read, 512), 32);
		CU_ASSERT_EQUAL(vector_index_neighbours(&x, node, NULL, made, 512), 32);
		CU_ASSERT_EQUAL(memcmp(made, read, sizeof(*made) * 32), 0);
		memcpy(data + within + x.vector_bytes + 8, &wrong, sizeof(wrong));
		CU_ASSERT_EQUAL(vector_index_neighbours(&x, node, data + within, read, 512), -1);
		wrong = 33;
		memcpy(data + within + x.vector_bytes, &wrong, sizeof(wrong));
		CU_ASSERT_EQUAL(vector_index_neighbours(&x, node, data + within, read, 512), -1);
		wrong = 5000;
	}
}

/* Ids and positions are a permutation and its inverse, and no two vectors are equally far. */
static void test_graph(void)
{
	static const uint64_t sizes[] = {2, 3, 10, 97, 1000, 4096};
	static bool seen[2 * 4096 + 2];

	for (unsigned i = 0; i < COUNT(sizes); i++) {
		struct graph g;

		graph_init(&g, sizes[i], 16, sizes[i] * 31, true);
		memset(seen, 0, sizeof(seen));
		for (uint64_t p = 0; p < g.n; p++) {
			uint64_t id = graph_id(&g, p), far = graph_distance(&g, 1, id);

			CU_ASSERT_TRUE(id < g.n);
			CU_ASSERT_EQUAL(graph_position(&g, id), p);
			CU_ASSERT_FALSE(seen[far]);
			seen[far] = true;
		}
	}
}

/* The most vectors that 32 bits can name: positions come back from ids, and a search finds the nearest. */
static void test_graph_of_most_vectors(void)
{
	static const uint64_t sizes[] = {UINT32_MAX, UINT32_MAX - 1, 3100000000};
	struct graph g;

	for (unsigned i = 0; i < COUNT(sizes); i++) {
		graph_init(&g, sizes[i], 64, 5, true);
		for (uint64_t p = 0; p < g.n; p += g.n / 1000 + 1) {
			uint64_t id = graph_id(&g, p);

			CU_ASSERT_TRUE(id < g.n);
			CU_ASSERT_EQUAL(graph_position(&g, id), p);
			CU_ASSERT_EQUAL(graph_distance(&g, p, id), 0);
		}
	}
}

/* A search that has ended has the nearest of all vectors, and has looked at few others on its way. */
static void test_search(void)
{
	static const uint32_t lists[] = {1, 5, 10, 100};
	uint32_t neighbours[GRAPH_DEGREE_MAX], id;

	for (uint64_t n = 200; n <= 2000000; n *= 100)
		for (unsigned i = 0; i < COUNT(lists); i++) {
			uint64_t looked = 0, target = n / 7 * (i + 1) % n;
			struct frontier f = {0};
			struct graph g;

			graph_init(&g, n, 64, 5, true);
			CU_ASSERT_EQUAL_FATAL(frontier_open(&f, lists[i], NULL), 0);
			frontier_begin(&f, &g, target);
			for (; frontier_take(&f, &id); looked++) {
				graph_neighbours(&g, id, neighbours);
				frontier_see(&f, neighbours, 64);
			}
			CU_ASSERT_EQUAL(f.count, lists[i]);
			/* The k-th nearest is k / 2 steps away, to one side or the other. */
			for (uint32_t k = 0; k < f.count; k++)
				CU_ASSERT_TRUE(f.list[k].distance / 2 <= (k + 1) / 2);
			CU_ASSERT_TRUE(looked < lists[i] + 20);
			frontier_close(&f);
		}
}

/* What is kept is what it says, and as many as were asked for. */
static void test_hot(void)
{
	struct graph g;
	struct hot first = {0}, met = {0};
	uint64_t held = 0;

	graph_init(&g, 50000, 32, 3, true);
	CU_ASSERT_EQUAL(hot_breadth_first(&first, &g, 1000), 0);
	CU_ASSERT_EQUAL(hot_sample(&met, &g, 1000, 0.5), 0);
	CU_ASSERT_EQUAL(first.count, 1000);
	CU_ASSERT_EQUAL(met.count, 1000);
	CU_ASSERT_TRUE(hot_has(&first, (uint32_t)g.entry));
	CU_ASSERT_TRUE(hot_has(&met, (uint32_t)g.entry));
	for (uint32_t j = 0; j < 32; j++)
		CU_ASSERT_TRUE(hot_has(&first, (uint32_t)((g.entry + g.way[j]) % g.n)));
	for (uint32_t id = 0; id < g.n; id++)
		held += hot_has(&first, id);
	CU_ASSERT_EQUAL(held, 1000);
	hot_free(&first);
	hot_free(&met);
}

/* A share x of the vectors gets x^(1-skew) of the queries. */
static void test_skew(void)
{
	enum { QUERIES = 100000 };
	struct graph g;
	uint64_t tenth = 0, even = 0;

	graph_init(&g, 1000000, 32, 3, true);
	for (uint64_t q = 0; q < QUERIES; q++) {
		tenth += graph_target(&g, q, 0.5) < g.n / 10;
		even += graph_target(&g, q, 0) < g.n / 10;
	}
	CU_ASSERT_DOUBLE_EQUAL((double)tenth / QUERIES, 0.316, 0.01);
	CU_ASSERT_DOUBLE_EQUAL((double)even / QUERIES, 0.1, 0.01);
}

int main(void)
{
	static CU_TestInfo tests[] = {
		{"sizes are those of DiskANN", test_sizes},
		{"any range has the same bytes", test_ranges},
		{"codes in the node", test_codes},
		{"items stand where they are read", test_items},
		{"neighbours come from the bytes", test_neighbours},
		{"positions and ids", test_graph},
		{"positions and ids of the most vectors", test_graph_of_most_vectors},
		{"a search finds the nearest", test_search},
		{"nodes in memory", test_hot},
		{"queries prefer some vectors", test_skew},
		CU_TEST_INFO_NULL,
	};

	return unit_main("vector", tests);
}
