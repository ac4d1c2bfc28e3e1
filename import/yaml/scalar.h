/* YAML scalar: the value of a plain text, as YAML 1.1 resolves it.
 *
 * No state; any thread. */
#ifndef HAUL_IMPORT_YAML_SCALAR_H
#define HAUL_IMPORT_YAML_SCALAR_H

struct cJSON;

/* The value of a scalar without quotes: null, true, 5, 0.3 or text. Whole numbers above 2^53 remain
 * text. NULL: no memory. */
struct cJSON *yaml_scalar(const char *text);

#endif
