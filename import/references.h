/* SPDX-License-Identifier: Apache-2.0 */
/* References in a configuration as OmegaConf, and so Hydra, writes them: ${a.b}, ${.a} beside the
 * value and ${..a} one level above it, ${oc.env:NAME} and ${oc.env:NAME,default},
 * ${oc.select:a.b,default}, ${oc.decode:text}. A value that is one reference gets what it refers
 * to, of any kind; within a text it must be a scalar. Escaped ones ("\${") are text.
 *
 * No state but the process's environment; any thread. */
#ifndef HAUL_IMPORT_REFERENCES_H
#define HAUL_IMPORT_REFERENCES_H

#include <stdbool.h>

#include "core/err.h"

struct cJSON;

/* Whether a value holds references, itself or in its lists and objects. */
bool references_in(const struct cJSON *value);

/* A copy of value without references. root: the configuration; path: of the value in it,
 * "dataset.data_folder". NULL, with a sentence: something is referred to that is not there, or
 * cannot be known here. */
struct cJSON *references_resolve(const struct cJSON *root, const char *path,
				 const struct cJSON *value, struct err *err);

#endif
