/* SPDX-License-Identifier: Apache-2.0 */
/* The config.json with which a model is published on Hugging Face, as the options of a model. So a
 * job says "model": {"config": "config.json"}, and its resolved text has the dimensions.
 *
 * Any thread. */
#ifndef HAUL_WORKLOADS_MODEL_CONFIG_H
#define HAUL_WORKLOADS_MODEL_CONFIG_H

#include "core/err.h"

#include <stddef.h>

struct cJSON;

/* Gives the object "model" of a job what the text says, but for the keys that it has already.
 * -EINVAL with a sentence: the text is no such file, or of a type of model whose tensors haul does
 * not know. */
int model_config_expand(struct cJSON *model, const char *text, size_t length, struct err *err);

#endif
