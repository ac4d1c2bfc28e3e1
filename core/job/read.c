/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what the phases of a job use: from the JSON tree to struct job. The job's own tables come
 * first, then stores and data sets, each by the tables of its owner. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/job/internal.h"
#include "core/job/job.h"
#include "core/json.h"
#include "core/uri.h"

const struct job_store *job_find_store(const struct job *job, const char *name)
{
	uint32_t i;

	for (i = 0; i < job->store_count; i++)
		if (!strcmp(job->stores[i].name, name))
			return &job->stores[i];
	return NULL;
}

const struct job_dataset *job_find_dataset(const struct job *job, const char *name)
{
	uint32_t i;

	for (i = 0; i < job->dataset_count; i++)
		if (!strcmp(job->datasets[i].name, name))
			return &job->datasets[i];
	return NULL;
}

uint64_t job_phase_after_ns(const struct job_phase *phase, const struct job_phase *before)
{
	if (!phase->together)
		return phase->after_ns;
	return before && before->together == phase->together ? 0 : phase->together->after_ns;
}

static const struct option job_options[] = {
	OPT_TEXT("name", struct job, name, .def_text = "job", .help = "names the job in reports"),
	OPT_TEXT(
		"way", struct job, way, .def_text = "",
		.help = "names the way to the storage in tables of several; of a job with ways: the one to go"),
	OPT_TEXT("about", struct job, about, .def_text = "",
		 .help = "a sentence that says what the job is for, as haul catalog shows it"),
	OPT_U64("repeat", struct job, repeat, .max = JOB_RUNS_MAX,
		.help = "haul run runs the job so many times, where neither --repeat nor --warmup is given; 0: once"),
	OPT_U64("warmup", struct job, warmup, .max = JOB_RUNS_MAX - 1,
		.help = "with repeat: so many runs before them that are left out of all statistics"),
	OPT_U64("seed", struct job, seed, .def = 42,
		.help = "every random number is derived from it"),
	OPT_TIME(
		"stall_limit", struct job, stall_limit_ns, .def = 30000000000,
		.help = "a rank that waits for storage longer, or does not answer for longer, is named in the "
			"log of rank 0 while it lasts; 0: none is named"),
	OPT_U64("ranks", struct job, ranks, .max = 1 << 24,
		.help = "so many ranks, from rank 0 on, take part in all phases but those that make data or "
			"name their ranks; 0: all"),
	OPT_END};

static const char *const pin_choices[] = {"none", "core", "numa", "tile",
					  "nic",  "list", NULL}; /* in the order of enum pin */
enum { PIN_CHOICE_NONE = 0, PIN_CHOICE_LIST = 5 };

static const struct option cluster_options[] = {
	OPT_U64("ranks", struct job_cluster, ranks, .max = 1 << 24,
		.help = "the least number of ranks that the job needs; 0: any number"),
	OPT_U64("ranks_per_node", struct job_cluster, ranks_per_node, .max = 1 << 14,
		.help = "the least number of ranks per node; 0: any number"),
	OPT_BYTES(
		"memory", struct job_cluster, memory, .max = (uint64_t)1 << 50,
		.help = "memory per node, for data sets with memories; 0: as much as this node has"),
	OPT_U64("gpus", struct job_cluster, gpus, .max = 1 << 14,
		.help = "accelerators per node that the ranks stand for; 0: one per rank"),
	OPT_U64("tensor", struct job_cluster, tensor, .def = 1, .min = 1, .max = 1 << 14,
		.help = "ranks that share a layer: tensor parallelism"),
	OPT_U64("pipeline", struct job_cluster, pipeline, .def = 1, .min = 1, .max = 1 << 16,
		.help = "groups of layers: pipeline parallelism"),
	OPT_CHOICE(
		"pin", struct job_cluster, pin, .choices = pin_choices,
		.help = "cores of a rank: all it was given, an equal slice, a slice inside one NUMA node, "
			"near its accelerator, near its NIC, a list"),
	OPT_TEXT("cores", struct job_cluster, cores,
		 .help = "with pin list: \"1-8:9-16\", one set per local rank"),
	OPT_TEXT(
		"reserved_cores", struct job_cluster, reserved_cores,
		.help = "cores that no rank is pinned to: \"0,52\"; \"none\"; absent: what is known of the "
			"node (Aurora: 0 and 52)"),
	OPT_END};

