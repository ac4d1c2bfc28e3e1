/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the way from text to a job and back. The input is a job's text and, after bytes 0x1e
 * (which JSON never contains), --set strings. For any input: nothing may crash, a refusal is a
 * sentence on one line, and the text of an accepted job parses to the same text. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/job.h"
#include "core/json.h"
#include "tests/core/job/sample_schema.h"

enum { SETS_MAX = 8, SEPARATOR = 0x1e };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Cuts the copy at its separators and returns how many sets follow the job. */
static unsigned cut(char *copy, size_t size, size_t *job_length, const char *sets[SETS_MAX])
{
	char *p = memchr(copy, SEPARATOR, size), *end = copy + size;
	unsigned n = 0;

	*job_length = p ? (size_t)(p - copy) : size;
	while (p && n < SETS_MAX) {
		*p++ = '\0';
		sets[n++] = p;
		p = memchr(p, SEPARATOR, (size_t)(end - p));
	}
	if (p)
		*p = '\0';
	return n;
}

static void fail(const char *what, const char *text)
{
	fprintf(stderr, "fuzz_job: %s: %s\n", what, text);
	abort();
}

static void check_refusal(const struct job *job, const struct err *err, bool from_file)
{
	if (err->code >= 0 || !err->text[0] || job->phase_count || job->arena.blocks)
		fail("refused without a sentence, or the job is not empty", err->text);
	/* A sentence may repeat the caller's own --set, which may contain line breaks; everything
	 * else is printable. */
	if (from_file && strchr(err->text, '\n'))
		fail("the sentence has several lines", err->text);
}

static void check_round_trip(const struct job *job)
{
	char *text = job_text(job, sample_schema()), *again;
	struct err err = {0};
	struct job second;

	if (!text)
		fail("no text", "");
	if (job_parse(&second, sample_schema(), "again", text, strlen(text), NULL, 0, &err) < 0) {
		fputs(text, stderr);
		fail("its text is refused", err.text);
	}
	again = job_text(&second, sample_schema());
	if (!again || strcmp(text, again))
		fail("its text changes", again ? again : "");
	free(text);
	free(again);
	job_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *sets[SETS_MAX];
	struct err err = {0};
	struct job job;
	size_t length;
	unsigned count;
	char *copy;

	copy = malloc(size + 1);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	copy[size] = '\0';
	count = cut(copy, size, &length, sets);
	if (job_parse(&job, sample_schema(), "fuzz", copy, length, sets, count, &err) < 0)
		check_refusal(&job, &err, !count);
	else
		check_round_trip(&job);
	job_free(&job);
	free(copy);
	return 0;
}
