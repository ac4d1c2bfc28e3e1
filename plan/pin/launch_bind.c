/* SPDX-License-Identifier: Apache-2.0 */
/* Launcher's binding: see launch_bind.h. */
#include "plan/pin/launch_bind.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "plan/pin/list.h"

static bool launch_read_processor(const char **text, hwloc_bitmap_t set)
{
	unsigned long n;
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	n = strtoul(*text, &end, 0);
	if (n > PIN_LIST_PU_MAX)
		return false;
	hwloc_bitmap_set(set, (unsigned)n);
	*text = end;
	return true;
}

static unsigned launch_hex_digit(char c)
{
	return isdigit((unsigned char)c) ? (unsigned)(c - '0')
					 : (unsigned)(tolower((unsigned char)c) - 'a') + 10;
}

static bool launch_read_mask(const char **text, hwloc_bitmap_t set)
{
	const char *p = *text;
	size_t digits;

	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	digits = strspn(p, "0123456789abcdefABCDEF");
	if (!digits || digits > PIN_LIST_PU_MAX / 4)
		return false;
	for (size_t i = 0; i < digits; i++)
		for (unsigned bit = 0; bit < 4; bit++)
			if (launch_hex_digit(p[i]) >> bit & 1)
				hwloc_bitmap_set(set, (unsigned)(digits - 1 - i) * 4 + bit);
	*text = p + digits;
	return !hwloc_bitmap_iszero(set);
}

static const struct launch_form {
	const char *name, *example;
	char separator;
	bool repeats; /* "x*3", and the list begins again after its end */
	bool (*read)(const char **text, hwloc_bitmap_t set);
} launch_forms[] = {
	{"list:", "list:0-7,104-111:8-15,112-119", ':', false, pin_list_read},
	{"map_cpu:", "map_cpu:0,8,16", ',', true, launch_read_processor},
	{"mask_cpu:", "mask_cpu:0xff,0xff00", ',', true, launch_read_mask},
};

/* Reads "*3" where it stands. False: it is not a number from 1 on. */
static bool launch_read_times(const char **text, uint32_t *times)
{
	unsigned long n;
	char *end;

	*times = 1;
	if (**text != '*')
		return true;
	if (!isdigit((unsigned char)(*text)[1]))
		return false;
	n = strtoul(*text + 1, &end, 10);
	*text = end;
	*times = n <= LAUNCH_BIND_MAX ? (uint32_t)n : 0;
	return *times > 0;
}

static int launch_add(struct launch_bind *b, hwloc_const_bitmap_t set, uint32_t times,
		      struct err *err)
{
	for (; times; times--) {
		if (b->count == LAUNCH_BIND_MAX)
			return err_set(err, -EINVAL, "--bind: has more than %d entries",
				       LAUNCH_BIND_MAX);
		b->sets[b->count] = hwloc_bitmap_dup(set);
		if (!b->sets[b->count])
			return err_set(err, -ENOMEM, "no memory for a core set");
		b->count++;
	}
	return 0;
}

static int launch_read_all(struct launch_bind *b, const struct launch_form *form, const char *text,
			   struct err *err)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	uint32_t times = 1;
	int rc = set ? 0 : err_set(err, -ENOMEM, "no memory for a core set");

	for (const char *p = text; rc == 0; p++) {
		hwloc_bitmap_zero(set);
		if (!form->read(&p, set) || (form->repeats && !launch_read_times(&p, &times)) ||
		    (*p && *p != form->separator))
			rc = err_set(
				err, -EINVAL,
				"--bind: \"%s\" is not what %s should hold at \"%s\"; write it "
				"as \"%s\"",
				text, form->name, p, form->example);
		else
			rc = launch_add(b, set, times, err);
		if (!*p)
			break;
	}
	hwloc_bitmap_free(set);
	return rc;
}

void launch_bind_free(struct launch_bind *b)
{
	for (uint32_t i = 0; i < b->count; i++)
		hwloc_bitmap_free(b->sets[i]);
	free(b->sets);
	*b = (struct launch_bind){0};
}

int launch_bind_read(struct launch_bind *b, const char *text, uint32_t ranks, struct err *err)
{
	const struct launch_form *form = NULL;
	char entries[UNITS_COUNTED_BYTES];
	int rc;

	*b = (struct launch_bind){.sets = calloc(LAUNCH_BIND_MAX, sizeof(hwloc_bitmap_t))};
	if (!b->sets)
		return err_set(err, -ENOMEM, "no memory for core sets");
	for (size_t i = 0; i < sizeof(launch_forms) / sizeof(launch_forms[0]); i++)
		if (strncmp(text, launch_forms[i].name, strlen(launch_forms[i].name)) == 0)
			form = &launch_forms[i];
	rc = form ? launch_read_all(b, form, text + strlen(form->name), err)
		  : err_set(err, -EINVAL,
			    "--bind: \"%s\" is not a launcher's list; write it as \"%s\", \"%s\" or "
			    "\"%s\"",
			    text, launch_forms[0].example, launch_forms[1].example,
			    launch_forms[2].example);
	b->ranks = ranks ? ranks : b->count;
	if (rc == 0 && !form->repeats && b->count < b->ranks)
		rc = err_set(err, -EINVAL, "--bind: has %s, but the node has %u ranks",
			     units_counted(entries, b->count, "set"), b->ranks);
	if (rc < 0)
		launch_bind_free(b);
	return rc;
}

hwloc_const_bitmap_t launch_bind_set(const struct launch_bind *b, uint32_t rank)
{
	return b->sets[rank % b->count];
}

static unsigned launch_packages(hwloc_topology_t topology, hwloc_const_bitmap_t set)
{
	hwloc_obj_t package = NULL;
	unsigned n = 0;

	while ((package = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, package)))
		n += hwloc_bitmap_intersects(package->cpuset, set) ? 1 : 0;
	return n;
}

/* "rank 6 has …" or "rank 6 and 2 more have …". */
static void launch_note(FILE *out, uint32_t first, uint32_t count, const char *what)
{
	if (count == 1)
		fprintf(out, "note       rank %u has %s\n", first, what);
	else if (count)
		fprintf(out, "note       rank %u and %u more have %s\n", first, count - 1, what);
}

void launch_bind_notes(FILE *out, const struct launch_bind *b, hwloc_topology_t topology,
		       hwloc_const_bitmap_t reserved)
{
	hwloc_const_bitmap_t node = hwloc_topology_get_topology_cpuset(topology);
	enum { LACKING, WIDE, RESERVED, KINDS };
	static const char *const what[KINDS] = {
		[LACKING] = "processors that this node lacks",
		[WIDE] = "cores of several packages",
		[RESERVED] = "cores that the system keeps for itself",
	};
	uint32_t first[KINDS] = {0}, count[KINDS] = {0};

	for (uint32_t r = 0; r < b->ranks; r++) {
		hwloc_const_bitmap_t set = launch_bind_set(b, r);
		const bool is[KINDS] = {
			[LACKING] = !hwloc_bitmap_isincluded(set, node),
			[WIDE] = launch_packages(topology, set) > 1,
			[RESERVED] = hwloc_bitmap_intersects(set, reserved),
		};

		for (int k = 0; k < KINDS; k++) {
			if (is[k] && !count[k])
				first[k] = r;
			count[k] += is[k] ? 1 : 0;
		}
	}
	for (int k = 0; k < KINDS; k++)
		launch_note(out, first[k], count[k], what[k]);
}
