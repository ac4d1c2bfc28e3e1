/* Columns of Parquet files: DLIO's list of columns as the runs of columns that haul's jobs have. */
#ifndef HAUL_IMPORT_DLIO_COLUMNS_H
#define HAUL_IMPORT_DLIO_COLUMNS_H

#include "import/dlio/dlio.h"

/* The runs as a list of texts such as "40 float32 read", and the bytes of one row. The caller owns
 * *out; it is NULL where the text describes no columns. */
int dlio_columns(struct dlio *d, struct cJSON **out, double *row_bytes);

#endif
