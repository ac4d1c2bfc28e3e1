/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of Azure: lists of blocks, listings, refusals. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/http/azure/azure.h"

/* The number of a block by its name; 0: it belongs to another upload. */
static uint64_t azure_block_number(const struct upload *u, const char *name)
{
	uint8_t raw[AZURE_BLOCK_RAW_BYTES];
	uint64_t number = 0;

	if (text_from_base64(name, raw, sizeof(raw)) != AZURE_BLOCK_RAW_BYTES ||
	    memcmp(raw, u->id, UPLOAD_NAME_BYTES - 1) != 0)
		return 0;
	for (int i = UPLOAD_NAME_BYTES - 1; i < AZURE_BLOCK_RAW_BYTES; i++) {
		if (raw[i] < '0' || raw[i] > '9')
			return 0;
		number = number * 10 + (raw[i] - '0');
	}
	return number;
}

/* BlockList: all blocks, in no particular order. */
static int azure_block_element(struct http_slot *s, const char *path, const char *text)
{
	if (strcmp(path, "BlockList") == 0)
		s->parts.whole = true;
	if (strncmp(path, "BlockList/UncommittedBlocks/", 28) != 0)
		return 0;
	path += 28;
	if (strcmp(path, "Block/Name") == 0)
		s->element_number = azure_block_number(upload_of(s), text);
	else if (strcmp(path, "Block/Size") == 0)
		s->element_size = strtoull(text, NULL, 10);
	else if (strcmp(path, "Block") == 0)
		return upload_part_listed(s, s->element_number, s->element_size, NULL);
	return 0;
}

/* EnumerationResults; or an error, though the status says success. */
static int azure_list_element(struct http_slot *s, const char *path, const char *text)
{
	struct http_answer *a = &s->exchange.answer;

	if (strcmp(path, "Error/Code") == 0)
		snprintf(a->code, sizeof(a->code), "%s", text);
	if (strcmp(path, "EnumerationResults") == 0)
		listing_document(s);
	if (strncmp(path, "EnumerationResults/", 19) != 0)
		return 0;
	path += 19;
	if (strcmp(path, "Blobs/Blob/Name") == 0 || strcmp(path, "Blobs/BlobPrefix/Name") == 0)
		memcpy(s->text, text, strlen(text) + 1);
	else if (strcmp(path, "Blobs/Blob/Properties/Content-Length") == 0)
		s->element_size = strtoull(text, NULL, 10);
	else if (strcmp(path, "Blobs/Blob") == 0)
		return listing_entry(s, s->element_size);
	else if (strcmp(path, "Blobs/BlobPrefix") == 0)
		return listing_entry(s, LIST_SIZE_UNKNOWN);
	else if (strcmp(path, "NextMarker") == 0) {
		listing_more(s, text[0]);
		return listing_marker(s, text);
	}
	return 0;
}

/* The service answers 201 to what it has made, with the ETag of the version. */
int azure_read(struct http_slot *s)
{
	const struct http_answer *a = &s->exchange.answer;

	if (s->step != STEP_PUT && s->step != STEP_COMPLETE && s->step != STEP_PART)
		return 0;
	if (a->status != 201 || (s->step != STEP_PART && !a->etag[0]))
		return upload_unproven(s);
	if (s->step != STEP_PART)
		upload_named_by(s, NULL);
	return 0;
}

int azure_element(void *slot, const char *path, const char *text)
{
	struct http_slot *s = slot;

	return s->step == STEP_PARTS ? azure_block_element(s, path, text)
				     : azure_list_element(s, path, text);
}

/* A shared access signature says itself when it ends. For an object that does not exist and has no
 * block there is no list of blocks. */
void azure_explain(struct http_slot *s)
{
	struct http_channel *ch = s->channel;
	int64_t ends;

	if (s->step == STEP_PARTS && s->req->answer.status == -ENOENT)
		upload_incomplete(s);
	if (ch->store->credentials.kind != CREDENTIAL_SAS || s->exchange.answer.status != 403)
		return;
	ends = credentials_sas_end(ch->credentials.c.token);
	s->req->answer.why =
		ends > 0 && ends < http_now(ch->store)
			? "the shared access signature has expired"
			: "the shared access signature does not allow this, or it is not of "
			  "this account";
}
