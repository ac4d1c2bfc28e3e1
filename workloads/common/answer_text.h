/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with an answer, in words: the same for every kind of phase. */
#ifndef HAUL_WORKLOADS_COMMON_ANSWER_TEXT_H
#define HAUL_WORKLOADS_COMMON_ANSWER_TEXT_H

#include "backends/request.h"
#include "core/measure/tally.h"

/* Of a read that met the end of an object, which should have size bytes, too early: "ends at byte 5
 * of 10". */
void answer_text_ends(char text[FAILURE_TEXT_BYTES], const struct request *req, uint64_t size);

/* Of a request that failed: that, or what its answer says. */
void answer_text_failed(char text[FAILURE_TEXT_BYTES], const struct request *req, uint64_t size);

/* at: the first byte that is not what was written. */
void answer_text_differs(char text[FAILURE_TEXT_BYTES], uint64_t at);

/* Whether the store has, after a commit, as many bytes of the object as it should. */
bool answer_text_committed(char text[FAILURE_TEXT_BYTES], const struct request *req, uint64_t size);

#endif
