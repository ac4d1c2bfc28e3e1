/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the job of a DLIO workload. Each adds findings about its keys; what cannot be mapped
 * is refused (dlio_refuse). */
#ifndef HAUL_IMPORT_DLIO_PARTS_H
#define HAUL_IMPORT_DLIO_PARTS_H

#include "import/dlio/dlio.h"

/* Which version of DLIO a workload file was written for, by its keys, and keys that have another
 * name since.
 *
 * The model's keys were below "checkpoint" and records had a "record_length" until February 2025. A
 * file with none of the keys that came then is of an earlier version; one with some of them is of a
 * later version, which ignores the earlier keys. */

/* "data_reader" is the first name of the section "reader", and DLIO prefers it. Before the keys are
 * compared with the table. */
void generation_rename_section(struct dlio *d);

/* Sets d->generation, and moves values to the names of today where they mean the same. model_text:
 * "model" was a text. After the keys have been compared with the table. */
void generation_find(struct dlio *d, bool model_text);

/* store.c: "data" with storage_type, storage_root and data_folder as one URI, "checkpoints" with
 * checkpoint_folder, and the options of both; those that the job uses. */
void dlio_add_stores(struct dlio *d, struct cJSON *job);
/* dataset.c: their files, sizes, names and formats. */
void dlio_add_datasets(struct dlio *d, struct cJSON *job);
/* phases.c: generate, and train or checkpoint. */
void dlio_add_phases(struct dlio *d, struct cJSON *job);

/* checkpoint.c. Phases that write and read checkpoints of a model: one if as many are written as
 * are read, else one for each. */
void dlio_add_checkpoints(struct dlio *d, struct cJSON *phases);
/* Whether there are any, of a workload that asks for checkpoints and does not train. Finds why
 * not. */
bool dlio_choose_checkpoints(struct dlio *d);
/* Checkpoints within a training. Decides whether there are any (d->saves), and finds why not, where
 * the workload asks for them and DLIO writes none; and adds them. */
void dlio_choose_saves(struct dlio *d);
void dlio_add_saves(struct dlio *d, struct cJSON *train);

/* checkpoint_early.c: the model of DLIO_BEFORE_2025, which is given by sizes below "checkpoint".
 * Adds model, mesh and layout. */
void dlio_add_early_model(struct dlio *d, struct cJSON *phase);
bool dlio_early_model_has_size(struct dlio *d);

#endif
