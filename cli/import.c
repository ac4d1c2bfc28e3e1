/* SPDX-License-Identifier: Apache-2.0 */
/* The verb "import": prints a job file of another tool as a haul job on standard output, and what
 * became of its keys on standard error. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/edition.h"
#include "cli/run_folder.h"
#include "core/json.h"
#include "core/numbers.h"
#include "core/units.h"
#include "import/dlio/dlio.h"
#include "import/dlio/import_dlio.h"
#include "import/kvcache/import_kvcache.h"
#include "import/mlpstorage/import_mlpstorage.h"
#include "import/overrides.h"
#include "import/torchtitan/import_torchtitan.h"
#include "import/vdbbench/import_vdbbench.h"
#include "plan/plan.h"
#include "ranks/run/run.h"

enum { NAME_BYTES = 256, LINE_COLUMNS = 100, INDENT = 6, OVERRIDES_MAX = 1024 };

struct import_args {
	uint32_t as;
	bool keys;
};

static const char import_foreign[] = "mlpstorage";
static const char *const as_names[] = {"meant", "dlio-bugs", NULL};

static const struct option import_options[] = {
	OPT_CHOICE("as", struct import_args, as, .choices = as_names,
		   .help = "takes keys as they are meant, or as DLIO acts on them"),
	OPT_BOOL("keys", struct import_args, keys,
		 .help = "lists the keys and where each of them goes"),
	OPT_END,
};

/* "unet3d_h100" of "/work/unet3d_h100.yaml". */
static const char *import_base_name(const char *path, char name[NAME_BYTES])
{
	const char *slash = strrchr(path, '/');
	char *dot;

	snprintf(name, NAME_BYTES, "%s", slash ? slash + 1 : path);
	dot = strrchr(name, '.');
	if (dot && dot != name)
		*dot = '\0';
	return name;
}

/* Prints words on standard error, wrapped into lines. */
static void import_put_wrapped(const char *text)
{
	size_t column = LINE_COLUMNS;

	while (*text) {
		size_t n = strcspn(text, " ");

		if (column + 1 + n > LINE_COLUMNS) {
			fprintf(stderr, "\n%*s", INDENT, "");
			column = INDENT;
		} else {
			fputc(' ', stderr);
			column++;
		}
		fprintf(stderr, "%.*s", (int)n, text);
		column += n;
		text += n + strspn(text + n, " ");
	}
	fputc('\n', stderr);
}

static void import_put_findings(const struct import *found, enum import_fate fate,
				const char *heading)
{
	bool any = false;

	for (uint32_t i = 0; i < found->count; i++) {
		const struct import_finding *f = &found->findings[i];
		char key[JSON_QUOTE_BYTES];

		if (f->fate != fate)
			continue;
		if (!any)
			fprintf(stderr, "%s:\n", heading);
		any = true;
		fprintf(stderr, "  %s%s%s",
			json_text_plain(f->key) ? f->key : json_quote(key, f->key),
			f->value[0] ? " = " : "", f->value);
		import_put_wrapped(f->why);
	}
}

static void import_put_table(const struct import *found, const char *unknown)
{
	char keys[UNITS_COUNTED_BYTES];

	if (!cli_speaks())
		return;
	import_put_findings(found, IMPORT_CHANGED, "mapped, with a difference");
	import_put_findings(found, IMPORT_LEFT, "not mapped");
	import_put_findings(found, IMPORT_UNKNOWN, unknown);
	fprintf(stderr, "%s\n", units_counted(keys, found->keys, "key"));
	if (found->class[0])
		fprintf(stderr, "class: %s\n", found->class);
	if (found->then[0])
		fprintf(stderr, "then: %s\n", found->then);
}

/* Says why haul cannot run the job, for example because it was built without a store. The job is
 * printed all the same, to be mended, and the exit status tells. */
static int import_try_job(const char *text)
{
	struct err err = {0};
	struct job job = {0};
	int rc = job_parse(&job, plan_schema(), "job", text, strlen(text), NULL, 0, &err);
	uint64_t ranks = job.cluster.tensor * job.cluster.pipeline;

	/* As few ranks as the job can have, on one node. */
	ranks = max_u64(max_u64(ranks, job.cluster.ranks_per_node), 1);
	if (rc == 0)
		rc = plan_scale(&job, (uint32_t)ranks, 1, &err);
	if (rc == 0)
		rc = plan_check(&job, (uint32_t)ranks, 1, false, &err);
	if (rc < 0)
		cli_say("this haul cannot run the job: %s", err.text);
	job_free(&job);
	return rc;
}

