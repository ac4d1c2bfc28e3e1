/* SPDX-License-Identifier: Apache-2.0 */
/* Faults: what a failure means for the request. They set its status, its kind of fault, whether
 * another attempt may do better, how long the store wants to be left alone, and a sentence. */
#ifndef HAUL_BACKENDS_HTTP_FAULT_H
#define HAUL_BACKENDS_HTTP_FAULT_H

#include "backends/http/slot.h"

/* No whole answer came. */
void fault_of_exchange(struct http_slot *s);
/* The answer is not a success. Learns the servers' clock from a signature that was refused for its
 * time, and renews credentials that have expired. */
void fault_of_answer(struct http_slot *s);
/* An error in an answer whose HTTP status is a success: its errno, or 0 where there is none. */
int fault_in_success(struct http_slot *s);
/* An error that the store names for one key of a delete: goes into the key, and into the request,
 * where errors that may pass count more. */
void fault_of_key(struct http_slot *s, struct request_key *k, const char *code);

#endif
