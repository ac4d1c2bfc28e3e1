/* NeXus plots: the NXdata attributes with which viewers that know NeXus plot a group. */
#ifndef HAUL_RESULTS_SCHEMA_NEXUS_H
#define HAUL_RESULTS_SCHEMA_NEXUS_H

#include <hdf5.h>
#include <stddef.h>

#include "core/err.h"

/* signal: the data set to plot. axes: a data set for each of its dimensions. more: further signals;
 * NULL: none. */
struct nexus {
	const char *title, *signal;
	const char *const *axes;
	size_t axis_count;
	const char *const *more;
	size_t more_count;
};
int nexus_write(hid_t group, const struct nexus *n, struct err *err);

#endif