/* Prints the job, or why there is none. unknown: the heading of keys that the other tool does not
 * have. */
static int import_put(const struct import *found, int rc, const char *unknown,
		      const struct err *err)
{
	char *text;
	int status;

	if (rc < 0) {
		cli_say("%s", err->text);
		return EXIT_USAGE;
	}
	import_put_table(found, unknown);
	text = json_print(found->job);
	rc = text ? import_try_job(text) : 0;
	status = cli_print(text);
	return status == EXIT_DONE && rc < 0 ? EXIT_USAGE : status;
}

/* Overrides as they are given, and those of a file of them. */
struct import_overrides {
	const char *texts[OVERRIDES_MAX];
	unsigned count;
	struct cJSON *lists; /* what texts of files point into */
};

static bool import_is_list(const char *argument)
{
	const char *dot = strrchr(argument, '.');

	return !strchr(argument, '=') && argument[0] != '~' && dot &&
	       (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

static int import_add_override(struct import_overrides *o, const char *text, struct err *err)
{
	if (o->count == OVERRIDES_MAX)
		return err_set(err, -EINVAL, "import: has more than %d overrides", OVERRIDES_MAX);
	o->texts[o->count++] = text;
	return 0;
}

static int import_add_list(struct import_overrides *o, const char *path, struct err *err)
{
	struct cJSON *list = NULL, *item;
	char *text = NULL;
	size_t length = 0;
	int rc = job_read_file(path, &text, &length, err);

	if (rc == 0) {
		rc = override_list_read(&list, text, length, err);
		if (rc < 0)
			err_wrap(err, rc, "%s", path);
	}
	free(text);
	if (rc < 0)
		return rc;
	cJSON_ArrayForEach(item, list)
	{
		rc = rc < 0 ? rc : import_add_override(o, item->valuestring, err);
	}
	if (!cJSON_AddItemToArray(o->lists, list)) {
		cJSON_Delete(list);
		return err_set(err, -ENOMEM, "no memory for the overrides");
	}
	return rc;
}

static int import_overrides_of(struct import_overrides *o, const struct call *call, struct err *err)
{
	int rc = 0;

	o->count = 0;
	o->lists = cJSON_CreateArray();
	for (unsigned i = 2; rc == 0 && i < call->argument_count; i++)
		rc = import_is_list(call->arguments[i])
			     ? import_add_list(o, call->arguments[i], err)
			     : import_add_override(o, call->arguments[i], err);
	return rc;
}

/* The configuration of the run that a folder is of. */
static int import_find_run(const char **path, char found[RUN_FOLDER_BYTES], struct err *err)
{
	struct run_folders *runs = NULL;
	int rc;

	if (!run_folder_is_folder(*path))
		return 0;
	rc = run_folders_find(&runs, *path, err);
	if (rc == 0 && runs->count > 1)
		rc = err_set(err, -EINVAL, "%s: has %u runs; the first is %s", *path, runs->count,
			     runs->list[0].config);
	if (rc == 0) {
		snprintf(found, RUN_FOLDER_BYTES, "%s", runs->list[0].config);
		*path = found;
	}
	free(runs);
	return rc;
}

static int import_file(const struct call *call)
{
	const struct import_args *args = call->options;
	const char *path = call->arguments[1];
	struct import_overrides overrides;
	struct editions *editions = NULL;
	char name[NAME_BYTES], found_path[RUN_FOLDER_BYTES], *text = NULL;
	struct import found = {0};
	struct err err = {0};
	size_t length = 0;
	int rc = import_overrides_of(&overrides, call, &err), status;

	if (rc == 0)
		rc = import_find_run(&path, found_path, &err);
	if (rc == 0)
		rc = job_read_file(path, &text, &length, &err);
	if (rc == 0) {
		/* Without a catalogue the class is not told. */
		edition_data(&editions, NULL, NULL);
		rc = import_dlio(&found, import_base_name(path, name), text, length,
				 &(struct import_given){.overrides = overrides.texts,
							.override_count = overrides.count,
							.as = (enum import_as)args->as,
							.editions = editions},
				 &err);
		if (rc < 0)
			err_wrap(&err, rc, "%s", path);
	}
	free(text);
	editions_free(editions);
	cJSON_Delete(overrides.lists);
	status = import_put(&found, rc, "unknown to DLIO", &err);
	import_free(&found);
	return status;
}

/* Benchmarks that have a file, flags, or both. */
static const struct import_benchmark {
	const char *tool;
	int (*read)(struct import *out, const char *name, const char *text, size_t length,
		    const char *const *flags, unsigned flag_count, struct err *err);
	const struct import_tool *keys;
} import_benchmarks[] = {{"kvcache", import_kvcache, &import_kvcache_tool},
			 {"torchtitan", import_torchtitan, &import_torchtitan_tool},
			 {"vdbbench", import_vdbbench, &import_vdbbench_tool}};

/* The first argument may be a file. Flags without a value have neither dots nor slashes. */
static int import_benchmark(const struct import_benchmark *b, const struct call *call)
{
	bool file = call->argument_count > 1 && !strchr(call->arguments[1], '=') &&
		    strpbrk(call->arguments[1], "./");
	const char *path = file ? call->arguments[1] : b->tool;
	unsigned first = file ? 2 : 1;
	char name[NAME_BYTES], *text = NULL;
	struct import found = {0};
	struct err err = {0};
	size_t length = 0;
	int rc = file ? job_read_file(path, &text, &length, &err) : 0, status;

	if (rc == 0) {
		rc = b->read(&found, import_base_name(path, name), text, length,
			     call->arguments + first, call->argument_count - first, &err);
		if (rc < 0)
			err_wrap(&err, rc, "%s", path);
	}
	free(text);
	status = import_put(&found, rc, "unknown to the benchmark", &err);
	import_free(&found);
	return status;
}

/* The words after "mlpstorage" are its own, whatever they begin with. */
static int import_storage(const struct call *call)
{
	const char *const *words = call->arguments + 1;
	unsigned count = call->argument_count - 1;
	struct editions *editions = NULL;
	struct import found = {0};
	struct err err = {0};
	int rc, status;

	for (unsigned i = 0; i < count; i++)
		if (strcmp(words[i], "--keys") == 0 || strcmp(words[i], "--help") == 0 ||
		    strcmp(words[i], "-h") == 0)
			return cli_print(import_mlpstorage_flags());
	/* What a run of it leaves is a workload of DLIO's. */
	if (count > 0 && run_folder_is_folder(words[0]))
		return import_file(call);
	if (count == 0) {
		cli_say("import mlpstorage: its command is missing, such as training run --model unet3d …; --keys lists its flags");
		return EXIT_USAGE;
	}
	rc = edition_data(&editions, NULL, &err);
	if (rc == 0)
		rc = import_mlpstorage(
			&found, words, count,
			&(struct import_edition){.editions = editions, .sizes = edition_sizes()},
			&err);
	status = import_put(&found, rc, "unknown to DLIO", &err);
	import_free(&found);
	editions_free(editions);
	return status;
}

static int import_run(const struct call *call)
{
	const struct import_args *args = call->options;

	for (size_t i = 0; i < COUNT(import_benchmarks); i++)
		if (strcmp(call->arguments[0], import_benchmarks[i].tool) == 0)
			return args->keys ? cli_print(import_keys_print(
						    import_benchmarks[i].keys->keys))
					  : import_benchmark(&import_benchmarks[i], call);
	if (strcmp(call->arguments[0], import_foreign) == 0)
		return import_storage(call);
	if (strcmp(call->arguments[0], "dlio") != 0) {
		cli_say("import: reads job files of \"dlio\", \"kvcache\", \"torchtitan\" and \"vdbbench\" and commands of \"mlpstorage\", not of \"%s\"",
			call->arguments[0]);
		return EXIT_USAGE;
	}
	if (args->keys)
		return cli_print(import_keys_print(dlio_keys));
	if (call->argument_count < 2) {
		cli_say("import: FILE is missing; see haul import --help");
		return EXIT_USAGE;
	}
	return import_file(call);
}

const struct verb import_verb = {
	.name = "import",
	.arguments = "TOOL [FILE] [KEY=VALUE…]",
	.words_after = import_foreign,
	.help = "prints a job of dlio, kvcache, mlpstorage, torchtitan or vdbbench, and its gaps",
	.example = "haul import dlio unet3d_h100.yaml ++workload.reader.batch_size=4 > job.json",
	.options = import_options,
	.options_bytes = sizeof(struct import_args),
	.arguments_min = 1,
	.arguments_max = 2 + OVERRIDES_MAX,
	.run = import_run,
};
