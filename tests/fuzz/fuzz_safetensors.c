/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the readers of headers and indexes of safetensors with any bytes. The first two bytes say
 * how many bytes of tensors the file has; the others are its header, and once more an index. What
 * is refused has a sentence; the tensors of what is read are the whole file. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/archive/safetensors_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void read_header(const char *header, size_t size, uint64_t tensors)
{
	uint64_t at = SAFETENSORS_LENGTH_BYTES + size, end = at + tensors;
	struct arena arena = {0};
	struct err err = {0};
	struct safetensors s;

	if (safetensors_read(&s, header, size, end, &arena, &err) < 0) {
		must(err.text[0]);
	} else {
		for (uint64_t i = 0; i < s.count; i++) {
			must(s.tensors[i].begin == at && s.tensors[i].end >= at);
			must(s.tensors[i].name && s.tensors[i].type[0]);
			must(s.tensors[i].dimensions <= SAFETENSORS_DIMENSIONS_MAX);
			at = s.tensors[i].end;
		}
		must(at == end);
	}
	arena_free(&arena);
}

static void read_index(const char *index, size_t size)
{
	struct safetensors_file *files;
	struct arena arena = {0};
	struct err err = {0};
	uint64_t count;

	if (safetensors_read_index(index, size, &files, &count, &arena, &err) < 0) {
		must(err.text[0]);
	} else {
		for (uint64_t i = 0; i < count; i++) {
			must(files[i].name[0] && !strchr(files[i].name, '/'));
			must(!i || strcmp(files[i - 1].name, files[i].name) < 0);
		}
	}
	arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t header_bytes;
	struct err err = {0};

	if (size < 2)
		return 0;
	read_header((const char *)data + 2, size - 2, data[0] | (uint64_t)data[1] << 8);
	read_index((const char *)data + 2, size - 2);
	if (size >= SAFETENSORS_LENGTH_BYTES &&
	    safetensors_header_bytes(data, size, &header_bytes, &err) == 0)
		read_header((const char *)data + SAFETENSORS_LENGTH_BYTES, header_bytes,
			    size - SAFETENSORS_LENGTH_BYTES - header_bytes);
	return 0;
}
