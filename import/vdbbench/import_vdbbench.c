/* SPDX-License-Identifier: Apache-2.0 */
#include "import/vdbbench/import_vdbbench.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "core/json.h"
#include "core/json_path.h"

/* What vdbbench and the rules of MLPerf take where nothing is given. */
static const double vectors_default = 1000000, dimension_default = 1536, degree_default = 64;
static const double seed_default = 42, list_default = 200, results_default = 10;
static const double query_vectors_default = 1000, runtime_default = 60, inline_default = 16;
/* Of knowhere, the library of Milvus: reads of a search in flight, compressed vectors of an eighth of
 * their bytes, at most so many. */
static const double beam_default = 8, pq_share = 0.125, pq_bytes_max = 512;

/* The keys of vdbbench's files, which it takes from whatever section they stand in, and the flags of its
 * runs. */
/* clang-format off */
#define NO_DATABASE "haul reads the index itself, without a database"
#define NO_MEANING  "vectors of haul are bytes without a meaning"
#define NO_GRAPH    "the graph of haul follows from the seed; how well it was built does not change what a search reads"
#define NO_INSERT   "haul writes the files of an index, not rows of a table"
#define NO_RECALL   "haul measures the I/O of a search, not its recall"
#define OWN_RESULTS "haul writes all that it measures to results.h5; see haul report"

#define USED(n, o, k)    {.path = (n), .other = (o), .kind = (k)}
#define LEFT(n, o, k, w) {.path = (n), .other = (o), .kind = (k), .way = KEY_LEFT, .why = (w)}

static const struct import_key vdb_keys[] = {
	/* The data and the index. */
	USED("collection_name", "collection", KEY_TEXT),
	USED("num_vectors", NULL, KEY_NUMBER),
	USED("dimension", NULL, KEY_NUMBER),
	USED("num_shards", NULL, KEY_NUMBER),
	USED("vector_dtype", NULL, KEY_TEXT),
	USED("seed", NULL, KEY_NUMBER),
	USED("index_type", NULL, KEY_TEXT),
	USED("max_degree", "MaxDegree", KEY_NUMBER),
	USED("M", "m", KEY_NUMBER),
	USED("inline_pq", NULL, KEY_NUMBER),
	USED("lists", "nlist", KEY_NUMBER),
	LEFT("search_list_size", "SearchListSize", KEY_NUMBER, NO_GRAPH),
	LEFT("ef_construction", "efConstruction", KEY_NUMBER, NO_GRAPH),
	LEFT("metric_type", NULL, KEY_TEXT, NO_MEANING),
	LEFT("distribution", NULL, KEY_TEXT, NO_MEANING),
	/* Searches. */
	USED("search_ef", "ef_search", KEY_NUMBER),
	USED("search_list", "ef", KEY_NUMBER),
	USED("probes", "nprobe", KEY_NUMBER),
	USED("num_query_processes", "processes", KEY_NUMBER),
	USED("batch_size", "search_batch_size", KEY_NUMBER),
	USED("runtime", NULL, KEY_NUMBER),
	USED("queries", NULL, KEY_NUMBER),
	USED("num_query_vectors", NULL, KEY_NUMBER),
	USED("num_search_rounds", NULL, KEY_NUMBER),
	USED("search_limit", "search_k", KEY_NUMBER),
	USED("mode", NULL, KEY_TEXT),
	LEFT("query_mode", NULL, KEY_TEXT, NO_MEANING),
	LEFT("query_noise", NULL, KEY_NUMBER, NO_MEANING),
	LEFT("query_seed", NULL, KEY_NUMBER, "queries follow from the seed of the job"),
	LEFT("benchmark_mode", NULL, KEY_TEXT, "it ends with \"runtime\" or \"queries\", whichever is given; a sweep is haul run --sweep"),
	LEFT("report_count", NULL, KEY_NUMBER, OWN_RESULTS),
	LEFT("log_interval", NULL, KEY_NUMBER, OWN_RESULTS),
	LEFT("output_dir", "out_dir", KEY_TEXT, OWN_RESULTS),
	LEFT("artifacts_dir", NULL, KEY_TEXT, NO_RECALL),
	LEFT("truth_k", "recall_k", KEY_NUMBER, NO_RECALL),
	LEFT("truth_mode", NULL, KEY_TEXT, NO_RECALL),
	LEFT("gt_collection", "gt_cache_dir", KEY_TEXT, NO_RECALL),
	LEFT("no_create_flat", "skip_recall", KEY_BOOL, NO_RECALL),
	/* The database, and how it is filled. */
	LEFT("backend", NULL, KEY_TEXT, NO_DATABASE),
	LEFT("host", NULL, KEY_TEXT, NO_DATABASE),
	LEFT("port", NULL, KEY_ANY, NO_DATABASE),
	LEFT("database", "uri", KEY_TEXT, NO_DATABASE),
	LEFT("user", NULL, KEY_TEXT, NO_DATABASE),
	LEFT("password", NULL, KEY_ANY, NO_DATABASE),
	LEFT("dbname", NULL, KEY_TEXT, NO_DATABASE),
	LEFT("max_receive_message_length", NULL, KEY_NUMBER, NO_DATABASE),
	LEFT("max_send_message_length", NULL, KEY_NUMBER, NO_DATABASE),
	LEFT("chunk_size", "block_size", KEY_NUMBER, NO_INSERT),
	LEFT("max_queue_depth", NULL, KEY_NUMBER, NO_INSERT),
	LEFT("compact", NULL, KEY_BOOL, NO_INSERT),
	LEFT("monitor_interval", NULL, KEY_NUMBER, NO_INSERT),
	LEFT("force", NULL, KEY_BOOL, "haul refuses a folder that holds something else; haul clean removes what was built"),
	LEFT("storage_root", NULL, KEY_TEXT, "set stores.data.uri of the job"),
	LEFT("storage_type", NULL, KEY_TEXT, "set stores.data.uri of the job"),
	LEFT("config", NULL, KEY_TEXT, "give the file itself to haul import"),
	LEFT("what_if", "plan", KEY_BOOL, "haul plan JOB"),
	LEFT("debug", NULL, KEY_BOOL, OWN_RESULTS),
	{.path = NULL},
};
/* clang-format on */

