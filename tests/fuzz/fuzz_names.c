/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes templates of names and lists of names with any bytes: they are refused with a sentence, or
 * each name is a plain text that fits into its buffer. A list has as many names as it has lines
 * that are not empty. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "workloads/dataset/names.h"

enum { ROOM = 128, FILES = 1000, TEMPLATE_BYTES = 256 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void as_template(const uint8_t *data, size_t size)
{
	char template[TEMPLATE_BYTES] = "", name[ROOM], other[ROOM];
	struct err err = {0};

	memcpy(template, data, size < sizeof(template) ? size : sizeof(template) - 1);
	if (names_check(template, FILES, ROOM, &err) < 0) {
		if (err.text[0] == '\0')
			abort();
		return;
	}
	names_expand(template, 0, FILES, name, sizeof(name));
	for (uint64_t i = 1; i < FILES; i++) {
		names_expand(template, i, FILES, other, sizeof(other));
		if (other[0] == '\0' || strcmp(name, other) == 0)
			abort();
		memcpy(name, other, sizeof(name));
	}
}

/* Whether a part of a name is "." or "..", except for "./" at its beginning. */
static bool leaves(const uint8_t *name, uint64_t length)
{
	const uint8_t *end = name + length, *part;

	while (name < end && (*name == '/' || (*name == '.' && name + 1 < end && name[1] == '/')))
		name += *name == '/' ? 1 : 2;
	for (part = name; part < end; part = name + 1) {
		for (name = part; name < end && *name != '/';)
			name++;
		if ((name == part + 1 && part[0] == '.') ||
		    (name == part + 2 && part[0] == '.' && part[1] == '.'))
			return true;
	}
	return false;
}

/* Counts the lines that are not empty, in the simplest way. Returns UINT64_MAX if a line is too
 * long or leaves the store's root. */
static uint64_t count_lines(const uint8_t *data, size_t size)
{
	uint64_t names = 0, length = 0;
	const uint8_t *begin;
	size_t i = size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	for (begin = data + i; i <= size; i++) {
		if (i < size && data[i] != '\n') {
			length++;
			continue;
		}
		if (length && data[i - 1] == '\r')
			length--;
		if (length >= ROOM || leaves(begin, length))
			return UINT64_MAX;
		names += length > 0;
		length = 0;
		begin = data + i + 1;
	}
	return names;
}

static void as_list(const char *path, const uint8_t *data, size_t size)
{
	uint64_t lines = memchr(data, 0, size) ? UINT64_MAX : count_lines(data, size);
	struct name_list l;
	struct err err = {0};
	char name[ROOM];

	if (name_list_open(&l, path, ROOM, &err) < 0) {
		if (err.text[0] == '\0' || (lines && lines != UINT64_MAX))
			abort();
		return;
	}
	if (l.names != lines)
		abort();
	for (uint64_t i = 0; i < l.names; i++) {
		name_list_at(&l, i, name, sizeof(name));
		if (memchr(name, '\n', strlen(name)))
			abort();
	}
	name_list_close(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[32];
	int fd;

	if (size == 0 || size > 4096)
		return 0;
	as_template(data, size);
	fd = memfd_create("list", 0);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	as_list(path, data, size);
	close(fd);
	return 0;
}
