/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the answer to a delete of several keys, with any bytes, which arrive in pieces. Every key
 * must get a result, and no key may count as deleted unless the answer says so. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backends/http/s3/s3.h"

enum { KEYS = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct http_store store = {.prefix = "p/"};
	static struct http_slot slot;
	struct request_key keys[KEYS] = {
		{.key = "a"}, {.key = "a b&<"}, {.key = "c/d"}, {.key = "a"}};
	struct http_channel channel = {.store = &store};
	struct request req = {.op = REQ_DELETE, .batch.keys = keys, .batch.count = KEYS};
	size_t piece = size / 3 + 1;
	struct xml *x;

	memset(&slot, 0, sizeof(slot));
	slot.channel = &channel;
	slot.req = &req;
	slot.step = STEP_DELETE_MANY;
	for (unsigned i = 0; i < KEYS; i++) {
		keys[i].status = -EINPROGRESS;
		keys[i].again = true;
	}
	if (xml_open(&x, s3_element, &slot) < 0)
		return 0;
	for (size_t at = 0; at < size; at += piece)
		xml_feed(x, data + at, size - at < piece ? size - at : piece);
	xml_end(x);
	xml_close(x);
	s3_deleted(&slot);
	for (unsigned i = 0; i < KEYS; i++) {
		if (keys[i].status > 0 || keys[i].status == -EINPROGRESS ||
		    (keys[i].status == 0 && !memmem(data, size, "Deleted", 7)))
			abort();
	}
	return 0;
}