const struct import_tool import_vdbbench_tool = {
	.keys = vdb_keys,
	.by_name = true,
	.file = "a configuration",
	.name = "vdbbench",
	.unknown = "vdbbench has no such key or flag",
};

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

static int vdb_take(void *importer, const struct import_key *key, const char *path,
		    const cJSON *value)
{
	struct vdb *v = importer;
	cJSON *copy;

	/* The same name in two meanings: rows of an insert, and queries of a batch. */
	if (strncmp(path, "dataset.batch", strlen("dataset.batch")) == 0) {
		import_found(v->out, IMPORT_LEFT, path, value, "%s", NO_INSERT);
		return 0;
	}
	copy = cJSON_Duplicate(value, true);
	cJSON_DeleteItemFromObjectCaseSensitive(v->given, key->path);
	if (!copy || !cJSON_AddItemToObject(v->given, key->path, copy)) {
		cJSON_Delete(copy);
		return err_set(v->err, -ENOMEM, "no memory for the keys");
	}
	return 0;
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
	int rc = vdb_index(v);

	if (rc < 0)
		return rc;
	import_add_name(job, name, "vdbbench");
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

int import_vdbbench(struct import *out, const char *name, const char *text, size_t length,
		    const char *const *flags, unsigned flag_count, struct err *err)
{
	struct vdb v = {.out = out, .err = err, .given = cJSON_CreateObject()};
	cJSON *tree = NULL, *given = cJSON_CreateObject();
	int rc = length ? import_read(&tree, &import_vdbbench_tool, text, length, err) : 0;

	*out = (struct import){0};
	if (rc == 0)
		rc = import_walk(&import_vdbbench_tool, out, tree, vdb_take, &v, err);
	/* Flags override the file, whatever section it has a key in. */
	if (rc == 0)
		rc = import_flags(given, flags, flag_count, err);
	if (rc == 0)
		rc = import_walk(&import_vdbbench_tool, out, given, vdb_take, &v, err);
	if (rc == 0)
		rc = vdb_job(&v, name);
	cJSON_Delete(given);
	cJSON_Delete(tree);
	cJSON_Delete(v.given);
	return rc;
}
