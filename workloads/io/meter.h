/* Meter layout of a phase of plain I/O: which measure and which histograms count its requests. */
#ifndef HAUL_WORKLOADS_IO_METER_H
#define HAUL_WORKLOADS_IO_METER_H

#include "workloads/common/meter.h"
#include "workloads/io/io.h"

/* Where the requests of such a phase are counted. */
const struct meter_layout *io_meter(const struct io_options *o);

#endif
