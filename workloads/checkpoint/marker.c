/* SPDX-License-Identifier: Apache-2.0 */
/* The marker as JSON:
 *
 *	{"haul_checkpoint": 1, "made_by": "haul 0.1.0", "whole": true, "seed": "42", "generation": "1", "ranks": 8,
 *	 "model": {…}, "mesh": {…}, "layout": "rank", "framing": "torch", "part": 0}
 */
#include "workloads/checkpoint/marker.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/content/fill.h"
#include "core/content/random.h"
#include "core/json.h"
#include "core/option/option.h"
#include "haul_build.h"
#include "workloads/common/small_object.h"

enum { MARKER_DEPTH = 4, MARKER_VALUES = 128, MARKER_NUMBER_BYTES = 24 };

static const struct option marker_options[] = {
	OPT_U64("haul_checkpoint", struct marker, version, .required = true, .min = 1,
		.max = 1000000),
	OPT_BOOL("whole", struct marker, whole, .required = true),
	OPT_U64("seed", struct marker, seed, .required = true),
	OPT_U64("generation", struct marker, generation, .required = true),
	OPT_U64("ranks", struct marker, ranks, .required = true, .min = 1, .max = UINT32_MAX),
	OPT_TABLE("model", struct marker, shape.model, .table = model_options),
	OPT_TABLE("mesh", struct marker, shape.mesh, .table = mesh_options),
	OPT_CHOICE("layout", struct marker, shape.layout, .choices = checkpoint_layout_names),
	OPT_CHOICE("framing", struct marker, shape.framing, .choices = archive_kind_names),
	OPT_U64("part", struct marker, shape.part),
	OPT_BOOL("rank_metadata", struct marker, shape.rank_metadata),
	OPT_CHOICE("consolidate", struct marker, shape.consolidate,
		   .choices = checkpoint_consolidate_names),
	OPT_END,
};
static const struct option *const marker_tables[] = {marker_options, NULL};
static const char *const marker_others[] = {"made_by", NULL};

void marker_folder(const char *folder, uint64_t number, char key[OBJECT_KEY_BYTES])
{
	snprintf(key, OBJECT_KEY_BYTES, "%s%s%06" PRIu64 "/", folder, folder[0] ? "/" : "", number);
}

void marker_key(const char *folder, uint64_t number, char key[OBJECT_KEY_BYTES])
{
	snprintf(key, OBJECT_KEY_BYTES, "%s%s%06" PRIu64 "/.haul-checkpoint.json", folder,
		 folder[0] ? "/" : "", number);
}

void marker_shards(const char *folder, uint64_t number, char key[OBJECT_KEY_BYTES])
{
	snprintf(key, OBJECT_KEY_BYTES, "%s%s%06" PRIu64 "/" CHECKPOINT_HF_SHARDS, folder,
		 folder[0] ? "/" : "", number);
}

void marker_remove(const struct checkpoint_shape *s, struct queue *q, const char *folder,
		   uint64_t number)
{
	void (*const keys[])(const char *, uint64_t,
			     char[OBJECT_KEY_BYTES]) = {marker_shards, marker_key, marker_folder};

	for (unsigned i = s->layout != CHECKPOINT_HF; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct object o = {.size = 0};

		keys[i](folder, number, o.key);
		queue_do(q, &(struct request){.op = REQ_DELETE, .object = &o});
	}
}

void marker_file_key(const char *folder, uint64_t number, const struct checkpoint_file *f,
		     char key[OBJECT_KEY_BYTES])
{
	snprintf(key, OBJECT_KEY_BYTES, "%s%s%06" PRIu64 "/%s", folder, folder[0] ? "/" : "",
		 number, f->name);
}

int marker_parse(struct marker *m, const char *text, size_t length, struct err *err)
{
	const struct option_part part = {marker_tables, m};
	struct arena arena = {NULL};
	cJSON *root = NULL;
	int rc;

	memset(m, 0, sizeof(*m));
	if (length > MARKER_TEXT_MAX)
		return err_set(err, -EINVAL, "is larger than a marker");
	rc = json_parse(&root, text, length, MARKER_DEPTH, MARKER_VALUES, err);
	if (rc < 0)
		return rc;
	rc = options_parse_parts(&part, 1, marker_others, root, "", &arena, err);
	if (rc == 0)
		rc = model_check(&m->shape.model, "/model", err);
	if (rc == 0 && (!m->shape.mesh.tensor || !m->shape.mesh.pipeline || !m->shape.mesh.data))
		rc = err_set(err, -EINVAL, "/mesh: is not complete");
	if (rc == 0)
		rc = mesh_check(&m->shape.mesh, &m->shape.model, "/mesh", err);
	arena_free(&arena);
	cJSON_Delete(root);
	return rc;
}

char *marker_text(const struct marker *m)
{
	cJSON *root = options_to_json(marker_tables, m);
	char *text = NULL;

	if (root && cJSON_AddStringToObject(root, "made_by", "haul " HAUL_VERSION))
		text = json_print(root);
	cJSON_Delete(root);
	return text;
}

bool marker_shape_is(const struct marker *m, const struct checkpoint_shape *shape)
{
	const struct marker of = {.shape = m->shape}, other = {.shape = *shape};
	char *a = marker_text(&of), *b = marker_text(&other);
	bool same = a && b && strcmp(a, b) == 0;

	free(a);
	free(b);
	return same;
}

/* A checkpoint with metadata is whole when that is there. */
static bool marker_has_metadata(const struct marker *m, struct queue *q, const char *folder,
				uint64_t number)
{
	uint64_t ranks = m->shape.rank_metadata ? m->ranks : 1;
	bool whole = true;

	for (uint64_t rank = 0; whole && rank < ranks; rank++) {
		struct object o = {.size = 0};
		struct request req = {.op = REQ_STAT, .object = &o};
		struct checkpoint_file f;

		checkpoint_metadata_file(&m->shape, rank, &f);
		marker_file_key(folder, number, &f, o.key);
		whole = queue_do(q, &req) == 0;
	}
	return whole;
}

int marker_load(struct marker *m, struct queue *q, const char *folder, uint64_t number,
		struct err *err)
{
	char key[OBJECT_KEY_BYTES], *text;
	size_t length;
	int rc;

	marker_key(folder, number, key);
	rc = small_object_load(q, key, MARKER_TEXT_MAX, &text, &length, err);
	if (rc < 0)
		return rc;
	rc = marker_parse(m, text, length, err);
	free(text);
	if (rc < 0)
		return err_wrap(err, rc, "%s/%s", q->channel.store->uri, key);
	if (checkpoint_has_metadata(&m->shape))
		m->whole = marker_has_metadata(m, q, folder, number);
	return 0;
}

int marker_save(const struct marker *m, struct queue *q, const char *folder, uint64_t number,
		struct err *err)
{
	char key[OBJECT_KEY_BYTES], *text = marker_text(m);
	int rc;

	marker_key(folder, number, key);
	rc = text ? small_object_save(q, key, text, err)
		  : err_set(err, -ENOMEM, "%s/%s: no memory", q->channel.store->uri, key);
	free(text);
	return rc;
}

uint64_t marker_content(const struct marker *m, uint64_t file_number)
{
	return fill_key(mix64(m->seed ^ mix64(m->generation)), file_number);
}