const struct option *const job_tables[] = {job_options, NULL};
const struct option *const job_cluster_tables[] = {cluster_options, NULL};
const char *const job_parts[] = {"cluster", "stores", "dataset", "datasets", "phases", NULL};

const struct option *job_cluster_options(void)
{
	return cluster_options;
}

int job_no_memory(const char *path, struct err *err)
{
	return err_set(err, -ENOMEM, "%s: no memory", path);
}

static int read_cluster(struct job *job, const cJSON *item, struct err *err)
{
	struct job_cluster *c = &job->cluster;
	int rc = options_parse(job_cluster_tables, c, item, "/cluster", &job->arena, err);

	if (rc < 0)
		return rc;
	if (c->pin == PIN_CHOICE_LIST && !c->cores[0])
		return err_set(
			err, -EINVAL,
			"/cluster/cores: is missing; pin \"list\" needs it, as in \"1-8:9-16\"");
	if (c->pin != PIN_CHOICE_LIST && c->cores[0])
		return err_set(err, -EINVAL,
			       "/cluster/cores: is only for pin \"list\", which is \"%s\"",
			       pin_choices[c->pin]);
	if ((c->pin == PIN_CHOICE_NONE || c->pin == PIN_CHOICE_LIST) && c->reserved_cores[0])
		return err_set(
			err, -EINVAL,
			"/cluster/reserved_cores: is only where haul cuts the slices, not for "
			"pin \"%s\"",
			pin_choices[c->pin]);
	return 0;
}

int job_refuse_shape(const cJSON *item, const char *path, const char *wanted, struct err *err)
{
	char is[JSON_QUOTE_BYTES];

	return err_set(err, -EINVAL, "%s: must be %s, is %s", path, wanted,
		       json_describe(is, item));
}

/* "/stores/data", for messages. */
void job_member_path(char path[JOB_POINTER_BYTES], const char *where, const char *key)
{
	char quoted[JSON_QUOTE_BYTES];

	json_quote(quoted, key);
	snprintf(path, JOB_POINTER_BYTES, "%s/%.*s", where, (int)strlen(quoted) - 2, quoted + 1);
}

/* Names appear in paths, in --set and in results, so they consist of letters, digits, "_" and
 * "-". */
int job_check_name(const char *name, const char *path, struct err *err)
{
	size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");

	if (n && !name[n] && n < JOB_NAME_BYTES)
		return 0;
	return err_set(err, -EINVAL,
		       "%s: a name is made of letters, digits, \"_\" and \"-\", at most %d", path,
		       JOB_NAME_BYTES - 1);
}

static int job_check_uri(const struct job_schema *schema, const cJSON *uri, const char *path,
			 const struct section **section, struct err *err)
{
	char scheme[URI_SCHEME_BYTES], expanded[URI_BYTES], known[256] = "";
	const struct section *const *s;
	int rc;

	if (!cJSON_IsString(uri))
		return job_refuse_shape(uri, path, "a string such as \"file:///scratch/train\"",
					err);
	rc = uri_scheme(uri->valuestring, scheme, err);
	/* Variables may be set only where the job will run: plan_check looks at them. */
	if (!rc && !strstr(uri->valuestring, "${"))
		rc = uri_expand(uri->valuestring, NULL, expanded, err);
	if (rc < 0)
		return err_wrap(err, rc, "%s", path);
	for (s = schema->stores; *s; s++) {
		if (!strcmp((*s)->name, scheme)) {
			*section = *s;
			return 0;
		}
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s://",
			 *known ? ", " : "", (*s)->name);
	}
	return err_set(err, -EINVAL, "%s: no store is known for %s://; known are %s", path, scheme,
		       known);
}

/* The scheme of the URI decides what else the store may hold. */
static int store_section(const struct job_schema *schema, const cJSON *store, const char *path,
			 const struct section **section, struct err *err)
{
	const cJSON *uri = cJSON_GetObjectItemCaseSensitive(store, "uri"), *child;
	const struct section *first = NULL;
	char at[JOB_POINTER_BYTES + 24];
	unsigned i = 0;
	int rc;

	snprintf(at, sizeof(at), "%s/uri", path);
	if (!uri)
		return err_set(err, -EINVAL,
			       "%s: is missing; a store needs one, as in \"file:///scratch/train\"",
			       at);
	if (!cJSON_IsArray(uri))
		return job_check_uri(schema, uri, at, section, err);
	if (!uri->child)
		return err_set(err, -EINVAL, "%s: must hold at least one URI", at);
	cJSON_ArrayForEach(child, uri)
	{
		snprintf(at, sizeof(at), "%s/uri/%u", path, i++);
		rc = job_check_uri(schema, child, at, section, err);
		if (rc < 0)
			return rc;
		if (first && *section != first)
			return err_set(err, -EINVAL,
				       "%s: must be %s:// as the first is: a store has one scheme",
				       at, first->name);
		first = *section;
	}
	return 0;
}

