/* Group of a phase in a results file that is read, whether it is in the file itself or in a side file
 * of a series. */
#ifndef HAUL_RESULTS_SCHEMA_SIDE_PHASE_H
#define HAUL_RESULTS_SCHEMA_SIDE_PHASE_H

#include <hdf5.h>
#include <stdint.h>

#include "core/err.h"

struct side_phase {
	hid_t phase;
	hid_t file; /* of the side file; invalid: the phase is in the results file */
	uint64_t file_bytes;
};

/* Opens the phase of that name. path: of the results file. A link is followed only into a folder
 * beside that file. Call side_phase_close also after an error. */
int side_phase_open(struct side_phase *s, hid_t phases, const char *name, const char *path,
		    struct err *err);
void side_phase_close(struct side_phase *s);

#endif
