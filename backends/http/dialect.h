/* SPDX-License-Identifier: Apache-2.0 */
/* Dialect: what S3, Azure and Google do differently. A dialect makes the request of a step, signs
 * it, and reads its answer; everything else is the same for all of them. */
#ifndef HAUL_BACKENDS_HTTP_DIALECT_H
#define HAUL_BACKENDS_HTTP_DIALECT_H

#include "backends/http/slot.h"

struct dialect {
	const char *name;
	bool begins; /* an upload in parts must be begun and abandoned: STEP_BEGIN, STEP_ABANDON */
	bool parts;  /* lists parts of a folder: BACKEND_LIST_PARTS */

	/* The header in which a CRC-32C travels, and the characters before it. NULL: there is
	 * none. */
	const char *crc32c_header, *crc32c_before;
	/* The header by which a PUT names the version that it replaces, where that is a number. NULL:
	 * it names an ETag. */
	const char *generation_header;
	bool sums_parts; /* an upload is begun for CRC-32C, and completed with each part's */

	/* Opens the store: what follows scheme:// goes to bucket and prefix; servers and
	 * credentials are found. http->transport_options is set. Nothing to undo but what is in
	 * *http. */
	int (*open)(struct store *store, struct http_store *http, struct err *err);
	/* Makes slot->request for slot->step, and signs it. A negative errno ends the request. */
	int (*make)(struct http_slot *s);
	/* Reads the answer of a step that has a small one (slot->text, exchange.answer). A negative
	 * errno ends the request as an error of the store. May be NULL. */
	int (*read)(struct http_slot *s);
	/* Takes an element of an answer that is read as it comes: slot_reads_xml. The argument is
	 * the slot. */
	int (*element)(void *slot, const char *path, const char *text);
	/* The answer to a delete of several is over: sets what became of the request, from what
	 * became of its keys. NULL: the store takes one key at a time. */
	void (*deleted)(struct http_slot *s);
	/* Adds what else is known about an answer that is not a success, after its meaning is set.
	 * May be NULL. */
	void (*explain)(struct http_slot *s);
};

#endif
