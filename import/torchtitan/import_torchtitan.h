/* SPDX-License-Identifier: Apache-2.0 */
/* Import of a configuration of torchtitan, PyTorch's trainer of large models: of its files in TOML, the parts that say
 * which checkpoints it writes.
 *
 * No state; any thread. */
#ifndef HAUL_IMPORT_TORCHTITAN_IMPORT_TORCHTITAN_H
#define HAUL_IMPORT_TORCHTITAN_IMPORT_TORCHTITAN_H

#include <stddef.h>

#include "import/keys.h"

/* text: the file. flags: "--checkpoint.interval=250", with or without the hyphens. name: the name of the job. The caller
 * calls import_free, whatever is returned. -EINVAL with a sentence that names the place. */
int import_torchtitan(struct import *out, const char *name, const char *text, size_t length,
		      const char *const *flags, unsigned flag_count, struct err *err);

extern const struct import_tool import_torchtitan_tool;

/* toml.c. Reads TOML as configurations have it into the same tree as JSON: tables, keys, texts of one line, numbers, true and
 * false, lists. What else TOML knows (dates, tables in lists or in one line, texts of several lines) is refused by its line. The
 * text is not trusted. The caller owns *out. -EINVAL with "line 3: sentence". */
int toml_read(struct cJSON **out, const char *text, size_t length, struct err *err);

#endif
