/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what haul believes of an index of DiskANN that somebody else has written: its header, and its
 * file of pivots. What is accepted lies within the file, and its distances are whole numbers of 32 bits.
 * The input is a file's size (u64), its first sector, and a file of pivots. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/vector/existing.h"
#include "workloads/vector/frontier.h"
#include "workloads/vector/index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
	if (!holds)
		abort();
}

static void header(const uint8_t *data, size_t size)
{
	char sector[DISK_HEADER_BYTES] = {0};
	uint64_t file_bytes = 0, degree, unit;
	struct disk_header h;
	struct err err = {0};

	memcpy(&file_bytes, data, size < 8 ? size : 8);
	if (size > 8)
		memcpy(sector, data + 8, size - 8 < sizeof(sector) ? size - 8 : sizeof(sector));
	if (disk_header_read(&h, sector, file_bytes, &err) < 0) {
		must(err.text[0] != '\0');
		return;
	}
	must(h.vectors >= 2 && h.medoid < h.vectors &&
	     h.per_sector == VECTOR_SECTOR / h.node_bytes);
	unit = (h.node_bytes + VECTOR_SECTOR - 1) / VECTOR_SECTOR * VECTOR_SECTOR;
	must(VECTOR_SECTOR + (h.vectors - 1) / (h.per_sector ? h.per_sector : 1) * unit + unit <=
	     file_bytes);
	must(!h.reorder || h.reorder_sector * VECTOR_SECTOR < file_bytes);
	for (uint64_t bytes = 1; bytes < 2 * VECTOR_SECTOR; bytes = bytes * 3 + 1)
		if (disk_header_degree(&h, bytes, &degree, &err) == 0)
			must(bytes + 4 * (degree + 1) == h.node_bytes && degree >= 1 &&
			     degree <= GRAPH_DEGREE_MAX);
}

static void pivots(const uint8_t *data, size_t size)
{
	struct codes c = {0};
	struct err err = {0};

	if (codes_pivots(&c, data, size, &err) == 0) {
		const int32_t head[2] = {2, (int32_t)c.chunks};
		uint32_t *table = malloc(codes_table_words(&c) * sizeof(*table));

		must(codes_open(&c, head, 9, 2, &err) < 0);
		must(table && codes_open(&c, head, CODES_HEAD + 2ull * c.chunks, 2, &err) == 0);
		memset(c.codes, 0, c.chunks);
		memset(c.codes + c.chunks, 255, c.chunks);
		codes_table(&c, 0, table);
		must(codes_distance(&c, table, 0) == 0);
		must(codes_distance(&c, table, 1) >> 32 <= UINT32_MAX / 2 + 1 &&
		     (codes_distance(&c, table, 1) & UINT32_MAX) == 1);
		free(table);
	} else {
		must(err.text[0] != '\0');
	}
	codes_close(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	header(data, size);
	if (size > 8 + DISK_HEADER_BYTES)
		pivots(data + 8 + DISK_HEADER_BYTES, size - 8 - DISK_HEADER_BYTES);
	return 0;
}
