/* Reading what h5.c writes, without trusting it: a file may be anything. */
#ifndef HAUL_RESULTS_SCHEMA_H5_READ_H
#define HAUL_RESULTS_SCHEMA_H5_READ_H

#include <hdf5.h>
#include <stdint.h>

#include "core/err.h"
#include "results-schema/results_read.h"

int h5_read_u64(hid_t at, const char *attribute, uint64_t *value, struct err *err);
int h5_read_real(hid_t at, const char *attribute, double *value, struct err *err);
int h5_read_text(hid_t at, const char *attribute, char **text,
		 struct err *err); /* the caller frees */
int h5_read_into(hid_t at, const char *attribute, char *text, size_t size, struct err *err);

/* A list of texts, each ended within so many bytes. The caller frees *texts. */
int h5_read_texts(hid_t at, const char *attribute, size_t bytes, char **texts, uint32_t *count,
		  struct err *err);

int h5_read_text_dataset(hid_t at, const char *name, char **text, struct err *err);

/* A data set of one dimension, as records of a memory type. The caller frees *data. */
int h5_read_records(hid_t at, const char *name, hid_t type, size_t size, void **data,
		    uint64_t *count, struct err *err);

/* A compound data set of unsigned integers and reals, with its units. */
int h5_read_table(hid_t at, const char *name, struct results_table *table, struct err *err);

/* The attributes that the group's attribute "columns" names, as a table of one row. */
int h5_read_headline(hid_t group, struct results_table *table, struct err *err);

#endif
