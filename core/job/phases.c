/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the phases of a job. Each is {"kind": {...}}, or several run at the same time on ranks of
 * their own: {"together": [{"kind": {..., "ranks": "0-3"}}, ...]}. In struct job, both are a list
 * of phases. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/job/internal.h"
#include "core/json.h"

static const struct option name_options[] = {
	OPT_TEXT("name", struct job_phase, name,
		 .help = "names the phase in reports and for --set; absent: its kind"),
	OPT_TEXT("store", struct job_phase, store,
		 .help = "the store it works on; absent: that of its data set"),
	OPT_END};

static const struct option after_options[] = {
	OPT_TIME(
		"after", struct job_phase, after_ns,
		.help = "pause between the end of the previous phase and this one; part of neither"),
	OPT_END};

static const struct option set_options[] = {
	OPT_TEXT("ranks", struct job_phase, set.ranks,
		 .help = "the ranks on which it runs: \"0-47\", \"0-3,8\""),
	OPT_TEXT("nodes", struct job_phase, set.nodes,
		 .help = "in place of ranks, the nodes: all ranks of \"0-3\""),
	OPT_END};

static const char *const until_choices[] = {"first", "all",
					    NULL}; /* in the order of enum job_until */

static const struct option together_options[] = {
	OPT_CHOICE(
		"until", struct job_together, until, .choices = until_choices,
		.help = "all end when the first of the phases ends, or each when its own work is done"),
	OPT_BOOL("alone", struct job_together, alone,
		 .help = "each phase also runs by itself before, on the same ranks, to compare"),
	OPT_TIME("after", struct job_together, after_ns,
		 .help = "pause between the end of the previous phase and these; part of neither"),
	OPT_END};

const struct option *const job_phase_tables[] = {name_options, after_options, NULL};
const struct option *const job_member_tables[] = {name_options, set_options, NULL};
const struct option *const job_together_tables[] = {together_options, NULL};

static const cJSON *entry_together(const cJSON *item)
{
	return cJSON_IsObject(item) ? cJSON_GetObjectItemCaseSensitive(item, JOB_TOGETHER) : NULL;
}

static int count_phases(const cJSON *list, uint32_t *count, struct err *err)
{
	const cJSON *child;

	*count = 0;
	cJSON_ArrayForEach(child, list)
	{
		const cJSON *together = entry_together(child);

		*count += cJSON_IsArray(together) ? (uint32_t)cJSON_GetArraySize(together) : 1;
	}
	if (*count > JOB_PHASES_MAX)
		return err_set(err, -EINVAL, "/phases: must hold at most %d phases, holds %u",
			       JOB_PHASES_MAX, *count);
	return 0;
}

static int refuse_kind(const struct job_schema *schema, const char *kind, const char *path,
		       struct err *err)
{
	const char *names[32], *near;
	char known[256] = "";
	unsigned n;

	if (!strcmp(kind, JOB_TOGETHER))
		return err_set(err, -EINVAL, "%s: phases that run together cannot contain others",
			       path);
	for (n = 0; schema->phases[n] && n < 31; n++) {
		names[n] = schema->phases[n]->name;
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 n ? ", " : "", names[n]);
	}
	names[n] = NULL;
	near = option_nearest(kind, names);
	if (near)
		return err_set(err, -EINVAL, "%s: unknown kind of phase; did you mean \"%s\"?",
			       path, near);
	return err_set(err, -EINVAL, "%s: unknown kind of phase; known are: %s", path, known);
}

/* A phase is {"kind": {...}}. */
static int phase_section(const struct job_schema *schema, const cJSON *item, const char *where,
			 const struct section **section, struct err *err)
{
	char path[JOB_POINTER_BYTES];
	const struct section *const *s;
	int count;

	if (!cJSON_IsObject(item))
		return job_refuse_shape(item, where, "an object such as {\"train\": {...}}", err);
	count = cJSON_GetArraySize(item);
	if (count != 1)
		return err_set(
			err, -EINVAL,
			"%s: must hold one key, the kind of phase, as in {\"train\": {...}}; holds %d",
			where, count);
	job_member_path(path, where, item->child->string);
	for (s = schema->phases; *s; s++) {
		if (!strcmp((*s)->name, item->child->string)) {
			*section = *s;
			return 0;
		}
	}
	return refuse_kind(schema, item->child->string, path, err);
}

static int job_check_phase(const struct job *job, struct job_phase *phase, struct err *err)
{
	char path[JOB_POINTER_BYTES], known[512] = "", quoted[JSON_QUOTE_BYTES];
	uint32_t i;

	snprintf(path, sizeof(path), "%s/name", phase->path);
	if (!phase->name[0])
		snprintf(phase->name, sizeof(phase->name), "%s", phase->section->name);
	if (job_check_name(phase->name, path, err) < 0)
		return -EINVAL;
	if (!phase->store[0] || job_find_store(job, phase->store))
		return 0;
	for (i = 0; i < job->store_count; i++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 i ? ", " : "", job->stores[i].name);
	json_quote(quoted, phase->store);
	if (!job->store_count)
		return err_set(err, -EINVAL, "%s/store: no store %s; the job has no stores",
			       phase->path, quoted);
	return err_set(err, -EINVAL, "%s/store: no store %s; there are: %s", phase->path, quoted,
		       known);
}

