/* Drawn times: DLIO's distributions in the form that haul's jobs have. */
#ifndef HAUL_IMPORT_DLIO_DRAW_H
#define HAUL_IMPORT_DLIO_DRAW_H

#include "import/dlio/dlio.h"

/* Adds the time at path, with its standard deviation at stdev_path, to an object of the job; nothing where the text gives none. */
void dlio_add_draw(struct dlio *d, struct cJSON *to, const char *name, const char *path,
		   const char *stdev_path);

#endif
