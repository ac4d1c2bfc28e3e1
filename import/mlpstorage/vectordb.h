/* SPDX-License-Identifier: Apache-2.0 */
/* A command of mlpstorage's vector databases as phases "vector": an index that is built, and searches
 * that read it.
 *
 * No state; any thread. */
#ifndef HAUL_IMPORT_MLPSTORAGE_VECTORDB_H
#define HAUL_IMPORT_MLPSTORAGE_VECTORDB_H

#include "import/import.h"
#include "import/mlpstorage/command.h"

/* The job of a command; datasize has both phases. -EINVAL where the index has no reads. */
int vectordb_import(struct import *out, const struct command *c, struct err *err);

#endif
