/* What the phase "generate" counts: measures, figures, histograms, and which of its requests are counted where. */
#ifndef HAUL_WORKLOADS_GENERATE_MEASURES_H
#define HAUL_WORKLOADS_GENERATE_MEASURES_H

#include "workloads/common/meter.h"

enum generate_measure {
	GENERATE_FILES_MADE = TALLY_COMMON,
	GENERATE_FILES_KEPT,
	GENERATE_BYTES_KEPT,
	GENERATE_FILL_NS,
	GENERATE_WRITE_NS,
	GENERATE_MEASURES
};

extern const struct tally_schema generate_schema;
extern const struct meter_layout generate_meter;

#endif
