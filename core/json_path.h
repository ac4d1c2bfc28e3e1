/* SPDX-License-Identifier: Apache-2.0 */
/* Values in JSON trees by their path: "train.loader.threads", "phases.0.train", or
 * "/phases/0/train", whose parts may contain dots. A part is a key of an object, or the place of an
 * item in a list, from 0 on; the empty path is the tree itself. Of a value that is absent, null or
 * of another type, the caller gets what it asked for in that case.
 *
 * No state; any thread. */
#ifndef HAUL_CORE_JSON_PATH_H
#define HAUL_CORE_JSON_PATH_H

#include <stdbool.h>
#include <stdint.h>

struct cJSON;

/* The value itself, which belongs to the tree; NULL: there is none, or it is null. */
struct cJSON *json_at(const struct cJSON *tree, const char *path);

/* A number; true and false are 1 and 0. */
double json_number_at(const struct cJSON *tree, const char *path, double otherwise);

/* A whole number of 64 bits; what follows the point is cut off. */
uint64_t json_whole_at(const struct cJSON *tree, const char *path, uint64_t otherwise);

const char *json_text_at(const struct cJSON *tree, const char *path, const char *otherwise);

/* Whether the value is true, or a number that is not 0. */
bool json_true_at(const struct cJSON *tree, const char *path);

#endif
