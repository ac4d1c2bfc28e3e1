/* SPDX-License-Identifier: Apache-2.0 */
/* DLIO workload: the values of one workload file, looked up by their path.
 *
 * The tree is the YAML text with the overrides applied. Once import_dlio.c has compared it with the
 * table of keys, every value in it has the right kind, and DLIO's own default stands for a value
 * that the tree does not give. Each lookup is recorded, so that keys without a use are found at the
 * end. */
#ifndef HAUL_IMPORT_DLIO_DLIO_H
#define HAUL_IMPORT_DLIO_DLIO_H

#include <stdbool.h>

#include "import/keys.h"

/* Keys of DLIO's workload files: which are known, of which kind their values are, and where in a
 * haul job each of them goes. A const table; any thread. */
enum { DLIO_KEYS_MAX = 256 };

extern const struct import_key dlio_keys[];

/* NULL where the table has no such key. */
const struct import_key *dlio_key(const char *path);

/* Whether the table has keys below this path, such as "reader". */
bool dlio_key_section(const char *path);

/* The versions of DLIO that take the same keys in different ways. In February 2025 the model got a
 * section of its own, the sizes of records got another name, and checkpoints without a training
 * came. */
enum dlio_generation { DLIO_LATER, DLIO_BEFORE_2025 };

struct dlio {
	struct import *out;
	struct cJSON *tree;
	enum import_as as;
	enum dlio_generation generation;
	bool asked[DLIO_KEYS_MAX]; /* the keys looked up so far, by their place in the table */
	const char
		*written[DLIO_KEYS_MAX]; /* the name by which the file gives a key; NULL: its own */
	/* What the job is made for; set before its parts are made. */
	bool generates, trains, evaluates;
	bool checkpoints; /* in phases of their own, without a training */
	bool saves;       /* checkpoints within the training */
	bool sizeless; /* the training's checkpoints are left out, because the model has no size */
	bool tensorflow; /* the loader hands out samples, not batches: TensorFlow's and DALI's do */
	bool streams;    /* ... and reads tfrecord files from one end to the other */
	bool synthetic;  /* the loader reads nothing */
	bool daos;       /* the data are in a container of DAOS, read as PyDAOS reads them */
	int rc;          /* the first refusal, and its sentence */
	struct err *err;
};

/* The value, or NULL where the tree has none or null. */
const struct cJSON *dlio_at(struct dlio *d, const char *path);
/* The same, but the key does not count as looked up. */
const struct cJSON *dlio_peek(const struct dlio *d, const char *path);
/* The value at a path was moved there: the file gives it by another name, as findings then say. */
void dlio_written_as(struct dlio *d, const char *path, const char *name);
double dlio_number(struct dlio *d, const char *path);
bool dlio_bool(struct dlio *d, const char *path);
const char *dlio_text(struct dlio *d, const char *path);
/* "off" for false. */
const char *dlio_switch(struct dlio *d, const char *path);

/* Whether the job has a data set: a workload that only checkpoints has none, and its store is
 * another one. */
bool dlio_uses_data(const struct dlio *d);

/* Whoever makes a part of the job goes on after a failure; it is told at the end, the first one of
 * them. */

/* A finding about a key that the text gives, or (IMPORT_CHANGED) whose default matters. */
void dlio_found(struct dlio *d, enum import_fate fate, const char *path, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* A value cannot be mapped: the import fails with this sentence, which begins with the path of the
 * value. */
void dlio_refuse(struct dlio *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* There was no memory for a part of the job. */
void dlio_no_memory(struct dlio *d);

/* Adds a member to an object. */
void dlio_add_text(struct dlio *d, struct cJSON *to, const char *name, const char *text);

#endif
