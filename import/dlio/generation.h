/* SPDX-License-Identifier: Apache-2.0 */
/* Which version of DLIO a workload file was written for, by its keys, and keys that have another
 * name since.
 *
 * The model's keys were below "checkpoint" and records had a "record_length" until February 2025. A
 * file with none of the keys that came then is of an earlier version; one with some of them is of a
 * later version, which ignores the earlier keys. */
#ifndef HAUL_IMPORT_DLIO_GENERATION_H
#define HAUL_IMPORT_DLIO_GENERATION_H

#include "import/dlio/dlio.h"

/* "data_reader" is the first name of the section "reader", and DLIO prefers it. Before the keys are
 * compared with the table. */
void generation_rename_section(struct dlio *d);

/* Sets d->generation, and moves values to the names of today where they mean the same. model_text:
 * "model" was a text. After the keys have been compared with the table. */
void generation_find(struct dlio *d, bool model_text);

#endif
