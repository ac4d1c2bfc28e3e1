/* Drawn times: DLIO's distributions in the form that haul's jobs have. */
#ifndef HAUL_IMPORT_DLIO_DRAW_H
#define HAUL_IMPORT_DLIO_DRAW_H

#include "import/dlio/dlio.h"

/* The time at path, with its standard deviation at stdev_path. The caller owns *out; it is NULL
 * where the text gives no time. */
int dlio_draw(struct dlio *d, const char *path, const char *stdev_path, struct cJSON **out);

#endif
