/* Columns of Parquet files: DLIO's list of columns as the runs of columns that haul's jobs have. */
#ifndef HAUL_IMPORT_DLIO_COLUMNS_H
#define HAUL_IMPORT_DLIO_COLUMNS_H

#include "import/dlio/dlio.h"

/* The runs as a list of texts such as "40 float32 read", and the bytes of one row. The caller owns
 * them; NULL where the text describes no columns. */
struct cJSON *dlio_columns(struct dlio *d, double *row_bytes);

#endif
