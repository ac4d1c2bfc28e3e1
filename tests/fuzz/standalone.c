/* SPDX-License-Identifier: Apache-2.0 */
/* Main function of fuzz targets where there is no libFuzzer: it runs a target on each file of the
 * corpus and then on deterministic mutations of them, so that every build can run it as a test.
 *
 *	fuzz_job FOLDER [ITERATIONS [SEED]] */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/content/random.h"

enum { FILES_MAX = 1024, INPUT_MAX = 64 << 10, EDITS_MAX = 6 };

struct input {
	uint8_t *data;
	size_t size;
};

struct corpus {
	struct input files[FILES_MAX];
	unsigned count;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int corpus_read(struct corpus *c, const char *folder);
static size_t mutate(const struct corpus *c, struct random *r, uint8_t out[INPUT_MAX]);
static size_t edit(const struct corpus *c, struct random *r, uint8_t *out, size_t size);

int main(int argc, char **argv)
{
	unsigned long iterations = argc > 2 ? strtoul(argv[2], NULL, 10) : 20000, i;
	struct random r = {.key = argc > 3 ? strtoull(argv[3], NULL, 10) : 1};
	static uint8_t input[INPUT_MAX];
	static struct corpus corpus;
	uint8_t *exact;
	size_t size;

	if (argc < 2 || corpus_read(&corpus, argv[1]) < 0) {
		fprintf(stderr, "usage: %s FOLDER [ITERATIONS [SEED]]\n", argv[0]);
		return 2;
	}
	for (i = 0; i < corpus.count; i++)
		LLVMFuzzerTestOneInput(corpus.files[i].data, corpus.files[i].size);
	for (i = 0; i < iterations; i++) {
		size = mutate(&corpus, &r, input);
		exact = malloc(size ? size : 1); /* exact, so that the sanitizer sees an overrun */
		if (!exact)
			return 1;
		memcpy(exact, input, size);
		LLVMFuzzerTestOneInput(exact, size);
		free(exact);
	}
	printf("%u files and %lu mutations\n", corpus.count, iterations);
	for (i = 0; i < corpus.count; i++)
		free(corpus.files[i].data);
	return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Reads every regular file of the folder, sorted by name. */
static int corpus_read(struct corpus *c, const char *folder)
{
	struct dirent **entries;
	int n = scandir(folder, &entries, NULL, by_name), i;
	struct input *in;
	char path[4096];
	FILE *f;

	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		f = entries[i]->d_name[0] != '.' && c->count < FILES_MAX ? fopen(path, "rb") : NULL;
		free(entries[i]);
		if (!f)
			continue;
		in = &c->files[c->count];
		in->data = malloc(INPUT_MAX);
		if (in->data) {
			in->size = fread(in->data, 1, INPUT_MAX, f);
			c->count++;
		}
		fclose(f);
	}
	if (n >= 0)
		free(entries);
	return n < 0 || !c->count ? -1 : 0;
}

static size_t below(struct random *r, size_t n)
{
	return n ? (size_t)(random_next(r) % n) : 0;
}

static size_t mutate(const struct corpus *c, struct random *r, uint8_t out[INPUT_MAX])
{
	const struct input *in = &c->files[below(r, c->count)];
	size_t size = in->size, edits = 1 + below(r, EDITS_MAX);

	memcpy(out, in->data, size);
	while (edits--)
		size = edit(c, r, out, size);
	return size;
}

/* Replaces length bytes at offset at by n bytes. Returns the new size, or the old one if they do
 * not fit. */
static size_t splice(uint8_t *out, size_t size, size_t at, size_t length, const void *bytes,
		     size_t n)
{
	if (size - length + n > INPUT_MAX)
		return size;
	memmove(out + at + n, out + at + length, size - at - length);
	memcpy(out + at, bytes, n);
	return size - length + n;
}

static size_t edit(const struct corpus *c, struct random *r, uint8_t *out, size_t size)
{
	static const char *const words[] = {
		"{",
		"}",
		"[",
		"]",
		"\"",
		",",
		":",
		"null",
		"true",
		"-",
		"0",
		"1e308",
		"18446744073709551615",
		"\"9007199254740993\"",
		"9007199254740992",
		"1.5",
		"\\u0000",
		"\\ud800",
		"\xff",
		"\xc3\xa4",
		"\"batch\": 1,",
		"\"type\": \"gamma\"",
		"{}",
		"[]",
		"\x1etrain.batch=4",
		"\x1ephases.0=1",
		"\x1estores.data.uri=[\"sim://a\"]",
		"${HOME}",
		"{rank}",
		" ms",
		" GiB",
		"\n",
	};
	const struct input *other = &c->files[below(r, c->count)];
	const char *word = words[below(r, sizeof(words) / sizeof(words[0]))];
	size_t at = below(r, size + 1), length = below(r, size - at < 16 ? size - at + 1 : 16),
	       from, n;
	uint8_t byte = (uint8_t)random_next(r);

	switch (below(r, 6)) {
	case 0: /* replaces one byte */
		return at < size ? splice(out, size, at, 1, &byte, 1) : size;
	case 1: /* removes a piece */
		return splice(out, size, at, length, "", 0);
	case 2: /* inserts a word */
		return splice(out, size, at, 0, word, strlen(word));
	case 3: /* replaces a piece by a word */
		return splice(out, size, at, length, word, strlen(word));
	case 4: /* inserts a piece of another file */
		from = below(r, other->size + 1);
		n = below(r, other->size - from < 128 ? other->size - from + 1 : 128);
		return splice(out, size, at, 0, other->data + from, n);
	default: /* truncates the input */
		return below(r, 8) ? size : at;
	}
}
