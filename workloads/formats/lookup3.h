/* The checksum of HDF5's metadata: Bob Jenkins' lookup3, hashlittle with start value 0, in the
 * public domain (HDF5 File Format Specification 3.0, "checksum" fields). Pure, any thread. */
#ifndef HAUL_WORKLOADS_FORMATS_LOOKUP3_H
#define HAUL_WORKLOADS_FORMATS_LOOKUP3_H

#include <stddef.h>
#include <stdint.h>

uint32_t lookup3(const uint8_t *data, size_t length);

#endif
