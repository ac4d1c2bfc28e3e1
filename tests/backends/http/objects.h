/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the test of object stores share: the store of HAUL_TEST_STORE, content of
 * objects, and tests. */
#ifndef HAUL_TESTS_BACKENDS_HTTP_OBJECTS_H
#define HAUL_TESTS_BACKENDS_HTTP_OBJECTS_H

#include "tests/backends/rig.h"

enum { MIB = 1 << 20 };

/* The JSON of the store; NULL: tests/servers/run.py has not started the test. */
const char *objects_store(void);
/* Opens the store and a queue, and closes them. */
void objects_begin(struct rig *r, struct queue *q, uint32_t depth);
void objects_end(struct rig *r, struct queue *q);

/* Bytes that depend on the offset and the salt, eight at a time; any offset may be the first. */
void objects_fill(uint8_t *data, uint64_t offset, uint64_t n, uint64_t salt);
bool objects_same(const uint8_t *data, uint64_t offset, uint64_t n, uint64_t salt);

/* objects_listings.c. */
void objects_test_list(void);
void objects_test_open_uploads(void);
void objects_test_list_parts(void);

#endif
