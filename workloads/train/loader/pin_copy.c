#include "workloads/train/loader/pin_copy.h"

#include <string.h>

int copier_open(struct copier *c, struct err *err)
{
	int rc = buffers_init(&c->windows, COPIER_WINDOWS, COPIER_WINDOW_BYTES, err);

	if (rc < 0)
		return rc;
	c->from = buffers_take(&c->windows);
	c->to = buffers_take(&c->windows);
	return 0;
}

void copier_close(struct copier *c)
{
	buffers_free(&c->windows);
}

void copier_copy(struct copier *c, uint64_t bytes, bool (*quits)(void *argument), void *argument)
{
	uint64_t n;

	for (; bytes && !quits(argument); bytes -= n) {
		n = bytes < COPIER_WINDOW_BYTES ? bytes : COPIER_WINDOW_BYTES;
		memcpy(c->to, c->from, n);
		/* Nobody reads the copy: without this the compiler might leave it out. */
		__asm__ volatile("" : : "r"(c->to) : "memory");
	}
}