static int read_store(struct job *job, const struct job_schema *schema, const cJSON *item,
		      struct err *err)
{
	struct job_store *store = &job->stores[job->store_count];
	char path[JOB_POINTER_BYTES];
	int rc;

	job_member_path(path, "/stores", item->string);
	rc = job_check_name(item->string, path, err);
	if (rc < 0)
		return rc;
	if (job_find_store(job, item->string))
		return err_set(err, -EINVAL, "%s: given twice", path);
	if (!cJSON_IsObject(item))
		return job_refuse_shape(item, path, "an object", err);
	rc = store_section(schema, item, path, &store->section, err);
	if (rc < 0)
		return rc;
	snprintf(store->name, sizeof(store->name), "%s", item->string);
	store->options = arena_alloc(&job->arena, store->section->size);
	if (!store->options)
		return job_no_memory(path, err);
	job->store_count++;
	return options_parse(store->section->tables, store->options, item, path, &job->arena, err);
}

int job_read_stores(struct job *job, const struct job_schema *schema, const cJSON *item,
		    struct err *err)
{
	const cJSON *child;
	int rc;

	if (!item)
		return 0;
	if (!cJSON_IsObject(item))
		return job_refuse_shape(item, "/stores", "an object", err);
	cJSON_ArrayForEach(child, item)
	{
		if (job->store_count == JOB_STORES_MAX)
			return err_set(err, -EINVAL, "/stores: must hold at most %d stores",
				       JOB_STORES_MAX);
		rc = read_store(job, schema, child, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int read_dataset(struct job *job, const struct job_schema *schema, const cJSON *item,
			const char *name, const char *path, struct err *err)
{
	struct job_dataset *d = &job->datasets[job->dataset_count];

	if (!cJSON_IsObject(item))
		return job_refuse_shape(item, path, "an object", err);
	snprintf(d->name, sizeof(d->name), "%s", name);
	d->options = arena_alloc(&job->arena, schema->dataset->size);
	if (!d->options)
		return job_no_memory(path, err);
	job->dataset_count++;
	return options_parse(schema->dataset->tables, d->options, item, path, &job->arena, err);
}

static int read_datasets(struct job *job, const struct job_schema *schema, const cJSON *root,
			 struct err *err)
{
	const cJSON *one = cJSON_GetObjectItemCaseSensitive(root, "dataset"), *child;
	const cJSON *several = cJSON_GetObjectItemCaseSensitive(root, "datasets");
	char path[JOB_POINTER_BYTES];
	int rc;

	if (one && several)
		return err_set(err, -EINVAL,
			       "/datasets: the job also has \"dataset\"; keep one of them");
	if (one)
		return read_dataset(job, schema, one, "", "/dataset", err);
	if (!several)
		return 0;
	if (!cJSON_IsObject(several))
		return job_refuse_shape(several, "/datasets", "an object", err);
	cJSON_ArrayForEach(child, several)
	{
		if (job->dataset_count == JOB_DATASETS_MAX)
			return err_set(err, -EINVAL, "/datasets: must hold at most %d data sets",
				       JOB_DATASETS_MAX);
		job_member_path(path, "/datasets", child->string);
		rc = job_check_name(child->string, path, err);
		if (!rc && job_find_dataset(job, child->string))
			rc = err_set(err, -EINVAL, "%s: given twice", path);
		if (!rc)
			rc = read_dataset(job, schema, child, child->string, path, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int job_read(struct job *job, const struct job_schema *schema, const cJSON *root, struct err *err)
{
	const struct option_part part = {job_tables, job};
	int rc;

	rc = options_parse_parts(&part, 1, job_parts, root, "", &job->arena, err);
	if (rc < 0)
		return rc;
	rc = read_cluster(job, cJSON_GetObjectItemCaseSensitive(root, "cluster"), err);
	if (rc < 0)
		return rc;
	rc = job_read_stores(job, schema, cJSON_GetObjectItemCaseSensitive(root, "stores"), err);
	if (rc < 0)
		return rc;
	return read_datasets(job, schema, root, err);
}
