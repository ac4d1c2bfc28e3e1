/* SPDX-License-Identifier: Apache-2.0 */
#include "workloads/train/loader/pin_copy.h"

#include <string.h>

int pin_copy_open(struct pin_copy *c, struct err *err)
{
	int rc = buffers_init(&c->buffers, PIN_COPY_BUFFERS, PIN_COPY_BUFFER_BYTES, err);

	if (rc < 0)
		return rc;
	c->from = buffers_take(&c->buffers);
	c->to = buffers_take(&c->buffers);
	return 0;
}

void pin_copy_close(struct pin_copy *c)
{
	buffers_free(&c->buffers);
}

void pin_copy_bytes(struct pin_copy *c, uint64_t bytes, bool (*quits)(void *argument),
		    void *argument)
{
	uint64_t n;

	for (; bytes && !quits(argument); bytes -= n) {
		n = bytes < PIN_COPY_BUFFER_BYTES ? bytes : PIN_COPY_BUFFER_BYTES;
		memcpy(c->to, c->from, n);
		/* Nobody reads the copy. Without this, the compiler might leave it out. */
		__asm__ volatile("" : : "r"(c->to) : "memory");
	}
}
