/* SPDX-License-Identifier: Apache-2.0 */
/* data.pkl of torch.save: the pickle of an OrderedDict from names to tensors. */
#ifndef HAUL_WORKLOADS_ARCHIVE_TORCH_PICKLE_H
#define HAUL_WORKLOADS_ARCHIVE_TORCH_PICKLE_H

#include <stdint.h>

struct archive;

/* Writes it at out (NULL: nowhere) and returns its bytes. Any thread. */
uint64_t torch_pickle(const struct archive *a, uint8_t *out);

#endif
