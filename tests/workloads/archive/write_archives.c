/* SPDX-License-Identifier: Apache-2.0 */
/* Writes archives of all kinds into a folder, for check_archives.py: CASE.KIND, whose key is that
 * of the case's number, and CASE.tensors with a line per tensor: name, tab, type, tab, bytes, tab,
 * dimensions. Of a huge archive only the framing and the small tensors are written; the rest is a
 * hole. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/content/fill.h"
#include "tests/workloads/archive/cases.h"

enum { PIECE = 1000003 };

static int write_range(FILE *f, const struct archive *a, uint64_t key, uint64_t at, uint64_t end)
{
	static uint8_t piece[PIECE];

	if (fseeko(f, (off_t)at, SEEK_SET))
		return -1;
	while (at < end) {
		uint64_t n = end - at < PIECE ? end - at : PIECE;

		archive_image(a, key, at, piece, n);
		if (fwrite(piece, 1, n, f) != n)
			return -1;
		at += n;
	}
	return 0;
}

/* All but the tensors that have more bytes than a piece. */
static int write_framing(FILE *f, const struct archive *a, uint64_t key)
{
	uint64_t at = 0;

	for (uint64_t i = 0; i < a->tensors.count; i++) {
		if (a->ends[i] - a->offsets[i] <= PIECE)
			continue;
		if (write_range(f, a, key, at, a->offsets[i]))
			return -1;
		at = a->ends[i];
	}
	return write_range(f, a, key, at, a->size);
}

static int write_archive(const char *folder, const struct archive_case *c, uint64_t key,
			 enum archive_kind kind)
{
	struct arena arena = {0};
	struct err err = {0};
	struct archive a;
	char path[512];
	int rc = -1;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.%s", folder, c->name, archive_kind_names[kind]);
	f = fopen(path, "wb");
	if (f && archive_make(&a, kind, &c->tensors, &arena, &err) == 0)
		rc = c->huge ? write_framing(f, &a, key) : write_range(f, &a, key, 0, a.size);
	if (!f || fclose(f) || rc)
		fprintf(stderr, "%s: is not written %s\n", path, err.text);
	arena_free(&arena);
	return rc;
}

static int write_list(const char *folder, const struct archive_case *c)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.tensors", folder, c->name);
	f = fopen(path, "w");
	if (!f)
		return -1;
	for (uint64_t i = 0; i < c->tensors.count; i++) {
		struct tensor t;

		c->tensors.tensor(c->tensors.argument, i, &t);
		fprintf(f, "%s\t%s\t%" PRIu64 "\t", t.name, model_type_name(t.type), t.bytes);
		for (uint32_t d = 0; d < t.dimensions; d++)
			fprintf(f, "%s%" PRIu64, d ? " " : "", t.shape[d]);
		fputc('\n', f);
	}
	return fclose(f);
}

/* write_archives FOLDER */
int main(int argc, char **argv)
{
	const struct archive_case *all;
	unsigned n = archive_cases(&all);
	int rc = 0;

	if (argc != 2) {
		fprintf(stderr, "write_archives FOLDER\n");
		return 2;
	}
	for (unsigned i = 0; i < n; i++) {
		rc |= write_list(argv[1], &all[i]);
		for (unsigned kind = 0; kind < ARCHIVE_KINDS; kind++)
			rc |= write_archive(argv[1], &all[i], fill_key(7, i),
					    (enum archive_kind)kind);
	}
	return rc ? 1 : 0;
}
