/* Hydra's overrides, as far as they change values: a.b=c, +a.b=c, ++a.b=c, ~a.b. Lists, objects and
 * quotes as YAML writes them; {a:b} without a blank, too. A list of choices (a=1,2) is refused: that is a
 * sweep. */
#ifndef HAUL_IMPORT_OVERRIDES_H
#define HAUL_IMPORT_OVERRIDES_H

#include "core/err.h"

struct cJSON;

/* Changes the tree, an object. The path's first part may be "workload": it counts for nothing. */
int override_apply(struct cJSON *tree, const char *text, struct err *err);

#endif
