/* SPDX-License-Identifier: Apache-2.0 */
/* YAML reader: YAML 1.1, as PyYAML and Hydra read it, into the same tree as JSON. The text is not
 * trusted: its size, depth and number of values are bounded, an alias counts as the values that it
 * stands for, and a key that is given twice, an unknown tag and a second document are refused.
 *
 * No state; any thread. */
#ifndef HAUL_IMPORT_YAML_TREE_H
#define HAUL_IMPORT_YAML_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/err.h"

struct cJSON;

enum { YAML_TEXT_MAX = 1 << 20, YAML_DEPTH_MAX = 32, YAML_VALUES_MAX = 1 << 14 };

/* Whether this build has libyaml. Without it yaml_tree_read refuses with -ENOTSUP. */
bool yaml_tree_built(void);

/* The caller owns *out (cJSON_Delete). -EINVAL with "line 3, column 12: sentence". */
int yaml_tree_read(struct cJSON **out, const char *text, size_t length, struct err *err);

/* scalar.c: the value of a scalar without quotes: null, true, 5, 0.3 or text, as YAML 1.1 resolves
 * it. Whole numbers above 2^53 remain text. NULL: no memory. */
struct cJSON *yaml_scalar(const char *text);

#endif
