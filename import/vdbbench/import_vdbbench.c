/* SPDX-License-Identifier: Apache-2.0 */
#include "import/vdbbench/import_vdbbench.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/json.h"
#include "core/json_path.h"
#include "import/overrides.h"
#include "import/vdbbench/keys.h"
#include "import/yaml/tree.h"

enum { JOB_NAME_MAX = 63, FLAG_BYTES = 1024, KEY_DEPTH_MAX = 4 };

/* What vdbbench and the rules of MLPerf take where nothing is given. */
static const double vectors_default = 1000000, dimension_default = 1536, degree_default = 64;
static const double seed_default = 42, list_default = 200, results_default = 10;
static const double query_vectors_default = 1000, runtime_default = 60, inline_default = 16;
/* Of knowhere, the library of Milvus: reads of a search in flight, compressed vectors of an eighth of
 * their bytes, at most so many. */
static const double beam_default = 8, pq_share = 0.125, pq_bytes_max = 512;

struct vdb {
	struct import *out;
	cJSON *given; /* by the name of the key: the last value, from whatever section */
	const char *index;
	struct err *err;
};

static double vdb_number(const struct vdb *v, const char *name, double otherwise)
{
	return json_number_at(v->given, name, otherwise);
}

static const char *vdb_text(const struct vdb *v, const char *name, const char *otherwise)
{
	return json_text_at(v->given, name, otherwise);
}

static bool vdb_has(const struct vdb *v, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(v->given, name) != NULL;
}

static bool vdb_is(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strcasecmp(text, *words) == 0)
			return true;
	return false;
}

/* A finding about a key that was given. */
static void vdb_found(struct vdb *v, enum import_fate fate, const char *name, const char *why)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(v->given, name);

	if (value)
		import_found(v->out, fate, name, value, "%s", why);
}

/* The last part of a path, as the tables have it: "search_ef" of "search.search-ef". */
static void vdb_name(const char *path, char name[IMPORT_KEY_BYTES])
{
	const char *dot = strrchr(path, '.');

	snprintf(name, IMPORT_KEY_BYTES, "%s", dot ? dot + 1 : path);
	for (char *c = name; *c; c++)
		if (*c == '-')
			*c = '_';
}

static int vdb_key(struct vdb *v, const char *path, const cJSON *value)
{
	static const char *const kinds[] = {[VDB_NUMBER] = "a number",
					    [VDB_TEXT] = "a text",
					    [VDB_BOOL] = "true or false",
					    [VDB_ANY] = "anything"};
	const struct vdb_key *key;
	char name[IMPORT_KEY_BYTES];
	cJSON *copy;

	vdb_name(path, name);
	key = vdb_key_find(name);
	v->out->keys++;
	if (!key) {
		import_found(v->out, IMPORT_UNKNOWN, path, value,
			     "vdbbench has no such key or flag");
		return 0;
	}
	if ((key->kind == VDB_NUMBER && !cJSON_IsNumber(value)) ||
	    (key->kind == VDB_TEXT && !cJSON_IsString(value)) ||
	    (key->kind == VDB_BOOL && !cJSON_IsBool(value)))
		return err_set(v->err, -EINVAL, "%s: must be %s", path, kinds[key->kind]);
	/* The same name in two meanings: rows of an insert, and queries of a batch. */
	if (!key->left && strncmp(path, "dataset.batch", strlen("dataset.batch")) == 0) {
		import_found(v->out, IMPORT_LEFT, path, value, "%s",
			     vdb_key_find("chunk_size")->left);
		return 0;
	}
	if (key->left) {
		import_found(v->out, IMPORT_LEFT, path, value, "%s", key->left);
		return 0;
	}
	copy = cJSON_Duplicate(value, true);
	cJSON_DeleteItemFromObjectCaseSensitive(v->given, key->name);
	if (!copy || !cJSON_AddItemToObject(v->given, key->name, copy)) {
		cJSON_Delete(copy);
		return err_set(v->err, -ENOMEM, "no memory for the keys");
	}
	return 0;
}

