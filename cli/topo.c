#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "plan/pin.h"
#include "ranks/run.h"

enum { TOPO_RANKS_DEFAULT = 1 };

struct topo_args {
	uint64_t ranks;
	uint32_t pin;
	const char *cores;
};

static const struct verb_option topo_options[] = {
	{.name = "ranks",
	 .kind = VERB_COUNT,
	 .offset = offsetof(struct topo_args, ranks),
	 .value = "N",
	 .min = 1,
	 .max = 4096,
	 .help = "for N ranks on this node; default 1"},
	{.name = "pin",
	 .kind = VERB_CHOICE,
	 .offset = offsetof(struct topo_args, pin),
	 .choices = pin_names,
	 .help = "how; default none"},
	{.name = "cores",
	 .kind = VERB_TEXT,
	 .offset = offsetof(struct topo_args, cores),
	 .value = "LIST",
	 .help = "for --pin list: a set a rank, \"1-8:9-16\""},
	{.name = NULL},
};

static int topo_run(const struct call *call)
{
	const struct topo_args *args = call->options;
	uint32_t ranks = args->ranks ? (uint32_t)args->ranks : TOPO_RANKS_DEFAULT;
	struct job_cluster cluster = {.pin = args->pin};
	hwloc_topology_t topology;
	struct err err = {0};
	char *picture;

	if (args->cores && snprintf(cluster.cores, sizeof(cluster.cores), "%s", args->cores) >=
				   (int)sizeof(cluster.cores)) {
		cli_say("--cores: is longer than %zu characters", sizeof(cluster.cores) - 1);
		return EXIT_USAGE;
	}
	if (hwloc_topology_init(&topology) < 0) {
		cli_say("hwloc: no topology");
		return EXIT_FAILED;
	}
	hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	if (hwloc_topology_load(topology) < 0) {
		cli_say("hwloc: this node's topology cannot be read: %s", strerror(errno));
		hwloc_topology_destroy(topology);
		return EXIT_FAILED;
	}
	picture = pin_picture(&cluster, topology, ranks, &err);
	hwloc_topology_destroy(topology);
	if (!picture) {
		cli_say("%s", err.text);
		return err.code == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
	return cli_print(picture);
}

const struct verb topo_verb = {
	.name = "topo",
	.arguments = "",
	.help = "this node's cores, and which rank would get which, as a picture",
	.example = "haul topo --ranks 12 --pin numa",
	.options = topo_options,
	.options_bytes = sizeof(struct topo_args),
	.run = topo_run,
};
