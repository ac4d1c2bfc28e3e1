/* SPDX-License-Identifier: Apache-2.0 */
/* A command of mlpstorage's vector databases as phases of haul's: see vectordb.h. */
#include "import/mlpstorage/vectordb.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/numbers.h"
#include "import/mlpstorage/workloads.h"

enum { URI_BYTES = 1100 };

/* A search keeps so many candidates unless it is told otherwise, and goes on for so long. */
static const double usual_list = 200, usual_seconds = 60;

static const struct {
	const char *name, *index, *type, *why; /* index NULL: there is none, and why */
} indexes[] = {
	{"DISKANN", "diskann", NULL, ""},
	{"AISAQ", "aisaq", NULL, ""},
	{"IVF_FLAT", "ivf", NULL, ""},
	{"IVF_SQ8", "ivf", "uint8", ""},
	{"HNSW", NULL, NULL, "its graph lies in memory, and a search of it reads nothing"},
	{"FLAT", NULL, NULL, "its vectors lie in memory, and a search of them reads nothing"},
};

static const struct {
	const char *name, *type;
} types[] = {
	{"FLOAT_VECTOR", "float32"},
	{"FLOAT16_VECTOR", "float16"},
	{"BFLOAT16_VECTOR", "float16"},
	{"INT8_VECTOR", "int8"},
};

static void vectordb_put(struct import *out, cJSON *object, const char *key, cJSON *value)
{
	if (!value || !cJSON_AddItemToObject(object, key, value)) {
		cJSON_Delete(value);
		out->failed = true;
	}
}

static void vectordb_put_text(struct import *out, cJSON *object, const char *key, const char *text)
{
	vectordb_put(out, object, key, cJSON_CreateString(text));
}

static void vectordb_put_number(struct import *out, cJSON *object, const char *key, double number)
{
	vectordb_put(out, object, key, cJSON_CreateNumber(number));
}

/* The kind of index, and what a number of it is stored as. */
static int vectordb_put_index(struct import *out, cJSON *phase, const struct command *c,
			      struct err *err)
{
	const char *kind = c->model ? c->model : workloads_indexes[0];
	const char *asked = command_value(c, "--vector-dtype"), *type = NULL;

	for (unsigned i = 0; i < COUNT(types); i++)
		if (asked && strcmp(types[i].name, asked) == 0)
			type = types[i].type;
	if (asked && !type)
		return err_set(
			err, -EINVAL,
			"--vector-dtype: haul has no vectors of \"%.32s\": its numbers are FLOAT_VECTOR, FLOAT16_VECTOR, BFLOAT16_VECTOR and INT8_VECTOR",
			asked);
	for (unsigned i = 0; i < COUNT(indexes); i++) {
		if (strcmp(indexes[i].name, kind) != 0)
			continue;
		if (!indexes[i].index)
			return err_set(err, -EINVAL, "%s: %s", kind, indexes[i].why);
		vectordb_put_text(out, phase, "index", indexes[i].index);
		type = indexes[i].type ? indexes[i].type : type;
	}
	if (type)
		vectordb_put_text(out, phase, "type", type);
	return 0;
}

/* Keys of both phases, or of searches only. */
static void vectordb_put_keys(struct import *out, cJSON *phase, const struct command *c,
			      enum flags_way way)
{
	for (unsigned i = 0; i < c->count; i++) {
		const struct flag *f = c->flags[i].flag;

		if (f->way != way)
			continue;
		cJSON_DeleteItemFromObjectCaseSensitive(phase, f->to);
		vectordb_put_number(out, phase, f->to, (double)command_whole(c, f->name, 0));
	}
}

