/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of a run: see nodes.h. */
#include "ranks/node/nodes.h"

#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/proc.h"
#include "ranks/mpi/group.h"

enum { ALIGN_ROUNDS = 16 };

int nodes_find(struct nodes *n, struct group *world, uint32_t fake, struct err *err)
{
	struct group *leaders;
	uint64_t place[2];
	int rc;

	memset(n, 0, sizeof(*n));
	rc = mpi_group_node(world, fake, &n->node, err);
	if (rc < 0)
		return rc;
	rc = group_split(world, n->node->rank == 0 ? 0 : 1, &leaders, err);
	if (rc < 0)
		return rc;
	place[0] = leaders->rank;
	place[1] = leaders->size;
	if (n->node->rank == 0)
		n->leaders = leaders;
	else
		group_free(leaders);
	rc = group_broadcast(n->node, place, sizeof(place));
	n->index = (uint32_t)place[0];
	n->count = (uint32_t)place[1];
	if (rc < 0)
		return rc;
	return node_status_open(&n->node_status, n->node, n->leaders,
				n->leaders ? mpi_group_comm(n->leaders) : NULL, n->count, err);
}

void nodes_free(struct nodes *n)
{
	node_status_close(&n->node_status);
	if (n->leaders)
		group_free(n->leaders);
	if (n->node)
		group_free(n->node);
	memset(n, 0, sizeof(*n));
}

/* The child's side. The shortest round trip gives the best estimate of when the parent read its
 * clock. */
static int align_to(struct nodes *n, uint32_t parent)
{
	uint64_t best = UINT64_MAX, theirs[2];

	for (int i = 0; i < ALIGN_ROUNDS; i++) {
		uint64_t sent = clock_kernel_ns(), back;
		int rc = group_send(n->leaders, parent, &sent, sizeof(sent));

		if (!rc)
			rc = group_receive(n->leaders, parent, theirs, sizeof(theirs));
		if (rc)
			return rc;
		back = clock_kernel_ns();
		if (back - sent >= best)
			continue;
		best = back - sent;
		n->offset_ns = (int64_t)(theirs[0] - (sent + best / 2));
		n->error_ns = best / 2 + theirs[1];
	}
	return 0;
}

/* The parent's side. It sends its clock, already converted to node 0's, and its own error. */
static int align_serve(struct nodes *n, uint32_t child)
{
	for (int i = 0; i < ALIGN_ROUNDS; i++) {
		uint64_t asked, mine[2];
		int rc = group_receive(n->leaders, child, &asked, sizeof(asked));

		mine[0] = clock_kernel_ns() + (uint64_t)n->offset_ns;
		mine[1] = n->error_ns;
		if (!rc)
			rc = group_send(n->leaders, child, mine, sizeof(mine));
		if (rc)
			return rc;
	}
	return 0;
}

int nodes_align(struct nodes *n, struct err *err)
{
	uint64_t shared[2];
	int rc = 0;

	if (n->leaders) {
		uint32_t me = n->leaders->rank, size = n->leaders->size;

		if (me)
			rc = align_to(n, (me - 1) / 2);
		for (uint32_t child = 2 * me + 1; !rc && child <= 2 * me + 2 && child < size;
		     child++)
			rc = align_serve(n, child);
	}
	if (rc)
		return err_set(err, rc, "clock alignment");
	shared[0] = (uint64_t)n->offset_ns;
	shared[1] = n->error_ns;
	rc = group_broadcast(n->node, shared, sizeof(shared));
	n->offset_ns = (int64_t)shared[0];
	n->error_ns = shared[1];
	n->node_status.offset_ns = n->offset_ns;
	return rc;
}

static uint64_t count_entries(const char *folder, const char *prefix)
{
	DIR *d = opendir(folder);
	struct dirent *entry;
	uint64_t count = 0;

	while (d && (entry = readdir(d)))
		count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
	if (d)
		closedir(d);
	return count;
}

/* Lists as many names as fit. */
static void nodes_list_names(const struct client_names *names, char *out, size_t bytes)
{
	size_t used = 0;

	for (uint32_t i = 0; i < names->count; i++) {
		size_t n = strlen(names->name[i]);

		if (used + n + 2 > bytes)
			break;
		used += (size_t)snprintf(out + used, bytes - used, "%s%s", used ? " " : "",
					 names->name[i]);
	}
}

void nodes_describe(const struct nodes *n, const struct client_facts *facts, struct node_row *row)
{
	struct utsname name;

	memset(row, 0, sizeof(*row));
	if (uname(&name) == 0) {
		snprintf(row->host, sizeof(row->host), "%.63s", name.nodename);
		snprintf(row->kernel, sizeof(row->kernel), "%.63s", name.release);
	}
	proc_value("/proc/cpuinfo", "model name", row->cpu, sizeof(row->cpu));
	row->memory_bytes = proc_memory_bytes("MemTotal");
	row->cores = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	row->numa_nodes = count_entries("/sys/devices/system/node", "node");
	nodes_list_names(&facts->nics, row->nics, sizeof(row->nics));
	nodes_list_names(&facts->rdma, row->rdma, sizeof(row->rdma));
	nodes_list_names(&facts->disks, row->disks, sizeof(row->disks));
	row->nic_bytes_per_s = facts->nic_bytes_per_s;
	row->rdma_bytes_per_s = facts->rdma_bytes_per_s;
	row->clock_offset_ns = n->offset_ns;
	row->clock_error_ns = n->error_ns;
}
