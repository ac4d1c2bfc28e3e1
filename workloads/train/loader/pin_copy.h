/* The copy of a batch into memory that the accelerator can read (torch's pin_memory), emulated: as many
 * bytes as the batch's payload are copied from one window to another, in pieces of the window. The
 * samples themselves are gone by then (their bytes are streamed through the readers' windows and held by
 * nobody), so it is the work that is the real one's, not the content; and the windows may lie in the
 * processor's caches, where a real batch would come from memory.
 *
 * Belongs to one thread. */
#ifndef HAUL_WORKLOADS_TRAIN_LOADER_PIN_COPY_H
#define HAUL_WORKLOADS_TRAIN_LOADER_PIN_COPY_H

#include <stdbool.h>

#include "core/buffers.h"

enum { PIN_COPY_BUFFER_BYTES = 8 << 20, PIN_COPY_BUFFERS = 2 };

struct pin_copy {
	struct buffers windows;
	void *from, *to;
};

int pin_copy_open(struct pin_copy *c, struct err *err);
void pin_copy_close(struct pin_copy *c);

/* Copies bytes; asks quits, every window, whether to give up. */
void pin_copy_bytes(struct pin_copy *c, uint64_t bytes, bool (*quits)(void *argument),
		    void *argument);

#endif
