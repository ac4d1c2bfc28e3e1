/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/vector/generation.h"

#include <inttypes.h>
#include <stdio.h>

#include "workloads/common/description.h"
#include "workloads/common/small_object.h"

enum { FILE_BYTES = 40 };
static const uint64_t number_max = 1u << 30, vectors_max = UINT32_MAX;

static const struct option generation_options[] = {
	OPT_U64("generation", struct vector_generation, number, .required = true, .min = 1,
		.max = number_max, .help = ""),
	OPT_U64("vectors", struct vector_generation, vectors, .required = true, .min = 2,
		.max = vectors_max, .help = ""),
	OPT_END,
};
static const struct option *const generation_tables[] = {generation_options, NULL};

static struct description generation_description(const char *folder, uint64_t segment,
						 char file[FILE_BYTES])
{
	snprintf(file, FILE_BYTES, "%06" PRIu64 "_generation.json", segment);
	return (struct description){.folder = folder,
				    .file = file,
				    .what = "a segment",
				    .tables = generation_tables,
				    .size = sizeof(struct vector_generation)};
}

int vector_generation_parse(struct vector_generation *g, const char *text, size_t length,
			    struct err *err)
{
	char file[FILE_BYTES];
	const struct description d = generation_description("", 0, file);

	return description_parse(&d, g, text, length, err);
}

int vector_generation_load(struct vector_generation *g, const char *folder, uint64_t segment,
			   struct queue *q, struct err *err)
{
	char file[FILE_BYTES];
	const struct description d = generation_description(folder, segment, file);

	return description_load(&d, g, q, err);
}

int vector_generation_save(const struct vector_generation *g, const char *folder, uint64_t segment,
			   struct queue *q, struct err *err)
{
	char file[FILE_BYTES];
	const struct description d = generation_description(folder, segment, file);

	return description_wanted(q) ? description_save(&d, g, q, err) : 0;
}

void vector_generation_key(const char *folder, uint64_t segment, char key[OBJECT_KEY_BYTES])
{
	char file[FILE_BYTES];
	const struct description d = generation_description(folder, segment, file);

	description_key(&d, key);
}

void vector_generation_remove(const char *folder, uint64_t segment, struct queue *q)
{
	char key[OBJECT_KEY_BYTES];

	vector_generation_key(folder, segment, key);
	small_object_remove(q, key);
}
