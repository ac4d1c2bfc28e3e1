/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of a verb's options, and their help: see cli.h. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "core/numbers.h"

/* Words of other tools' command lines, and what to write here. DLIO's, MLPerf's, IOR's, mdtest's,
 * fio's, elbencho's and warp's users type them by habit. */

static const char foreign_ranks[] =
	"each rank is an accelerator: mpiexec -n 8 haul run JOB; in a plan, --nodes and --ranks-per-node";
static const char foreign_nodes[] =
	"the launcher places the ranks: mpiexec -hosts, srun; in a plan, --nodes and --ranks-per-node";
static const char foreign_launcher[] = "give it to the launcher: mpiexec … haul run JOB";
static const char foreign_job[] =
	"the job is the word after the verb, a file or a ready job: haul catalog";
static const char foreign_memory[] =
	"the plan takes the memory of a node: haul plan JOB --memory \"512 GiB\"";
static const char foreign_data[] =
	"where the data lie is the store's: --set stores.data.uri=file:///path";
static const char foreign_results[] = "the results are one file: --results FILE";
static const char foreign_set[] = "a key of the job is changed by --set: --set train.batch=4";
static const char foreign_dlio_file[] =
	"haul import dlio FILE reads DLIO's workloads and changes of their keys";
static const char foreign_only[] =
	"parts of a job are chosen by --only and --skip: --only generate";
static const char foreign_repeat[] = "runs are repeated by --repeat N";
static const char foreign_force[] = "there is nothing to allow; --force replaces a results file";
static const char foreign_quiet[] =
	"haul says what it does; --quiet makes it silent, --op-log FILE logs requests";
static const char foreign_deadline[] =
	"a phase ends by its \"seconds\": --set io.seconds=60; a run by --deadline";
static const char foreign_letters[] =
	"options have two dashes here; docs/plain-io.md has the letters of IOR, mdtest, elbencho and fio in haul's words";
static const char foreign_block[] = "bytes of a request are the phase's: --set io.block=\"1 MiB\"";
static const char foreign_size[] = "bytes of an object are the phase's: --set io.size=\"1 GiB\"";
static const char foreign_depth[] = "requests in flight are the phase's: --set io.depth=32";
static const char foreign_threads[] =
	"threads of a rank are the phase's: --set io.threads=4; ranks are mpiexec's";
static const char foreign_objects[] = "objects of a rank are the phase's: --set io.objects=100";
static const char foreign_operation[] =
	"what is done is the phase's: --set io.operation=read; docs/plain-io.md";
static const char foreign_share[] =
	"shares of a mixed phase: --set io.read_share=0.7, or io.mix.get, .put, .stat, .delete";
static const char foreign_order[] = "an order is the phase's: --set io.order=random";
static const char foreign_engine[] = "engines are of the store: --set stores.data.engine=uring";
static const char foreign_direct[] = "the page cache is passed by --set stores.data.direct=true";
static const char foreign_fsync[] =
	"when files are flushed is the store's: --set stores.data.fsync=file";
static const char foreign_warmup[] =
	"time that does not count is the phase's: --set io.warmup=\"5 s\"";
static const char foreign_rate[] =
	"a rate is the phase's: --set io.rate=1000 or io.bandwidth=\"1 GB/s\"";
static const char foreign_verify[] = "what is read is compared by --set io.verify=full";
static const char foreign_layout[] =
	"one object for all ranks: --set io.layout=segmented or strided; each its own: objects";
static const char foreign_live[] =
	"figures while it runs: --live FILE; afterwards haul report FILE --json or --csv";
static const char foreign_report[] = "haul report FILE shows results: --json, --csv, --html OUT";
static const char foreign_endpoint[] =
	"a server is the store's: --set stores.data.endpoints=http://host:9000, or AWS_ENDPOINT_URL in the environment";
static const char foreign_keys[] =
	"keys come from the environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile";
static const char foreign_bucket[] =
	"a bucket is in the store's URI: --set stores.data.uri=s3://bucket/prefix";
static const char foreign_tls[] =
	"TLS is by the endpoint: https://host; --set stores.data.insecure=true trusts any server";
static const char foreign_users[] = "users of a cache are the phase's: --set kvcache.users=100";
static const char foreign_kv_time[] =
	"how long requests come is the phase's: --set kvcache.duration=\"60 s\"";
static const char foreign_tiers[] =
	"tiers of a cache are the phase's: haul import kvcache reads MLPerf's file; docs/kv-caches.md";
