/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of a trace as objects of a store: see objects.h. */
#include "workloads/replay/objects.h"

#include <string.h>

#include "core/content/fnv.h"
#include "core/content/random.h"
#include "core/part.h"
#include "workloads/common/small_object.h"
#include "workloads/replay/replay.h"
#include "workloads/trace/trace.h"

enum { NAME_BYTES = 3 * TRACE_KEY_MAX + 1 };

static const char hex_upper[] = "0123456789ABCDEF", hex_lower[] = "0123456789abcdef";
static const uint64_t second_start =
	UINT64_C(0x6861756c7265706c); /* of the second half of a long name's hash */

static const struct option description_options[] = {
	OPT_U64("haul_replay", struct replay_objects, version, .required = true, .min = 1,
		.max = 1000000),
	OPT_U64("tiers", struct replay_objects, tiers, .required = true, .min = 1,
		.max = (1 << TRACE_TIERS) - 1),
	OPT_END};
static const struct option *const description_tables[] = {description_options, NULL};

uint64_t replay_key_hash(const char *text, size_t length)
{
	return mix64(fnv_add(FNV_START, text, length));
}

void replay_objects_folder(const char *folder, uint32_t tier, uint32_t part, unsigned depth,
			   char key[OBJECT_KEY_BYTES])
{
	char *at = stpcpy(key, folder);

	*at++ = '/';
	if (depth > 0) {
		*at++ = (char)('0' + tier);
		*at++ = '/';
	}
	if (depth > 1) {
		*at++ = hex_lower[part >> 4 & 15];
		*at++ = hex_lower[part & 15];
		*at++ = '/';
	}
	*at = '\0';
}

static bool name_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

static char *name_hash(char *at, uint64_t hash)
{
	for (int shift = 60; shift >= 0; shift -= 4)
		*at++ = hex_lower[hash >> shift & 15];
	return at;
}

void replay_object_key(const char *folder, uint32_t tier, const char *text,
		       char key[OBJECT_KEY_BYTES])
{
	size_t length = strlen(text);
	uint64_t hash = replay_key_hash(text, length);
	char name[NAME_BYTES], *end = trace_escape(name, text);

	/* A long name becomes its beginning, "%%" and 32 digits, of which the first 16 are the hash
	 * of the key. */
	if (end - name > OBJECTS_NAME_MAX) {
		end = name_hash(stpcpy(name + OBJECTS_CUT, "%%"), hash);
		end = name_hash(end, mix64(fnv_add(second_start, text, length)));
		*end = '\0';
	}
	replay_objects_folder(folder, tier, (uint32_t)(hash % OBJECTS_FOLDERS), 2, key);
	strcat(key, name);
}

