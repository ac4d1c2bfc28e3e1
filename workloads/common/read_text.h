/* What is wrong with what a read brought, in words: the same for every kind of phase. */
#ifndef HAUL_WORKLOADS_COMMON_READ_TEXT_H
#define HAUL_WORKLOADS_COMMON_READ_TEXT_H

#include "backends/request.h"
#include "core/measure/tally.h"

/* Of a read that met the end of an object, which should have size bytes, too early: "ends at byte 5 of 10". */
void read_text_ends(char text[FAILURE_TEXT_BYTES], const struct request *req, uint64_t size);

/* at: the first byte that is not what was written. */
void read_text_differs(char text[FAILURE_TEXT_BYTES], uint64_t at);

#endif
