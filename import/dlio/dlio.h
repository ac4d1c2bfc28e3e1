/* Inside the import of DLIO: what its parts share. The tree is the YAML text with the overrides, checked
 * key by key against the table in dlio_keys.c; afterwards values are asked for by their path, and the
 * table's default stands for what is not there. */
#ifndef HAUL_IMPORT_DLIO_DLIO_H
#define HAUL_IMPORT_DLIO_DLIO_H

#include <stdbool.h>
#include <stdint.h>

#include "import/import.h"

enum dlio_kind {
	DLIO_WHOLE, /* not negative */
	DLIO_NUMBER,
	DLIO_BOOL,
	DLIO_TEXT,
	DLIO_SWITCH, /* text, or false for "off" */
	DLIO_TEXTS,  /* a text or a list of them */
	DLIO_DRAW,   /* a number, or an object that describes a distribution */
	DLIO_LIST,
	DLIO_ANY,
	DLIO_SECRET /* anything, never shown */
};

struct dlio_key {
	const char *path; /* "reader.batch_size"; NULL ends the table */
	enum dlio_kind kind;
	const char *to; /* where in the job it goes; NULL: nowhere */
	double def;     /* DLIO's own default */
	const char *def_text;
	const char *why; /* not mapped: why; mapped: what else there is to say, or NULL */
};
#define DLIO_CHECKPOINT "a checkpoint's: haul has no phase for it yet"

extern const struct dlio_key dlio_keys[];
const struct dlio_key *dlio_key(const char *path);
/* Whether keys stand below this path: "reader". */
bool dlio_is_section(const char *path);

enum { DLIO_KEYS_MAX = 256 };

struct dlio {
	struct import *out;
	struct cJSON *tree;
	enum import_as as;
	bool asked
		[DLIO_KEYS_MAX]; /* by place in the table: what nobody asked for is said at the end */
	/* Worked out in this order. */
	bool generates, trains, evaluates;
	bool tensorflow;  /* or another loader that hands out samples, not batches */
	bool streams;     /* ... from tfrecord: files are read from one end to the other */
	bool synthetic;   /* nothing is read */
	unsigned unknown; /* keys so far */
	struct err *err;
};

/* NULL where the tree has no such value, or null. The key counts as asked for. */
const struct cJSON *dlio_at(struct dlio *d, const char *path);
double dlio_number(struct dlio *d, const char *path);
bool dlio_bool(struct dlio *d, const char *path);
const char *dlio_text(struct dlio *d, const char *path);
/* "off" for false. */
const char *dlio_switch(struct dlio *d, const char *path);

/* A finding about a key that the text gives, or (IMPORT_CHANGED) whose default matters. */
int dlio_find(struct dlio *d, enum import_fate fate, const char *path, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The parts of the job. Each adds to job, and refuses with the path of what it cannot take. */
int dlio_add_store(struct dlio *d, struct cJSON *job);
int dlio_add_datasets(struct dlio *d, struct cJSON *job);
int dlio_add_phases(struct dlio *d, struct cJSON *job);

/* value and its deviation as haul draws times. *out is NULL where the text gives none. */
int dlio_draw(struct dlio *d, const char *path, const char *stdev_path, struct cJSON **out);
/* Runs of columns as haul's format parquet has them, and the bytes of a row. *out is NULL where the text
 * describes no columns. */
int dlio_columns(struct dlio *d, struct cJSON **out, double *row_bytes);

#endif
