/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/http/interface.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool interfaces_named(const struct texts *names)
{
	return names->count > 1 || (names->count == 1 && names->items[0][0]);
}

int interfaces_check(const struct texts *names, const char *path, struct err *err)
{
	if (!interfaces_named(names))
		return 0;
	if (names->count > INTERFACES_MAX)
		return err_set(err, -EINVAL, "%s: names %u interfaces, more than %d", path,
			       names->count, INTERFACES_MAX);
	for (uint32_t i = 0; i < names->count; i++) {
		const char *name = names->items[i];

		if (!name[0] || strlen(name) >= LOCAL_END_BYTES || strpbrk(name, ", /"))
			return err_set(
				err, -EINVAL,
				"%s: \"%.80s\" is neither the name of an interface nor an address; write "
				"\"hsn0\", \"10.0.0.7\", or a list of them",
				path, name);
		for (uint32_t k = 0; k < i; k++)
			if (strcmp(names->items[k], name) == 0)
				return err_set(err, -EINVAL, "%s: names \"%s\" twice", path, name);
	}
	return 0;
}

void interfaces_print(const struct texts *names, char *text, size_t bytes)
{
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < names->count && used < bytes; i++)
		used += (size_t)snprintf(text + used, bytes - used, "%s%s", i ? ", " : "",
					 names->items[i]);
}

void interfaces_deal(const uint64_t *near, uint32_t ranks, uint32_t count, uint32_t *chosen)
{
	uint32_t used[INTERFACES_MAX] = {0};

	for (uint32_t r = 0; r < ranks; r++) {
		uint32_t best = UINT32_MAX;

		for (uint32_t i = 0; i < count; i++) {
			if (near[r] && !(near[r] >> i & 1))
				continue;
			if (best == UINT32_MAX || used[i] < used[best])
				best = i;
		}
		chosen[r] = best;
		used[best]++;
	}
}

/* Those of the list that are near this rank's processors. All of them must be there. */
static int interfaces_near(const struct texts *names, uint64_t *near, struct err *err)
{
	struct local_end e;
	cpu_set_t mine;

	*near = 0;
	if (sched_getaffinity(0, sizeof(mine), &mine) < 0)
		CPU_ZERO(&mine); /* more processors than it holds: none is near */
	for (uint32_t i = 0; i < names->count; i++) {
		int rc = local_end_find(&e, names->items[i], err);

		if (rc < 0)
			return rc;
		*near |= (uint64_t)local_end_near(&e, &mine) << i;
	}
	return 0;
}

/* The first rank of the node deals them out. */
static int interface_deal(const struct texts *names, struct group *node, uint64_t near,
			  uint32_t *chosen, struct err *err)
{
	uint64_t *all = NULL;
	uint32_t *each = NULL;
	int rc = 0;

	if (node->rank == 0) {
		all = calloc(node->size, sizeof(*all));
		each = calloc(node->size, sizeof(*each));
		if (!all || !each)
			rc = err_set(err, -ENOMEM, "no memory for %u interfaces", node->size);
	}
	rc = group_agree(node, rc, err);
	if (rc == 0)
		rc = group_gather(node, &near, sizeof(near), all);
	if (rc == 0 && all && each)
		interfaces_deal(all, node->size, names->count, each);
	if (rc == 0)
		rc = group_scatter(node, each, sizeof(*chosen), chosen);
	free(all);
	free(each);
	return rc;
}

int interface_choose(const struct store *store, const struct texts *names, struct local_end *out,
		     struct err *err)
{
	uint32_t chosen = 0;
	uint64_t near;
	int rc = interfaces_near(names, &near, err);

	if (store->node) {
		rc = group_agree(store->node, rc, err);
		if (rc == 0)
			rc = interface_deal(names, store->node, near, &chosen, err);
	} else if (rc == 0) {
		interfaces_deal(&near, 1, names->count, &chosen);
	}
	return rc < 0 ? rc : local_end_find(out, names->items[chosen], err);
}
