/* Any bytes as a page of a listing, in S3's dialect and Azure's, as they may come: in pieces. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backends/http/s3.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int entry(struct io *io, const char *name, uint64_t size)
{
	(void)io;
	(void)size;
	return name[0] ? 0 : -EINVAL;
}

static void read_as(xml_element element, const uint8_t *data, size_t size)
{
	static struct http_store store = {.prefix = "p/"};
	static struct slot slot;
	struct http_channel channel = {.store = &store};
	struct object object = {.key = "f/"};
	struct listing listing = {.entry = entry};
	struct io io = {.op = IO_LIST, .object = &object, .listing = &listing};
	size_t piece = size / 3 + 1;
	struct xml *x;

	memset(&slot, 0, sizeof(slot));
	slot.channel = &channel;
	slot.io = &io;
	if (xml_open(&x, element, &slot) < 0)
		return;
	for (size_t at = 0; at < size; at += piece)
		xml_feed(x, data + at, size - at < piece ? size - at : piece);
	xml_end(x);
	xml_close(x);
	if (strnlen(listing.marker, sizeof(listing.marker)) == sizeof(listing.marker))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_as(s3_element, data, size);
	read_as(azure_element, data, size);
	return 0;
}
