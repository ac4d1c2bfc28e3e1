/* SPDX-License-Identifier: Apache-2.0 */
/* The job of an assessment: see ceilings.h. */
#include "plan/assess/ceilings.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "core/json.h"
#include "core/numbers.h"

const struct ceiling_kind ceiling_kinds[ASSESS_CEILINGS] = {
	[ASSESS_WRITE] = {"write", 1},
	[ASSESS_READ] = {"read", 1},
	[ASSESS_RANDOM] = {"random", ASSESS_RANDOM_BYTES},
	[ASSESS_PUT] = {"put", ASSESS_SMALL_BYTES},
	[ASSESS_GET] = {"get", ASSESS_SMALL_BYTES},
	[ASSESS_CREATE] = {"create", 1},
	[ASSESS_STAT] = {"stat", 1},
	[ASSESS_REMOVE] = {"remove", 1},
	[ASSESS_COMMIT] = {"commit", ASSESS_COMMIT_BYTES},
};

/* One phase, as a job has it. */
struct ceiling_phase {
	const char *name, *operation, *folder;
	double objects, size, block; /* 0: not said */
	unsigned how;                /* enum ceiling_how bits */
};
enum ceiling_how {
	RANDOM = 1,
	/* Its work is done again until its time is over, unless it would then come from a page cache. */
	AGAIN = 2,
	DURABLE = 4, /* to stable storage */
	ALONE = 8,   /* by one thread of each rank */
	WHOLE = 16   /* to its end, since phases behind it need all of it */
};

static void ceiling_add(cJSON *phases, const struct assess *a, const struct ceiling_phase *p)
{
	cJSON *phase = cJSON_CreateObject(), *io = cJSON_AddObjectToObject(phase, "io");
	bool reads = strcmp(p->operation, "read") == 0;
	bool again = p->how & AGAIN && !(reads && a->ask.cached);

	cJSON_AddStringToObject(io, "name", p->name);
	cJSON_AddStringToObject(io, "operation", p->operation);
	cJSON_AddStringToObject(io, "store",
				(p->how & DURABLE) && a->ask.syncs ? "durable" : "data");
	cJSON_AddStringToObject(io, "folder", p->folder);
	json_add_number(io, "objects", p->objects);
	json_add_number(io, "threads", p->how & ALONE ? 1 : CEILING_THREADS);
	if (p->size > 0)
		json_add_number(io, "size", p->size);
	if (p->block > 0)
		json_add_number(io, "block", p->block);
	if (p->how & RANDOM)
		cJSON_AddStringToObject(io, "order", "random");
	if (again)
		json_add_number(io, "passes", 0);
	if (reads)
		cJSON_AddStringToObject(io, "cold", a->ask.cached ? "fadvise" : "none");
	if ((p->size > 0 && !(p->how & WHOLE)) || again)
		json_add_number(io, "seconds", a->seconds);
	cJSON_AddItemToArray(phases, phase);
}

static void ceiling_phases(cJSON *phases, const struct assess *a)
{
	double each = a->ask.space_bytes / a->ask.ranks;
	double size = fmax(fmin(CEILING_WRITTEN, floor(each / CEILING_OBJECTS)), 1);
	double written = fmax(floor(each / size), 1);
	double small = ceil(CEILING_SMALL_PER_SECOND * a->seconds);
	const struct ceiling_phase all[] = {
		{"write", "write", "assess/write", written, size, 0, DURABLE},
		{"erase", "delete", "assess/write", written, 0, 0, DURABLE},
		{"commit", "write", "assess/commit", small, ASSESS_COMMIT_BYTES,
		 ASSESS_COMMIT_BYTES, DURABLE | ALONE},
		{"put", "write", "assess/small", small, ASSESS_SMALL_BYTES, ASSESS_SMALL_BYTES, 0},
		{"get", "read", "assess/small", small, ASSESS_SMALL_BYTES, ASSESS_SMALL_BYTES,
		 AGAIN},
		{"make", "write", "assess/streams", CEILING_OBJECTS, CEILING_BLOCK, 0,
		 DURABLE | WHOLE},
		{"read", "read", "assess/streams", CEILING_OBJECTS, CEILING_BLOCK, 0, AGAIN},
		{"random", "read", "assess/streams", CEILING_OBJECTS, CEILING_BLOCK,
		 ASSESS_RANDOM_BYTES, RANDOM | AGAIN},
		{"create", "create", "assess/names", small, 0, 0, 0},
		{"stat", "stat", "assess/names", small, 0, 0, AGAIN},
		{"remove", "delete", "assess/names", small, 0, 0, 0},
	};

	for (size_t i = 0; i < COUNT(all); i++)
		ceiling_add(phases, a, &all[i]);
}

static void ceiling_stores(cJSON *job, const struct assess *a)
{
	cJSON *stores = cJSON_AddObjectToObject(job, "stores");
	cJSON *data = cJSON_AddObjectToObject(stores, "data");
	cJSON *durable = a->ask.syncs ? cJSON_AddObjectToObject(stores, "durable") : NULL;

	cJSON_AddStringToObject(data, "uri", a->ask.uri);
	if (durable) {
		cJSON_AddStringToObject(durable, "uri", a->ask.uri);
		cJSON_AddStringToObject(durable, "fsync", "file");
	}
}

char *assess_job(const struct assess *a)
{
	cJSON *job = cJSON_CreateObject();
	char *text;

	cJSON_AddStringToObject(job, "name", "assess");
	ceiling_stores(job, a);
	ceiling_phases(cJSON_AddArrayToObject(job, "phases"), a);
	measure_add(job, a);
	text = json_print(job);
	cJSON_Delete(job);
	return text;
}