static int name_digit(char c, const char *digits)
{
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Without what a file store adds to the name of a version that it has not published. */
static size_t name_length(const char *name)
{
	size_t stem = part_stem(name, PART_OF_OBJECT);

	return stem ? stem : strlen(name);
}

/* The hash at the end of a long name. Returns false where there is none. */
static bool name_decode_cut(const char *name, size_t length, uint64_t *hash)
{
	const char *digits = name + OBJECTS_CUT + 2;

	if (length != OBJECTS_CUT + 2 + OBJECTS_HASH_DIGITS ||
	    memcmp(name + OBJECTS_CUT, "%%", 2) != 0)
		return false;
	*hash = 0;
	for (size_t i = 0; i < OBJECTS_HASH_DIGITS; i++) {
		int digit = name_digit(digits[i], hex_lower);

		if (digit < 0)
			return false;
		if (i < OBJECTS_HASH_DIGITS / 2)
			*hash = *hash << 4 | (uint64_t)digit;
	}
	return true;
}

/* Finds the hash of the key whose name it is. Returns false where it is the name of none. */
static bool name_decode(const char *name, uint64_t *hash)
{
	size_t length = name_length(name), n = 0;
	char text[OBJECTS_NAME_MAX];

	if (!length || length > OBJECTS_NAME_MAX)
		return false;
	if (name_decode_cut(name, length, hash))
		return true;
	for (size_t i = 0; i < length; i++) {
		int high, low;

		if (name[i] != '%') {
			if (!name_plain(name[i]))
				return false;
			text[n++] = name[i];
			continue;
		}
		high = name_digit(name[i + 1], hex_upper);
		low = high < 0 ? -1 : name_digit(name[i + 2], hex_upper);
		if (low < 0)
			return false;
		text[n++] = (char)(high << 4 | low);
		i += 2;
	}
	*hash = replay_key_hash(text, n);
	return true;
}

bool replay_object_named(const char *name)
{
	uint64_t hash;

	return name_decode(name, &hash);
}

bool replay_object_of(const char *name, uint32_t part)
{
	uint64_t hash;

	return name_decode(name, &hash) && hash % OBJECTS_FOLDERS == part;
}

struct description replay_objects_description(const char *folder)
{
	return (struct description){.folder = folder,
				    .file = ".haul-replay.json",
				    .what = "objects",
				    .tables = description_tables,
				    .version = OBJECTS_LAYOUT,
				    .size = sizeof(struct replay_objects)};
}

void replay_objects_leave(const struct replay_objects *o, struct queue *q, const char *folder,
			  const struct group *g)
{
	char key[OBJECT_KEY_BYTES];

	if (!description_wanted(q) || !store_can(q->channel.store, BACKEND_UPDATE))
		return;
	for (uint32_t k = 0; k < TRACE_TIERS; k++) {
		if (!(o->tiers >> k & 1))
			continue;
		for (uint32_t part = g->rank; part < OBJECTS_FOLDERS; part += g->size) {
			replay_objects_folder(folder, k, part, 2, key);
			small_object_remove(q, key);
		}
	}
}

void replay_objects_end(const struct replay_objects *o, struct queue *q, const char *folder)
{
	const struct description d = replay_objects_description(folder);
	bool folders = store_can(q->channel.store, BACKEND_UPDATE) && description_wanted(q);
	char key[OBJECT_KEY_BYTES];

	for (uint32_t k = 0; folders && k < TRACE_TIERS; k++) {
		if (!(o->tiers >> k & 1))
			continue;
		replay_objects_folder(folder, k, 0, 1, key);
		small_object_remove(q, key);
	}
	description_end(&d, q);
}

static bool cleaned_of(const void *part, const char *name)
{
	return replay_object_of(name, *(const uint32_t *)part);
}

/* The ranks share the folders. */
static int cleaned_objects(struct clean *c, const struct description *d, const void *described,
			   bool *stays, struct err *err)
{
	const struct group *g = c->crew.group;
	const struct replay_objects *r = described;
	char key[OBJECT_KEY_BYTES];
	int rc = 0;

	(void)stays;
	for (uint32_t k = 0; rc == 0 && k < TRACE_TIERS; k++) {
		if (!(r->tiers >> k & 1))
			continue;
		for (uint32_t part = g->rank; rc == 0 && part < OBJECTS_FOLDERS; part += g->size) {
			replay_objects_folder(d->folder, k, part, 2, key);
			rc = clean_listed(c, key, cleaned_of, &part, err);
		}
	}
	return rc;
}

static void cleaned_folders(struct clean *c, const struct description *d, const void *described)
{
	const struct replay_objects *r = described;
	char key[OBJECT_KEY_BYTES];

	for (uint32_t k = 0; k < TRACE_TIERS; k++) {
		if (!(r->tiers >> k & 1))
			continue;
		replay_objects_folder(d->folder, k, 0, 1, key);
		clean_folder(c, key);
	}
}

static struct description cleaned_description(const struct phase_context *ctx,
					      const struct job_phase *phase, void *described)
{
	const struct replay_options *o = phase->options;

	(void)ctx;
	(void)described;
	return replay_objects_description(o->folder);
}

int replay_clean(struct phase_context *ctx, struct clean_counts *counts, struct err *err)
{
	struct replay_objects described;
	const struct description_phases phases = {.owner = &replay_workload,
						  .of = cleaned_description,
						  .how = {.objects = cleaned_objects,
							  .named = replay_object_named,
							  .folders = cleaned_folders,
							  .described = &described}};

	return description_clean(&phases, ctx, counts, err);
}
