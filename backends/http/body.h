/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of exchanges: the bytes of objects straight from and into the caller's memory, small
 * answers into the slot, XML into its reader. */
#ifndef HAUL_BACKENDS_HTTP_BODY_H
#define HAUL_BACKENDS_HTTP_BODY_H

#include "backends/http/slot.h"

/* The body that is sent is the object's bytes, this many. */
void body_of_object(struct http_slot *s, uint64_t bytes);
/* The body that is sent is put together of the texts that pieces gives for 0, 1 … until NULL; each
 * time the same. */
void body_of_pieces(struct http_slot *s,
		    const char *(*pieces)(const struct http_slot *s, uint64_t piece,
					  char buffer[PIECE_BYTES]));
/* Shows all of a body, which has this size, before it is sent; it is made again for that. Returns a
 * negative errno of whoever makes it. */
int body_each(struct http_slot *s, uint64_t bytes,
	      void (*observe)(void *argument, const void *data, uint64_t n), void *argument);

/* Where the next bytes of an object that is read belong: exchange.place of every slot. */
void *body_place(struct exchange *x, uint64_t *n);
/* Takes the body that comes: exchange.consume of every slot. */
int body_consume(struct exchange *x, const void *data, uint64_t n);

/* The document that was read as it came is over. -EPROTO with a sentence where it is not whole. */
int body_xml_end(struct http_slot *s);

#endif
