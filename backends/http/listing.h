/* SPDX-License-Identifier: Apache-2.0 */
/* Listing of a folder, page by page and maybe in parts; and what keeps it from going on for
 * ever. */
#ifndef HAUL_BACKENDS_HTTP_LISTING_H
#define HAUL_BACKENDS_HTTP_LISTING_H

#include "backends/http/slot.h"

/* A request for a page begins. */
enum http_step listing_begin(struct http_slot *s);
/* The answer to STEP_LIST or STEP_PROBE is whole. */
enum http_step listing_next(struct http_slot *s);

/* For dialects, while an answer is read. The document is the listing that was asked for. */
void listing_document(struct http_slot *s);
/* An entry whose key in the bucket is in slot->text. */
int listing_entry(struct http_slot *s, uint64_t size);
/* Whether another page follows, and the text by which the store goes on. -EPROTO: the text is too
 * long. */
void listing_more(struct http_slot *s, bool more);
int listing_marker(struct http_slot *s, const char *text);
/* Of open uploads: an id, and the upload that has it and whose key is in slot->text. The next page
 * begins after the last upload, or, where a page has none, after what the store says. -EPROTO: a
 * text is missing or too long. */
int listing_upload_id(struct http_slot *s, const char *text);
int listing_upload(struct http_slot *s);
int listing_upload_key_marker(struct http_slot *s, const char *text);
int listing_upload_id_marker(struct http_slot *s, const char *text);

/* For dialects, when they make the request: after which name the listing begins, below the folder,
 * and by which text of the store it goes on. "": from its beginning. Of open uploads, the text is a
 * key, a line's end, and an id. */
struct listing_from {
	const char *after, *marker;
};
struct listing_from listing_from(const struct http_slot *s, char after[SPLIT_NAME_BYTES]);

#endif
