/* SPDX-License-Identifier: Apache-2.0 */
/* A container of the test library, for the tests of daos://. */
#ifndef HAUL_TESTS_BACKENDS_DFS_CONTAINER_H
#define HAUL_TESTS_BACKENDS_DFS_CONTAINER_H

#include "tests/backends/rig.h"

enum { DEPTH = 128 };
#define STORE(more) "{\"uri\": \"daos://pool/cont/base\", \"library\": \"" TEST_DFS "\"" more "}"

/* A pool with a container, in a folder that ends with the test; the library logs its calls
 * there. */
struct container {
	char folder[64], log[80];
	struct rig rig;
	struct queue q;
};

void container_begin(struct container *c);
void container_end(struct container *c);
/* Lines of the log that begin so. */
int container_lines(const struct container *c, const char *begin);
/* A file of the container's folder, for settings that name one: made, or removed. */
void container_mark(struct container *c, const char *name, bool there);
/* Sets a variable to the path of that file. */
void container_point(const struct container *c, const char *variable, const char *name);
/* Opens a store in the container, and a queue. */
void container_open(struct container *c, const char *json);
void container_close(struct container *c);

#endif
