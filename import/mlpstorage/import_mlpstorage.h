/* SPDX-License-Identifier: Apache-2.0 */
/* Import of a command line of mlpstorage, MLPerf Storage's program, as a haul job: "training run
 * --model unet3d …".
 *
 * No state; any thread. */
#ifndef HAUL_IMPORT_MLPSTORAGE_IMPORT_MLPSTORAGE_H
#define HAUL_IMPORT_MLPSTORAGE_IMPORT_MLPSTORAGE_H

#include "core/rule/rule.h"
#include "import/import.h"

/* words: the words of the command, or one text that holds all of them, split as a shell does. The
 * caller calls import_free, whatever is returned. sizes: what the rules ask of a data set, for
 * "datasize". -EINVAL with a sentence that names the word. */
int import_mlpstorage(struct import *out, const char *const *words, unsigned count,
		      const struct rule_sizes *sizes, struct err *err);

/* The flags that it takes, and what each of them becomes, as text for a terminal. The caller frees
 * it. NULL: no memory. */
char *import_mlpstorage_flags(void);

#endif
