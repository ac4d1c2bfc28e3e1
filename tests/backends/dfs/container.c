/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/backends/dfs/container.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit.h"

void container_begin(struct container *c)
{
	char path[128];

	strcpy(c->folder, "/tmp/haul_dfs_XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(c->folder));
	snprintf(c->log, sizeof(c->log), "%s/log", c->folder);
	snprintf(path, sizeof(path), "%s/pool", c->folder);
	mkdir(path, 0777);
	strcat(path, "/cont");
	mkdir(path, 0777);
	setenv("HAUL_DFS_ROOT", c->folder, 1);
	setenv("HAUL_DFS_LOG", c->log, 1);
}

int container_lines(const struct container *c, const char *begin)
{
	FILE *f = fopen(c->log, "r");
	char line[600], pattern[300];
	int n = 0;

	snprintf(pattern, sizeof(pattern), "%s*", begin);
	while (f && fgets(line, sizeof(line), f))
		n += fnmatch(pattern, line, 0) == 0;
	if (f)
		fclose(f);
	return n;
}

static void container_path(const struct container *c, const char *name, char path[128])
{
	snprintf(path, 128, "%s/%s", c->folder, name);
}

void container_mark(struct container *c, const char *name, bool there)
{
	char path[128];
	FILE *f;

	container_path(c, name, path);
	if (!there) {
		unlink(path);
		return;
	}
	f = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fclose(f);
}

void container_point(const struct container *c, const char *variable, const char *name)
{
	char path[128];

	container_path(c, name, path);
	setenv(variable, path, 1);
}

void container_end(struct container *c)
{
	static const char *const names[] = {
		"ROOT",     "LOG",     "DELAY_US", "OPEN_US", "EVENTS",    "CHUNK", "DISORDER",
		"FAIL",     "LOST",    "AGENT",    "HANG",    "READ_ONLY", "OLD",   "ANCHORS",
		"ENTRY_US", "TARGETS", "TYPE",     "SPACE",   "STALE"};
	char name[32];
	char command[128];

	CU_ASSERT_EQUAL(container_lines(c, "wrong:"), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(name, sizeof(name), "HAUL_DFS_%s", names[i]);
		unsetenv(name);
	}
	snprintf(command, sizeof(command), "rm -rf %s", c->folder);
	CU_ASSERT_EQUAL(system(command), 0);
}

void container_open(struct container *c, const char *json)
{
	rig_init(&c->rig);
	if (rig_open(&c->rig, json) < 0)
		CU_FAIL_FATAL(c->rig.err.text);
	CU_ASSERT_EQUAL_FATAL(queue_open(&c->q, &c->rig.store, DEPTH, NULL), 0);
}

void container_close(struct container *c)
{
	queue_close(&c->q);
	rig_close(&c->rig);
}