static const char foreign_seed[] = "seeds are the job's: --set seed=43";
static const char foreign_plan[] = "haul plan JOB opens nothing, and shows what would be done";
static const char foreign_clean[] = "haul clean JOB removes what a job has made";
static const char foreign_drop[] =
	"caches are passed by --set train.cold=drop_caches or fadvise; docs/existing-data.md";
static const char foreign_model[] =
	"a ready job stands for a model and an accelerator: unet3d_h100; haul catalog lists them";
static const char foreign_checkpoints[] =
	"writes and reads are the phase's: --set checkpoint.count=10 and checkpoint.operation=write; docs/checkpoints.md";
static const char foreign_category[] =
	"a job is the same for both divisions; haul check JOB, or FILE.h5, says which it is";

/* One letter stands for itself with one dash, as in "-b" of IOR. */
static const struct {
	const char *names; /* each between blanks */
	const char *sentence;
} foreign_options[] = {
	{" num-accelerators na n np num-processes num-procs ntasks max-accelerators ma accelerators-per-host "
	 "num-gpus gpus nproc-per-node nproc_per_node procs ranks numtasks ",
	 foreign_ranks},
	{" hosts hostfile host-list num-client-hosts nch num-nodes nnodes client hostsfile ppn ",
	 foreign_nodes},
	{" mpi-bin mpi-params mpi-btl oversubscribe allow-run-as-root bind-to exec-type et machinefile ",
	 foreign_launcher},
	{" workload config config-file config-dir config-name job jobfile file-job benchmark ",
	 foreign_job},
	{" model accelerator-type accelerator g m ", foreign_model},
	{" client-host-memory-in-gb cm memory-per-node mem ", foreign_memory},
	{" data-dir dd data-folder data_folder folder directory dir filename file testFile cache-dir "
	 "checkpoint-folder cf path storage-root ",
	 foreign_data},
	{" results-dir rd output output-dir output-file out save summaryFile resfile output_folder ",
	 foreign_results},
	{" params param override overrides define opt ", foreign_set},
	{" dlio-bin-path db hydra dlio ", foreign_dlio_file},
	{" generate-data generate_data do-train train do-eval workflow phase phases step steps-only ",
	 foreign_only},
	{" loops repetitions iterations num-runs runs ", foreign_repeat},
	{" overwrite yes assume-yes allow-invalid-params aip ", foreign_force},
	{" verbose debug vvv stream-log-level log-level loglevel log-file-level ", foreign_quiet},
	{" runtime duration time time_based timelimit timeout max-time stonewall deadlineForStonewalling ",
	 foreign_deadline},
	{" bs block block-size blocksize transferSize transfer-size iosize xfersize ",
	 foreign_block},
	{" size blockSize file-size filesize obj.size object-size objsize segmentCount ",
	 foreign_size},
	{" iodepth depth queue-depth qd concurrency-depth ", foreign_depth},
	{" threads numjobs num-threads concurrent concurrency jobs workers num-workers read-threads ",
	 foreign_threads},
	{" nrfiles files num-files objects num-objects openfiles ", foreign_objects},
	{" rw readwrite read write operation op mode stat delete deletefiles readFile writeFile ",
	 foreign_operation},
	{" rwmixread rwmixwrite rwmixpct rwmix mix get-distrib put-distrib delete-distrib stat-distrib ",
	 foreign_share},
	{" rand random randomOffset norandommap randrepeat ", foreign_order},
	{" ioengine engine api ", foreign_engine},
	{" direct useO_DIRECT odirect ", foreign_direct},
	{" fsync end_fsync fdatasync sync invalidate ", foreign_fsync},
	{" ramp_time ramp-time warm-up warmup-time ", foreign_warmup},
	{" rate rate_iops rate_process rps limitread limitwrite throttle ", foreign_rate},
	{" verify do_verify checkData ", foreign_verify},
	{" filePerProc reorderTasks collective ", foreign_layout},
	{" live csv livecsv status-interval eta trace log ", foreign_live},
	{" output-format json html report analyze group_reporting ", foreign_report},
	{" host endpoint endpoint-url endpoint_url server url s3endpoints ", foreign_endpoint},
	{" access-key secret-key access_key secret_key s3key s3secret key-id session-token ",
	 foreign_keys},
	{" bucket container prefix ", foreign_bucket},
	{" tls insecure no-verify-ssl no-sign-request ", foreign_tls},
	{" users num-users ", foreign_users},
	{" performance-profile generation-mode ", foreign_kv_time},
	{" gpu-mem-gb cpu-mem-gb gpu-memory-gb cpu-memory-gb storage-capacity-gb ", foreign_tiers},
	{" seed random-seed randseed ", foreign_seed},
	{" what-if whatif dry-run dryrun n-dry parse-only check ", foreign_plan},
	{" cleanup noclear keep unlink ", foreign_clean},
	{" drop-caches dropcaches drop-client-cache flush-caches cold ", foreign_drop},
	{" num-checkpoints-write ncw num-checkpoints-read ncr num-checkpoints checkpoint-mode ",
	 foreign_checkpoints},
	{" closed open submission ", foreign_category},
	{" a b B c C d D e f F G h i I j k l o O p P r R s S t T u w W x y z Z N E ",
	 foreign_letters},
};