static int read_phase(struct job *job, const struct job_schema *schema, const cJSON *item,
		      const char *where, const struct job_together *together, struct err *err)
{
	struct job_phase *phase = &job->phases[job->phase_count];
	struct job_target_options targets;
	struct option_part parts[3];
	int rc;

	rc = phase_section(schema, item, where, &phase->section, err);
	if (rc < 0)
		return rc;
	snprintf(phase->path, sizeof(phase->path), "%s/%s", where, phase->section->name);
	phase->together = together;
	phase->options = arena_alloc(&job->arena, phase->section->size);
	phase->targets = arena_alloc(&job->arena, (job_target_count(phase->section) + 1) *
							  sizeof(*phase->targets));
	if (!phase->options || !phase->targets)
		return job_no_memory(phase->path, err);
	job_target_options(&targets, phase->section);
	parts[0] = (struct option_part){together ? job_member_tables : job_phase_tables, phase};
	parts[1] = (struct option_part){phase->section->tables, phase->options};
	parts[2] = (struct option_part){targets.tables, phase->targets};
	rc = options_parse_parts(parts, 3, NULL, item->child, phase->path, &job->arena, err);
	if (rc < 0)
		return rc;
	job->phase_count++;
	rc = job_check_phase(job, phase, err);
	if (rc == 0 && phase->section->complete)
		phase->section->complete(job, phase);
	return rc;
}

/* Phases that run at the same time have no rank in common, and names of their own, by which their
 * results are told apart. */
static int set_compare(const struct job_phase *phase, const struct job_phase *other,
		       struct err *err)
{
	bool by_node = phase->set.nodes[0] != '\0';
	const char *unit = by_node ? "nodes" : "ranks";
	uint32_t number;

	if (!strcmp(phase->name, other->name))
		return err_set(
			err, -EINVAL,
			"%s/name: two of the phases that run together are called \"%s\"; give "
			"one another name",
			phase->path, phase->name);
	if (by_node != (other->set.nodes[0] != '\0'))
		return err_set(err, -EINVAL,
			       "%s/%s: %s has %s; phases that run together all have ranks, or all "
			       "have nodes",
			       phase->path, unit, other->path, by_node ? "ranks" : "nodes");
	if (number_sets_meet(&other->set.numbers, &phase->set.numbers, &number))
		return err_set(err, -EINVAL, "%s/%s: %s has %.*s %u already", phase->path, unit,
			       other->path, 4, unit, number);
	return 0;
}

static int read_set(const struct job *job, struct job_phase *phase, struct err *err)
{
	struct job_set *set = &phase->set;
	bool by_node = set->nodes[0] != '\0';
	int rc;

	if (!by_node && !set->ranks[0])
		return err_set(
			err, -EINVAL,
			"%s: needs \"ranks\" or \"nodes\", because it runs together with others",
			phase->path);
	if (by_node && set->ranks[0])
		return err_set(err, -EINVAL,
			       "%s/nodes: the phase also has \"ranks\"; keep one of them",
			       phase->path);
	rc = number_set_parse(&set->numbers, by_node ? set->nodes : set->ranks, err);
	if (rc < 0)
		return err_wrap(err, rc, "%s/%s", phase->path, by_node ? "nodes" : "ranks");
	for (const struct job_phase *other = job->phases; other < phase && rc == 0; other++)
		if (other->together == phase->together)
			rc = set_compare(phase, other, err);
	return rc;
}

static int read_together(struct job *job, const struct job_schema *schema, const cJSON *item,
			 uint32_t index, struct err *err)
{
	static const char *const others[] = {JOB_TOGETHER, NULL};
	const cJSON *list = entry_together(item), *child;
	struct job_together *together = arena_alloc(&job->arena, sizeof(*together));
	struct option_part part = {job_together_tables, together};
	char where[48];
	int count = cJSON_GetArraySize(list), i = 0, rc;

	snprintf(where, sizeof(where), "/phases/%u", index);
	if (!together)
		return job_no_memory(where, err);
	together->entry = index;
	rc = options_parse_parts(&part, 1, others, item, where, &job->arena, err);
	if (rc < 0)
		return rc;
	snprintf(where, sizeof(where), "/phases/%u/" JOB_TOGETHER, index);
	if (!cJSON_IsArray(list))
		return job_refuse_shape(list, where, "a list of phases", err);
	if (count < 1 || count > JOB_TOGETHER_MAX)
		return err_set(err, -EINVAL, "%s: must hold 1 to %d phases, holds %d", where,
			       JOB_TOGETHER_MAX, count);
	cJSON_ArrayForEach(child, list)
	{
		snprintf(where, sizeof(where), "/phases/%u/" JOB_TOGETHER "/%d", index, i++);
		rc = read_phase(job, schema, child, where, together, err);
		if (rc == 0)
			rc = read_set(job, &job->phases[job->phase_count - 1], err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int read_entry(struct job *job, const struct job_schema *schema, const cJSON *item,
		      uint32_t index, struct err *err)
{
	char where[32];

	if (entry_together(item))
		return read_together(job, schema, item, index, err);
	snprintf(where, sizeof(where), "/phases/%u", index);
	return read_phase(job, schema, item, where, NULL, err);
}

int job_read_phases(struct job *job, const struct job_schema *schema, const cJSON *item,
		    struct err *err)
{
	uint32_t count, index = 0;
	const cJSON *child;
	int rc;

	if (!item)
		return err_set(err, -EINVAL, "/phases: is missing; a job lists its phases there");
	if (!cJSON_IsArray(item))
		return job_refuse_shape(item, "/phases", "a list", err);
	rc = count_phases(item, &count, err);
	if (rc < 0)
		return rc;
	job->phases = arena_alloc(&job->arena, (size_t)count * sizeof(*job->phases));
	if (!job->phases)
		return job_no_memory("/phases", err);
	cJSON_ArrayForEach(child, item)
	{
		rc = read_entry(job, schema, child, index++, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}
