/* SPDX-License-Identifier: Apache-2.0 */
/* Import of a command line of mlpstorage, MLPerf Storage's program, as a haul job: "training run
 * --model unet3d …".
 *
 * No state; any thread. */
#ifndef HAUL_IMPORT_MLPSTORAGE_IMPORT_MLPSTORAGE_H
#define HAUL_IMPORT_MLPSTORAGE_IMPORT_MLPSTORAGE_H

#include "core/rule/rule.h"
#include "import/import.h"

/* By which a command is read: the workloads, and what the rules ask of the size of a data set. */
struct import_edition {
	const struct editions *editions;
	struct rule_sizes sizes;
};

/* words: the words of the command, or one text that holds all of them, split as a shell does. The
 * caller calls import_free, whatever is returned. -EINVAL with a sentence that names the word. */
int import_mlpstorage(struct import *out, const char *const *words, unsigned count,
		      const struct import_edition *edition, struct err *err);

/* The flags that it takes, and what each of them becomes, as text for a terminal. The caller frees
 * it. NULL: no memory. */
char *import_mlpstorage_flags(void);

#endif
