/* SPDX-License-Identifier: Apache-2.0 */
/* Dialect of Azure's block blobs.
 *
 * Parts of an upload are blocks. Their names follow from their numbers and from what the upload is
 * called, so that none is taken for one that an earlier upload left. Blocks that are never
 * committed are not visible, and the service drops them after a week. */
#ifndef HAUL_BACKENDS_HTTP_AZURE_AZURE_H
#define HAUL_BACKENDS_HTTP_AZURE_AZURE_H

#include "backends/http/http.h"

enum {
	AZURE_BLOCK_DIGITS = 8,
	AZURE_BLOCK_RAW_BYTES = UPLOAD_NAME_BYTES - 1 + AZURE_BLOCK_DIGITS,
	AZURE_BLOCK_NAME_BYTES = (AZURE_BLOCK_RAW_BYTES + 2) / 3 * 4 + 1
};

/* request.c: struct dialect's make. */
int azure_make(struct http_slot *s);

/* answer.c: struct dialect's read, element and explain. */
int azure_read(struct http_slot *s);
int azure_element(void *slot, const char *path, const char *text);
void azure_explain(struct http_slot *s);

#endif
