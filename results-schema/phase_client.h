/* A phase's rows of what the nodes did meanwhile: the group "client". */
#ifndef HAUL_RESULTS_SCHEMA_PHASE_CLIENT_H
#define HAUL_RESULTS_SCHEMA_PHASE_CLIENT_H

#include "results-schema/phase.h"

/* Collective. Writes nothing where not every node has rows. */
int phase_write_client(hid_t phase, const struct merged *m, const struct phase_writer *w,
		       struct err *err);

/* The attributes that make a group plot itself in viewers that know NeXus: phase.c. */
int phase_nxdata(hid_t group, const char *title, const char *signal, const char *const *axes,
		 size_t axis_count, struct err *err);

#endif
