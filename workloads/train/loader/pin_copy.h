/* SPDX-License-Identifier: Apache-2.0 */
/* Emulated copy of a batch into memory that the accelerator can read (torch's pin_memory). As many
 * bytes as the payload of the batch are copied from one buffer to another, a piece at a time. The
 * samples are gone by then, since their bytes are streamed through the readers' buffers and kept by
 * nobody: the work is real, the content is not. And these two buffers may lie in the processor's
 * caches, where a real batch would come from memory.
 *
 * Belongs to one thread. */
#ifndef HAUL_WORKLOADS_TRAIN_LOADER_PIN_COPY_H
#define HAUL_WORKLOADS_TRAIN_LOADER_PIN_COPY_H

#include <stdbool.h>

#include "core/buffers.h"

enum { PIN_COPY_BUFFER_BYTES = 8 << 20, PIN_COPY_BUFFERS = 2 };

struct pin_copy {
	struct buffers buffers;
	void *from, *to;
};

int pin_copy_open(struct pin_copy *c, struct err *err);
void pin_copy_close(struct pin_copy *c);

/* Copies bytes; asks quits before each piece whether to give up. */
void pin_copy_bytes(struct pin_copy *c, uint64_t bytes, bool (*quits)(void *argument),
		    void *argument);

#endif
