/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a data set as a training reads it, open on its store, and what the loader asks for at
 * once. For the rank's main thread. */
#ifndef HAUL_WORKLOADS_TRAIN_INPUT_H
#define HAUL_WORKLOADS_TRAIN_INPUT_H

#include "workloads/train/train.h"

struct train_input {
	struct dataset dataset;
	struct store store;
	bool open;
	uint32_t depth; /* requests in flight per reader, at most */
	struct train_sizes sizes;
	bool whole; /* see struct source */
};

/* name: of the data set. Collective. After an error, too, the caller closes it. */
int train_input_open(struct phase_context *ctx, const char *name, struct train_input *in,
		     struct err *err);
void train_input_close(struct train_input *in); /* also of one that was zeroed and never opened */

/* The files of a data set, which are to be dropped from caches. Refers to in. */
struct cold_objects train_input_objects(const struct train_input *in);

#endif
