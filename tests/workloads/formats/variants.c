/* SPDX-License-Identifier: Apache-2.0 */
/* Variants of formats: see variants.h. */
#include "tests/workloads/formats/variants.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/content/fill.h"

static const struct {
	enum format_index format;
	const char *suffix, *options;
} special[] = {
	{FORMAT_HDF5, ".3.0.0", "{\"datasets\": 3}"},
	{FORMAT_HDF5, ".1.2.0", "{\"chunk_samples\": 2}"},
	{FORMAT_HDF5, ".8.3.0", "{\"datasets\": 8, \"chunk_samples\": 3}"},
	{FORMAT_HDF5, ".131.0.0", "{\"datasets\": 131}"},
	{FORMAT_HDF5, ".1.0.1000", "{\"chunk_bytes\": 1000}"},
	{FORMAT_HDF5, ".2.0.7", "{\"datasets\": 2, \"chunk_bytes\": 7}"},
	{FORMAT_PARQUET, NULL, "{\"row_group\": 1000}"},
	{FORMAT_PARQUET, ".wide",
	 "{\"row_group\": 3, \"columns\": [\"2 float64\", \"int64 read\", \"3 int32 read\","
	 " \"4 float32\", \"4 float16\", \"bytes:3\"]}"},
};

enum { SPECIAL = sizeof(special) / sizeof(special[0]), VARIANTS_MAX = FORMATS_MAX + SPECIAL };

/* The options of each format's first variant, where they are not the defaults. */
static const char *usual(enum format_index format)
{
	return format == FORMAT_PARQUET ? "{\"row_group\": 3}" : NULL;
}

/* Memory of the lists among the options, which live as long as the program. */
static struct arena *variant_arena(void)
{
	static struct arena arena;

	return &arena;
}

void variant_parse(struct dataset_options *out, const char *json)
{
	cJSON *object = cJSON_Parse(json);
	struct err err = {0};

	if (object && !cJSON_HasObjectItem(object, "files"))
		cJSON_AddNumberToObject(object, "files", 1);
	if (object && !cJSON_HasObjectItem(object, "sample_bytes"))
		cJSON_AddNumberToObject(object, "sample_bytes", 1);
	if (!object || options_parse(dataset_section.tables, out, object, "/dataset",
				     variant_arena(), &err) < 0) {
		fprintf(stderr, "%s: %s\n", json, err.text);
		exit(1);
	}
	cJSON_Delete(object);
}

static void variant_make(struct variant *v, enum format_index format, const char *suffix,
			 const char *options)
{
	char json[512];

	v->format = format;
	v->suffix = suffix;
	if (options)
		snprintf(json, sizeof(json), "{\"format\": \"%s\", \"%s\": %s}",
			 format_names[format], format_names[format], options);
	else
		snprintf(json, sizeof(json), "{\"format\": \"%s\"}", format_names[format]);
	variant_parse(&v->options, json);
}

unsigned variants(const struct variant **all)
{
	static struct variant made[VARIANTS_MAX];
	static unsigned n;

	if (!n) {
		for (; format_table()[n]; n++)
			variant_make(&made[n], n, "", usual(n));
		for (unsigned i = 0; i < SPECIAL; i++)
			variant_make(&made[n++], special[i].format, special[i].suffix,
				     special[i].options);
	}
	*all = made;
	return n;
}

static const void *variant_options(const struct variant *v)
{
	return v->options.formats.of[v->format];
}

bool variant_holds(const struct variant *v, uint64_t samples, uint64_t sample_bytes)
{
	const struct format_ops *format = format_table()[v->format];
	struct err err = {0};

	return !format->check ||
	       format->check(variant_options(v), samples, sample_bytes, sample_bytes, &err) == 0;
}

void variant_layout(const struct variant *v, uint64_t samples, uint64_t sample_bytes,
		    struct layout *l)
{
	memset(l, 0xaa, sizeof(*l));
	l->format = format_table()[v->format];
	l->options = variant_options(v);
	l->file = 3;
	l->object = 0;
	l->key = fill_key(42, 3);
	l->first_id = 3 * samples;
	l->samples = samples;
	l->sample_bytes = sample_bytes;
	layout_make(l);
}