/* Options of haul that are the same, of verbs that have them. */
static const struct {
	const char *sentence, *own;
} foreign_owned[] = {{foreign_memory, "memory"},
		     {foreign_nodes, "nodes"},
		     {foreign_results, "results"},
		     {foreign_set, "set"},
		     {foreign_repeat, "repeat"}};

/* The option that is the same as those with that clause, of verbs that have it; NULL: there is none. */
static const char *foreign_own(const char *sentence)
{
	for (size_t i = 0; i < COUNT(foreign_owned); i++)
		if (foreign_owned[i].sentence == sentence)
			return foreign_owned[i].own;
	return NULL;
}

/* What to write in place of an option, given with its dashes and perhaps "=value": a clause such as
 * "ranks are … ". NULL: it is of no tool that is known here. */
static const char *foreign_option(const char *given)
{
	const char *name = given + strspn(given, "-");
	size_t length = strcspn(name, "=");

	/* "-b2m", "-np8": IOR and mpiexec join them. */
	if (given[1] != '-' && length > 1 && strpbrk(name, "0123456789"))
		length = strcspn(name, "0123456789=");
	for (size_t i = 0; length && i < COUNT(foreign_options); i++)
		for (const char *at = foreign_options[i].names + 1; *at; at += strcspn(at, " ") + 1)
			if (strcspn(at, " ") == length && strncmp(at, name, length) == 0)
				return foreign_options[i].sentence;
	return NULL;
}

/* The same for a word without dashes, such as Hydra's "++workload.train.epochs=1" or
 * "train.batch=4". takes_sets: the verb has --set. */
static const char *foreign_argument(const char *given, int takes_sets)
{
	if (given[0] == '+' || given[0] == '~' || strncmp(given, "workload", 8) == 0)
		return "that is how DLIO's keys are changed: haul import dlio FILE takes such changes; "
		       "a key of a job here is changed by --set train.batch=4";
	if (takes_sets && strchr(given, '='))
		return "a key of the job is changed by --set: --set train.batch=4";
	return NULL;
}

enum { OPTIONS_MAX = 32, HELP_COLUMN = 26 };

static int refuse_option(const struct verb *verb, const char *given, struct err *err)
{
	const char *names[OPTIONS_MAX + 2];
	const struct option *o;
	const char *near, *foreign = foreign_option(given);
	const char *own = foreign ? foreign_own(foreign) : NULL;
	unsigned n = 0;

	o = own ? verb_option_find(verb, own, strlen(own)) : NULL;
	if (o)
		return err_set(err, -EINVAL,
			       "%s: unknown option \"%s\": here it is haul %s --%s %s", verb->name,
			       given, verb->name, o->name, o->value ? o->value : "");
	if (foreign)
		return err_set(err, -EINVAL, "%s: unknown option \"%s\": %s", verb->name, given,
			       foreign);
	for (o = verb->options; o && o->name && n < OPTIONS_MAX; o++)
		names[n++] = o->name;
	names[n++] = "help";
	names[n] = NULL;
	near = option_nearest(given + (given[0] == '-') + (given[0] == '-' && given[1] == '-'),
			      names);
	if (near)
		return err_set(err, -EINVAL, "%s: unknown option \"%s\"; did you mean \"--%s\"?",
			       verb->name, given, near);
	return err_set(err, -EINVAL, "%s: unknown option \"%s\"; haul %s --help lists them",
		       verb->name, given, verb->name);
}

