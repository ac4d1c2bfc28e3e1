/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the pages of listings, of open uploads, and of an upload's parts, in S3's dialect and in
 * Azure's, with any bytes, which arrive in pieces. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backends/http/azure/azure.h"
#include "backends/http/s3/s3.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int entry(struct request *req, const char *name, uint64_t size)
{
	(void)req;
	(void)size;
	return name[0] ? 0 : -EINVAL;
}

static void read_as(enum http_step step, xml_element element, bool uploads, const uint8_t *data,
		    size_t size)
{
	static const struct dialect dialect = {.sums_parts = true};
	static const struct http_options options = {.checksum = SUM_CRC32C};
	static struct http_store store = {.prefix = "p/", .dialect = &dialect, .options = &options};
	static struct http_slot slot;
	static char etags[10][PART_ETAG_BYTES];
	struct upload upload = {.length = 95,
				.part = 10,
				.id = "01234567",
				.etags = element == s3_element ? etags : NULL};
	struct http_channel channel = {.store = &store};
	struct object object = {.key = "f/"};
	struct listing listing = {.entry = entry, .uploads = uploads};
	struct request req = {.op = REQ_LIST, .object = &object, .listing = &listing};
	size_t piece = size / 3 + 1;
	struct xml *x;

	memset(&slot, 0, sizeof(slot));
	slot.channel = &channel;
	slot.req = &req;
	slot.step = step;
	if (step == STEP_PARTS)
		object.state[0] = (uintptr_t)&upload;
	if (xml_open(&x, element, &slot) < 0)
		return;
	for (size_t at = 0; at < size; at += piece)
		xml_feed(x, data + at, size - at < piece ? size - at : piece);
	xml_end(x);
	xml_close(x);
	listing_next(&slot);
	if (strnlen(listing.upload, sizeof(listing.upload)) == sizeof(listing.upload) ||
	    strnlen(listing.marker, sizeof(listing.marker)) == sizeof(listing.marker))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_as(STEP_LIST, s3_element, false, data, size);
	read_as(STEP_LIST, s3_element, true, data, size);
	read_as(STEP_LIST, azure_element, false, data, size);
	read_as(STEP_PARTS, s3_element, false, data, size);
	read_as(STEP_PARTS, azure_element, false, data, size);
	return 0;
}
