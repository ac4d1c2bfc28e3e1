/* SPDX-License-Identifier: Apache-2.0 */
/* Catalogue of ready jobs: the files of workloads/catalog. It is looked for beside the program, in
 * the source tree that it was built from, and where it was installed. The environment variable
 * HAUL_CATALOG names another folder. Main thread only. */
#ifndef HAUL_CLI_CATALOG_FIND_H
#define HAUL_CLI_CATALOG_FIND_H

#include "core/err.h"

/* The folder, or NULL when there is none. */
const char *catalog_folder(char *path, unsigned bytes);

/* Calls found for each name, in sorted order, until it returns non-zero. Returns that value, or 0,
 * or a negative errno when the folder cannot be read. */
int catalog_each(int (*found)(void *argument, const char *name), void *argument);

/* Finds a JOB as users give it: a file or the name of a ready job. Copies the path to open into
 * path. Returns -ENOENT with a sentence that shows similar names. */
int catalog_resolve(const char *job, char *path, unsigned bytes, struct err *err);

/* Finds RULES of haul accept as users give them: a file, or the name of a ready job that has rules,
 * which are in the folder rules of the catalogue, or of rules of an edition, in editions. Copies the path to open into path: as it was
 * given where it is neither. */
void catalog_rules(const char *rules, char *path, unsigned bytes);

/* Finds the rules of an edition ("3.0") in the folder editions of the catalogue. Returns -ENOENT
 * with a sentence. */
int catalog_edition(const char *edition, char *path, unsigned bytes, struct err *err);

/* Finds the values that others published, with which haul validate compares. Returns -ENOENT with a
 * sentence. */
int catalog_published(char *path, unsigned bytes, struct err *err);

#endif
