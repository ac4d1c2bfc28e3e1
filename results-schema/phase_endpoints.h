/* /phases/<n>_<kind>/endpoints. */
#ifndef HAUL_RESULTS_SCHEMA_PHASE_ENDPOINTS_H
#define HAUL_RESULTS_SCHEMA_PHASE_ENDPOINTS_H

#include "results-schema/phase.h"

/* Collective. Nothing where no store of the phase has endpoints. */
int phase_write_endpoints(hid_t phase, const struct merged *m, const struct phase_writer *w,
			  struct err *err);

#endif
