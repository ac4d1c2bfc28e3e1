/* SPDX-License-Identifier: Apache-2.0 */
/* Hydra's overrides that change values: a.b=c, +a.b=c, ++a.b=c and ~a.b. Lists, objects and quotes
 * are written as in YAML, and {a:b} needs no space. A list of choices (a=1,2) is refused: it is a
 * sweep.
 *
 * No state; any thread. */
#ifndef HAUL_IMPORT_OVERRIDES_H
#define HAUL_IMPORT_OVERRIDES_H

#include <stddef.h>

#include "core/err.h"

struct cJSON;

/* Changes the tree, an object. A path may begin with "workload", which is ignored. -EINVAL with a
 * sentence that names the override. */
int override_apply(struct cJSON *tree, const char *text, struct err *err);

/* The overrides that Hydra writes as a list beside a run's configuration (overrides.yaml), without
 * those that choose files ("workload=unet3d") or are Hydra's own. A list of texts, the caller's
 * (cJSON_Delete). -EINVAL where it is no such list. */
int override_list_read(struct cJSON **list, const char *text, size_t length, struct err *err);

#endif
