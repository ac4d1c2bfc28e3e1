/* SPDX-License-Identifier: Apache-2.0 */
/* The verb "topo": this node's cores, and the ranks that would get them. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "plan/pin/pin.h"
#include "ranks/run/run.h"

enum { TOPO_RANKS_DEFAULT = 1 };

struct topo_args {
	uint64_t ranks, gpus;
	uint32_t pin;
	const char *cores, *reserved_cores, *bind, *xml;
};

static const struct option topo_options[] = {
	OPT_U64("ranks-per-node", struct topo_args, ranks, .value = "N", .min = 1, .max = 4096,
		.help = "the number of ranks on this node; default 1, or as many as --bind has entries"),
	OPT_CHOICE("pin", struct topo_args, pin, .choices = pin_names,
		   .help = "how ranks are pinned; default none"),
	OPT_WORD("cores", struct topo_args, cores, .value = "LIST",
		 .help = "for --pin list: one set per rank, \"1-8:9-16\""),
	OPT_WORD(
		"reserved-cores", struct topo_args, reserved_cores, .value = "SET",
		.help = "cores that no slice gets, \"0,52\", or \"none\"; default: what is known of the node"),
	OPT_U64("gpus", struct topo_args, gpus, .value = "N", .min = 1, .max = 1 << 14,
		.help = "for --pin tile: the number of accelerators, as in cluster.gpus"),
	OPT_WORD(
		"bind", struct topo_args, bind, .value = "LIST",
		.help = "what a launcher's --cpu-bind would give: \"list:0-7:8-15\" of PALS, \"map_cpu:0,8\" or "
			"\"mask_cpu:0xff,0xff00\" of Slurm"),
	OPT_WORD("xml", struct topo_args, xml, .value = "FILE",
		 .help = "shows another node, from a file written there with: lstopo node.xml"),
	OPT_END,
};

/* hwloc parses the file in the first of these calls where its plugin of libxml2 is installed, else in the second. */
static bool topo_fill(hwloc_topology_t topology, const char *xml)
{
	return (!xml || hwloc_topology_set_xml(topology, xml) == 0) &&
	       hwloc_topology_load(topology) == 0;
}

/* Whether hwloc can read the file. Some that are damaged crash it, so a copy of this process tries it. */
static bool topo_reads(hwloc_topology_t topology, const char *xml)
{
	pid_t copy = fork();
	int status = 0;

	if (copy == 0) {
		close(STDERR_FILENO);
		exit(topo_fill(topology, xml) ? EXIT_DONE : EXIT_FAILED);
	}
	return copy < 0 || (TEMP_FAILURE_RETRY(waitpid(copy, &status, 0)) == copy && status == 0);
}

static int topo_load(const char *xml, hwloc_topology_t *out)
{
	hwloc_topology_t topology;

	if (hwloc_topology_init(&topology) < 0) {
		cli_say("hwloc: no topology");
		return EXIT_FAILED;
	}
	hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	if (xml && access(xml, R_OK) < 0) {
		cli_say("--xml %s: %s", xml, strerror(errno));
		hwloc_topology_destroy(topology);
		return EXIT_USAGE;
	}
	if ((xml && !topo_reads(topology, xml)) || !topo_fill(topology, xml)) {
		hwloc_topology_destroy(topology);
		if (xml) {
			cli_say("--xml %s: is not a topology that hwloc can read", xml);
			return EXIT_USAGE;
		}
		cli_say("hwloc: this node's topology cannot be read: %s", strerror(errno));
		return EXIT_FAILED;
	}
	*out = topology;
	return EXIT_DONE;
}

static int topo_copy_text(const char *option, const char *given, char *out, size_t bytes)
{
	if (!given || snprintf(out, bytes, "%s", given) < (int)bytes)
		return EXIT_DONE;
	cli_say("%s: is longer than %zu characters", option, bytes - 1);
	return EXIT_USAGE;
}

static int topo_fail(const struct err *err)
{
	cli_say("%s", err->text);
	return err->code == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

static int topo_draw(const struct topo_args *args, const struct job_cluster *cluster,
		     uint32_t ranks, const struct launch_bind *bind)
{
	hwloc_topology_t topology;
	struct err err = {0};
	char *picture;
	int status = topo_load(args->xml, &topology);

	if (status != EXIT_DONE)
		return status;
	picture = pin_picture(cluster, topology, ranks, bind, &err);
	hwloc_topology_destroy(topology);
	return picture ? cli_print(picture) : topo_fail(&err);
}

static int topo_run(const struct call *call)
{
	const struct topo_args *args = call->options;
	uint32_t ranks = args->ranks ? (uint32_t)args->ranks : TOPO_RANKS_DEFAULT;
	struct job_cluster cluster = {.pin = args->pin, .gpus = args->gpus};
	struct launch_bind bind;
	struct err err = {0};
	int status;

	status = topo_copy_text("--cores", args->cores, cluster.cores, sizeof(cluster.cores));
	if (status == EXIT_DONE)
		status = topo_copy_text("--reserved-cores", args->reserved_cores,
					cluster.reserved_cores, sizeof(cluster.reserved_cores));
	if (status != EXIT_DONE)
		return status;
	if (!args->bind)
		return topo_draw(args, &cluster, ranks, NULL);
	if (launch_bind_read(&bind, args->bind, (uint32_t)args->ranks, &err) < 0)
		return topo_fail(&err);
	status = topo_draw(args, &cluster, bind.ranks, &bind);
	launch_bind_free(&bind);
	return status;
}

const struct verb topo_verb = {
	.name = "topo",
	.arguments = "",
	.help = "shows this node's cores, and which rank would get which",
	.example = "haul topo --ranks-per-node 12 --pin tile",
	.options = topo_options,
	.options_bytes = sizeof(struct topo_args),
	.run = topo_run,
};