/* All queries of a command are shared among its ranks and their threads. */
static void vectordb_put_limits(struct import *out, cJSON *phase, const struct command *c)
{
	uint64_t askers = max_u64(command_ranks(c), 1) *
			  max_u64(command_whole(c, "--num-query-processes", 1), 1);
	uint64_t queries = command_whole(c, "--queries", 0);

	if (queries)
		vectordb_put_number(out, phase, "count", (double)((queries + askers - 1) / askers));
	else
		vectordb_put_number(out, phase, "count", 0);
	if (!queries || command_value(c, "--runtime"))
		vectordb_put_number(out, phase, "seconds",
				    (double)command_whole(c, "--runtime", (uint64_t)usual_seconds));
	if (command_whole(c, "--batch-size", 1) > 1)
		vectordb_put_number(out, phase, "depth",
				    (double)command_whole(c, "--batch-size", 1));
}

static int vectordb_add_phase(struct import *out, cJSON *phases, const struct command *c,
			      const char *operation, struct err *err)
{
	bool searches = strcmp(operation, "search") == 0;
	cJSON *entry = cJSON_CreateObject(), *phase = cJSON_AddObjectToObject(entry, "vector");
	int rc;

	if (!phase || !cJSON_AddItemToArray(phases, entry)) {
		cJSON_Delete(entry);
		return err_set(err, -ENOMEM, "no memory for the job");
	}
	vectordb_put_text(out, phase, "name", operation);
	vectordb_put_text(out, phase, "operation", operation);
	rc = vectordb_put_index(out, phase, c, err);
	vectordb_put_keys(out, phase, c, FLAGS_INDEX);
	if (!searches)
		return rc;
	vectordb_put_number(out, phase, "list", usual_list);
	vectordb_put_keys(out, phase, c, FLAGS_SEARCH);
	vectordb_put_limits(out, phase, c);
	vectordb_put_text(out, phase, "verify", "none");
	return rc;
}

static int vectordb_add_store(struct import *out, const struct command *c, struct err *err)
{
	const char *root = command_value(c, "--storage-root");
	const char *type = command_value(c, "--storage-type");
	bool object = c->object || (type && strcmp(type, "s3") == 0);
	cJSON *stores = cJSON_AddObjectToObject(out->job, "stores");
	cJSON *store = cJSON_AddObjectToObject(stores, "data");
	char uri[URI_BYTES];

	if (object && !root)
		return err_set(
			err, -EINVAL,
			"object: the bucket is missing, which the database knows; give it by --storage-root BUCKET");
	root = root ? root : "vectordb";
	snprintf(uri, sizeof(uri), "%s://%s%.1024s", object ? "s3" : "file",
		 object || root[0] == '/' ? "" : "./", root);
	vectordb_put_text(out, store, "uri", uri);
	if (object)
		return 0;
	/* As DiskANN and Milvus read: several requests of a thread, past the page cache. */
	vectordb_put_text(out, store, "engine", "uring");
	vectordb_put(out, store, "direct", cJSON_CreateTrue());
	return 0;
}

int vectordb_import(struct import *out, const struct command *c, struct err *err)
{
	cJSON *phases;
	int rc;

	out->job = cJSON_CreateObject();
	if (!out->job)
		return err_set(err, -ENOMEM, "no memory for the job");
	vectordb_put_text(out, out->job, "name", "vectordb");
	if (command_value(c, "--seed"))
		vectordb_put_number(out, out->job, "seed", (double)command_whole(c, "--seed", 0));
	rc = vectordb_add_store(out, c, err);
	phases = cJSON_AddArrayToObject(out->job, "phases");
	if (rc == 0 && c->does != COMMAND_RUN)
		rc = vectordb_add_phase(out, phases, c, "build", err);
	if (rc == 0 && c->does != COMMAND_DATAGEN)
		rc = vectordb_add_phase(out, phases, c, "search", err);
	if (rc == 0)
		import_found(
			out, IMPORT_CHANGED, "vectordb", NULL,
			"haul does the reads of searches in such an index: there is no database, and no recall");
	if (rc == 0 && c->does == COMMAND_RUN && !command_value(c, "--num-vectors"))
		import_found(
			out, IMPORT_CHANGED, "--num-vectors", NULL,
			"a run has none, as the database knows its collection; haul takes 1,000,000 unless the run has it, too");
	return rc;
}
