/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums of objects' bytes: sent with what is written, and compared with what is read where the
 * store tells one. Struct dialect has the headers in which they travel. */
#ifndef HAUL_BACKENDS_HTTP_SUM_H
#define HAUL_BACKENDS_HTTP_SUM_H

#include "backends/http/slot.h"

/* Puts the sum of the body that has been put together into slot->sum_sent. slot_sum_object does so
 * for an object's bytes, with the sum that the options ask for, and adds its header. Return a
 * negative errno of whoever makes the body. */
int slot_sum_sent(struct http_slot *s, enum sum_kind kind);
int slot_sum_object(struct http_slot *s);

/* The store will tell the sum that the options ask for of the content that is asked for. */
int slot_sum_received(struct http_slot *s);
/* The content is complete: -EILSEQ where it does not have the sum that the store told. */
int slot_sum_compare(struct http_slot *s);

#endif
