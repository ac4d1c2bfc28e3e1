#include "tests/backends/dfs/container.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

void container_end(struct container *c)
{
	static const char *const names[] = {
		"HAUL_DFS_ROOT",     "HAUL_DFS_LOG",    "HAUL_DFS_DELAY_US",
		"HAUL_DFS_OPEN_US",  "HAUL_DFS_EVENTS", "HAUL_DFS_CHUNK",
		"HAUL_DFS_DISORDER", "HAUL_DFS_FAIL",   "HAUL_DFS_LOST"};
	char command[128];

	CU_ASSERT_EQUAL(container_lines(c, "wrong:"), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
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