static int vdb_keys_of(struct vdb *v, const char *path, const cJSON *value, unsigned depth)
{
	const cJSON *one;
	int rc = 0;

	if (cJSON_IsNull(value))
		return 0;
	if (!cJSON_IsObject(value))
		return vdb_key(v, path, value);
	if (depth == KEY_DEPTH_MAX)
		return err_set(v->err, -EINVAL, "%s: has keys below keys below keys", path);
	cJSON_ArrayForEach(one, value)
	{
		char below[IMPORT_KEY_BYTES];
		int n = snprintf(below, sizeof(below), "%s%s%s", path, *path ? "." : "",
				 one->string);

		if (n < 0 || (size_t)n >= sizeof(below))
			return err_set(v->err, -EINVAL, "%s: has a key that is too long", path);
		rc = vdb_keys_of(v, below, one, depth + 1);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Whether the file is vdbbench's: it has at least as many of its keys as others. */
static int vdb_check_file(const struct vdb *v)
{
	unsigned others = 0;

	for (uint32_t i = 0; i < v->out->count; i++)
		others += v->out->findings[i].fate == IMPORT_UNKNOWN;
	if (others * 2 <= v->out->keys && v->out->keys)
		return 0;
	return err_set(v->err, -EINVAL,
		       "is not a configuration of vdbbench: of its %u keys, vdbbench has %u",
		       v->out->keys, v->out->keys - others);
}

static int vdb_index(struct vdb *v)
{
	static const char *const kinds[][6] = {
		{"diskann", "DISKANN", NULL},
		{"aisaq", "AISAQ", NULL},
		{"hnsw", "HNSW", NULL},
		{"ivf", "IVF_FLAT", "IVFFLAT", "IVF_SQ8", "IVF", NULL},
	};
	const char *asked = vdb_text(v, "index_type", "DISKANN");
	char quoted[JSON_QUOTE_BYTES];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && !v->index; i++)
		if (vdb_is(asked, kinds[i] + 1))
			v->index = kinds[i][0];
	if (v->index)
		return 0;
	return err_set(
		v->err, -EINVAL,
		"index_type: haul has no index %s; it has DISKANN, AISAQ, HNSW, IVF_FLAT and IVF_SQ8",
		json_quote(quoted, asked));
}

static bool vdb_kind_is(const struct vdb *v, const char *kind)
{
	return strcmp(v->index, kind) == 0;
}

static int vdb_add_type(struct vdb *v, cJSON *phase)
{
	static const char *const singles[] = {"FLOAT_VECTOR", "float", "float32", NULL};
	static const char *const halves[] = {"FLOAT16_VECTOR", "BFLOAT16_VECTOR", "float16", NULL};
	static const char *const bytes[] = {"INT8_VECTOR", "int8", NULL};
	static const char *const small[] = {"IVF_SQ8", NULL};
	const char *type = vdb_text(v, "vector_dtype", singles[0]);
	char quoted[JSON_QUOTE_BYTES];

	if (vdb_is(vdb_text(v, "index_type", ""), small) || vdb_is(type, bytes))
		json_add_text(phase, "type", "int8");
	else if (vdb_is(type, halves))
		json_add_text(phase, "type", "float16");
	else if (!vdb_is(type, singles))
		return err_set(v->err, -EINVAL, "vector_dtype: %s is no type of vectors of haul",
			       json_quote(quoted, type));
	return 0;
}

/* AISAQ has the compressed vectors of some neighbours in a node, haul those of all: they get so many
 * bytes that the node has its size. */
static void vdb_add_codes(struct vdb *v, cJSON *phase, double degree)
{
	double raw = vdb_number(v, "dimension", dimension_default) * sizeof(float);
	double whole = fmin(floor(raw * pq_share), pq_bytes_max);
	double held = fmin(vdb_number(v, "inline_pq", inline_default), degree);
	double bytes = fmax(floor(whole * held / degree), 1);

	json_add_number(phase, "pq_bytes", bytes);
	if (held < degree)
		vdb_found(
			v, IMPORT_CHANGED, "inline_pq",
			"a node of haul has codes of all its neighbours, shortened so that it has the size of one with codes of so many");
}

/* What the index is; both phases say it. */
static int vdb_add_shape(struct vdb *v, cJSON *phase)
{
	double degree = vdb_number(v, "max_degree", degree_default);
	int rc;

	if (vdb_has(v, "collection_name"))
		json_add_text(phase, "folder", vdb_text(v, "collection_name", ""));
	json_add_text(phase, "index", v->index);
	json_add_number(phase, "vectors", vdb_number(v, "num_vectors", vectors_default));
	json_add_number(phase, "dimension", vdb_number(v, "dimension", dimension_default));
	rc = vdb_add_type(v, phase);
	if (rc < 0)
		return rc;
	if (vdb_number(v, "num_shards", 1) > 1)
		json_add_number(phase, "segments", vdb_number(v, "num_shards", 1));
	/* The lowest level of HNSW has twice as many links as the others. */
	if (vdb_kind_is(v, "hnsw"))
		degree = 2 * vdb_number(v, "M", degree_default);
	if (!vdb_kind_is(v, "ivf"))
		json_add_number(phase, "degree", degree);
	else if (vdb_has(v, "lists"))
		json_add_number(phase, "lists", vdb_number(v, "lists", 0));
	if (vdb_kind_is(v, "aisaq"))
		vdb_add_codes(v, phase, degree);
	return 0;
}

static void vdb_add_effort(struct vdb *v, cJSON *phase)
{
	double wanted = vdb_number(v, "search_limit", results_default);
	double list = vdb_number(v, "search_ef", vdb_number(v, "search_list", list_default));

	if (vdb_kind_is(v, "ivf")) {
		if (vdb_has(v, "probes"))
			json_add_number(phase, "probes", vdb_number(v, "probes", 1));
		return;
	}
	/* As the benchmark asks of Milvus. */
	json_add_number(phase, "list", fmax(list, wanted));
	if (vdb_kind_is(v, "diskann"))
		json_add_number(phase, "beam", beam_default);
}

static void vdb_add_search(struct vdb *v, cJSON *phase)
{
	double threads = vdb_number(v, "num_query_processes", 1);
	double vectors = vdb_number(v, "num_query_vectors", query_vectors_default);

	vdb_add_effort(v, phase);
	json_add_number(phase, "threads", threads);
	json_add_number(phase, "depth", vdb_number(v, "batch_size", 1));
	json_add_number(phase, "query_vectors", vectors);
	if (vdb_has(v, "queries") && threads >= 1)
		json_add_number(phase, "count", ceil(vdb_number(v, "queries", 1) / threads));
	else if (vdb_has(v, "num_search_rounds"))
		json_add_number(phase, "count", vectors * vdb_number(v, "num_search_rounds", 1));
	else
		json_add_number(phase, "seconds", vdb_number(v, "runtime", runtime_default));
	if (vdb_has(v, "queries") && vdb_has(v, "runtime"))
		vdb_found(v, IMPORT_LEFT, "runtime", "\"queries\" are given, too");
	json_add_text(phase, "verify", "none");
	json_add_text(phase, "on_error", "count");
}

/* What is mapped with a difference, and what is of another index than this one. */
static void vdb_tell(struct vdb *v)
{
	static const struct {
		const char *name, *kinds;
	} of[] = {{"max_degree", "diskann aisaq"},
		  {"M", "hnsw"},
		  {"inline_pq", "aisaq"},
		  {"lists", "ivf"},
		  {"probes", "ivf"},
		  {"search_ef", "diskann aisaq hnsw"},
		  {"search_list", "diskann aisaq hnsw"}};

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (!strstr(of[i].kinds, v->index))
			vdb_found(v, IMPORT_LEFT, of[i].name, "it is of another index");
	if (vdb_number(v, "num_shards", 1) > 1)
		vdb_found(
			v, IMPORT_CHANGED, "num_shards",
			"each is one index file, all of which a query searches; Milvus cuts shards into segments of its own size");
	if (vdb_number(v, "batch_size", 1) > 1)
		vdb_found(
			v, IMPORT_CHANGED, "batch_size",
			"so many queries of a thread are in flight, and another begins when one ends; the original waits for all of a batch");
	vdb_found(
		v, IMPORT_CHANGED, "search_limit",
		"a search reads what its list asks for, which is at least so long; the results themselves cost no further reads");
}

static cJSON *vdb_phase(cJSON *phases, const char *operation)
{
	cJSON *entry = cJSON_CreateObject(), *phase;

	if (!cJSON_AddItemToArray(phases, entry)) {
		cJSON_Delete(entry);
		return NULL;
	}
	phase = cJSON_AddObjectToObject(entry, "vector");
	json_add_text(phase, "name", operation);
	json_add_text(phase, "operation", operation);
	return phase;
}

static int vdb_phases(struct vdb *v, cJSON *job)
{
	static const char *const loads[] = {"load", NULL}, *const searches[] = {"search", NULL},
				 *const boths[] = {"both", "timed", "query_count", NULL};
	const char *mode = vdb_text(v, "mode", "both");
	cJSON *phases = cJSON_AddArrayToObject(job, "phases"), *phase;
	char quoted[JSON_QUOTE_BYTES];
	int rc = 0;

	if (!vdb_is(mode, loads) && !vdb_is(mode, searches) && !vdb_is(mode, boths))
		return err_set(v->err, -EINVAL, "mode: is load, search or both, not %s",
			       json_quote(quoted, mode));
	if (!vdb_is(mode, searches))
		rc = vdb_add_shape(v, vdb_phase(phases, "build"));
	if (rc < 0 || vdb_is(mode, loads))
		return rc;
	phase = vdb_phase(phases, "search");
	rc = vdb_add_shape(v, phase);
	vdb_add_search(v, phase);
	return rc;
}

static int vdb_job(struct vdb *v, const char *name)
{
	cJSON *job = v->out->job = cJSON_CreateObject(), *store;
	char cut[JOB_NAME_MAX + 1];
	int rc = vdb_index(v);

	if (rc < 0)
		return rc;
	snprintf(cut, sizeof(cut), "%s", json_text_plain(name) && *name ? name : "vdbbench");
	json_add_text(job, "name", cut);
	json_add_number(job, "seed", vdb_number(v, "seed", seed_default));
	store = cJSON_AddObjectToObject(cJSON_AddObjectToObject(job, "stores"), "data");
	json_add_text(store, "uri", "file://./vdbbench");
	/* Milvus reads HNSW through a mapping, and the others past the page cache. */
	json_add_text(store, "engine", vdb_kind_is(v, "hnsw") ? "mmap" : "uring");
	if (!vdb_kind_is(v, "hnsw"))
		cJSON_AddTrueToObject(store, "direct");
	rc = vdb_phases(v, job);
	if (rc == 0)
		vdb_tell(v);
	return rc < 0 || !v->out->failed ? rc : err_set(v->err, -ENOMEM, "no memory for the job");
}

/* "--max-degree=32" and "max-degree=32" are the same. */
static int vdb_flags(struct vdb *v, const char *const *flags, unsigned count)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < count; i++) {
		const char *flag = flags[i] + (strncmp(flags[i], "--", 2) == 0 ? 2 : 0);
		char text[FLAG_BYTES];
		cJSON *one = cJSON_CreateObject();
		int n = snprintf(text, sizeof(text), "++%s%s", flag,
				 strchr(flag, '=') ? "" : "=true");

		if (n < 0 || (size_t)n >= sizeof(text))
			rc = err_set(v->err, -EINVAL, "%.64s: is too long", flags[i]);
		else
			rc = override_apply(one, text, v->err);
		if (rc == 0)
			rc = vdb_keys_of(v, "", one, 0);
		cJSON_Delete(one);
	}
	return rc;
}

int import_vdbbench(struct import *out, const char *name, const char *text, size_t length,
		    const char *const *flags, unsigned flag_count, struct err *err)
{
	struct vdb v = {.out = out, .err = err, .given = cJSON_CreateObject()};
	cJSON *tree = NULL;
	int rc = length ? yaml_tree_read(&tree, text, length, err) : 0;

	*out = (struct import){0};
	if (rc == 0 && length && !cJSON_IsObject(tree))
		rc = err_set(err, -EINVAL, "is not a configuration: it must hold keys");
	if (rc == 0 && length)
		rc = vdb_keys_of(&v, "", tree, 0);
	if (rc == 0 && length)
		rc = vdb_check_file(&v);
	if (rc == 0)
		rc = vdb_flags(&v, flags, flag_count);
	if (rc == 0)
		rc = vdb_job(&v, name);
	cJSON_Delete(tree);
	cJSON_Delete(v.given);
	return rc;
}