const struct option *verb_option_find(const struct verb *verb, const char *name, size_t length)
{
	const struct option *o;

	for (o = verb->options; o && o->name; o++)
		if (strlen(o->name) == length && strncmp(o->name, name, length) == 0)
			return o;
	return NULL;
}

/* Reads the option at argv[*i] and its value. */
static int read_option(const struct verb *verb, int argc, char **argv, int *i, void *options,
		       struct err *err)
{
	const char *given = argv[*i], *equals = strchr(given, '='),
		   *value = equals ? equals + 1 : NULL;
	const struct option *o = NULL;
	char where[64];

	if (given[1] == '-')
		o = verb_option_find(verb, given + 2,
				     equals ? (size_t)(equals - given - 2) : strlen(given + 2));
	if (!o)
		return refuse_option(verb, given, err);
	if (o->kind == OPTION_BOOL && value)
		return err_set(err, -EINVAL, "--%s takes no value", o->name);
	if (o->kind != OPTION_BOOL && !value) {
		if (*i + 1 >= argc)
			return err_set(err, -EINVAL, "--%s needs a value: --%s %s", o->name,
				       o->name, o->value);
		value = argv[++*i];
	}
	snprintf(where, sizeof(where), "--%s", o->name);
	return option_parse_word(o, options, value, where, err);
}

int verb_parse(const struct verb *verb, int argc, char **argv, void *options,
	       const char **arguments, unsigned *argument_count, bool *help, struct err *err)
{
	const struct option *const tables[] = {verb->options, NULL};
	bool only_arguments = false;
	int i, rc;

	*argument_count = 0;
	*help = false;
	rc = options_parse(tables, options, NULL, "", NULL, err);
	if (rc < 0)
		return rc;
	for (i = 2; i < argc; i++) {
		if (!only_arguments && strcmp(argv[i], "--") == 0) {
			only_arguments = true;
		} else if (!only_arguments &&
			   (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)) {
			*help = true;
			return 0;
		} else if (!only_arguments && argv[i][0] == '-' && argv[i][1]) {
			rc = read_option(verb, argc, argv, &i, options, err);
			if (rc < 0)
				return rc;
		} else {
			arguments[(*argument_count)++] = argv[i];
			only_arguments |= *argument_count == 1 && verb->words_after &&
					  strcmp(argv[i], verb->words_after) == 0;
		}
	}
	if (*argument_count < verb->arguments_min)
		return err_set(err, -EINVAL, "%s: needs %s; haul %s --help", verb->name,
			       verb->arguments, verb->name);
	if (*argument_count > verb->arguments_max) {
		const char *foreign = foreign_argument(arguments[verb->arguments_max],
						       verb_option_find(verb, "set", 3) != NULL);

		if (foreign)
			return err_set(err, -EINVAL, "%s: unexpected argument \"%s\": %s",
				       verb->name, arguments[verb->arguments_max], foreign);
		return err_set(err, -EINVAL, "%s: unexpected argument \"%s\"; haul %s --help",
			       verb->name, arguments[verb->arguments_max], verb->name);
	}
	return 0;
}

static void help_row(const char *name, const char *value, const char *help)
{
	char left[160];

	snprintf(left, sizeof(left), "  --%s%s%s", name, value ? " " : "", value ? value : "");
	cli_row(left, HELP_COLUMN, help);
}

/* The options that are seldom wanted, or the others. Returns how many there are. */
static unsigned help_options(const struct verb *verb, bool seldom, const char *title)
{
	const struct option *o;
	unsigned i, n = 0;

	for (o = verb->options; o && o->name; o++) {
		char value[128] = "";

		if (o->seldom != seldom)
			continue;
		if (!n++ && title)
			printf("%s", title);
		for (i = 0; o->kind == OPTION_CHOICE && o->choices[i]; i++) {
			size_t used = strlen(value);

			snprintf(value + used, sizeof(value) - used, "%s%s", i ? "|" : "",
				 o->choices[i]);
		}
		help_row(o->name, value[0] ? value : o->value, o->help);
	}
	return n;
}

void verb_help(const struct verb *verb)
{
	printf("haul %s%s%s [options]\n%s\n\n", verb->name, verb->arguments[0] ? " " : "",
	       verb->arguments, verb->help);
	help_options(verb, false, NULL);
	help_row("help", NULL, "this text");
	help_options(verb, true, "\nFor tests and tuning:\n");
	if (verb->more) {
		printf("\n");
		verb->more();
	}
	printf("\nexample: %s\n", verb->example);
}
